//! Probing simulated targets: every choice that a question can see is named, and the standard is
//! called so throughout.

use qkvet_diagnose::{MAX_CALLS, Probed, followed, probe};
use qkvet_engine::simulate::Simulator;
use qkvet_spec::{
    Call, Catalog, Certainty, Contract, Dtype, Execution, Meaning, ProbedField, Response, Target,
};

fn catalog() -> Catalog {
    Catalog::embedded().unwrap_or_else(|error| panic!("{error}"))
}

fn contract(dtype: Dtype) -> Contract {
    catalog().default_contract(dtype).unwrap_or_else(|error| panic!("{error}")).clone()
}

fn simulator(meaning: Meaning) -> Simulator {
    Simulator::new(meaning, Execution::standard())
}

fn probed(target: &mut dyn Target) -> Probed {
    probe(target, &Meaning::standard(), &contract(Dtype::Float32), Dtype::Float32)
}

fn shown(fields: &[ProbedField]) -> String {
    let line = |field: &ProbedField| {
        format!(
            "{:16} {:10} {:?}\n    {}\n",
            field.field,
            field.certainty.word(),
            field.values,
            evidence(field).join("\n    ")
        )
    };
    fields.iter().map(line).collect()
}

fn evidence(field: &ProbedField) -> Vec<String> {
    field.evidence.iter().map(|line| line.display().to_string()).collect()
}

fn field<'a>(probed: &'a Probed, name: &str) -> &'a ProbedField {
    probed
        .fields
        .iter()
        .find(|field| field.field == name)
        .unwrap_or_else(|| panic!("no field {name}"))
}

/// A target that counts its calls.
struct Counted(Simulator, usize);

impl Target for Counted {
    fn call(&mut self, call: &Call) -> Response {
        self.1 += 1;
        self.0.call(call)
    }
}

#[test]
fn the_standard_is_standard_in_every_format_within_the_calls() {
    for dtype in Dtype::CHECKED {
        let mut target = Counted(simulator(Meaning::standard()), 0);
        let probed = probe(&mut target, &Meaning::standard(), &contract(dtype), dtype);
        assert_eq!(probed.calls, target.1);
        assert!(target.1 <= MAX_CALLS, "{} calls", target.1);
        let not_standard: Vec<ProbedField> = probed
            .fields
            .iter()
            .filter(|field| field.certainty != Certainty::Estimate)
            .filter(|field| field.certainty != Certainty::Decided || !field.is_standard())
            .cloned()
            .collect();
        assert!(not_standard.is_empty(), "{dtype}\n{}", shown(&not_standard));
        assert_eq!(probed.meaning, Meaning::standard());
        assert!(probed.fields.iter().any(|field| field.certainty == Certainty::Estimate));
    }
}

/// Faults of meaning whose fields have values that a probe knows.
const PROBED: [&str; 38] = [
    "alibi-ignored",
    "alibi-reversed",
    "alibi-upper-left",
    "bias-before-scale",
    "bias-ignored",
    "bias-of-first-head",
    "bias-of-first-item",
    "bias-subtracted",
    "causal-ignored",
    "causal-off-by-one",
    "causal-strict",
    "causal-upper-left",
    "empty-row-mean",
    "empty-row-nan",
    "explicit-scale-divides",
    "gqa-modulo",
    "heads-read-first-query",
    "key-lengths-ignored",
    "keys-of-first-item",
    "keys-permuted-without-values",
    "lengths-anchor-extents",
    "lse-base-two",
    "mask-ignored",
    "mask-inverted",
    "mask-of-first-head",
    "mask-of-first-item",
    "packed-ignored",
    "scale-divides",
    "scale-ignored",
    "scale-inverse-d",
    "scale-missing",
    "scale-of-value-width",
    "scale-on-top-of-default",
    "scale-sign-lost",
    "scale-squared",
    "sinks-ignored",
    "softcap-ignored",
    "window-upper-left",
];

/// Faults of meaning that a probe does not recover, or beside which it calls something none, mixed
/// or broken.
fn missed(part: usize) -> Vec<String> {
    let catalog = catalog();
    let is_missed = |id: &&str| {
        let fault = &catalog.faults[*id];
        let probed = probed(&mut simulator(Meaning::standard()).with_fault(fault.clone()));
        let found = probed.meaning == fault.meaning.apply(&Meaning::standard());
        let is_open = |field: &&ProbedField| {
            matches!(field.certainty, Certainty::Mixed | Certainty::None | Certainty::Broken)
        };
        let open: Vec<ProbedField> = probed.fields.iter().filter(is_open).cloned().collect();
        let is_missed = !found || !open.is_empty();
        is_missed.then(|| format!("{id}\n{}", shown(&open)))
    };
    PROBED.iter().skip(part).step_by(2).filter_map(is_missed).collect()
}

