//! The built-in tiled kernel against attention written out directly, at the edges of its tiles and
//! of every option.

use crate::common;

use common::*;
use qkvet_engine::flash::Flash;
use qkvet_spec::{Call, CallOptions, Dims, Dtype, Packed, Response, Target, Tensor, Window};

/// What a call must give, in f64; masked keys are left out.
struct Defined {
    output: Tensor,
    weights: Tensor,
    lse: Vec<f64>,
}

/// Attention by its definition.
fn definition(call: &Call) -> Defined {
    let Dims { b, h_q, h_k, n_q, n_k, d_k, d_v } = call.dims();
    let options = &call.options;
    let scale = options.scale.unwrap_or(1.0 / (d_k as f64).sqrt());
    let of_head = |tensor: &Option<Tensor>, h: usize| tensor.as_ref().map(|tensor| tensor.data[h]);
    let (mut output, mut weights) =
        (vec![0.0; b * h_q * n_q * d_v], vec![0.0; b * h_q * n_q * n_k]);
    let mut lse = Vec::new();
    for row in 0..b * h_q * n_q {
        let (at_b, at_h, i) = (row / n_q / h_q, row / n_q % h_q, row % n_q);
        let head = at_b * h_k + at_h / (h_q / h_k);
        let mut scores = vec![f64::NEG_INFINITY; n_k];
        for (j, score) in scores.iter_mut().enumerate() {
            let attends = options
                .mask
                .as_ref()
                .is_none_or(|m| m.data[position(&m.shape, [at_b, at_h, i, j])]);
            let Some(behind) = behind(call, at_b, i, j).filter(|_| attends) else { continue };
            let (q, k) = (&call.query.data[row * d_k..], &call.key.data[(head * n_k + j) * d_k..]);
            let scaled = scale * (0..d_k).map(|t| q[t] * k[t]).sum::<f64>();
            let capped = options.softcap.map_or(scaled, |cap| cap * libm::tanh(scaled / cap));
            let bias = options
                .bias
                .as_ref()
                .map_or(0.0, |x| x.data[position(&x.shape, [at_b, at_h, i, j])]);
            let alibi = of_head(&options.alibi_slopes, at_h)
                .map_or(0.0, |slope| slope * behind.abs() as f64);
            *score = capped + bias - alibi;
        }
        let sink = of_head(&options.sinks, at_h).unwrap_or(f64::NEG_INFINITY);
        let top = scores.iter().copied().fold(sink, f64::max);
        let shift = if top == f64::NEG_INFINITY { 0.0 } else { top };
        let total: f64 = scores.iter().chain([&sink]).map(|s| libm::exp(s - shift)).sum();
        lse.push(shift + libm::log(total));
        for (j, score) in scores.iter().enumerate() {
            let weight = if total > 0.0 { libm::exp(score - shift) / total } else { 0.0 };
            weights[row * n_k + j] = weight;
            for c in 0..d_v {
                output[row * d_v + c] += weight * call.value.data[(head * n_k + j) * d_v + c];
            }
        }
    }
    let tensor = |last, data| Tensor { dtype: call.dtype(), shape: vec![b, h_q, n_q, last], data };
    Defined { output: tensor(d_v, output), weights: tensor(n_k, weights), lse }
}

fn check(call: &Call) {
    let got = output(Flash.call(call));
    let defined = definition(call);
    let near = allowance(call.dtype());
    let about = || format!("{:?} {} {:?}", call.dims(), call.dtype(), call.options);
    assert!(distance(&got.output, &defined.output) <= near, "output of {}", about());
    assert_eq!((got.weights.is_some(), got.lse.is_some()), (call.return_weights, call.return_lse));
    if let Some(got) = got.weights {
        assert!(distance(&got, &defined.weights) <= near, "weights of {}", about());
    }
    if let Some(got) = got.lse {
        let wide = if call.dtype() == Dtype::Float64 { Dtype::Float64 } else { Dtype::Float32 };
        assert_eq!((&got.shape[..], got.dtype), (&call.query.shape[..3], wide));
        for (x, y) in got.data.iter().zip(&defined.lse) {
            assert!(
                x.to_bits() == y.to_bits() || (x - y).abs() <= allowance(wide) * y.abs().max(1.0),
                "{x} {y} lse of {}",
                about()
            );
        }
    }
}

const DIMS: Dims = Dims { b: 2, h_q: 6, h_k: 3, n_q: 5, n_k: 7, d_k: 40, d_v: 24 };

