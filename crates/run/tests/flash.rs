//! The built-in tiled kernel against attention written out directly, at the edges of its tiles and of every option.

mod common;

use common::*;
use qkvet_run::flash::Flash;
use qkvet_spec::{Call, Dims, Dtype, Response, Target, Tensor};

/// Attention by its definition, in f64; the weights too. Masked keys are left out.
fn definition(call: &Call) -> (Tensor, Tensor) {
    let Dims { b, h_q, h_k, n_q, n_k, d_k, d_v } = call.dims();
    let scale = call.scale.unwrap_or(1.0 / (d_k as f64).sqrt());
    let (mut output, mut weights) = (vec![0.0; b * h_q * n_q * d_v], vec![0.0; b * h_q * n_q * n_k]);
    for row in 0..b * h_q * n_q {
        let (at_b, at_h, i) = (row / n_q / h_q, row / n_q % h_q, row % n_q);
        let head = at_b * h_k + at_h / (h_q / h_k);
        let mut scores = vec![f64::NEG_INFINITY; n_k];
        for (j, score) in scores.iter_mut().enumerate() {
            let attends = call.mask.as_ref().is_none_or(|m| m.data[position(&m.shape, [at_b, at_h, i, j])]);
            if attends && (!call.causal || j + n_q <= i + n_k) {
                let (q, k) = (&call.query.data[row * d_k..], &call.key.data[(head * n_k + j) * d_k..]);
                let bias = call.bias.as_ref().map_or(0.0, |x| x.data[position(&x.shape, [at_b, at_h, i, j])]);
                *score = scale * (0..d_k).map(|t| q[t] * k[t]).sum::<f64>() + bias;
            }
        }
        let top = scores.iter().copied().fold(f64::MIN, f64::max);
        let total: f64 = scores.iter().map(|s| libm::exp(s - top)).sum();
        for (j, score) in scores.iter().enumerate() {
            let weight = if total > 0.0 { libm::exp(score - top) / total } else { 0.0 };
            weights[row * n_k + j] = weight;
            for c in 0..d_v {
                output[row * d_v + c] += weight * call.value.data[(head * n_k + j) * d_v + c];
            }
        }
    }
    let tensor = |last, data| Tensor { dtype: call.dtype(), shape: vec![b, h_q, n_q, last], data };
    (tensor(d_v, output), tensor(n_k, weights))
}

fn position(shape: &[usize], at: [usize; 4]) -> usize {
    let axes = shape.iter().zip(&at[4 - shape.len()..]);
    axes.fold(0, |index, (n, i)| index * n + if *n == 1 { 0 } else { *i })
}

fn check(call: &Call) {
    let got = output(Flash.call(call));
    let (output, weights) = definition(call);
    let near = allowance(call.dtype());
    assert!(distance(&got.output, &output) <= near, "output of {:?} {}", call.dims(), call.dtype());
    assert_eq!(got.weights.is_some(), call.return_weights);
    if let Some(got) = got.weights {
        assert!(distance(&got, &weights) <= near, "weights of {:?} {}", call.dims(), call.dtype());
    }
}

const DIMS: Dims = Dims { b: 2, h_q: 6, h_k: 3, n_q: 5, n_k: 7, d_k: 40, d_v: 24 };

#[test]
fn options() {
    for dtype in Dtype::CHECKED {
        let call = random_call(DIMS, dtype, 7);
        check(&call);
        check(&Call { scale: Some(-0.3), return_weights: true, ..call.clone() });
        check(&Call { causal: true, return_weights: true, ..call.clone() });
        for shape in [&[2, 6, 5, 7][..], &[2, 1, 1, 7], &[6, 5, 1], &[5, 7], &[7], &[1], &[]] {
            let mask = Some(Noise(8).mask(shape));
            let bias = Some(Noise(9).tensor(shape, dtype));
            check(&Call { mask: mask.clone(), return_weights: true, ..call.clone() });
            check(&Call { bias: bias.clone(), ..call.clone() });
            check(&Call { mask, bias, causal: true, return_weights: true, ..call.clone() });
        }
    }
}

#[test]
fn tile_edges() {
    for n_k in [1, 2, 63, 64, 65, 127, 128, 129, 200] {
        for n_q in [1, 3, 130] {
            let dims = Dims { b: 1, h_q: 2, h_k: 1, n_q, n_k, d_k: 9, d_v: 3 };
            let call = random_call(dims, Dtype::Float32, 3);
            check(&call);
            check(&Call { causal: true, return_weights: true, ..call.clone() });
            check(&Call { mask: Some(Noise(4).mask(&[n_q, n_k])), ..call });
        }
    }
}

#[test]
fn rows_without_keys_are_zero_and_masked_keys_do_not_matter() {
    let dims = Dims { b: 1, h_q: 1, h_k: 1, n_q: 3, n_k: 70, d_k: 4, d_v: 2 };
    let mut call = random_call(dims, Dtype::Float32, 5);
    let mut mask = Noise(6).mask(&[3, 70]);
    mask.data[..70].fill(false);
    mask.data[70..138].fill(false); // the first tile of the second row has no key
    for i in 0..3 {
        mask.data[i * 70 + 69] = i > 0;
        mask.data[i * 70 + 68] = false;
    }
    call.mask = Some(mask);
    call.return_weights = true;
    check(&call);
    let clean = output(Flash.call(&call));
    assert_eq!(clean.output.data[..2], [0.0, 0.0]);
    call.key.data[68 * 4] = f64::NAN;
    call.value.data[68 * 2] = f64::INFINITY;
    assert_eq!(output(Flash.call(&call)), clean);
    call.query.data[4] = f64::NAN;
    let poisoned = output(Flash.call(&call)).output;
    assert!(poisoned.data[2].is_nan() && !poisoned.data[4].is_nan());
}

#[test]
fn shapes_that_do_not_fit_are_refused() {
    let good = random_call(DIMS, Dtype::Float32, 1);
    let refused = |change: fn(&mut Call)| {
        let mut call = good.clone();
        change(&mut call);
        assert!(matches!(Flash.call(&call), Response::Refused(_)), "{:?}", call.key.shape);
    };
    refused(|call| call.key = Noise(1).tensor(&[2, 4, 7, 40], Dtype::Float32));
    refused(|call| call.key = Noise(1).tensor(&[2, 3, 7, 39], Dtype::Float32));
    refused(|call| call.value = Noise(1).tensor(&[2, 3, 6, 24], Dtype::Float32));
    refused(|call| call.query = Noise(1).tensor(&[5, 40], Dtype::Float32));
    refused(|call| call.mask = Some(Noise(1).mask(&[5, 6])));
    refused(|call| call.bias = Some(Noise(1).tensor(&[1, 2, 6, 5, 7], Dtype::Float32)));
}
