//! No implementation that keeps its contract exceeds the hard bound, and the bound is not far from what they reach.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod numerics_common;

use numerics_common::simulate::{Machine, Style};
use numerics_common::{Problem, Scale, Sees, causal, gauss, rng};
use qkvet_engine::bound::{Bound, bound};
use qkvet_engine::enclosure::enclose;
use qkvet_engine::format::round;
use qkvet_engine::head::{EmptyRow, Head, Normalization, RealScale, Visible};
use qkvet_spec::{Contract, Dtype};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

fn contracts() -> Vec<Contract> {
    qkvet_spec::Catalog::embedded().unwrap().contracts.into_values().collect()
}

fn contract(name: &str) -> Contract {
    contracts().into_iter().find(|contract| contract.contract == name).unwrap()
}

/// A random style that keeps the contract.
fn style(rng: &mut ChaCha8Rng, contract: &Contract) -> Style {
    let mut coin = || rng.random::<bool>();
    let online = contract.tile.is_some() && coin();
    let is_loose = contract.score_roundings > 0;
    Style {
        online,
        base_two: coin(),
        scale_inputs: contract.input_roundings > 0 && coin(),
        store_scores: is_loose && coin(),
        reverse: coin(),
        clamp: coin(),
        tile: contract.tile.unwrap_or(16) * if coin() { 1 } else { 4 },
    }
}

