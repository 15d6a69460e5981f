//! Rows in which nothing is rounded have no tolerance: right implementations hit them exactly, and
//! a missing key is seen.

#![expect(
    clippy::unwrap_used,
    clippy::float_cmp,
    reason = "a test fails by panicking; these values are exact"
)]

use crate::numerics_common;

use numerics_common::simulate::{Machine, Style};
use numerics_common::{Problem, Scale, Sees, big, rng};
use qkvet_engine::bound::bound;
use qkvet_engine::enclosure::enclose;
use qkvet_engine::format::{min_normal, round, unit_roundoff};
use qkvet_spec::{Contract, Dtype};
use rand::RngExt;

fn contracts() -> Vec<Contract> {
    // One pass over the keys: what merging adds is tested apart.
    let catalog = qkvet_spec::Catalog::embedded().unwrap();
    let composed = [
        "f16-flash+f16-accumulation",
        "e4m3-flash+full-accumulator+rounded-sum",
        "f16-flash+truncating",
    ];
    let all = catalog
        .contracts
        .values()
        .cloned()
        .chain(composed.map(|name| catalog.contract(name).unwrap()));
    all.map(|contract| Contract { merges: false, ..contract }).collect()
}

fn contract(name: &str) -> Contract {
    Contract { merges: false, ..qkvet_spec::Catalog::embedded().unwrap().contract(name).unwrap() }
}

const CLASSES: usize = 8;

/// Query `i` gives logit 0 to the keys `j ≡ i` modulo 8 and −1792 to the others; values are
/// integers up to 4.
fn probe(seed: u64, n_k: usize, dtype: Dtype) -> Problem {
    let mut rng = rng(seed);
    let mut problem = Problem {
        scale: Scale::Given(1.0),
        ..Problem::gaussian(seed, (CLASSES, n_k, CLASSES, 3), dtype)
    };
    problem.query = (0..CLASSES * CLASSES)
        .map(|x| if x / CLASSES == x % CLASSES { 448.0 } else { 0.0 })
        .collect();
    problem.key = (0..n_k * CLASSES)
        .map(|x| if (x / CLASSES) % CLASSES == x % CLASSES { 0.0 } else { -4.0 })
        .collect();
    problem.value.iter_mut().for_each(|v| *v = f64::from(rng.random_range(-4..=4)));
    problem
}

fn styles(contract: &Contract) -> Vec<Style> {
    let mut styles = Vec::new();
    for bits in 0..768usize {
        let bit = |k: usize| bits >> k & 1 == 1;
        let style = Style {
            online: bit(0),
            tile: if bit(1) { 16 } else { 64 },
            base_two: bit(2),
            scale_inputs: bit(3),
            store_scores: bit(4),
            // Where scores are stored and steps may be, they are.
            store_steps: contract.stored_steps && bit(4),
            reverse: bit(5),
            clamp: bit(6),
            sum_rounded: bit(7),
            cut: [None, Some(1), Some(4)][bits / 256],
            ..Style::PLAIN
        };
        let allowed = (contract.input_roundings > 0 || !style.scale_inputs)
            && (contract.score_roundings > 0 || !style.store_scores)
            && (contract.sum_of_rounded || !style.sum_rounded)
            && (contract.truncates || style.cut.is_none());
        styles.extend(allowed.then_some(style));
    }
    styles
}

