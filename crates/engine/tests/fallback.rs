//! Rows that the enclosure leaves too wide: the interpreter computes them again, and says so.

#![expect(clippy::float_cmp, reason = "what is exact is exact")]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::adversarial;

use adversarial::{FAMILIES, Hard};
use qkvet_engine::ball::Ball;
use qkvet_engine::enclosure::enclose;
use qkvet_engine::head::RealScale;
use qkvet_engine::interpret::{Expected, Reference, interpret};
use qkvet_engine::lowering::ResultName;
use qkvet_spec::{Call, CallOptions, Catalog, Contract, Dtype, Meaning, Tensor};

/// That of every operation in float64.
fn contract() -> Contract {
    Catalog::embedded().unwrap().contract("f64").unwrap()
}

fn tensor(shape: [usize; 4], data: &[f64]) -> Tensor {
    Tensor { dtype: Dtype::Float64, shape: shape.to_vec(), data: data.to_vec() }
}

fn expected(p: &Hard, contract: &Contract) -> Expected {
    let call = Call {
        query: tensor([1, 1, p.n_q, p.d_k], &p.query),
        key: tensor([1, 1, p.n_k, p.d_k], &p.key),
        value: tensor([1, 1, p.n_k, p.d_v], &p.value),
        options: CallOptions {
            scale: Some(p.scale.value),
            bias: p.bias.as_ref().map(|bias| tensor([1, 1, p.n_q, p.n_k], bias)),
            ..CallOptions::default()
        },
        return_weights: false,
        return_lse: false,
    };
    interpret(&Meaning::standard(), &call, contract, ResultName::Output)
}

/// One query of width 2, values of width 1.
fn row(query: [f64; 2], key: &[f64], value: &[f64], scale: f64) -> Hard {
    let plain = Hard::new(0, 0, [1, value.len(), 2, 1], &[]);
    Hard {
        query: query.to_vec(),
        key: key.to_vec(),
        value: value.to_vec(),
        scale: RealScale::exact(scale),
        ..plain
    }
}

/// The only row, which the enclosure knows nothing of.
fn recomputed(p: &Hard) -> Ball {
    assert_eq!(enclose(&p.head()).rad, [f64::INFINITY]);
    let expected = expected(p, &contract());
    assert_eq!(expected.rows, [Reference::ArbitraryPrecision]);
    expected.exact[0]
}

#[test]
fn rows_that_the_enclosure_gives_up_have_an_answer() {
    // Dot products of 1e17 that cancel: what is left is 16 times a key, the softmax of x.
    let x = [0.1, 0.2, 0.7];
    let keys: Vec<f64> = x.iter().flat_map(|x| [x / 16.0, x / 16.0]).collect();
    let ball = recomputed(&row([1e17 + 16.0, -1e17], &keys, &[1.0, 2.0, 5.0], 1.0));
    let weights = x.map(libm::exp);
    let sum = weights[0] + 2.0 * weights[1] + 5.0 * weights[2];
    assert!(
        (ball.mid - sum / weights.iter().sum::<f64>()).abs() < 1e-15 && ball.rad < 1e-15,
        "{ball:?}"
    );
    // Dot products of 1e400, and a scale that brings them back to 1e100: the largest takes all.
    let ball = recomputed(&row([1e200, 0.0], &[1e200, 0.0, 1.5e200, 0.0], &[1.0, 3.0], 1e-300));
    assert!(ball.mid == 3.0 && ball.rad < 1e-37, "{ball:?}");
    // A scale times a dot product beyond the largest double, alike for all keys.
    let ball = recomputed(&row([1e10, 0.0], &[1.0, 1.0, 1.0, 2.0], &[1.0, 2.0], 1e308));
    assert_eq!(ball, Ball::exact(1.5));
    // Values whose magnitudes have no sum: exactly 2^1022.
    let (most, key) = (f64::from_bits(2046 << 52), [1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0]);
    let ball = recomputed(&row([1.0, 1.0], &key, &[most, most, most, -most], 1.0));
    assert_eq!(ball, Ball::exact(most / 2.0));
}

#[test]
fn a_radius_beyond_the_bound_is_replaced() {
    // Hardly anything is rounded under this contract, so the bound is below the radius.
    let tight =
        Contract { input_roundings: 0, exp_error: 1, tile: None, merges: false, ..contract() };
    let family = FAMILIES.iter().position(|name| *name == "cancelling dot products").unwrap_or(0);
    let p = Hard::new(family, 3, [4, 9, 8, 3], &[]);
    let enclosure = enclose(&p.head());
    let expected = expected(&p, &tight);
    let mut replaced = 0;
    for (at, (ball, hard)) in expected.exact.iter().zip(&expected.hard).enumerate() {
        let is_replaced = expected.rows[at / p.d_v] == Reference::ArbitraryPrecision;
        let row = at / p.d_v * p.d_v..(at / p.d_v + 1) * p.d_v;
        let is_wide = row.clone().any(|at| enclosure.rad[at] > expected.hard[at]);
        assert_eq!(is_replaced, is_wide);
        // Both hold the exact number.
        assert!((ball.mid - enclosure.mid[at]).abs() <= ball.rad + enclosure.rad[at]);
        assert!(ball.rad <= *hard, "{ball:?} {hard:e}");
        replaced += usize::from(is_replaced);
    }
    assert!(replaced > 0);
}

#[test]
fn ordinary_rows_keep_their_enclosure_and_say_so() {
    let p = Hard::new(0, 1, [3, 9, 8, 2], &[]);
    assert_eq!(expected(&p, &contract()).rows, [Reference::Enclosure; 3]);
    let zeros = Hard { query: vec![0.0; 24], n_k: 8, ..Hard::new(0, 1, [3, 8, 8, 2], &[]) };
    assert_eq!(expected(&zeros, &contract()).rows, [Reference::Exact; 3]);
    let bias = Some(vec![f64::NEG_INFINITY; 27]);
    assert_eq!(expected(&Hard { bias, ..p.clone() }, &contract()).rows, [Reference::Defined; 3]);
    // What is no number has no digits: the enclosure stays, and says nothing.
    let mut key = p.key.clone();
    key[0] = f64::NAN;
    let nothing = expected(&Hard { key, ..p }, &contract());
    assert_eq!(nothing.rows, [Reference::Enclosure; 3]);
    assert!(nothing.exact.iter().all(|ball| ball.rad == f64::INFINITY));
}