/// A random small problem, often an unpleasant one.
fn problem(rng: &mut ChaCha8Rng, dtype: Dtype) -> Problem {
    let shape = (1 + rng.random_range(0..3), 1 + rng.random_range(0..90), 1 + rng.random_range(0..40), 2);
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

/// Largest `(|out − mid| − rad) / hard` and `/ probable` over the elements with a finite bound.
fn ratios(problem: &Problem, bound: &Bound, outputs: &[f64]) -> (f64, f64) {
    let enclosure = enclose(&problem.head());
    let ratio = |index: usize, limit: f64| {
        let excess = ((outputs[index] - enclosure.mid[index]).abs() - enclosure.rad[index]).max(0.0);
        if excess == 0.0 || limit == f64::INFINITY { 0.0 } else { excess / limit }
    };
    (0..outputs.len()).fold((0.0, 0.0), |(hard, probable): (f64, f64), index| {
        (hard.max(ratio(index, bound.hard[index])), probable.max(ratio(index, bound.probable[index])))
    })
}

#[test]
fn implementations_that_keep_the_contract_stay_within_the_hard_bound() {
    let mut rng = rng(1);
    for contract in contracts() {
        let (mut worst, mut worst_probable, mut finite) = (0.0f64, 0.0f64, 0);
        for trial in 0..600 {
            let problem = problem(&mut rng, contract.dtype);
            let head = problem.head();
            let bound = bound(&head, &enclose(&head), &contract);
            assert!(bound.hard.iter().chain(&bound.probable).all(|b| *b >= 0.0));
            assert!(bound.hard.iter().zip(&bound.probable).all(|(hard, probable)| probable <= hard));
            finite += usize::from(bound.hard.iter().all(|b| b.is_finite()));
            for _ in 0..2 {
                let style = style(&mut rng, &contract);
                let mut machine = Machine { contract: &contract, style, rng: numerics_common::rng(rng.random()) };
                let outputs = machine.run(&problem, head.scale.value);
                let (hard, probable) = ratios(&problem, &bound, &outputs);
                assert!(hard <= 1.0, "{} {trial}: {hard} of the bound, {style:?} {problem:?}", contract.contract);
                worst = worst.max(hard);
                worst_probable = worst_probable.max(probable);
            }
        }
        println!("{}: {worst:.3} of hard, {worst_probable:.3} of probable, {finite} finite", contract.contract);
        assert!(finite >= 300, "{}: only {finite} of 600 bounds say something", contract.contract);
        assert!(worst_probable <= 1.0, "{}: {worst_probable}", contract.contract);
        if contract.dtype == Dtype::Bfloat16 {
            assert!(worst >= 0.05, "{}: at most {worst} of the bound is reached", contract.contract);
        }
    }
}

#[test]
fn implementations_that_do_something_else_are_refuted() {
    for contract in contracts() {
        let problem = Problem::gaussian(8, (4, 40, 16, 3), contract.dtype);
        let bound = bound(&problem.head(), &enclose(&problem.head()), &contract);
        let style = style(&mut rng(9), &contract);
        let run =
            |problem: &Problem, scale: f64| Machine { contract: &contract, style, rng: rng(10) }.run(problem, scale);
        let right = ratios(&problem, &bound, &run(&problem, 0.25)).0;
        let unscaled = ratios(&problem, &bound, &run(&problem, 1.0)).0;
        let hidden = Problem { sees: Sees::Mask((0..160).map(|x| x % 40 != 39).collect()), ..problem.clone() };
        let short = ratios(&problem, &bound, &run(&hidden, 0.25)).0;
        assert!(right <= 1.0 && unscaled > 1.0, "{}: {right} {unscaled}", contract.contract);
        // Stored scores round so much that one key of forty is within the bound; exact rows are there for it.
        assert!(short > 1.0 || contract.score_roundings > 0, "{}: {short}", contract.contract);
    }
}

#[test]
fn the_default_contract_of_a_format_is_the_loosest() {
    let mut rng = rng(2);
    for tight in contracts() {
        let is_default = |contract: &Contract| contract.default && contract.dtype == tight.dtype;
        let default = contracts().into_iter().find(is_default).unwrap();
        for _ in 0..60 {
            let problem = problem(&mut rng, tight.dtype);
            let head = problem.head();
            let enclosure = enclose(&head);
            let (tight, default) = (bound(&head, &enclosure, &tight), bound(&head, &enclosure, &default));
            assert!(tight.hard.iter().zip(&default.hard).all(|(tight, default)| tight <= default));
            assert!(tight.probable.iter().zip(&default.probable).all(|(tight, default)| tight <= default));
        }
    }
}

#[test]
fn gaussian_bounds_have_the_size_of_the_formats() {
    for (name, largest) in
        [("f64", 1e-12), ("f32", 1e-3), ("bf16-flash", 0.02), ("bf16-unfused", 0.3), ("f16-flash", 0.005)]
    {
        let contract = contract(name);
        let problem = Problem::gaussian(3, (8, 64, 16, 4), contract.dtype);
        let bound = bound(&problem.head(), &enclose(&problem.head()), &contract);
        let worst = bound.hard.iter().fold(0.0f64, |max, b| max.max(*b));
        assert!(worst < largest, "{name}: {worst:e}");
    }
}

#[test]
fn exact_dot_products_sharpen_the_bound() {
    let contract = Contract { input_roundings: 0, merges: false, ..contract("f32") };
    let mut problem = Problem::gaussian(4, (8, 64, 64, 4), Dtype::Float32);
    let generic = bound(&problem.head(), &enclose(&problem.head()), &contract).hard[0];
    problem.query.iter_mut().chain(&mut problem.key).for_each(|x| *x = (*x * 8.0).round() / 8.0);
    let dyadic = bound(&problem.head(), &enclose(&problem.head()), &contract).hard[0];
    assert!(dyadic < generic / 2.0, "{dyadic:e} against {generic:e}");
}

#[test]
fn possible_overflow_makes_the_bounds_infinite() {
    let contract = contract("f16-unfused");
    let with_query = |size: f64| {
        let mut problem = Problem::gaussian(5, (2, 9, 16, 2), Dtype::Float16);
        problem.query.iter_mut().for_each(|q| *q *= size);
        problem
    };
    for (problem, is_finite) in [(with_query(1.0 / 64.0), true), (with_query(6e3), false)] {
        let bound = bound(&problem.head(), &enclose(&problem.head()), &contract);
        assert!(bound.hard.iter().chain(&bound.probable).all(|b| b.is_finite() == is_finite));
    }
    let mut large = with_query(1.0 / 64.0);
    large.value.fill(65504.0);
    let bound = bound(&large.head(), &enclose(&large.head()), &contract);
    assert!(bound.hard.iter().all(|b| *b == f64::INFINITY), "one rounding up overflows");
}

#[test]
fn defined_empty_rows_have_bound_0_and_the_mean_has_a_finite_one() {
    let contract = contract("f32");
    for (empty_row, normalization) in [
        (EmptyRow::Zero, Normalization::OverKeys),
        (EmptyRow::Nan, Normalization::OverKeys),
        (EmptyRow::Mean, Normalization::OverKeys),
        (EmptyRow::Mean, Normalization::OverQueries),
    ] {
        let base = Problem::gaussian(6, (3, 7, 4, 2), Dtype::Float32);
        let problem = Problem { sees: Sees::Prefix(vec![0, 3, 0]), empty_row, normalization, ..base };
        let bound = bound(&problem.head(), &enclose(&problem.head()), &contract);
        let is_defined = empty_row != EmptyRow::Mean;
        for index in [0, 1, 4, 5] {
            assert!(if is_defined { bound.hard[index] == 0.0 } else { bound.hard[index] < 1e-4 });
        }
    }
}

#[test]
fn other_normalizations_are_bounded() {
    for normalization in [Normalization::None, Normalization::OverQueries] {
        let problem = Problem { normalization, ..Problem::gaussian(7, (8, 9, 4, 2), Dtype::Float32) };
        let bound = bound(&problem.head(), &enclose(&problem.head()), &contract("f32"));
        assert!(bound.hard.iter().all(|b| *b > 0.0 && *b < 1e-3), "{normalization:?}: {:?}", bound.hard);
    }
}

/// Two keys whose scores are ties of bfloat16: storing them moves both by half a spacing, in opposite directions.
#[test]
fn the_bound_pays_for_stored_scores_and_no_more_than_is_declared() {
    let head = Head {
        n_q: 1,
        n_k: 2,
        d_k: 2,
        d_v: 1,
        query: &[1.0, 1.0],
        key: &[16.0, 0.0625, 16.0, 0.1875],
        value: &[1.0, -1.0],
        scale: RealScale::exact(1.0),
        bias: None,
        visible: Visible::All,
        normalization: Normalization::OverKeys,
        empty_row: EmptyRow::Zero,
    };
    let stored = [16.0625, 16.1875].map(|z| round(z, Dtype::Bfloat16));
    let weight = libm::exp(stored[0] - stored[1]);
    let output = round((weight - 1.0) / (weight + 1.0), Dtype::Bfloat16);
    let enclosure = enclose(&head);
    let error = (output - enclosure.mid[0]).abs();
    let hard = |score_roundings| {
        let contract = Contract { input_roundings: 0, score_roundings, ..contract("bf16-unfused") };
        bound(&head, &enclosure, &contract).hard[0]
    };
    assert!(error > hard(0), "without stored scores {error:e} is a fault, the bound is {:e}", hard(0));
    assert!(error <= hard(1), "with stored scores {error:e} is allowed, the bound is {:e}", hard(1));
}
