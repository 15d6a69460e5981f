//! No implementation that keeps its contract exceeds the hard bound, and the bound is not far from
//! what they reach.

use crate::numerics_common;

use numerics_common::problems::{contract, contracts, problem, ratios, with_options};
use numerics_common::simulate::{Machine, Style, Tangent};
use numerics_common::{Problem, Scale, Sees, rng};
use qkvet_engine::bound::{Bound, bound, lse_bound_in};
use qkvet_engine::enclosure::{HeadEnclosure, Lse, enclose};
use qkvet_engine::format::{round, unit_roundoff};
use qkvet_engine::head::{Alibi, EmptyRow, Head, Normalization, RealScale, Span, Stage, Visible};
use qkvet_spec::{Contract, Dtype, LseBase};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// Modifiers on top of contracts, one of each kind and some together.
const COMPOSED: [&str; 26] = [
    "f64+f32-softmax",
    "f64+float32-inside",
    "f64+float16-inside",
    "f32+bfloat16-inside",
    "f16-unfused+f16-softmax",
    "f64+split-kv+depth-16",
    "f32+unmerged+unrounded-sum",
    "f32+truncating",
    "f32+depth-16+tile-32",
    "tf32+truncating",
    "tf32+unmerged",
    "f32+approximate-tanh",
    "bf16-flash+approximate-tanh+split-kv",
    "bf16-flash+split-kv",
    "bf16-flash+bf16-partials+truncating",
    "bf16-flash+pre-scaled-query+unrounded-sum",
    "bf16-flash+scores-stored+depth-24",
    "bf16-unfused+bf16-partials+truncating",
    "f16-flash+f16-accumulation",
    "f16-flash+depth-16+f16-accumulation+f16-partials",
    "f16-flash+f16-partials+tile-64",
    "f16-unfused+f16-accumulation+truncating",
    "e4m3-flash+bf16-partials",
    "e4m3-flash+full-accumulator+rounded-sum",
    "e5m2-flash+full-accumulator",
    "e5m2-flash+depth-32+split-kv",
];

/// A random style that keeps the contract.
fn style(rng: &mut ChaCha8Rng, contract: &Contract) -> Style {
    let block = 1 << rng.random_range(0..5);
    let parts = rng.random_range(1..5);
    let mut coin = || rng.random::<bool>();
    let online = contract.tile.is_some() && coin();
    let is_loose = contract.score_roundings > 0;
    Style {
        online,
        puts_off: online && contract.softmax.min_exponent() < -100 && coin(),
        base_two: coin(),
        scale_inputs: contract.input_roundings > 0 && coin(),
        store_scores: is_loose && coin(),
        store_steps: contract.stored_steps && !online && parts == 1 && coin(),
        tangent: match coin() {
            _ if contract.softmax.precision() < 24 => Tangent::Function,
            true => Tangent::Function,
            false if coin() => Tangent::Quotient,
            false => Tangent::Sigmoid,
        },
        reverse: coin(),
        clamp: coin(),
        tile: contract.tile.unwrap_or(16) * if coin() { 1 } else { 4 },
        cut: (contract.truncates && coin()).then_some(block),
        parts: if contract.merges { parts } else { 1 },
        sum_rounded: contract.sum_of_rounded && coin(),
        sink_last: coin(),
    }
}

/// The same for the log-sum-exp.
fn lse_ratios(enclosure: &HeadEnclosure, bound: &Bound, lse: &[f64]) -> (f64, f64) {
    (0..lse.len()).fold((0.0, 0.0), |(hard, probable): (f64, f64), i| {
        let Lse { mid: exact, rad } = enclosure.rows[i].lse;
        if exact == f64::NEG_INFINITY {
            return if lse[i].to_bits() == exact.to_bits() {
                (hard, probable)
            } else {
                (f64::INFINITY, probable)
            };
        }
        let excess = ((lse[i] - exact).abs() - rad).max(0.0);
        let ratio =
            |limit: f64| if excess == 0.0 || limit == f64::INFINITY { 0.0 } else { excess / limit };
        (hard.max(ratio(bound.lse_hard[i])), probable.max(ratio(bound.lse_probable[i])))
    })
}