#[test]
fn options() {
    for dtype in Dtype::CHECKED {
        let call = random_call(DIMS, dtype, 7);
        check(&call);
        check(&Call {
            return_weights: true,
            options: CallOptions { scale: Some(-0.3), ..CallOptions::default() },
            ..call.clone()
        });
        check(&Call {
            return_weights: true,
            options: CallOptions { causal: true, ..CallOptions::default() },
            ..call.clone()
        });
        for shape in [&[2, 6, 5, 7][..], &[2, 1, 1, 7], &[6, 5, 1], &[5, 7], &[7], &[1], &[]] {
            let mask = Some(Noise(8).mask(shape));
            let bias = Some(Noise(9).tensor(shape, dtype));
            check(&Call {
                return_weights: true,
                options: CallOptions { mask: mask.clone(), ..CallOptions::default() },
                ..call.clone()
            });
            check(&Call {
                options: CallOptions { bias: bias.clone(), ..CallOptions::default() },
                ..call.clone()
            });
            check(&Call {
                return_weights: true,
                options: CallOptions { mask, bias, causal: true, ..CallOptions::default() },
                ..call.clone()
            });
        }
    }
}

/// Ascending from 0 to `n`.
fn offsets(noise: &mut Noise, n: usize) -> Vec<usize> {
    let mut offsets = vec![0, noise.below(n + 1), noise.below(n + 1), noise.below(n + 1), n];
    offsets.sort_unstable();
    offsets
}

#[test]
fn every_option_with_every_other() {
    for seed in 0..400 {
        let noise = &mut Noise(seed);
        let h_k = 1 + noise.below(2);
        let dims = Dims {
            b: 1 + noise.below(2),
            h_q: h_k * (1 + noise.below(3)),
            h_k,
            n_q: 1 + noise.below(9),
            n_k: [1, 5, 64, 70, 200][noise.below(5)],
            d_k: 5,
            d_v: 3,
        };
        let dtype = Dtype::CHECKED[noise.below(Dtype::CHECKED.len())];
        let on = |noise: &mut Noise| noise.below(3) == 0;
        let lengths =
            |noise: &mut Noise, n: usize| (0..dims.b).map(|_| noise.below(n + 1)).collect();
        let side =
            |noise: &mut Noise| Some(noise.below(dims.n_k + 2)).filter(|_| noise.below(4) > 0);
        let packed = on(noise);
        let options = CallOptions {
            scale: on(noise).then_some(0.75),
            causal: on(noise),
            mask: on(noise).then(|| noise.mask(&[dims.n_q, dims.n_k])),
            bias: on(noise).then(|| noise.tensor(&[dims.h_q, 1, dims.n_k], dtype)),
            softcap: on(noise).then_some(1.5),
            window: on(noise).then(|| Window { left: side(noise), right: side(noise) }),
            sinks: on(noise).then(|| noise.tensor(&[dims.h_q], dtype)),
            alibi_slopes: on(noise).then(|| noise.tensor(&[dims.h_q], dtype)),
            key_lengths: (!packed && on(noise)).then(|| lengths(noise, dims.n_k)),
            query_lengths: (!packed && on(noise)).then(|| lengths(noise, dims.n_q)),
            packed: packed.then(|| Packed {
                query_offsets: offsets(noise, dims.n_q),
                key_offsets: offsets(noise, dims.n_k),
            }),
        };
        check(&Call {
            return_weights: on(noise),
            return_lse: true,
            options,
            ..random_call(dims, dtype, seed)
        });
    }
}

#[test]
fn what_lies_outside_the_window_is_not_looked_at() {
    let dims = Dims { b: 1, h_q: 1, h_k: 1, n_q: 300, n_k: 300, d_k: 4, d_v: 2 };
    let mut call = random_call(dims, Dtype::Float32, 5);
    call.options.window = Some(Window { left: Some(70), right: Some(0) });
    check(&call);
    let clean = output(Flash.call(&call)).output;
    call.key.data[4 * 100] = f64::NAN;
    call.value.data[2 * 100] = f64::NAN;
    let poisoned = output(Flash.call(&call)).output;
    let touched: Vec<usize> = (0..300)
        .filter(|i| poisoned.data[2 * i].to_bits() != clean.data[2 * i].to_bits())
        .collect();
    assert_eq!(touched, (100..=170).collect::<Vec<usize>>());
}