#[test]
fn every_second_fault_of_meaning_is_named() {
    assert_eq!(missed(0), [""; 0]);
}

#[test]
fn every_other_fault_of_meaning_is_named() {
    assert_eq!(missed(1), [""; 0]);
}

#[test]
fn what_strikes_some_extents_alone_is_mixed() {
    let fault = catalog().faults["last-tile-dropped"].clone();
    let probed = probed(&mut simulator(Meaning::standard()).with_fault(fault));
    assert_eq!(field(&probed, "keys").values, ["n_k", "n_k - n_k % 16"]);
}

#[test]
fn every_convention_is_found() {
    let catalog = catalog();
    for convention in catalog.conventions.values() {
        let probed = probed(&mut simulator(convention.meaning.apply(&Meaning::standard())));
        let found: Vec<&str> = followed(&probed.meaning, catalog.conventions.values())
            .iter()
            .map(|one| one.convention.as_str())
            .collect();
        assert_eq!(found, [convention.convention.as_str()], "{}", shown(&probed.fields));
    }
}

#[test]
fn faults_that_strike_some_calls_alone_are_mixed() {
    let mut fault = catalog().faults["gqa-modulo"].clone();
    fault.when =
        Some(qkvet_spec::IndexExpr::new("h_k == 3").unwrap_or_else(|error| panic!("{error}")));
    let probed = probed(&mut simulator(Meaning::standard()).with_fault(fault));
    let heads = field(&probed, "head_map");
    assert_eq!(heads.certainty, Certainty::Mixed);
    assert_eq!(heads.values, ["h / (h_q / h_k)", "h % h_k"]);
    assert!(
        evidence(heads).iter().any(|line| line.contains("h_k=3") && line.ends_with(": h % h_k")),
        "{heads:#?}"
    );
    // What is mixed of one field is no doubt about the others.
    let others = probed
        .fields
        .iter()
        .filter(|field| field.certainty == Certainty::Decided && field.is_standard());
    assert_eq!(others.count(), probed.fields.len() - 3, "{}", shown(&probed.fields));
}

/// A target whose answers are changed on their way.
struct Changed<F>(Simulator, F);

impl<F: FnMut(&Call, Response) -> Response> Target for Changed<F> {
    fn call(&mut self, call: &Call) -> Response {
        let response = self.0.call(call);
        (self.1)(call, response)
    }
}

fn changed(change: impl FnMut(&Call, Response) -> Response) -> Probed {
    probed(&mut Changed(simulator(Meaning::standard()), change))
}

#[test]
fn what_no_value_explains_is_shown() {
    // The diagonal stands two keys too far to the left.
    let off = Meaning { causal_offset: -2, ..Meaning::standard() };
    let probed = probed(&mut simulator(off));
    let causal = field(&probed, "causal");
    assert_eq!((causal.certainty, causal.values.len()), (Certainty::None, 0));
    assert!(
        evidence(causal)[0]
            .contains("keys weighed by every item and head: i=0: 0–2; i=1: 0–3; i=2: 0–4"),
        "{causal:#?}"
    );
    // A scale that is none of the known ones is still measured.
    let scaled = changed_scale(0.25);
    let scale = field(&scaled, "default_scale");
    assert_eq!(scale.certainty, Certainty::None);
    assert_eq!(scale.measured.len(), 2);
    assert!(
        scale
            .measured
            .iter()
            .all(|one| one.low < 0.25 && 0.25 < one.high && one.high - one.low < 1e-4),
        "{scale:#?}"
    );
}

/// A target whose scale is `scale` unless one is given.
fn changed_scale(scale: f64) -> Probed {
    struct Scaled(Simulator, f64);
    impl Target for Scaled {
        fn call(&mut self, call: &Call) -> Response {
            let mut call = call.clone();
            call.options.scale.get_or_insert(self.1);
            self.0.call(&call)
        }
    }
    probed(&mut Scaled(simulator(Meaning::standard()), scale))
}