/// Largest ratios of error and bound that were seen.
#[derive(Default)]
struct Worst {
    hard: f64,
    probable: f64,
    lse: f64,
    lse_probable: f64,
    finite: usize,
}

impl Worst {
    fn line(&self, name: &str) -> String {
        let Self { hard, probable, lse, lse_probable, finite } = self;
        format!(
            "{name}: {hard:.3} of hard, {probable:.3} of probable; lse {lse:.3}, {lse_probable:.3}; {finite} finite"
        )
    }
}

/// Lets machines that keep the contract loose on random problems.
fn falsify(rng: &mut ChaCha8Rng, contract: &Contract, trials: usize) -> Worst {
    let mut worst = Worst::default();
    for trial in 0..trials {
        let problem = problem(rng, contract.dtype);
        let problem = if trial % 3 == 0 { with_options(rng, problem) } else { problem };
        let head = problem.head();
        let enclosure = enclose(&head);
        let bound = bound(&head, &enclosure, contract);
        assert!(bound.hard.iter().chain(&bound.probable).chain(&bound.lse_hard).all(|b| *b >= 0.0));
        let is_lesser = |(hard, probable): (&f64, &f64)| probable <= hard || probable.is_infinite();
        assert!(bound.hard.iter().zip(&bound.probable).all(is_lesser));
        assert!(
            bound.lse_hard.iter().zip(&bound.lse_probable).all(|(hard, probable)| probable <= hard)
        );
        worst.finite += usize::from(bound.hard.iter().all(|b| b.is_finite()));
        for _ in 0..2 {
            let style = style(rng, contract);
            let mut machine = Machine { contract, style, rng: numerics_common::rng(rng.random()) };
            let (outputs, lse) = machine.run_with_lse(&problem, head.scale.value);
            let (hard, probable) = ratios(&enclosure, &bound, &outputs);
            assert!(
                hard <= 1.0,
                "{} {trial}: {hard} of the bound, {style:?} {problem:?}",
                contract.contract
            );
            let (of_lse, of_lse_probable) = lse_ratios(&enclosure, &bound, &lse);
            assert!(
                of_lse <= 1.0,
                "{} {trial}: {of_lse} of the lse bound, {style:?} {problem:?}",
                contract.contract
            );
            worst.hard = worst.hard.max(hard);
            worst.probable = worst.probable.max(probable);
            worst.lse = worst.lse.max(of_lse);
            worst.lse_probable = worst.lse_probable.max(of_lse_probable);
        }
    }
    worst
}

#[test]
fn implementations_that_keep_a_contract_stay_within_the_hard_bound() {
    let mut rng = rng(1);
    for contract in contracts() {
        let worst = falsify(&mut rng, &contract, 200);
        println!("{}", worst.line(&contract.contract));
        // Eight bits leave little: accumulators of 14 bits and weights of 3 or 4 are far off with
        // peaked rows.
        let enough = if contract.dtype.size() == 1 { 120 } else { 195 };
        assert!(
            worst.finite >= enough,
            "{}: only {} of 200 bounds say something",
            contract.contract,
            worst.finite
        );
        assert!(worst.probable <= 1.0, "{}: {}", contract.contract, worst.probable);
        assert!(worst.lse_probable <= 1.0, "{}: {}", contract.contract, worst.lse_probable);
        if contract.dtype == Dtype::Bfloat16 {
            assert!(
                worst.hard >= 0.05,
                "{}: at most {} of the bound is reached",
                contract.contract,
                worst.hard
            );
        }
    }
}

#[test]
fn implementations_that_keep_a_composed_contract_stay_within_the_hard_bound() {
    let mut rng = rng(11);
    for name in COMPOSED {
        let worst = falsify(&mut rng, &contract(name), 80);
        println!("{}", worst.line(name));
        assert!(worst.finite >= 50, "{name}: only {} of 80 bounds say something", worst.finite);
        assert!(worst.probable <= 1.0, "{name}: {}", worst.probable);
        assert!(worst.lse_probable <= 1.0, "{name}: {}", worst.lse_probable);
    }
}

