//! Laws of refusal: one call that does not fit, which is an error of the target and no answer.

use qkvet_spec::{
    Binding, Call, Case, CheckedLaw, Evidence, Expectation, Got, Response, Target, Tensor, Verdict,
};

use super::call::{CallRecord, tensor};
use super::matrices::BallMatrices;
use super::relation::{Decision, place};
use super::session::{Outcome, no_result};
use super::undefined::Undefined;
use crate::interpret::References;
use crate::lowering::ResultName;
use crate::misfit::unfit;

/// The call as a law of refusal writes it.
const LABEL: &str = "attention(Q, K, V)";

/// The call that must be refused: `attention(Q, K, V)` with the law's misfit. `None` for a law that
/// is no law of refusal.
///
/// # Errors
/// A case without `Q`, `K` and `V`, or with extents that the misfit does not show on.
pub fn refused_call(law: &CheckedLaw, case: &Case) -> Result<Option<Call>, Undefined> {
    let Some(misfit) = law.law.misfit else { return Ok(None) };
    let of = |name: &'static str, heads: usize| -> Result<Tensor, Undefined> {
        let Some(Binding::Matrices(matrices)) = case.bindings.get(name) else {
            return Err(Undefined::NoMatrices { name });
        };
        tensor(&BallMatrices::exact(matrices), case.dims.b, heads, case.dtype, name)
    };
    let fitting = Call {
        query: of("Q", case.dims.h_q)?,
        key: of("K", case.dims.h_k)?,
        value: of("V", case.dims.h_k)?,
        options: case.options.clone(),
        return_weights: false,
        return_lse: false,
    };
    let call = unfit(fitting, misfit);
    if call.misfit() != Some(misfit) {
        let (extent, got, least) = misfit.least(&case.dims);
        return Err(Undefined::Least { extent, least, got });
    }
    Ok(Some(call))
}

/// Whether the target refuses the call. No reference has an answer to it: a target that answers
/// with numbers is unguarded; how an error is called does not matter. What costs the target its
/// process is no refusal.
pub(super) fn refusal(call: Call, target: &mut dyn Target) -> Outcome {
    let expected = call.misfit_shapes().map_or(Expectation::Result, Expectation::Refusal);
    let answered = |got: Got| {
        let evidence = Evidence::new(place(LABEL), expected.clone(), got);
        Decision::fail(Evidence { relation: true, ..evidence })
    };
    let (decision, calls) = match target.call(&call) {
        Response::Refused(_) | Response::Error(_) => (Decision::pass(), Vec::new()),
        Response::Output(output) => {
            let decision = Decision {
                verdict: Verdict::Unguarded,
                ..answered(Got::Numbers(output.output.shape.clone()))
            };
            (
                decision,
                vec![CallRecord {
                    label: LABEL.to_owned(),
                    call,
                    output: *output,
                    want: ResultName::Output,
                }],
            )
        }
        Response::Malformed(got) => (answered(Got::Said(got)), Vec::new()),
        other => {
            let decision = no_result(LABEL.to_owned(), other);
            let evidence = decision
                .evidence
                .map(|evidence| Evidence { expected: expected.clone(), ..evidence });
            (Decision { evidence, ..decision }, Vec::new())
        }
    };
    let references = References::default();
    Outcome {
        verdict: decision.verdict,
        margin: 0.0,
        evidence: decision.evidence,
        calls,
        references,
        on_views: None,
    }
}

#[cfg(test)]
mod tests {
    use qkvet_spec::{Breakage, CallOptions, Dims, Dtype, Matrices, Output, Trouble, Verdict};

    use super::*;

    struct Answering(Response);

    impl Target for Answering {
        fn call(&mut self, _: &Call) -> Response {
            self.0.clone()
        }
    }

    fn law(misfit: &str) -> CheckedLaw {
        let text = format!(
            "law: x\ntitle: t\nobserve: refused\nmisfit: {misfit}\noptions: []\nproof: definition\ncatches: []\n"
        );
        CheckedLaw::from_yaml("x.yaml", &text).unwrap_or_else(|error| panic!("{error}"))
    }

    fn case(dims: Dims) -> Case {
        let of = |name: &str, heads: usize, rows: usize, cols: usize| {
            let data = vec![1.0; dims.b * heads * rows * cols];
            let matrices = Matrices { batch: Some(dims.b), heads: Some(heads), rows, cols, data };
            (name.to_owned(), Binding::Matrices(matrices))
        };
        let tensors = [
            of("Q", dims.h_q, dims.n_q, dims.d_k),
            of("K", dims.h_k, dims.n_k, dims.d_k),
            of("V", dims.h_k, dims.n_k, dims.d_v),
        ];
        Case {
            law: "x".to_owned(),
            dtype: Dtype::Float32,
            dims,
            options: CallOptions::default(),
            bindings: tensors.into_iter().collect(),
        }
    }

    fn judged(response: Response) -> Outcome {
        let case = case(Dims { b: 1, h_q: 1, h_k: 1, n_q: 1, n_k: 1, d_k: 2, d_v: 1 });
        let call = refused_call(&law("key-width"), &case).ok().flatten().expect("a call");
        refusal(call, &mut Answering(response))
    }

    #[test]
    fn an_error_is_a_refusal_and_an_answer_is_none() {
        let numbers = |shape: &[usize]| {
            let data = vec![f64::NAN; shape.iter().product()];
            let output = Tensor { dtype: Dtype::Float32, shape: shape.to_vec(), data };
            Response::Output(Box::new(Output::of(output)))
        };
        let said = || qkvet_spec::Quoted::new("why");
        let verdicts = [
            (Response::Refused(said()), Verdict::Pass),
            (Response::Error(said()), Verdict::Pass),
            (numbers(&[1, 1, 1, 1]), Verdict::Unguarded),
            (numbers(&[0]), Verdict::Unguarded),
            (Response::Malformed(said()), Verdict::Fail),
            (Response::Unsupported(said()), Verdict::Unsupported),
            (Response::Crash(Trouble::from(Breakage::Exited(1))), Verdict::Crash),
            (Response::Timeout(Trouble::from(Breakage::Exited(1))), Verdict::Timeout),
            (Response::Broken(Trouble::from(Breakage::Exited(1))), Verdict::Error),
            (Response::NotAsked(said()), Verdict::Skipped),
        ];
        for (response, verdict) in verdicts {
            assert_eq!(judged(response.clone()).verdict, verdict, "{response:?}");
        }
        let evidence = judged(numbers(&[1, 1, 1, 1])).evidence.expect("evidence");
        let Expectation::Refusal(shapes) = &evidence.expected else { panic!("{evidence:?}") };
        assert_eq!(shapes.to_string(), "queries of width 2, keys of width 3");
        assert_eq!(evidence.got, Got::Numbers(vec![1; 4]));
        assert!(evidence.relation);
    }

    #[test]
    fn what_would_be_broadcast_is_an_error_of_the_case() {
        let alone = case(Dims { b: 1, h_q: 4, h_k: 1, n_q: 2, n_k: 1, d_k: 1, d_v: 1 });
        let told = |misfit: &str| refused_call(&law(misfit), &alone).err().map(|e| e.to_string());
        assert_eq!(told("head-count").as_deref(), Some("h_k: expected 2 at least, got 1"));
        assert_eq!(told("mask-shape").as_deref(), Some("n_q: expected 3 at least, got 2"));
    }
}
