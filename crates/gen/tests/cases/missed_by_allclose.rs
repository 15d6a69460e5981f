//! Five faults that `allclose(rtol=1e-2, atol=1e-2)` accepts on ordinary data, each proved wrong in
//! three formats.

#[path = "../../../engine/tests/numerics_common/kernel.rs"]
mod kernel;

use kernel::{Kernel, KernelFault, KernelInputs, TILE};
use qkvet_engine::interpret::interpret;
use qkvet_engine::law::{Judge, evaluate};
use qkvet_engine::lowering::ResultName;
use qkvet_gen::{build, plans};
use qkvet_spec::{
    Binding, Call, CallOptions, Case, Catalog, Contract, Dims, Dtype, Meaning, Output, Response,
    Suite, Target, Tensor, Values, Verdict,
};

/// A kernel as a target: one call of ordinary attention.
struct Candidate(Kernel);

impl Target for Candidate {
    fn call(&mut self, call: &Call) -> Response {
        if call.options != CallOptions::default() {
            return Response::Unsupported("no options".into());
        }
        let Dims { b, h_q, h_k, n_q, n_k, d_k, d_v } = call.dims();
        let mut data = Vec::new();
        for head in 0..b * h_q {
            let of_key = head / h_q * h_k + head % h_q / (h_q / h_k);
            data.extend(self.0.run(&KernelInputs {
                n_q,
                n_k,
                d_k,
                d_v,
                query: &call.query.data[head * n_q * d_k..][..n_q * d_k],
                key: &call.key.data[of_key * n_k * d_k..][..n_k * d_k],
                value: &call.value.data[of_key * n_k * d_v..][..n_k * d_v],
                scale: 1.0 / (d_k as f64).sqrt(),
                causal: false,
                dtype: call.dtype(),
            }));
        }
        Response::Output(Box::new(Output {
            output: Tensor { dtype: call.dtype(), shape: vec![b, h_q, n_q, d_v], data },
            weights: None,
            lse: None,
            inputs_unchanged: true,
            handling: qkvet_spec::Handling::default(),
        }))
    }
}

/// A fault, and the data on which nobody sees it.
struct Missed {
    fault: KernelFault,
    n_k: usize,
    ordinary: Values,
    /// Formats in which random data prove nothing: an exact case does.
    exact_alone: &'static [Dtype],
}

const MISSED: [Missed; 5] = [
    Missed {
        fault: KernelFault::ScaleInverseD,
        n_k: 2040,
        ordinary: Values::Small,
        exact_alone: &[],
    },
    Missed {
        fault: KernelFault::SumsInFloat16,
        n_k: 2040,
        ordinary: Values::Normal,
        exact_alone: &[],
    },
    Missed {
        fault: KernelFault::LastKeyMissing,
        n_k: 2040,
        ordinary: Values::Small,
        exact_alone: &[],
    },
    Missed {
        fault: KernelFault::LastKeyMissing,
        n_k: 16380,
        ordinary: Values::Normal,
        exact_alone: &[Dtype::Bfloat16],
    },
    Missed {
        fault: KernelFault::RescaleSkipped,
        n_k: 2040,
        ordinary: Values::Small,
        exact_alone: &[],
    },
];

const FORMATS: [(Dtype, &str); 3] =
    [(Dtype::Float32, "f32"), (Dtype::Bfloat16, "bf16-flash"), (Dtype::Float16, "f16-flash")];

/// What the kernel keeps: one pass, tiles of 64, sums of 16 and of a tile, each of which is then
/// added.
fn declared(catalog: &Catalog, base: &str, n_k: usize) -> Contract {
    let depth = TILE + n_k.div_ceil(TILE);
    let name =
        format!("{base}+scores-depth-16+tile-{TILE}+unmerged+unrounded-sum+values-depth-{depth}");
    catalog.contract(&name).expect("a contract")
}