#[test]
fn implementations_that_do_something_else_are_refuted() {
    for contract in contracts() {
        let mut problem = Problem::gaussian(8, (4, 40, 16, 3), contract.dtype);
        // A format of eight bits sees a wrong scale only where it matters much.
        problem
            .query
            .iter_mut()
            .for_each(|q| *q *= if contract.dtype.size() == 1 { 4.0 } else { 1.0 });
        let enclosure = enclose(&problem.head());
        let bound = bound(&problem.head(), &enclosure, &contract);
        let style = style(&mut rng(9), &contract);
        let run = |problem: &Problem, scale: f64| {
            Machine { contract: &contract, style, rng: rng(10) }.run(problem, scale)
        };
        let right = ratios(&enclosure, &bound, &run(&problem, 0.25)).0;
        let unscaled = ratios(&enclosure, &bound, &run(&problem, 1.0)).0;
        let hidden = Problem {
            sees: Sees::Mask((0..160).map(|x| x % 40 != 39).collect()),
            ..problem.clone()
        };
        let short = ratios(&enclosure, &bound, &run(&hidden, 0.25)).0;
        let is_seen = unscaled > 1.0 || bound.hard.iter().any(|b| b.is_infinite());
        assert!(right <= 1.0 && is_seen, "{}: {right} {unscaled}", contract.contract);
        // Stored scores round so much that one key of forty is within the bound; exact rows are
        // there for it.
        let is_coarse = contract.score_roundings > 0 || contract.dtype.size() == 1;
        assert!(short > 1.0 || is_coarse, "{}: {short}", contract.contract);
    }
}

/// Scores so large that their roundings may change a weight by any factor: the bound is one of means
/// with other weights, and holds for those that move the output farthest.
#[test]
fn errors_of_scores_that_are_not_small_are_paid_for() {
    let contract = Contract { weights: Dtype::Float32, ..contract("bf16-unfused") };
    let growth = libm::pow(1.0 + unit_roundoff(Dtype::Bfloat16), 7.0) - 1.0;
    let mut reached = [0.0f64; 2];
    for seed in 0..400 {
        let mut problem = Problem::gaussian(seed, (1, 6, 1, 1), contract.dtype);
        problem.scale = Scale::Given(1.0);
        problem.query.fill(1.0);
        // Scores that are large, or large and far apart.
        let (size, apart) =
            ([48.0, 100.0, 200.0][seed as usize % 3], [0.5, 64.0][seed as usize % 2]);
        let keys = problem.key.iter_mut();
        keys.for_each(|k| *k = round(size + apart * *k, contract.dtype));
        let enclosure = enclose(&problem.head());
        let bound = bound(&problem.head(), &enclosure, &contract).hard[0];
        let values = &problem.value;
        for (threshold, sign) in values.iter().flat_map(|v| [(*v, 1.0), (*v, -1.0)]) {
            let score = |(k, v): (&f64, &f64)| {
                k * (1.0 + growth * if *v >= threshold { sign } else { -sign })
            };
            let scores: Vec<f64> = problem.key.iter().zip(values).map(score).collect();
            let largest = scores.iter().fold(0.0f64, |most, z| most.max(*z));
            let weights: Vec<f64> = scores.iter().map(|z| libm::exp(z - largest)).collect();
            let sum: f64 = weights.iter().sum();
            let output = weights.iter().zip(values).map(|(w, v)| w * v).sum::<f64>() / sum;
            let error = (output - enclosure.mid[0]).abs();
            assert!(error <= bound, "{seed}: {error:e} of {bound:e}");
            let kind = &mut reached[usize::from(bound < 0.3)];
            *kind = kind.max(error / bound);
        }
    }
    // Where any weights are allowed, and where one key has nearly all of it.
    assert!(reached[0] > 0.9 && reached[1] > 0.4, "{reached:?}");
}