#[test]
fn the_log_sum_exp_of_an_empty_row() {
    let mut call = random_call(Dims { n_q: 2, n_k: 3, ..DIMS }, Dtype::Float32, 1);
    call.options.key_lengths = Some(vec![0, 3]);
    call.return_lse = true;
    check(&call);
    let lse = |call: &Call| output(Flash.call(call)).lse.expect("asked for").data;
    assert!(lse(&call)[..12].iter().all(|x| *x == f64::NEG_INFINITY));
    call.options.sinks = Some(Noise(2).tensor(&[6], Dtype::Float32));
    check(&call);
    let sinks = &call.options.sinks.as_ref().expect("set").data;
    assert!(
        lse(&call)[..12].iter().enumerate().all(|(row, x)| x.to_bits() == sinks[row / 2].to_bits())
    );
}

#[test]
fn tile_edges() {
    for n_k in [1, 2, 63, 64, 65, 127, 128, 129, 200] {
        for n_q in [1, 3, 130] {
            let dims = Dims { b: 1, h_q: 2, h_k: 1, n_q, n_k, d_k: 9, d_v: 3 };
            let call = random_call(dims, Dtype::Float32, 3);
            check(&call);
            check(&Call {
                return_weights: true,
                options: CallOptions { causal: true, ..CallOptions::default() },
                ..call.clone()
            });
            check(&Call {
                options: CallOptions {
                    mask: Some(Noise(4).mask(&[n_q, n_k])),
                    ..CallOptions::default()
                },
                ..call
            });
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
    call.options.mask = Some(mask);
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
    refused(|call| call.options.mask = Some(Noise(1).mask(&[5, 6])));
    refused(|call| call.options.bias = Some(Noise(1).tensor(&[1, 2, 6, 5, 7], Dtype::Float32)));
    refused(|call| call.options.softcap = Some(0.0));
    refused(|call| call.options.sinks = Some(Noise(1).tensor(&[3], Dtype::Float32)));
    refused(|call| call.options.alibi_slopes = Some(Noise(1).tensor(&[1, 6], Dtype::Float32)));
    refused(|call| call.options.key_lengths = Some(vec![7]));
    refused(|call| call.options.query_lengths = Some(vec![5, 6]));
    let packed = |query: &[usize], key: &[usize]| {
        Some(Packed { query_offsets: query.into(), key_offsets: key.into() })
    };
    for (query, key) in [
        (&[0, 5][..], &[0, 3, 7][..]),
        (&[0, 4], &[0, 7]),
        (&[1, 5], &[0, 7]),
        (&[0, 9, 5], &[0, 7, 7]),
    ] {
        let mut call = good.clone();
        call.options.packed = packed(query, key);
        assert!(matches!(Flash.call(&call), Response::Refused(_)), "{query:?} {key:?}");
        call.options.packed = packed(&[0, 5], &[0, 7]);
        output(Flash.call(&call));
        call.options.key_lengths = Some(vec![7, 7]);
        assert!(matches!(Flash.call(&call), Response::Refused(_)));
    }
}

/// How many keys query `i` stands behind key `j`; `None` if it does not see it, masks aside.
fn behind(call: &Call, item: usize, i: usize, j: usize) -> Option<i64> {
    let (Dims { n_q, n_k, .. }, options) = (call.dims(), &call.options);
    let (queries, keys) = match &options.packed {
        Some(Packed { query_offsets, key_offsets }) => {
            let at = query_offsets.windows(2).position(|pair| pair[0] <= i && i < pair[1])?;
            (query_offsets[at]..query_offsets[at + 1], key_offsets[at]..key_offsets[at + 1])
        }
        None => {
            let length = |lengths: &Option<Vec<usize>>, n| {
                lengths.as_ref().map_or(n, |lengths| lengths[item])
            };
            (0..length(&options.query_lengths, n_q), 0..length(&options.key_lengths, n_k))
        }
    };
    if !queries.contains(&i) || !keys.contains(&j) {
        return None;
    }
    // Both counted from the end of their sequence, where the last ones stand side by side.
    let behind = (keys.end - j) as i64 - (queries.end - i) as i64;
    let hidden = options.causal && behind < 0;
    let window = options.window.unwrap_or_default();
    let outside = window.left.is_some_and(|left| behind > left as i64)
        || window.right.is_some_and(|right| -behind > right as i64);
    (!hidden && !outside).then_some(behind)
}

/// Where an index lies in a tensor that broadcasts.
fn position(shape: &[usize], at: [usize; 4]) -> usize {
    let axes = shape.iter().zip(&at[4 - shape.len()..]);
    axes.fold(0, |index, (n, i)| index * n + if *n == 1 { 0 } else { *i })
}
