//! Every answer of a case counts: wrong ones before a call that is declined, inputs that were
//! written into, and NaN only as far as it says something.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use qkvet_engine::interpret::interpret;
use qkvet_engine::law::{Judge, evaluate, judge_call};
use qkvet_engine::simulate::Simulator;
use qkvet_spec::{
    Aspect, Binding, Call, CallOptions, Case, Catalog, CheckedLaw, Dims, Dtype, Element, Evidence,
    Execution, Expectation, Got, Matrices, Meaning, Number, Origin, Output, Response, Target,
    Tensor, Verdict,
};

/// Two calls, the second with twice the values.
const LAW: &str = "law: x\ntitle: t\ngiven: {}\noptions: []\nproof: definition\ncatches: []\n\
                   expect: 2 * attention(Q, K, V) == attention(Q, K, 2 * V)\n";

/// What a target does with its numbered calls, beside attention.
struct Habit<F>(usize, F);

impl<F: Fn(usize, Output) -> Response> Target for Habit<F> {
    fn call(&mut self, call: &Call) -> Response {
        self.0 += 1;
        match Simulator::new(Meaning::standard(), Execution::standard()).call(call) {
            Response::Output(output) => (self.1)(self.0, *output),
            other => other,
        }
    }
}

fn verdict(habit: impl Fn(usize, Output) -> Response) -> (Verdict, String) {
    let (verdict, evidence) = judged(LAW, 1, &[1.0, 3.0], habit);
    (verdict, evidence.map(|evidence| evidence.format_place().to_string()).unwrap_or_default())
}

/// Queries of 1, two keys, and values of two rows.
fn judged(
    law: &str,
    n_q: usize,
    values: &[f64],
    habit: impl Fn(usize, Output) -> Response,
) -> (Verdict, Option<Evidence>) {
    let matrices = |rows: usize, data: &[f64]| {
        let cols = data.len() / rows;
        Binding::Matrices(Matrices {
            batch: Some(1),
            heads: Some(1),
            rows,
            cols,
            data: data.to_vec(),
        })
    };
    let case = Case {
        law: "x".to_owned(),
        dtype: Dtype::Float32,
        dims: Dims { b: 1, h_q: 1, h_k: 1, n_q, n_k: 2, d_k: 1, d_v: values.len() / 2 },
        options: CallOptions::default(),
        bindings: [
            ("Q".to_owned(), matrices(n_q, &vec![1.0; n_q])),
            ("K".to_owned(), matrices(2, &[1.0, 0.5])),
            ("V".to_owned(), matrices(2, values)),
        ]
        .into(),
    };
    let law = CheckedLaw::from_yaml("x.yaml", law).unwrap_or_else(|error| panic!("{error}"));
    let (catalog, meaning) = (Catalog::embedded().unwrap(), Meaning::standard());
    let judge =
        Judge { meaning: &meaning, contract: catalog.default_contract(Dtype::Float32).unwrap() };
    let outcome = evaluate(&law, &case, judge, &mut Habit(0, habit)).unwrap();
    (outcome.verdict, outcome.evidence)
}

fn output(output: Output) -> Response {
    Response::Output(Box::new(output))
}

fn shifted(mut of: Output) -> Output {
    of.output.data.iter_mut().for_each(|x| *x += 1.0);
    of
}

#[test]
fn a_wrong_answer_is_wrong_though_a_later_call_is_declined() {
    let declines = || Response::Unsupported("no more".into());
    assert_eq!(verdict(|_, right| output(right)).0, Verdict::Pass);
    assert_eq!(
        verdict(|n, right| if n == 1 { output(right) } else { declines() }).0,
        Verdict::Unsupported
    );
    // Again and again the same: what is asked twice must not look like chance.
    let (found, place) =
        verdict(|n, right| if n >= 2 { declines() } else { output(shifted(right)) });
    assert_eq!(found, Verdict::Fail, "{place}");
    assert!(place.starts_with("attention(Q, K, V) at"), "{place}");
    let crash = Response::Crash(qkvet_spec::Breakage::Exited(1).into());
    assert_eq!(
        verdict(|n, right| if n == 2 { crash.clone() } else { output(shifted(right)) }).0,
        Verdict::Crash
    );
}