/// Weights that underflow when they are rounded, beside errors of logits that are not small.
#[test]
fn rounded_weights_that_vanish_are_paid_for() {
    let contract = contract("f32+e4m3-operands");
    let n = 20_000;
    let mut problem = Problem::gaussian(1, (1, n + 1, 16, 1), Dtype::Float32);
    problem.scale = Scale::Given(5.9 / (16.0 * 1.0626 * 0.5313));
    problem.query.fill(1.0626);
    let key = |j: usize, t: usize| match (j, t < 8) {
        (0, _) => 0.5313,
        (_, true) => 0.5312,
        _ => -0.5313,
    };
    problem.key = (0..=n).flat_map(|j| (0..16).map(move |t| key(j, t))).collect();
    problem.key.iter_mut().chain(&mut problem.query).for_each(|x| *x = round(*x, Dtype::Float32));
    let enclosure = enclose(&problem.head());
    let bound = bound(&problem.head(), &enclosure, &contract);
    // Rounded to four bits all weights but one are 0: what is left is the score of one key.
    let lse = enclosure.rows[0].lse.mid;
    let right = 16.0 * 1.125 * 0.5625 * 5.9 / (16.0 * 1.0626 * 0.5313);
    assert!((lse - right).abs() <= bound.lse_hard[0], "{lse} {right} {}", bound.lse_hard[0]);
}

/// A score so large that a fused subtraction of itself is not 0: its exponential may be anything.
#[test]
fn a_score_that_is_far_from_itself_has_no_bound() {
    let mut problem = Problem::gaussian(1, (1, 1, 1, 1), Dtype::Bfloat16);
    problem.scale = Scale::Given(1.0);
    (problem.query[0], problem.key[0], problem.value[0]) = (54_528.0, 54_528.0, 1.0);
    let enclosure = enclose(&problem.head());
    for name in ["bf16-flash", "bf16"] {
        let bound = bound(&problem.head(), &enclosure, &contract(name));
        assert!(bound.hard[0] >= 1.0 && bound.overflows[0], "{name}: {:?}", bound.hard);
    }
}

/// A dot product that cancels is as wrong as the norms are large, however far a bias hides it.
#[test]
fn a_cancelling_product_behind_a_bias_is_not_dropped() {
    let far = 8_589_934_592.0;
    let mut problem = Problem::gaussian(1, (1, 2, 2, 1), Dtype::Float32);
    problem.scale = Scale::Given(round(0.400_09, Dtype::Float32));
    problem.query = vec![3.0, 5.0];
    problem.key = vec![0.0, 0.0, 5.0 * far, -3.0 * far];
    problem.value = vec![-1.0, 1.0];
    problem.bias = Some(vec![0.0, -900.0]);
    let enclosure = enclose(&problem.head());
    let bound = bound(&problem.head(), &enclosure, &contract("f32"));
    assert!(bound.hard[0] >= 2.0 && bound.lse_hard[0] >= 5_000.0, "{:?}", bound.hard);
}

/// Where merging may change shares by any factor nothing is said, nor is anything NaN.
#[test]
fn merging_without_a_bound_says_nothing() {
    let mut problem = Problem::gaussian(1, (1, 64, 4, 1), Dtype::Bfloat16);
    problem.query.fill(0.0);
    problem.value = (0..64).map(|j| f64::from(1 + j % 2)).collect();
    let enclosure = enclose(&problem.head());
    let coarse = bound(&problem.head(), &enclosure, &contract("bf16+bf16-softmax"));
    assert!(coarse.probable[0].is_infinite() || coarse.probable[0] < 0.5, "{:?}", coarse.probable);
    let mut steep = Problem::gaussian(1, (1, 1, 1, 1), Dtype::Float32);
    steep.alibi = Some(Alibi { slope: 1e9, offset: 5 });
    steep.value[0] = 0.0;
    let enclosure = enclose(&steep.head());
    let bound = bound(&steep.head(), &enclosure, &contract("f32"));
    assert!(bound.hard.iter().chain(&bound.probable).all(|b| !b.is_nan()));
}

