//! A format that is narrower than that of the call is one finding, and hides no other; a small error
//! that no format explains is not excused by it.

use qkvet_engine::format::round;
use qkvet_engine::simulate::Simulator;
use qkvet_run::adapters::OpenTarget;
use qkvet_spec::{
    Call, Catalog, Cause, Contract, Dims, Dtype, Execution, FindingKind, Format, Meaning, Narrowed,
    Output, Quoted, Response, Summary, Target, Tensor,
};

use qkvet_tests::{Folder, temp};

use crate::in_process::{self, causes};

/// What is done to calls and results of a target that is right otherwise.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Doing {
    /// Everything is computed in this format.
    Inside(Dtype),
    /// So it is, and a fault of the atlas has a part in it.
    InsideWith(Dtype, &'static str),
    /// The weights are.
    WeightsIn(Dtype),
    /// The scale is larger by this factor.
    Scale(f64),
    /// Results are smaller by this factor, as by an ε in the denominator.
    Smaller(f64),
    /// A key that weighs about 2⁻¹⁰ is left out.
    LightKey,
    /// Zeros, whatever is asked.
    Zeros,
}

/// As many as it takes to ask every option, of a sum, of a copy and of a product.
const LAWS: [&str; 5] =
    ["value", "single-key", "uniform-attention", "value-linearity", "causal-is-mask"];

struct Odd {
    right: Simulator,
    doing: Doing,
}

fn each(tensor: &Tensor, dtype: Dtype, of: impl Fn(f64) -> f64) -> Tensor {
    Tensor {
        dtype,
        data: tensor.data.iter().map(|x| round(of(*x), dtype)).collect(),
        ..tensor.clone()
    }
}

impl Odd {
    fn inside(&mut self, call: &Call, narrow: Dtype) -> Response {
        let inner = |tensor: &Tensor| each(tensor, narrow, |x| x);
        let (query, key, value) = (inner(&call.query), inner(&call.key), inner(&call.value));
        self.mapped(&Call { query, key, value, ..call.clone() }, |output| {
            each(output, call.dtype(), |x| x)
        })
    }

    fn mapped(&mut self, call: &Call, of: impl Fn(&Tensor) -> Tensor) -> Response {
        match self.right.call(call) {
            Response::Output(output) => {
                Response::Output(Box::new(Output { output: of(&output.output), ..*output }))
            }
            other => other,
        }
    }

    /// The output of weights that are changed: `of` of a row, which adds up to 1.
    fn reweighed(&mut self, call: &Call, of: impl Fn(&mut [f64])) -> Response {
        let seen = match self.right.call(&Call { return_weights: true, ..call.clone() }) {
            Response::Output(seen) => seen,
            other => return other,
        };
        let mut weights = seen.weights.expect("weights");
        let Dims { h_q, h_k, n_q, n_k, d_v, .. } = call.dims();
        weights.data.chunks_mut(n_k).for_each(of);
        self.mapped(call, |output| {
            let mut changed = output.clone();
            for (row, weights) in weights.data.chunks(n_k).enumerate() {
                let (item, head) = (row / (h_q * n_q), row / n_q % h_q / (h_q / h_k));
                for c in 0..d_v {
                    let value =
                        |j: usize| call.value.data[((item * h_k + head) * n_k + j) * d_v + c];
                    let sum = weights.iter().enumerate().map(|(j, w)| w * value(j)).sum();
                    changed.data[row * d_v + c] = round(sum, call.dtype());
                }
            }
            changed
        })
    }
}

impl Target for Odd {
    fn call(&mut self, call: &Call) -> Response {
        let dtype = call.dtype();
        if call.return_weights || call.return_lse {
            return Response::Unsupported(Quoted::new("only outputs"));
        }
        match self.doing {
            Doing::Inside(narrow) | Doing::InsideWith(narrow, _) => self.inside(call, narrow),
            Doing::Scale(factor) => {
                let mut call = call.clone();
                let standard = 1.0 / (call.dims().d_k as f64).sqrt();
                call.options.scale = Some(call.options.scale.unwrap_or(standard) * factor);
                self.right.call(&call)
            }
            Doing::Smaller(by) => {
                self.mapped(call, |output| each(output, dtype, |x| x * (1.0 - by)))
            }
            Doing::WeightsIn(narrow) => self.reweighed(call, |row| {
                row.iter_mut().for_each(|weight| *weight = round(*weight, narrow));
            }),
            // One of each row that weighs about 2⁻¹⁰.
            Doing::LightKey => self.reweighed(call, |row| {
                if let Some(j) = row.iter().position(|w| (5e-4..2e-3).contains(w)) {
                    let rest = 1.0 - std::mem::take(&mut row[j]);
                    row.iter_mut().for_each(|weight| *weight /= rest);
                }
            }),
            Doing::Zeros => self.mapped(call, |output| each(output, dtype, |_| 0.0)),
        }
    }
}

fn check(catalog: &Catalog, doing: Doing, dtype: Dtype, contract: &Contract) -> Summary {
    let fault = match doing {
        Doing::InsideWith(_, fault) => Some(catalog.faults[fault].clone()),
        _ => None,
    };
    let open = move || {
        let right = Simulator::new(Meaning::standard(), Execution::standard());
        let right = fault.iter().cloned().fold(right, Simulator::with_fault);
        OpenTarget::live(Odd { right, doing }, Vec::new())
    };
    let laws = LAWS.map(|law| &catalog.laws[law]).to_vec();
    in_process::check(catalog, open, laws, &[(dtype, contract)])
}

