//! Cases judged by targets that answer once, in another layout, or not at all.

use super::*;
use qkvet_spec::{
    Breakage, CallOptions, Contract, Depth, Dtype, Handling, Meaning, Output, Quoted, Tensor,
};

use crate::interpret::interpret;

/// Answers with each response in turn, the last one for ever.
struct Scripted(Vec<Response>);

impl Target for Scripted {
    fn call(&mut self, _: &Call) -> Response {
        if self.0.len() > 1 { self.0.remove(0) } else { self.0[0].clone() }
    }
}

fn tensor(shape: [usize; 4], data: &[f64]) -> Tensor {
    Tensor { dtype: Dtype::Float32, shape: shape.to_vec(), data: data.to_vec() }
}

/// Declines where a value is as large as that, with this.
struct Declines(f64, Response);

impl Target for Declines {
    fn call(&mut self, call: &Call) -> Response {
        let is_large = call.value.data.iter().any(|x| x.abs() >= self.0);
        if is_large { self.1.clone() } else { returns(2.0) }
    }
}

/// One query between two values, whose output is 2.
fn call() -> Call {
    Call {
        query: tensor([1, 1, 1, 1], &[1.0]),
        key: tensor([1, 1, 2, 1], &[0.0, 0.0]),
        value: tensor([1, 1, 2, 1], &[1.0, 3.0]),
        return_weights: false,
        return_lse: false,
        options: CallOptions::default(),
    }
}

fn contract() -> Contract {
    Contract {
        contract: "f32".to_owned(),
        title: String::new(),
        dtype: Dtype::Float32,
        output: None,
        wider_output: false,
        lse: None,
        default: true,
        frozen: false,
        storage: None,
        operands: None,
        dot: Dtype::Float32,
        dot_bits: None,
        truncates: false,
        depth: Depth::default(),
        softmax: Dtype::Float32,
        input_roundings: 0,
        score_roundings: 0,
        weights: Dtype::Float32,
        stored_steps: false,
        sum_of_rounded: true,
        divides_last: false,
        exp_error: 4,
        tanh_error: 4,
        tile: None,
        merges: false,
        partial: None,
        about: String::new(),
    }
}

fn returns(x: f64) -> Response {
    let output = tensor([1, 1, 1, 1], &[x]);
    Response::Output(Box::new(Output::of(output)))
}

fn overwrites(x: f64) -> Response {
    let Response::Output(output) = returns(x) else { return returns(x) };
    Response::Output(Box::new(Output { inputs_unchanged: false, ..*output }))
}

fn check(responses: &[Response], verdict: Verdict, place: &str, calls: usize) {
    judged(&call(), responses, verdict, place, calls);
}

fn judged(call: &Call, responses: &[Response], verdict: Verdict, place: &str, calls: usize) {
    let expect = |want| interpret(&Meaning::standard(), call, &contract(), want);
    let outcome = judge_call("attention(Q, K, V)", call, expect, &mut Scripted(responses.to_vec()));
    assert_eq!(outcome.verdict, verdict, "{responses:?}");
    assert_eq!(outcome.calls.len(), calls);
    let got = outcome.evidence.map(|evidence| evidence.format_place().to_string());
    let got = got.unwrap_or_default();
    assert!(got.starts_with(place) && got.is_empty() == place.is_empty(), "{got}");
}

#[test]
fn a_call_is_judged_without_a_law() {
    check(&[returns(2.0)], Verdict::Pass, "", 1);
    check(&[returns(2.5)], Verdict::Fail, "attention(Q, K, V) at [b=0", 1);
    check(&[returns(f64::NAN)], Verdict::Fail, "attention(Q, K, V) at [b=0", 1);
    check(
        &[returns(2.5), returns(2.0)],
        Verdict::Nondet,
        "identical calls of attention(Q, K, V)",
        1,
    );
    check(&[returns(2.5), returns(2.5), returns(2.0)], Verdict::Nondet, "identical calls", 1);
    check(
        &[Response::Crash(Trouble::from(Breakage::Exited(1)))],
        Verdict::Crash,
        "attention(Q, K, V)",
        0,
    );
    check(&[Response::NotAsked(Quoted::default())], Verdict::Skipped, "attention(Q, K, V)", 0);
    check(
        &[Response::Unsupported(Quoted::default())],
        Verdict::Unsupported,
        "attention(Q, K, V)",
        0,
    );
    check(&[Response::Malformed("a list".into())], Verdict::Fail, "attention(Q, K, V)", 0);
}