/// The logarithm of a part is as wrong as its size allows, and with it the share of the part.
#[test]
fn merging_pays_for_the_size_of_logarithms() {
    let contract = Contract { exp_error: 2000, tile: None, ..contract("f32") };
    let n_k = 200_000;
    let mut problem = Problem::gaussian(3, (1, n_k, 1, 1), contract.dtype);
    problem.query.fill(0.0);
    problem.value = (0..n_k).map(|j| if j < n_k / 2 { 1.0 } else { -1.0 }).collect();
    let enclosure = enclose(&problem.head());
    let bound = bound(&problem.head(), &enclosure, &contract);
    let style = Style { parts: 2, ..Style::PLAIN };
    let worst = (0..60).fold(0.0f64, |worst, seed| {
        let mut machine = Machine { contract: &contract, style, rng: rng(seed) };
        worst.max(machine.run(&problem, 1.0)[0].abs())
    });
    // Two factors with two exponentials each, and twice that behind a rounding.
    let exponentials = 2.0 * 2.0 * 2.0 * 2000.0 * unit_roundoff(Dtype::Float32);
    assert!(worst <= bound.hard[0] && worst > exponentials, "{worst:e} {exponentials:e}");
}

/// Who keeps only the looser contract, by one step, breaks the tighter one somewhere.
#[test]
fn one_step_beyond_the_contract_is_seen_somewhere() {
    let mut rng = rng(12);
    let pairs = [
        ("bf16-flash", "bf16-flash+scores-stored"),
        ("bf16-flash", "bf16-flash+pre-scaled-query"),
        ("f16-flash", "f16-flash+f16-accumulation"),
        ("f16-flash", "f16-flash+scores-stored"),
        ("f32", "tf32"),
    ];
    let pairs = pairs.map(|(tight, loose)| (contract(tight), contract(loose)));
    let stored = Contract { partial: Some(Dtype::Bfloat16), ..contract("f32") };
    let narrow = Contract { dot_bits: Some(14), truncates: true, ..contract("f32") };
    let wide = Contract { weights: Dtype::Float32, ..contract("f16-flash") };
    let wide = Contract { output: Some(Dtype::Float32), ..wide };
    let steps = Contract { stored_steps: true, ..wide.clone() };
    let others = [(contract("f32"), stored), (contract("f32"), narrow), (wide, steps)];
    for (kept, broken) in pairs.into_iter().chain(others) {
        let beyond = (0..200).any(|trial| {
            let problem = match trial % 2 {
                0 => problem(&mut rng, kept.dtype),
                // Many keys of one weight and one sign: errors of sums add up.
                _ => {
                    let mut problem = Problem::gaussian(trial, (2, 200, 8, 2), kept.dtype);
                    problem.query.iter_mut().for_each(|q| *q = round(*q / 16.0, kept.dtype));
                    problem.value.iter_mut().for_each(|v| *v = round(1.0 + v.abs(), kept.dtype));
                    problem
                }
            };
            let enclosure = enclose(&problem.head());
            let bound = bound(&problem.head(), &enclosure, &kept);
            (0..4).any(|_| {
                let style = style(&mut rng, &broken);
                let mut machine =
                    Machine { contract: &broken, style, rng: numerics_common::rng(trial) };
                ratios(&enclosure, &bound, &machine.run(&problem, problem.head().scale.value)).0
                    > 1.0
            })
        });
        assert!(beyond, "{} never leaves the bound of {}", broken.contract, kept.contract);
    }
}

#[test]
fn the_default_contract_of_a_format_is_the_loosest() {
    let mut rng = rng(2);
    // TF32 is no way to multiply in float32: it has to be declared.
    for tight in contracts().into_iter().filter(|contract| contract.operands.is_none()) {
        let is_default = |contract: &Contract| contract.default && contract.dtype == tight.dtype;
        let default = contracts().into_iter().find(is_default).unwrap();
        for _ in 0..60 {
            let problem = problem(&mut rng, tight.dtype);
            let head = problem.head();
            let enclosure = enclose(&head);
            let (tight, default) =
                (bound(&head, &enclosure, &tight), bound(&head, &enclosure, &default));
            assert!(tight.hard.iter().zip(&default.hard).all(|(tight, default)| tight <= default));
            assert!(
                tight
                    .probable
                    .iter()
                    .zip(&default.probable)
                    .all(|(tight, default)| tight <= default)
            );
        }
    }
}