#[test]
fn inputs_that_are_written_into_fail_under_every_law() {
    let overwrites = |of: Output| output(Output { inputs_unchanged: false, ..of });
    let (found, place) = verdict(|n, right| if n == 2 { overwrites(right) } else { output(right) });
    assert_eq!((found, place.starts_with("inputs of attention")), (Verdict::Fail, true), "{place}");
    let (_, place) = verdict(|_, right| overwrites(shifted(right)));
    assert!(!place.starts_with("inputs of"), "wrong numbers come first: {place}");
    let (found, _) = verdict(|n, right| {
        if n == 1 {
            overwrites(right)
        } else {
            Response::Unsupported(qkvet_spec::Quoted::default())
        }
    });
    assert_eq!(found, Verdict::Fail);
}

/// One query and two keys of `d` elements of this size, answered by one number.
fn answered(contract: &str, size: f64, answer: f64) -> Verdict {
    let catalog = Catalog::embedded().unwrap();
    let contract = catalog.contract(contract).unwrap();
    let tensor = |shape: [usize; 4], x: f64| {
        let n = shape.iter().product();
        Tensor { dtype: contract.dtype, shape: shape.to_vec(), data: vec![x; n] }
    };
    let call = Call {
        query: tensor([1, 1, 1, 8], size),
        key: tensor([1, 1, 2, 8], size),
        value: tensor([1, 1, 2, 1], 2.0),
        return_weights: false,
        return_lse: false,
        options: CallOptions::default(),
    };
    let output = tensor([1, 1, 1, 1], answer);
    let output = Output::of(output);
    let expect = |want| interpret(&Meaning::standard(), &call, &contract, want);
    judge_call(
        "attention(Q, K, V)",
        &call,
        expect,
        &mut Habit(0, |_, _| self::output(output.clone())),
    )
    .verdict
}

#[test]
fn nan_refutes_what_is_known_and_nothing_else() {
    assert_eq!(answered("f16-unfused", 1.0, f64::NAN), Verdict::Fail);
    // Scores of 320,000 do not fit into float16, where this contract may keep them.
    assert_eq!(answered("f16-unfused", 200.0, f64::NAN), Verdict::Inconclusive);
    assert_eq!(answered("f16-unfused", 200.0, f64::INFINITY), Verdict::Inconclusive);
    assert_eq!(answered("f16-flash", 200.0, f64::NAN), Verdict::Fail);
    // The bound is vacuous, but nothing overflows: some number there must be.
    assert_eq!(answered("bf16-unfused", 200.0, f64::NAN), Verdict::Fail);
    for answer in [f64::NAN, 0.0] {
        assert_eq!(answered("f32", f64::NAN, answer), Verdict::Inconclusive, "{answer}");
    }
}

/// Whichever side of an equation is wrong by itself is what came; the other one is what was
/// expected.
#[test]
fn the_side_that_is_wrong_is_what_came() {
    // A result of V lies between 1 and 2, one of 2V is twice that.
    let wrong = |doubled: bool| {
        let is_struck = move |right: &Output| (right.output.data[0] > 2.0) == doubled;
        verdict(move |_, right| output(if is_struck(&right) { shifted(right) } else { right }))
    };
    let (found, place) = wrong(false);
    assert_eq!(
        (found, place.starts_with("2 * attention(Q, K, V) at")),
        (Verdict::Fail, true),
        "{place}"
    );
    let (found, place) = wrong(true);
    assert_eq!(
        (found, place.starts_with("attention(Q, K, 2 * V) at")),
        (Verdict::Fail, true),
        "{place}"
    );
}