/// The generator's cases of one size and family without options, from the suite of long contexts.
fn cases(catalog: &Catalog, dtype: Dtype, n_k: usize, values: Values) -> Vec<Case> {
    let long = &catalog.suites["long"];
    let shapes: Vec<Dims> = long.shapes.iter().copied().filter(|dims| dims.n_k == n_k).collect();
    assert!(!shapes.is_empty(), "no shape of {n_k} keys");
    let suite =
        Suite { shapes, values: vec![values], masks: Vec::new(), extended: None, ..long.clone() };
    let law = &catalog.laws["value"];
    let all = plans(&suite, &[law], &[dtype], 0);
    let built = all.iter().map(|plan| build(law, plan).expect("a case"));
    let cases: Vec<Case> = built.filter(|case| case.options == CallOptions::default()).collect();
    assert!(!cases.is_empty(), "no case of {n_k} keys without options");
    cases
}

fn verdict(catalog: &Catalog, case: &Case, contract: &Contract, kernel: Kernel) -> Verdict {
    let judge = Judge { meaning: &Meaning::standard(), contract };
    evaluate(&catalog.laws["value"], case, judge, &mut Candidate(kernel))
        .expect("a law that can be evaluated")
        .verdict
}

/// The call of a case.
fn call(case: &Case) -> Call {
    let tensor = |name: &str| match &case.bindings[name] {
        Binding::Matrices(m) => Tensor {
            dtype: case.dtype,
            shape: vec![m.batch.unwrap_or(1), m.heads.unwrap_or(1), m.rows, m.cols],
            data: m.data.clone(),
        },
        other => panic!("{name}: {other:?}"),
    };
    Call {
        query: tensor("Q"),
        key: tensor("K"),
        value: tensor("V"),
        options: case.options.clone(),
        return_weights: false,
        return_lse: false,
    }
}

/// `|x − y| ≤ 0.01 + 0.01·|y|` for every output.
fn is_allclose(case: &Case, contract: &Contract, kernel: Kernel) -> bool {
    let call = call(case);
    let Response::Output(output) = Candidate(kernel).call(&call) else { panic!("no output") };
    let exact = interpret(&Meaning::standard(), &call, contract, ResultName::Output).exact;
    output
        .output
        .data
        .iter()
        .zip(exact)
        .all(|(x, ball)| (x - ball.mid).abs() <= 1e-2 + 1e-2 * ball.mid.abs())
}

#[test]
fn what_allclose_accepts_is_proved_wrong() {
    let catalog = Catalog::embedded().expect("the embedded catalog");
    for (dtype, base) in FORMATS {
        for Missed { fault, n_k, ordinary, exact_alone } in MISSED {
            let what = format!("{fault:?} at {n_k} keys in {dtype}");
            let contract = declared(&catalog, base, n_k);
            let faulty = Kernel { fault: Some(fault) };
            let random = cases(&catalog, dtype, n_k, ordinary);
            for case in &random {
                assert!(is_allclose(case, &contract, faulty), "{what}: allclose notices it");
                assert_eq!(
                    verdict(&catalog, case, &contract, Kernel::default()),
                    Verdict::Pass,
                    "{what}, but right"
                );
            }
            let is_proved = |cases: &[Case]| {
                cases.iter().any(|case| verdict(&catalog, case, &contract, faulty) == Verdict::Fail)
            };
            if exact_alone.contains(&dtype) {
                assert!(!is_proved(&random), "{what}: random data prove it, too");
                let exact = cases(&catalog, dtype, n_k, Values::Exact);
                assert!(is_proved(&exact), "{what}: nothing proves it");
                for case in &exact {
                    assert_eq!(
                        verdict(&catalog, case, &contract, Kernel::default()),
                        Verdict::Pass,
                        "{what}, but right"
                    );
                }
            } else {
                assert!(is_proved(&random), "{what}: nothing proves it");
            }
        }
    }
}