#[test]
fn gaussian_bounds_have_the_size_of_the_formats() {
    for (name, largest) in [
        ("f64", 1e-12),
        ("f32", 1e-3),
        ("bf16-flash", 0.02),
        ("bf16-unfused", 0.3),
        ("f16-flash", 0.005),
    ] {
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
    for (problem, is_finite) in [(with_query(1.0 / 64.0), true), (with_query(2e4), false)] {
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
        let problem = Problem {
            sees: Sees::Spans([0, 3, 0].map(Span::prefix).to_vec()),
            empty_row,
            normalization,
            ..base
        };
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
        let problem =
            Problem { normalization, ..Problem::gaussian(7, (8, 9, 4, 2), Dtype::Float32) };
        let bound = bound(&problem.head(), &enclose(&problem.head()), &contract("f32"));
        assert!(
            bound.hard.iter().all(|b| *b > 0.0 && *b < 1e-3),
            "{normalization:?}: {:?}",
            bound.hard
        );
    }
}

/// Two keys whose scores are ties of bfloat16: storing them moves both by half a spacing, in
/// opposite directions.
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
        stages: &[Stage::Scale, Stage::Softcap, Stage::Bias],
        scale: RealScale::exact(1.0),
        softcap: None,
        bias: None,
        alibi: None,
        alibi_shifts: None,
        sink: None,
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
    assert!(
        error > hard(0),
        "without stored scores {error:e} is a fault, the bound is {:e}",
        hard(0)
    );
    assert!(
        error <= hard(1),
        "with stored scores {error:e} is allowed, the bound is {:e}",
        hard(1)
    );
}

/// Two keys whose capped scores are stored after every operation, chosen so that the roundings of
/// the one add up and those of the other do too, the other way.
#[test]
fn the_bound_pays_for_every_operation_of_a_softcap_that_is_stored() {
    let contract = contract("f16-flash+scores-stored");
    let r = |x: f64| round(x, Dtype::Float16);
    let mut rng = rng(20);
    let mut worst = 0.0f64;
    for _ in 0..1000 {
        let mut draw = |low: f64, high: f64| r(rng.random_range(low..high));
        let (scale, cap) = (draw(1.0, 1.02), draw(118.0, 128.0));
        let exact = |[x, y, bias]: &[f64; 3]| cap * libm::tanh(scale * (x + y) / cap) + bias;
        let stored = |[x, y, bias]: &[f64; 3]| {
            r(r(cap * r(libm::tanh(r(r(scale * r(x + y)) / cap)))) + bias)
        };
        let off = |key: &[f64; 3]| stored(key) - exact(key);
        let mut keys: Vec<[f64; 3]> =
            (0..200).map(|_| [draw(16.0, 16.4), draw(-0.01, 0.01), draw(-0.01, 0.01)]).collect();
        keys.sort_by(|a, b| off(a).total_cmp(&off(b)));
        let (low, high) = (keys[0], keys[199]);
        let problem = Problem {
            query: vec![1.0; 2],
            key: [&low[..2], &high[..2]].concat(),
            bias: Some(vec![low[2], high[2]]),
            value: vec![1.0, -1.0],
            scale: Scale::Given(scale),
            softcap: Some(cap),
            ..Problem::gaussian(0, (1, 2, 2, 1), Dtype::Float16)
        };
        let output = libm::tanh((stored(&low) - stored(&high)) / 2.0);
        let enclosure = enclose(&problem.head());
        worst = worst
            .max(ratios(&enclosure, &bound(&problem.head(), &enclosure, &contract), &[output]).0);
    }
    assert!(worst <= 1.0 && worst > 0.5, "{worst} of the bound");
}