/// A norm is at most a number iff every entry is: the entry that decides is shown, beside its own
/// error and not the largest.
#[test]
fn a_norm_that_is_too_large_shows_the_entry_that_is() {
    let law = LAW.replace(
        "2 * attention(Q, K, V) == attention(Q, K, 2 * V)",
        "norm_max(attention(Q, K, V) - exact(Q, K, V)) <= 0",
    );
    assert_ne!(law, LAW);
    let values = [1e6, 1.0, 1e6, 1.0];
    let (found, _) = judged(&law, 1, &values, |_, right| output(right));
    assert_eq!(found, Verdict::Pass);
    // The entry of 1e6 may be off by more than this.
    let shift = 1e-4;
    let (found, evidence) = judged(&law, 1, &values, |_, mut right| {
        right.output.data[1] += shift;
        output(right)
    });
    let evidence = evidence.unwrap();
    assert_eq!(found, Verdict::Fail);
    let element = Element { b: Some(0), h: Some(0), i: 0, c: 1 };
    assert_eq!(evidence.place.what, Aspect::Element(element));
    let Got::Number(got) = evidence.got else { panic!("{evidence:?}") };
    assert!((got.value.0 - shift).abs() < 1e-6, "{got:?}");
    assert!(evidence.ratio.unwrap() > 2.0, "{:?}", evidence.ratio);
}

/// Where calls of both sides are wrong, the entry shown is that of the side that is wrong there.
#[test]
fn the_entry_that_is_wrong_is_what_came() {
    let law = LAW.replace(
        "2 * attention(Q, K, V) == attention(Q, K, 2 * V)",
        "attention(Q, K, 2 * V) == 2 * attention(Q, K, V)",
    );
    let (found, evidence) = judged(&law, 2, &[1.0, 3.0], |_, mut right| {
        let (row, error) = if right.output.data[0] > 2.0 { (0, 0.125) } else { (1, 1.0) };
        right.output.data[row] += error;
        output(right)
    });
    let Evidence { place, expected, .. } = evidence.unwrap();
    let element = Element { b: Some(0), h: Some(0), i: 1, c: 0 };
    assert_eq!((found, place.what), (Verdict::Fail, Aspect::Element(element)));
    assert_eq!(place.of, "2 * attention(Q, K, V)");
    let Expectation::Number { from, .. } = expected else { panic!("{expected:?}") };
    assert_eq!(from, Origin::Expression("attention(Q, K, 2 * V)".to_owned()));
}

/// Neither of two answers to one call is what was expected, but the right one.
#[test]
fn what_differs_from_call_to_call_is_told_beside_the_exact_value() {
    let (found, evidence) = judged(LAW, 1, &[1.0, 3.0], |n, mut right| {
        right.output.data[0] = if n % 2 == 1 { -1.0 } else { -0.5 };
        output(right)
    });
    let Evidence { expected, got, .. } = evidence.unwrap();
    assert_eq!((found, got), (Verdict::Nondet, Got::Then(Number(-1.0), Number(-0.5))));
    let Expectation::EveryTime(Some(exact)) = expected else { panic!("{expected:?}") };
    assert!((1.7..1.8).contains(&exact.value.0), "{exact:?}");
    assert_eq!(evidence_within(|n| if n % 2 == 1 { -1.0 } else { -0.5 }), Some(false));
    // The last bit of a number of float32.
    assert_eq!(
        evidence_within(|n| if n % 2 == 1 { 1.0 + f64::from(f32::EPSILON) } else { 1.0 }),
        Some(true)
    );
}

/// Whether both answers lie within the bound, of a target whose numbers are off by a factor that
/// changes from call to call.
fn evidence_within(factor: impl Fn(usize) -> f64) -> Option<bool> {
    let law = LAW.replace("==", "same_bits");
    let (found, evidence) = judged(&law, 1, &[1.0, 3.0], |n, mut right| {
        right.output.data[0] = f64::from((right.output.data[0] * factor(n)) as f32);
        output(right)
    });
    assert_eq!(found, Verdict::Nondet);
    evidence.unwrap().within_bound
}
