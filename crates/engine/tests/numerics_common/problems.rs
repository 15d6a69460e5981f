//! Contracts of the catalog, random problems, and how far outputs are from them.

use qkvet_engine::bound::Bound;
use qkvet_engine::enclosure::HeadEnclosure;
use qkvet_engine::format::round;
use qkvet_engine::head::{Alibi, Stage};
use qkvet_spec::{Catalog, Contract, Dtype};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::{Problem, Scale, Sees, causal, gauss};

/// Every contract without modifiers.
pub(crate) fn contracts() -> Vec<Contract> {
    Catalog::embedded().unwrap().contracts.into_values().collect()
}

/// A contract, composed or not.
pub(crate) fn contract(name: &str) -> Contract {
    Catalog::embedded().unwrap().contract(name).unwrap()
}

/// A random small problem, often an unpleasant one.
pub(crate) fn problem(rng: &mut ChaCha8Rng, dtype: Dtype) -> Problem {
    let shape =
        (1 + rng.random_range(0..3), 1 + rng.random_range(0..90), 1 + rng.random_range(0..40), 2);
    let (n_q, n_k, d_k, _) = shape;
    let mut problem = Problem::gaussian(rng.random(), shape, dtype);
    let spread = libm::exp(rng.random_range(-3.0..3.4));
    problem.query.iter_mut().for_each(|q| *q = round(*q * spread, dtype));
    match rng.random_range(0..5) {
        0 => problem.value.iter_mut().for_each(|v| *v = round(*v + 100.0, dtype)),
        1 => problem.value.iter_mut().for_each(|v| *v = round(*v * *v * *v * 20.0, dtype)),
        2 => problem.value.iter_mut().for_each(|v| *v = round(*v * 1e-4, dtype)),
        3 => (d_k..n_k * d_k).for_each(|x| {
            problem.key[x] = round(problem.key[x % d_k] * (1.0 + 0.02 * gauss(rng)), dtype);
        }),
        _ => {}
    }
    problem.scale = match rng.random_range(0..3) {
        0 => Scale::Given(round(gauss(rng), Dtype::Float32)),
        1 => Scale::Given(0.125),
        _ => Scale::InverseSqrt,
    };
    problem.sees = match rng.random_range(0..4) {
        0 => causal(n_q, n_k),
        1 => Sees::Mask((0..n_q * n_k).map(|_| rng.random_range(0..3) > 0).collect()),
        _ => Sees::All,
    };
    if rng.random_range(0..3) == 0 {
        let sentinel = match dtype {
            Dtype::Float16 => -60000.0,
            _ => -1e9,
        };
        let bias = |rng: &mut ChaCha8Rng| match rng.random_range(0..8) {
            0 => f64::NEG_INFINITY,
            1 => sentinel,
            _ => 2.0 * gauss(rng),
        };
        problem.bias = Some((0..n_q * n_k).map(|_| round(bias(rng), dtype)).collect());
    }
    problem
}

/// The same with some of softcap, ALiBi, a sink and stages in another order.
pub(crate) fn with_options(rng: &mut ChaCha8Rng, problem: Problem) -> Problem {
    let often = |rng: &mut ChaCha8Rng| rng.random_range(0..2) == 0;
    let cap = [0.5, 5.0, 30.0, 50.0][rng.random_range(0..4)];
    let alibi = Alibi {
        slope: libm::exp2(-f64::from(rng.random_range(0..9))),
        offset: rng.random_range(-3..90),
    };
    let mut stages = vec![Stage::Scale, Stage::Softcap, Stage::Bias];
    if often(rng) {
        stages.swap(0, rng.random_range(0..3));
        stages.swap(1, rng.random_range(1..3));
        stages.truncate(rng.random_range(2..4));
    }
    // A bias that hides must not meet a scale that is not positive, nor a cap that shows again what
    // is hidden.
    let bias_is_last = stages.last() == Some(&Stage::Bias);
    let bias = problem
        .bias
        .clone()
        .map(|bias| bias.iter().map(|b| if bias_is_last { *b } else { b.max(-50.0) }).collect());
    Problem {
        bias,
        stages,
        softcap: often(rng).then_some(cap),
        alibi: often(rng).then_some(alibi),
        sink: often(rng).then_some(round(4.0 * gauss(rng), Dtype::Float32)),
        ..problem
    }
}

/// Largest `(|out − mid| − rad) / hard` and `/ probable` over the elements with a finite bound.
pub(crate) fn ratios(enclosure: &HeadEnclosure, bound: &Bound, outputs: &[f64]) -> (f64, f64) {
    let ratio = |index: usize, limit: f64| {
        let excess =
            ((outputs[index] - enclosure.mid[index]).abs() - enclosure.rad[index]).max(0.0);
        if excess == 0.0 || limit == f64::INFINITY { 0.0 } else { excess / limit }
    };
    (0..outputs.len()).fold((0.0, 0.0), |(hard, probable): (f64, f64), index| {
        (
            hard.max(ratio(index, bound.hard[index])),
            probable.max(ratio(index, bound.probable[index])),
        )
    })
}
