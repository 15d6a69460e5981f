//! The example targets of `examples/`, through the worker, against the built-in kernel.

mod common;

use common::*;
use qkvet_run::flash::Flash;
use qkvet_run::python::{Arrays, PythonInfo, PythonTarget};
use qkvet_spec::{Call, Dims, Dtype, Response, Target};

const DIMS: Dims = Dims { b: 2, h_q: 6, h_k: 3, n_q: 5, n_k: 7, d_k: 40, d_v: 24 };

/// Calls that between them use every option, on plain, one-query and more-queries-than-keys shapes.
fn calls(dtype: Dtype, square: bool) -> Vec<Call> {
    let mut calls = Vec::new();
    for (n_q, n_k, d_v) in [(5, 7, 24), (1, 130, 40), (9, 4, 40), (6, 6, 40)] {
        let base = random_call(Dims { n_q, n_k, d_v, ..DIMS }, dtype, n_k as u64);
        let mask = Some(Noise(3).mask(&[2, 1, n_q, n_k]));
        let bias = Some(Noise(4).tensor(&[6, 1, n_k], dtype));
        calls.push(base.clone());
        calls.push(Call { scale: Some(0.25), ..base.clone() });
        calls.push(Call { mask: mask.clone(), ..base.clone() });
        calls.push(Call { mask: Some(Noise(5).mask(&[n_k])), ..base.clone() });
        calls.push(Call { bias: bias.clone(), ..base.clone() });
        calls.push(Call { mask, bias, return_weights: true, ..base.clone() });
        if !square || n_q == n_k {
            calls.push(Call { causal: true, ..base });
        }
    }
    calls
}

/// How many calls agreed and how many were unsupported.
fn compare(target: &mut PythonTarget, dtype: Dtype, square: bool) -> (usize, usize) {
    let mut counts = (0, 0);
    for call in calls(dtype, square) {
        let response = target.call(&call);
        if let Response::Unsupported(_) = response {
            counts.1 += 1;
            continue;
        }
        let (got, expected) = (output(response), output(Flash.call(&call)));
        assert!(got.inputs_unchanged);
        assert!(distance(&got.output, &expected.output) <= allowance(dtype), "{:?} {dtype}", call.dims());
        if let (Some(got), Some(expected)) = (got.weights, expected.weights) {
            assert!(distance(&got, &expected) <= allowance(dtype), "weights of {:?} {dtype}", call.dims());
        }
        counts.0 += 1;
    }
    counts
}

fn start(file: &str, arrays: Option<Arrays>) -> (PythonTarget, PythonInfo) {
    let mut config = config(&format!("{}:attention", example(file)));
    config.arrays = arrays;
    let target = PythonTarget::start(&config).expect(file);
    let info = target.info().clone();
    (target, info)
}

#[test]
fn numpy_attention() {
    if !has("numpy") {
        return;
    }
    let (mut target, info) = start("numpy_attention.py", None);
    assert_eq!(info.arrays, Arrays::Numpy);
    for dtype in [Dtype::Float64, Dtype::Float32, Dtype::Float16] {
        assert_eq!(compare(&mut target, dtype, false), (28, 0), "{dtype}");
    }
    let expected = if has("ml_dtypes") { (28, 0) } else { (0, 28) };
    assert_eq!(compare(&mut target, Dtype::Bfloat16, false), expected);
}

#[test]
fn torch_sdpa() {
    if !has("torch") {
        return;
    }
    let (mut target, info) = start("torch_sdpa.py", None);
    assert_eq!(info.arrays, Arrays::Torch);
    for dtype in Dtype::ALL {
        assert_eq!(compare(&mut target, dtype, true), (21, 4), "{dtype}"); // weights are not returned
    }
}

#[test]
fn jax_attention() {
    if !has("jax") {
        return;
    }
    let (mut target, info) = start("jax_attention.py", None);
    assert_eq!(info.arrays, Arrays::Jax);
    for dtype in [Dtype::Float32, Dtype::Bfloat16, Dtype::Float16] {
        assert_eq!(compare(&mut target, dtype, true), (16, 9), "{dtype}"); // nor is d_v ≠ d_k taken
    }
    let x64_off = Response::Unsupported("jax_enable_x64 is off".to_owned());
    assert_eq!(target.call(&random_call(DIMS, Dtype::Float64, 1)), x64_off);
}