#[test]
fn right_implementations_are_exact_and_a_missing_key_is_caught() {
    let n_k = 4 * CLASSES;
    for contract in contracts() {
        let problem = probe(1, n_k, contract.dtype);
        let head = problem.head();
        let enclosure = enclose(&head);
        let bound = bound(&head, &enclosure, &contract);
        for (index, exact) in problem.exact().iter().enumerate() {
            let difference = exact.clone().unwrap() - big(enclosure.mid[index]);
            assert!(difference == big(0.0), "what is below e^−5000 was left out");
            assert!(enclosure.rad[index] == 5e-324, "{:e}", enclosure.rad[index]);
            assert!(
                bound.hard[index] <= 1e6 * min_normal(contract.softmax),
                "{:e}",
                bound.hard[index]
            );
            assert!(bound.probable[index] <= bound.hard[index]);
        }

        let short = Problem {
            n_k: n_k - 1,
            key: problem.key[..(n_k - 1) * CLASSES].to_vec(),
            value: problem.value[..(n_k - 1) * 3].to_vec(),
            ..problem.clone()
        };
        for style in styles(&contract) {
            let run = |problem: &Problem| {
                Machine { contract: &contract, style, rng: rng(2) }.run(problem, 1.0)
            };
            let fails = |outputs: &[f64], index: usize| {
                let distance = (outputs[index] - enclosure.mid[index]).abs();
                distance.is_nan() || distance > enclosure.rad[index] + bound.hard[index]
            };
            let outputs = run(&problem);
            assert!(
                (0..outputs.len()).all(|index| !fails(&outputs, index)),
                "{} {style:?}",
                contract.contract
            );
            let outputs = run(&short);
            let last = (n_k - 1) % CLASSES;
            let caught = (last * 3..last * 3 + 3).filter(|index| fails(&outputs, *index)).count();
            assert!(
                caught >= 2,
                "{} {style:?}: only {caught} of 3 see the missing key",
                contract.contract
            );
        }
    }
}

#[test]
fn the_neighbours_of_an_exact_output_fail() {
    for contract in contracts() {
        let problem = probe(3, 2 * CLASSES, contract.dtype);
        let enclosure = enclose(&problem.head());
        let bound = bound(&problem.head(), &enclosure, &contract);
        for (index, mid) in enclosure.mid.iter().enumerate() {
            let u = unit_roundoff(contract.output());
            let next =
                if *mid == 0.0 { 1e-30 } else { round(mid * (1.0 + 1.5 * u), contract.output()) };
            let is_next = next.to_bits() != mid.to_bits();
            assert!(is_next && (next - mid).abs() > enclosure.rad[index] + bound.hard[index]);
        }
    }
}

#[test]
fn masks_and_sentinels_make_exact_rows_too() {
    for contract in contracts() {
        let (n_q, n_k) = (4, 20);
        let live = |x: usize| (x % n_k) < 8;
        let mut problem = Problem::gaussian(4, (n_q, n_k, 4, 2), contract.dtype);
        problem.query.fill(0.0);
        problem.value.iter_mut().for_each(|v| *v = v.round());
        let hidden = Sees::Mask((0..n_q * n_k).map(live).collect());
        let masked = Problem { sees: hidden, ..problem.clone() };
        let sentinel = (0..n_q * n_k).map(|x| if live(x) { 0.0 } else { -60000.0 }).collect();
        let biased = Problem { bias: Some(sentinel), ..problem.clone() };
        for (problem, dead) in [(masked, 0), (biased, 12)] {
            let enclosure = enclose(&problem.head());
            let exact = enclosure.rows[0].exact.as_ref().unwrap();
            assert!(exact.live == 8 && exact.dead == dead);
            let bound = bound(&problem.head(), &enclosure, &contract);
            assert!(bound.hard.iter().all(|b| if dead == 0 { *b == 0.0 } else { *b < 1e-32 }));
            assert!(enclosure.rad.iter().all(|rad| *rad <= 5e-324));
        }
    }
}

/// Beside what is cut off, a vanishing weight may take a unit from a sum; a hidden key has no
/// weight, and eight bits have no such.
#[test]
fn what_is_cut_off_spoils_dead_keys_but_not_hidden_ones() {
    let mut problem = Problem::gaussian(7, (1, 20, 4, 2), Dtype::Bfloat16);
    problem.query.fill(0.0);
    problem.value.iter_mut().for_each(|v| *v = v.round());
    let live = |j: usize| j < 8;
    let masked = Problem { sees: Sees::Mask((0..20).map(live).collect()), ..problem.clone() };
    let biased = Problem {
        bias: Some((0..20).map(|j| if live(j) { 0.0 } else { -60000.0 }).collect()),
        ..problem
    };
    let hard = |problem: &Problem, name: &str| {
        bound(&problem.head(), &enclose(&problem.head()), &contract(name)).hard
    };
    assert!(hard(&masked, "bf16-flash+truncating").iter().all(|b| *b == 0.0));
    assert!(hard(&biased, "bf16-flash").iter().all(|b| *b < 1e-32));
    assert!(hard(&biased, "bf16-flash+truncating").iter().all(|b| *b > 1e-6));
    assert!(hard(&biased, "e4m3-flash").iter().all(|b| *b < 1e-32));
}