#[test]
fn a_narrower_format_is_one_finding_and_none_once_it_is_declared() {
    let catalog = Catalog::embedded().expect("a catalog");
    for (dtype, narrow) in [
        (Dtype::Float64, Dtype::Float32),
        (Dtype::Float64, Dtype::Float16),
        (Dtype::Float32, Dtype::Bfloat16),
    ] {
        let doing = Doing::Inside(narrow);
        let summary = check(&catalog, doing, dtype, catalog.default_contract(dtype).expect("one"));
        let [Cause::Precision { dtype: of, computed, contract, .. }] = causes(&summary)[..] else {
            panic!("{dtype} in {narrow}: {:?}", causes(&summary));
        };
        assert_eq!((*of, *computed), (dtype, narrow.into()));
        assert_eq!(summary.findings[0].kind, FindingKind::Precision);
        assert_eq!(summary.run.contracts[dtype.name()], *contract);
        let declared = catalog.contract(contract).expect("a contract");
        let summary = check(&catalog, doing, dtype, &declared);
        assert!(causes(&summary).is_empty(), "{contract}: {:?}", causes(&summary));
    }
}

/// Results lie on no narrower grid then: products and their sums are of the wider format.
#[test]
fn a_step_in_a_narrower_format_is_named() {
    let catalog = Catalog::embedded().expect("a catalog");
    let doing = Doing::WeightsIn(Dtype::Float32);
    let summary = check(&catalog, doing, Dtype::Float64, &catalog.contracts["f64"]);
    let [Cause::Precision { computed, contract, what, .. }] = causes(&summary)[..] else {
        panic!("{:?}", causes(&summary));
    };
    assert_eq!((*computed, *what), (Format::Float32, Narrowed::Softmax));
    let declared = catalog.contract(contract).expect("a contract");
    let summary = check(&catalog, doing, Dtype::Float64, &declared);
    assert!(causes(&summary).is_empty(), "{contract}: {:?}", causes(&summary));
}

#[test]
fn a_fault_beside_a_narrower_format_has_its_name() {
    let catalog = Catalog::embedded().expect("a catalog");
    for fault in ["causal-ignored", "scale-missing"] {
        let doing = Doing::InsideWith(Dtype::Float32, fault);
        let summary = check(&catalog, doing, Dtype::Float64, &catalog.contracts["f64"]);
        let [Cause::Precision { .. }, Cause::Faults { faults, .. }] = causes(&summary)[..] else {
            panic!("{fault}: {:?}", causes(&summary));
        };
        assert_eq!(faults[0].fault, fault);
    }
}

#[test]
fn a_small_error_that_no_format_explains_is_wrong() {
    let catalog = Catalog::embedded().expect("a catalog");
    for (doing, dtype) in [
        (Doing::Scale(1.0 + libm::exp2(-12.0)), Dtype::Float64),
        (Doing::Scale(1.0 + libm::exp2(-26.0)), Dtype::Float64),
        (Doing::Scale(1.0 + libm::exp2(-8.0)), Dtype::Float32),
        (Doing::Smaller(1e-9), Dtype::Float64),
        (Doing::LightKey, Dtype::Float64),
        (Doing::Zeros, Dtype::Float64),
    ] {
        let summary = check(&catalog, doing, dtype, catalog.default_contract(dtype).expect("one"));
        let causes = causes(&summary);
        let is_excused = causes.iter().any(|cause| matches!(cause, Cause::Precision { .. }));
        assert!(!causes.is_empty() && !is_excused, "{doing:?} in {dtype}: {causes:?}");
    }
}

/// `einsum` of NumPy adds up float16 in float16, and tensor cores round float32 to TF32: right, and
/// outside of what is allowed by default.
#[test]
fn sums_and_operands_in_narrow_formats_are_named() {
    let folder = temp();
    folder.write("einsum.py", EINSUM);
    for (function, dtype, what) in
        [("attention", "float16", "sums"), ("of_tensor_cores", "float32", "operands")]
    {
        let check = format!(
            "check einsum.py:{function} --dtype {dtype} --law value --law row-stochasticity --format json"
        );
        let report = folder.run(&check).report(1);
        let found = &report["findings"][0];
        assert_eq!((&found["kind"], &found["cause"]["what"]), (&"precision".into(), &what.into()));
        let contract = found["cause"]["contract"].as_str().expect("a contract");
        folder.run(format!("{check} --contract {contract}")).report(0);
    }
    // A factor beside it is no matter of formats.
    let scaled = "check einsum.py:scaled --dtype float32 --law value --format json";
    let report = folder.run(scaled).report(1);
    assert!(
        report.findings().all(|finding| finding["kind"] != "precision"),
        "{:?}",
        report.names()
    );
}

const EINSUM: &str = r#"
import numpy as np


def attention(query, key, value):
    groups = query.shape[1] // key.shape[1]
    key, value = np.repeat(key, groups, 1), np.repeat(value, groups, 1)
    scores = np.einsum("bhid,bhjd->bhij", query, key) * query.shape[-1] ** -0.5
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    return np.einsum("bhij,bhjd->bhid", weights, value)


def tf32(x):
    bits = np.ascontiguousarray(x).view(np.uint32).astype(np.uint64)
    bits += 0xFFF + ((bits >> 13) & 1)
    return (bits & 0xFFFFE000).astype(np.uint32).view(np.float32)


def of_tensor_cores(query, key, value, factor=np.float32(1)):
    groups = query.shape[1] // key.shape[1]
    key, value = np.repeat(key, groups, 1), np.repeat(value, groups, 1)
    scale = np.float32(query.shape[-1] ** -0.5)
    scores = (tf32(query) @ tf32(key).swapaxes(2, 3)) * scale * factor
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return tf32(weights) @ tf32(value) / weights.sum(-1, keepdims=True)


def scaled(query, key, value):
    return of_tensor_cores(query, key, value, np.float32(1.01))
"#;