/// A cap takes away what lies above it: the errors of large dot products no longer count in full.
#[test]
fn a_softcap_and_a_base_have_their_price_and_no_more() {
    let mut problem = Problem::gaussian(14, (4, 30, 16, 2), Dtype::Float32);
    problem.query.iter_mut().for_each(|q| *q *= 64.0);
    let of = |problem: &Problem, name: &str| {
        bound(&problem.head(), &enclose(&problem.head()), &contract(name))
    };
    let capped = Problem { softcap: Some(2.0), ..problem.clone() };
    let (tight, loose) = (of(&capped, "f32"), of(&capped, "tf32"));
    assert!(tight.hard.iter().zip(&loose.hard).all(|(tight, loose)| *tight > 0.0 && tight < loose));
    let worse = Contract { tanh_error: 1000, ..contract("f32") };
    let worse = bound(&capped.head(), &enclose(&capped.head()), &worse);
    assert!(worse.hard[0] > tight.hard[0]);
    let natural = tight.lse_hard[0];
    assert!(natural > 0.0 && natural < 1e-3, "{natural:e}");
    assert_eq!(lse_bound_in(LseBase::Natural, natural).to_bits(), natural.to_bits());
    let two = lse_bound_in(LseBase::Two, natural);
    let log2_e = std::f64::consts::LOG2_E;
    assert!(two > natural * log2_e && two < natural * log2_e * (1.0 + 1e-14));
}

#[test]
fn a_row_that_sees_only_its_sink_is_zero_and_has_a_log_sum_exp() {
    let base = Problem::gaussian(15, (2, 5, 4, 2), Dtype::Bfloat16);
    let sees = Sees::Mask((0..10).map(|x| x >= 5).collect());
    for (sink, empty_row) in [(None, EmptyRow::Zero), (Some(1.7), EmptyRow::Mean)] {
        let problem = Problem { sink, empty_row, sees: sees.clone(), ..base.clone() };
        let bound = bound(&problem.head(), &enclose(&problem.head()), &contract("bf16-flash"));
        assert!(
            bound.hard[..2].iter().all(|b| *b == 0.0) && bound.hard[2..].iter().all(|b| *b > 0.0)
        );
        assert!(if sink.is_some() {
            bound.lse_hard[0] > 1e-7 && bound.lse_hard[0] < 1e-5
        } else {
            bound.lse_hard[0] == 0.0
        });
    }
}

/// One large product and many that are each just too small for the sum: cutting off loses them all,
/// rounding keeps some.
#[test]
fn sums_that_are_cut_off_are_allowed_for_where_they_are_declared() {
    let n_k = 60;
    let mut problem = Problem::gaussian(16, (1, n_k, 1, 1), Dtype::Float32);
    problem.query.fill(0.0);
    problem.value = (0..n_k).map(|j| if j == 0 { 1.0 } else { 0.99 * libm::exp2(-13.0) }).collect();
    problem.value.iter_mut().for_each(|v| *v = round(*v, Dtype::Float32));
    let nearest = Contract {
        dot_bits: Some(14),
        divides_last: true,
        ..contract("f32+unmerged+unrounded-sum")
    };
    let cutting = Contract { truncates: true, ..nearest.clone() };
    let enclosure = enclose(&problem.head());
    for block in [1, 2, 4, 16] {
        let style = Style { cut: Some(block), ..Style::PLAIN };
        let outputs = Machine { contract: &cutting, style, rng: rng(17) }.run(&problem, 1.0);
        let of = |contract: &Contract| {
            ratios(&enclosure, &bound(&problem.head(), &enclosure, contract), &outputs).0
        };
        assert!(
            of(&cutting) <= 1.0 && of(&nearest) > 1.0,
            "{block}: {} {}",
            of(&cutting),
            of(&nearest)
        );
    }
    // A declared depth holds for both: it shrinks the bound, and these sums break it.
    let shallow = Contract { depth: contract("f32+depth-8").depth, ..cutting.clone() };
    let style = Style { cut: Some(1), ..Style::PLAIN };
    let outputs = Machine { contract: &cutting, style, rng: rng(18) }.run(&problem, 1.0);
    assert!(ratios(&enclosure, &bound(&problem.head(), &enclosure, &shallow), &outputs).0 > 1.0);
}