/// An operand that is rounded is no longer on the grid; partial outputs are rounded where they are
/// stored.
#[test]
fn operands_and_partial_outputs_that_round_are_not_exact() {
    let mut problem = Problem::gaussian(8, (1, 4, 2, 1), Dtype::Float32);
    problem.query.fill(0.0);
    problem.value = vec![1.0, 2.0, 3.0, 1.0 + libm::exp2(-20.0)];
    let hard =
        |contract: &Contract| bound(&problem.head(), &enclose(&problem.head()), contract).hard[0];
    assert!(hard(&contract("f32")) == 0.0 && hard(&contract("tf32")) > 1e-4);
    let merging = Contract { merges: true, ..contract("f32") };
    let stored = Contract { partial: Some(Dtype::Bfloat16), ..merging.clone() };
    assert!(hard(&merging) > 0.0 && hard(&stored) > hard(&merging) + libm::exp2(-8.0));
}

#[test]
fn dot_products_that_cancel_are_exact_only_without_input_roundings() {
    let [default, flash] = ["f16-unfused", "f16-flash"]
        .map(|name| contracts().into_iter().find(|contract| contract.contract == name).unwrap());
    let mut problem =
        Problem { scale: Scale::Given(0.3), ..Problem::gaussian(5, (1, 4, 2, 2), Dtype::Float16) };
    problem.query = vec![1.0, 1.0];
    problem.key = vec![1.5, -1.5, -2.0, 2.0, 0.5, -0.5, 3.0, -3.0];
    problem.value = vec![1.0, 2.0, 3.0, 4.0, -1.0, 0.0, 2.0, 2.0];
    let enclosure = enclose(&problem.head());
    assert!(enclosure.rad.iter().all(|rad| *rad == 0.0));
    assert!(bound(&problem.head(), &enclosure, &flash).hard.iter().all(|b| *b == 0.0));
    assert!(bound(&problem.head(), &enclosure, &default).hard.iter().all(|b| *b > 1e-4));
}

/// Dead keys stand up to `2^8` higher under a maximum that is not the last one, and the factor that
/// rescales them at last may be anything up to twice the smallest normal number.
#[test]
fn dead_keys_may_wait_for_their_rescaling() {
    let contract = Contract { merges: false, ..contract("f32") };
    let mut problem =
        Problem { scale: Scale::Given(1.0), ..Problem::gaussian(7, (1, 48, 1, 1), Dtype::Float32) };
    problem.query = vec![1.0];
    problem.key = (0..48).map(|j| [-1105.5, -1100.0, 0.0][j / 16]).collect();
    problem.value = (0..48).map(|j| if j < 32 { 1.0 } else { 0.0 }).collect();
    let enclosure = enclose(&problem.head());
    let bound = bound(&problem.head(), &enclosure, &contract);
    let style = Style { online: true, clamp: true, puts_off: true, ..Style::PLAIN };
    let output = Machine { contract: &contract, style, rng: rng(1) }.run(&problem, 1.0)[0];
    let as_usual = 2.5 * min_normal(Dtype::Float32) * 32.0 / 16.0;
    assert!(output <= bound.hard[0] && output > as_usual, "{output:e} of {:e}", bound.hard[0]);
}

#[test]
fn rows_that_round_somewhere_keep_a_bound() {
    for contract in contracts() {
        let uniform = |n_k: usize, value: &dyn Fn(usize) -> f64| {
            let mut problem = Problem::gaussian(6, (1, n_k, 2, 1), contract.dtype);
            problem.query.fill(0.0);
            problem.value = (0..n_k).map(value).collect();
            bound(&problem.head(), &enclose(&problem.head()), &contract).hard[0]
        };
        let u = unit_roundoff(contract.output());
        let largest = contract
            .operands
            .map_or(0.0, unit_roundoff)
            .max(unit_roundoff(contract.weights))
            .max(u);
        let thirds = uniform(3, &|j| j as f64);
        let few = thirds > u && thirds < 20.0 * largest;
        assert!(few, "{}: a third is rounded once or twice: {thirds:e}", contract.contract);
        assert!(uniform(4, &|j| j as f64) == 0.0);
        assert!(
            uniform(4, &|j| if j == 0 { 1.0 } else { 1.0 / u }) > 0.0,
            "sums beyond the precision are rounded"
        );
    }
}