#[test]
fn numbers_lie_in_their_intervals() {
    let probed = probed(&mut simulator(Meaning::standard()));
    let check = |name: &str, numbers: &[f64]| {
        let measured = &field(&probed, name).measured;
        assert_eq!(measured.len(), numbers.len(), "{name}");
        for (one, number) in measured.iter().zip(numbers) {
            assert!(one.low < *number && *number < one.high, "{one:?} {number}");
            assert!(one.high - one.low < number.abs() * 1e-3, "{one:?}");
        }
    };
    check("default_scale", &[8f64.sqrt().recip(), 1.0 / 3.0]);
    check("explicit_scale", &[0.75, 0.75, -0.5, -0.5]);
    check("softcap", &[2.0, 2.0]);
}

#[test]
fn what_is_declined_or_broken_has_its_own_word() {
    let declined = changed(|call, response| match call.options.softcap {
        Some(_) => Response::Unsupported("no softcap".into()),
        None => response,
    });
    assert_eq!(field(&declined, "softcap").certainty, Certainty::Declined);
    assert_eq!(field(&declined, "softcap_order").certainty, Certainty::Declined);
    assert_eq!(field(&declined, "bias").certainty, Certainty::Decided);
    let broken = changed(|call, response| match call.options.sinks {
        Some(_) => Response::Crash(qkvet_spec::Breakage::Exited(1).into()),
        None => response,
    });
    assert_eq!(field(&broken, "sinks").certainty, Certainty::Broken);
    assert!(evidence(field(&broken, "sinks"))[0].ends_with("crash: exited with code 1"));
    let mut calls = 0;
    let lost = changed(|_, _| {
        calls += 1;
        Response::Timeout(qkvet_spec::Breakage::Silent { milliseconds: 1 }.into())
    });
    assert!(
        lost.fields
            .iter()
            .all(|field| matches!(field.certainty, Certainty::Broken | Certainty::Declined))
    );
    assert_eq!(calls, 3);
}

#[test]
fn refused_grouped_heads_leave_the_rest() {
    let single = changed(|call, response| match call.dims() {
        dims if dims.h_q != dims.h_k => Response::Refused("one head each".into()),
        _ => response,
    });
    assert_eq!(field(&single, "head_map").certainty, Certainty::Declined);
    let others = single
        .fields
        .iter()
        .filter(|field| field.certainty == Certainty::Decided && field.is_standard());
    assert_eq!(others.count(), single.fields.len() - 3, "{}", shown(&single.fields));
}

#[test]
fn sums_are_measured() {
    let probed_with = |id: &str| {
        probed(&mut simulator(Meaning::standard()).with_fault(catalog().faults[id].clone()))
    };
    let narrow = probed_with("f16-accumulation");
    assert_eq!(field(&narrow, "value_sums").values, ["float16 (11 bits)"]);
    assert_eq!(field(&narrow, "score_sums").values, ["float16 (11 bits)"]);
    let overwrites = probed_with("query-overwritten");
    assert_eq!(field(&overwrites, "inputs").values, ["overwritten"]);
}

#[test]
fn other_layouts_are_found_and_the_rest_is_asked_in_them() {
    struct Swapped(Simulator);
    impl Target for Swapped {
        fn call(&mut self, call: &Call) -> Response {
            let (q, k, v) = (swap(&call.query), swap(&call.key), swap(&call.value));
            let (heads, of) = (q.shape[1], k.shape[1]);
            if k.shape != v.shape && k.shape[..3] != v.shape[..3] || of == 0 || heads % of != 0 {
                return Response::Refused("heads do not fit".into());
            }
            match self.0.call(&Call { query: q, key: k, value: v, ..call.clone() }) {
                Response::Output(mut output) => {
                    output.output = swap(&output.output);
                    Response::Output(output)
                }
                other => other,
            }
        }
    }
    fn swap(x: &qkvet_spec::Tensor) -> qkvet_spec::Tensor {
        let [b, h, n, d] = x.shape[..] else { panic!("four axes") };
        let mut data = Vec::new();
        for item in 0..b {
            for i in 0..n {
                for head in 0..h {
                    data.extend_from_slice(&x.data[((item * h + head) * n + i) * d..][..d]);
                }
            }
        }
        qkvet_spec::Tensor { dtype: x.dtype, shape: vec![b, n, h, d], data }
    }
    let upper_left = Meaning { causal: qkvet_spec::Causal::UpperLeft, ..Meaning::standard() };
    let probed = probed(&mut Swapped(simulator(upper_left)));
    assert_eq!(field(&probed, "layout").values, ["bnhd"], "{}", shown(&probed.fields));
    assert_eq!(field(&probed, "causal").values, ["upper-left"], "{}", shown(&probed.fields));
    assert_eq!(field(&probed, "head_map").certainty, Certainty::Decided);
}