#[test]
fn what_is_declined_for_its_numbers_is_an_error() {
    let check = |least: f64, declined: Response, verdict| {
        let expect = |want| interpret(&Meaning::standard(), &call(), &contract(), want);
        let mut target = Declines(least, declined);
        assert_eq!(judge_call("A", &call(), expect, &mut target).verdict, verdict, "{least}");
    };
    let (refused, unsupported) =
        (Response::Refused("no".into()), Response::Unsupported("no".into()));
    check(4.0, refused.clone(), Verdict::Pass);
    check(2.0, refused.clone(), Verdict::Error);
    check(2.0, unsupported.clone(), Verdict::Error);
    check(0.0, refused, Verdict::Refused);
    check(0.0, unsupported, Verdict::Unsupported);
}

/// A call that is declined is put once more with other numbers. Who breaks there is broken.
#[test]
fn what_breaks_where_it_is_asked_why_it_declines_has_declined_nothing() {
    let trouble = || Trouble::from(Breakage::Exited(1));
    for (response, verdict) in [
        (Response::Crash(trouble()), Verdict::Crash),
        (Response::Timeout(trouble()), Verdict::Timeout),
        (Response::Broken(trouble()), Verdict::Error),
        (Response::NotAsked(Quoted::default()), Verdict::Refused),
        (Response::Error("no".into()), Verdict::Refused),
    ] {
        check(&[Response::Refused("no".into()), response], verdict, "attention(Q, K, V)", 0);
    }
}

#[test]
fn a_wrong_form_fails_before_the_value() {
    let output = tensor([1, 1, 2, 1], &[2.0, 2.0]);
    let response = Response::Output(Box::new(Output::of(output)));
    check(&[response], Verdict::Fail, "shape of the output", 1);
}

#[test]
fn weights_that_are_asked_for_are_judged_beside_the_output() {
    let call = Call { return_weights: true, ..call() };
    let check = |output: f64, weights: Option<[f64; 2]>, verdict, place| {
        let (output, weights) =
            (tensor([1, 1, 1, 1], &[output]), weights.map(|w| tensor([1, 1, 1, 2], &w)));
        let response = Response::Output(Box::new(Output {
            output,
            weights,
            lse: None,
            inputs_unchanged: true,
            handling: Handling::default(),
        }));
        judged(&call, &[response], verdict, place, 1);
    };
    check(2.0, Some([0.5, 0.5]), Verdict::Pass, "");
    check(2.0, Some([0.25, 0.75]), Verdict::Fail, "attention(Q, K, V) at [b=0");
    check(2.5, Some([0.5, 0.5]), Verdict::Fail, "attention(Q, K, V) (its output) at [b=0");
    check(2.0, None, Verdict::Fail, "number of results");
}

#[test]
fn a_right_value_does_not_excuse_overwritten_inputs() {
    check(&[overwrites(2.0)], Verdict::Fail, "inputs of attention(Q, K, V)", 1);
    check(&[overwrites(2.5)], Verdict::Fail, "attention(Q, K, V) at [b=0", 1);
}

/// Comes to nothing on views and may do so again, and is right or not on contiguous inputs.
struct Breaks {
    on_views: Vec<Response>,
    contiguous: Response,
    puts_views: bool,
}

impl Target for Breaks {
    fn call(&mut self, _: &Call) -> Response {
        if self.on_views.len() > 1 { self.on_views.remove(0) } else { self.on_views[0].clone() }
    }

    fn call_contiguous(&mut self, _: &Call) -> Response {
        self.contiguous.clone()
    }

    fn puts_views(&self, _: &Call) -> bool {
        self.puts_views
    }
}

#[test]
fn what_comes_to_nothing_on_views_is_tried_on_contiguous_inputs() {
    let told = |on_views: &[Response], contiguous: Response, puts_views: bool| {
        let expect = |want| interpret(&Meaning::standard(), &call(), &contract(), want);
        let mut target = Breaks { on_views: on_views.to_vec(), contiguous, puts_views };
        let outcome = judge_call("attention(Q, K, V)", &call(), expect, &mut target);
        (outcome.verdict, outcome.evidence.is_some_and(|evidence| evidence.strided))
    };
    let crash = || Response::Crash(Trouble::from(Breakage::Exited(1)));
    let nothings = [
        (crash(), Verdict::Crash),
        (Response::Timeout(Trouble::from(Breakage::Exited(1))), Verdict::Timeout),
        (Response::Broken(Trouble::from(Breakage::Exited(1))), Verdict::Error),
        (Response::Malformed(Quoted::default()), Verdict::Fail),
    ];
    for (nothing, verdict) in nothings {
        let once = std::slice::from_ref(&nothing);
        assert_eq!(told(once, returns(2.0), true), (verdict, true), "{nothing:?}");
        assert_eq!(told(once, returns(2.0), false), (verdict, false), "{nothing:?}");
        assert_eq!(told(once, returns(2.5), true), (verdict, false), "{nothing:?}");
        assert_eq!(told(once, nothing.clone(), true), (verdict, false), "{nothing:?}");
    }
    // What happened once is no matter of views.
    assert_eq!(told(&[crash(), returns(2.0)], returns(2.0), true), (Verdict::Crash, false));
    assert_eq!(
        told(&[Response::Refused(Quoted::default())], returns(2.0), true),
        (Verdict::Refused, false)
    );
}

