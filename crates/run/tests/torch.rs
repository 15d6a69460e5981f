//! Tensors of `PyTorch` in all the forms that a function may return them in. The mode is passed as
//! the scale.

use crate::common;

use common::*;
use qkvet_run::adapters::python::{Layout, PythonTarget};
use qkvet_spec::{Dtype, Response, Target};

const MODES: &str = r#"
import torch

def attention(query, key, value, scale=None):
    mode = int(scale)
    if mode == 1:
        return (query * torch.ones((), requires_grad=True)).to(query.dtype)
    if mode == 2:
        return query.transpose(2, 3).contiguous().transpose(2, 3)
    if mode == 3:
        query.add_(1)
    if mode == 4:
        return query.to_sparse()
    if mode == 5:
        return query.to(torch.float8_e4m3fn)
    if mode == 6:
        return query.to("meta")
    if mode == 7:
        key.transpose_(2, 3)
    if mode == 8:
        return torch._neg_view(query)
    if mode == 9:
        return torch.empty(0, 3, dtype=torch.bfloat16)
    if mode == 10:
        return query.numpy() * 2
    return query
"#;

#[test]
fn tensors_in_every_form() {
    if !has("torch, numpy") {
        return;
    }
    let fixture = Fixture::new(MODES);
    let mut config = fixture.config("attention");
    config.layout = Some(Layout::Bnhd);
    let mut target = PythonTarget::start(&config, &Limits::default()).expect("starts");
    let mut ask = |mode: i32, dtype| {
        let mut call = random_call(small_call().dims(), dtype, 1);
        call.options.scale = Some(f64::from(mode));
        (target.call(&call), call.query)
    };
    for dtype in Dtype::CHECKED {
        for mode in [0, 1, 2] {
            let (response, query) = ask(mode, dtype);
            let got = output(response);
            assert_eq!((got.output, got.inputs_unchanged), (query, true), "mode {mode} {dtype}");
        }
    }
    assert!(!output(ask(3, Dtype::Bfloat16).0).inputs_unchanged);
    assert!(!output(ask(7, Dtype::Float32).0).inputs_unchanged);
    let (response, query) = ask(8, Dtype::Float32);
    let negated: Vec<f64> = query.data.iter().map(|x| -x).collect();
    assert_eq!(output(response).output.data, negated);
    assert_eq!(output(ask(9, Dtype::Float32).0).output.shape, [0, 3]);
    let (response, query) = ask(10, Dtype::Float32);
    assert!(
        output(response)
            .output
            .data
            .iter()
            .zip(&query.data)
            .all(|(x, q)| x.to_bits() == (q * 2.0).to_bits())
    );

    let told = |(response, _): (Response, _)| format!("{response:?}");
    let sparse = "Malformed(\"expected a dense tensor, got layout torch.sparse_coo\")";
    assert_eq!(told(ask(4, Dtype::Float32)), sparse);
    assert!(told(ask(5, Dtype::Float32)).contains("got dtype float8_e4m3fn"));
    assert!(
        told(ask(6, Dtype::Float32))
            .starts_with("Error(\"reading the result raised NotImplementedError")
    );
}
