//! What certainly keeps a contract is within its bound, and most of what implementations return is
//! certain.

use crate::numerics_common;

use numerics_common::problems::{contract, contracts, problem, with_options};
use numerics_common::simulate::{Machine, Style};
use numerics_common::{Problem, Sees, causal, rng};
use qkvet_engine::Products;
use qkvet_engine::bound::{bound, certainly_keeps};
use qkvet_engine::enclosure::{Detail, HeadEnclosure, enclose, enclose_as};
use qkvet_engine::format::round;
use qkvet_engine::head::Normalization;
use qkvet_spec::{Contract, Dtype};
use rand::RngExt;

fn rows(problem: &Problem) -> HeadEnclosure {
    enclose_as(&problem.head(), Products::Faer, Detail::Rows)
}

/// Whether output `x` in place `at`, all others being midpoints, certainly keeps the contract.
fn keeps(
    problem: &Problem,
    enclosure: &HeadEnclosure,
    contract: &Contract,
    at: usize,
    x: f64,
) -> bool {
    let mut output = enclosure.mid.clone();
    output[at] = x;
    certainly_keeps(&problem.head(), enclosure, contract, &output)
}

#[test]
fn what_certainly_keeps_a_contract_is_within_its_bound() {
    let mut rng = rng(1);
    let names = [
        "f32+split-kv",
        "bf16-flash+scores-stored",
        "f16-flash+f16-accumulation",
        "f32+truncating",
    ];
    let (mut tried, mut certain) = (0, 0);
    for contract in contracts().into_iter().chain(names.map(contract)) {
        for trial in 0..60 {
            let problem = problem(&mut rng, contract.dtype);
            let problem = if trial % 3 == 0 { with_options(&mut rng, problem) } else { problem };
            let problem = match trial % 10 {
                9 => Problem { normalization: Normalization::None, ..problem },
                _ => problem,
            };
            let (less, full) = (rows(&problem), enclose(&problem.head()));
            let bound = bound(&problem.head(), &full, &contract);
            for at in 0..full.mid.len() {
                let limit = bound.probable[at] + full.rad[at];
                let (mid, far) =
                    (full.mid[at], full.mid[at] + limit * 1.000_001 + f64::MIN_POSITIVE);
                if mid.is_finite() && !(limit.is_finite() && (far - mid).abs() <= limit) {
                    assert!(
                        !keeps(&problem, &less, &contract, at, far),
                        "{} {trial}: {far} at {at}",
                        contract.contract
                    );
                }
                assert!(
                    !keeps(&problem, &less, &contract, at, f64::NAN),
                    "{} {trial}: NaN at {at}",
                    contract.contract
                );
                for share in [0.01, 0.1, 0.5, 0.9, 0.99] {
                    let x = mid + limit * share * if rng.random() { 1.0 } else { -1.0 };
                    tried += 1;
                    if keeps(&problem, &less, &contract, at, x) {
                        certain += 1;
                        let is_within = bound.hard[at].is_finite() && (x - mid).abs() <= limit;
                        assert!(
                            is_within,
                            "{} {trial}: {x} at {at}, {mid} ± {limit}",
                            contract.contract
                        );
                    }
                }
            }
        }
    }
    assert!(certain * 4 > tried, "{certain} of {tried} are certain");
}

/// Attention as it is tested day by day: normal numbers, some keys, a head of 64.
#[test]
fn what_ordinary_implementations_return_is_certain() {
    let style = Style { tile: 64, ..Style::PLAIN };
    for contract in contracts()
        .into_iter()
        .filter(|contract| contract.weights == Dtype::Float32 && contract.operands.is_none())
    {
        for seed in 0..6 {
            let plain = Problem::gaussian(seed, (16, 300, 64, 16), contract.dtype);
            let problem = match seed {
                0 | 1 => plain,
                2 => Problem { sees: causal(16, 300), ..plain },
                3 => Problem {
                    sees: Sees::Mask((0..16 * 300).map(|at| at % 7 > 0).collect()),
                    ..plain
                },
                4 => Problem { softcap: Some(30.0), ..plain },
                _ => Problem { sink: Some(0.5), ..plain },
            };
            let head = problem.head();
            let output = Machine { contract: &contract, style, rng: rng(seed) }
                .run(&problem, head.scale.value);
            let said = certainly_keeps(&head, &rows(&problem), &contract, &output);
            let is_decided =
                bound(&head, &enclose(&head), &contract).hard.iter().all(|hard| hard.is_finite());
            assert_eq!(said, is_decided, "{} {seed}", contract.contract);
        }
    }
}

/// An element that is 0 by cancellation has nothing but its sizes to go by, a row with one key the
/// value itself.
#[test]
fn cancellation_and_copies_are_certain_too() {
    let f32 = contract("f32");
    let mut problem = Problem::gaussian(3, (2, 64, 8, 2), Dtype::Float32);
    (0..32).for_each(|pair| {
        (0..8).for_each(|t| problem.key[(2 * pair + 1) * 8 + t] = problem.key[2 * pair * 8 + t]);
        (0..2)
            .for_each(|c| problem.value[(2 * pair + 1) * 2 + c] = -problem.value[2 * pair * 2 + c]);
    });
    let enclosure = rows(&problem);
    assert!(enclosure.mid.iter().all(|mid| mid.abs() < 1e-15));
    assert!(
        keeps(&problem, &enclosure, &f32, 1, 1e-8) && !keeps(&problem, &enclosure, &f32, 1, 1e-3)
    );

    let one = Problem::gaussian(4, (2, 1, 8, 2), Dtype::Float32);
    let enclosure = rows(&one);
    let value = round(one.value[0], Dtype::Float32);
    assert!(
        keeps(&one, &enclosure, &f32, 0, value) && !keeps(&one, &enclosure, &f32, 0, value * 1.01)
    );
}