/// Answers by where its inputs lie; it is given views if `puts_views`.
struct Strided {
    puts_views: bool,
    views: f64,
    contiguous: f64,
}

impl Strided {
    fn answer(&self, strides: Strides) -> Response {
        let x = if strides == Strides::Transposed { self.views } else { self.contiguous };
        let Response::Output(output) = returns(x) else { return returns(x) };
        Response::Output(Box::new(Output {
            handling: Handling { strides, reuses_result: false },
            ..*output
        }))
    }
}

impl Target for Strided {
    fn call(&mut self, _: &Call) -> Response {
        self.answer(if self.puts_views { Strides::Transposed } else { Strides::Contiguous })
    }

    fn call_contiguous(&mut self, _: &Call) -> Response {
        self.answer(Strides::Contiguous)
    }

    fn call_transposed(&mut self, _: &Call) -> Option<Response> {
        Some(self.answer(Strides::Transposed))
    }
}

fn of_strided(puts_views: bool, views: f64, contiguous: f64) -> Outcome {
    let expect = |want| interpret(&Meaning::standard(), &call(), &contract(), want);
    judge_call(
        "attention(Q, K, V)",
        &call(),
        expect,
        &mut Strided { puts_views, views, contiguous },
    )
}

#[test]
fn a_result_that_is_wrong_for_one_layout_alone_says_so() {
    let nan = f64::NAN;
    for (puts_views, views, contiguous, told) in [
        (true, 2.5, 2.0, (true, false)),
        (true, 2.5, 2.5, (false, false)),
        (true, 2.5, nan, (false, false)),
        (false, 2.0, 2.5, (false, true)),
        (false, 2.5, 2.5, (false, false)),
    ] {
        let outcome = of_strided(puts_views, views, contiguous);
        let evidence = outcome.evidence.expect("evidence");
        assert_eq!(
            (outcome.verdict, (evidence.strided, evidence.contiguous)),
            (Verdict::Fail, told)
        );
        assert!(matches!(evidence.place.what, Aspect::Element(_)), "{evidence:?}");
    }
    assert_eq!(of_strided(true, 2.0, 2.5).verdict, Verdict::Pass);
}

#[test]
fn what_depends_on_earlier_calls_is_no_matter_of_layout() {
    let view =
        |x| Strided { puts_views: true, views: x, contiguous: x }.answer(Strides::Transposed);
    // Wrong three times, then right for good.
    let on_views = [2.5, 2.5, 2.5, 2.0].map(view).to_vec();
    let expect = |want| interpret(&Meaning::standard(), &call(), &contract(), want);
    let mut target = Breaks { on_views, contiguous: returns(2.0), puts_views: true };
    let outcome = judge_call("attention(Q, K, V)", &call(), expect, &mut target);
    assert_eq!(
        (outcome.verdict, outcome.evidence.is_some_and(|evidence| evidence.strided)),
        (Verdict::Fail, false)
    );
}

fn number(evidence: &Evidence) -> Number {
    let Got::Number(got) = evidence.got else { panic!("{evidence:?}") };
    got.value
}

#[test]
fn what_is_wrong_in_both_layouts_is_what_contiguous_inputs_give() {
    for puts_views in [true, false] {
        let outcome = of_strided(puts_views, 2.5, 3.0);
        let evidence = outcome.evidence.expect("evidence");
        assert!(
            number(&evidence) == Number(3.0) && !evidence.strided && !evidence.contiguous,
            "{evidence:?}"
        );
        let kept = &outcome.calls[0].output;
        assert!(
            kept.output.data == [3.0]
                && (kept.handling.strides == Strides::Transposed) == puts_views
        );
        let on_views = outcome.on_views.expect("other results");
        assert_eq!(number(&on_views.evidence), Number(2.5));
        assert_eq!(on_views.calls[0].output.output.data, [2.5]);
        assert!(of_strided(puts_views, 2.5, 2.5).on_views.is_none());
    }
}
