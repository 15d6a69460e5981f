//! How near implementations that keep a contract come to its bounds.

use std::fmt::Write;

use qkvet_engine::Products;
use qkvet_engine::bound::bound;
use qkvet_engine::enclosure::enclose_with;
use qkvet_engine::format::round;
use qkvet_spec::{Catalog, Contract};

use crate::numerics_common::simulate::{Machine, Style};
use crate::numerics_common::{Problem, rng};
use crate::{largest_ratio, two_digits};

/// Bases and compositions.
const CONTRACTS: [&str; 17] = [
    "f64",
    "f32",
    "f32+tile-64+unmerged",
    "f32+depth-24+tile-64+unmerged",
    "tf32",
    "bf16-flash",
    "bf16-flash+split-kv",
    "bf16-flash+bf16-partials",
    "bf16-flash+truncating",
    "bf16-unfused",
    "f16-flash",
    "f16-flash+pre-scaled-query",
    "f16-unfused",
    "f16-flash+f16-accumulation",
    "f16-flash+depth-24+f16-accumulation",
    "e4m3-flash",
    "e5m2-flash",
];
const KEYS: [usize; 3] = [64, 512, 2048];
/// Where the longest rows are cheap enough, and say something.
const LONG: ([&str; 2], usize) = (["f32", "bf16-flash"], 8192);
const SPREADS: [f64; 2] = [1.0, 4.0];
const QUERIES: usize = 4;
const WIDTH: usize = 64;

/// One line for each contract and spread.
pub(crate) fn table() -> String {
    let catalog = Catalog::embedded().expect("the embedded catalog");
    let mut out = String::from("| contract | logits deviate by |");
    for n in KEYS.iter().chain([&LONG.1]) {
        let _ = write!(out, " n = {n} |");
    }
    let _ = write!(out, "\n|---|---|{}", "---|".repeat(KEYS.len() + 1));
    for name in CONTRACTS {
        let contract = catalog.contract(name).expect("a contract");
        for spread in SPREADS {
            let _ = write!(out, "\n| `{name}` | {spread} |");
            for n in KEYS.iter().chain([&LONG.1]) {
                let cell = if *n < LONG.1 || LONG.0.contains(&name) {
                    cell(&contract, *n, spread)
                } else {
                    String::new()
                };
                let _ = write!(out, " {cell} |");
            }
        }
    }
    out
}

/// Hard and probable.
fn cell(contract: &Contract, n: usize, spread: f64) -> String {
    let mut problem = Problem::gaussian(n as u64, (QUERIES, n, WIDTH, WIDTH), contract.dtype);
    problem.query.iter_mut().for_each(|q| *q = round(*q * spread, contract.dtype));
    let head = problem.head();
    let exact = enclose_with(&head, Products::FixedOrder);
    let allowed = bound(&head, &exact, contract);
    let (mut hard, mut probable) = (0.0_f64, 0.0_f64);
    for style in styles(contract) {
        let output =
            Machine { contract, style, rng: rng(n as u64) }.run(&problem, head.scale.value);
        hard = hard.max(largest_ratio(&output, &exact.mid, &exact.rad, &allowed.hard));
        probable = probable.max(largest_ratio(&output, &exact.mid, &exact.rad, &allowed.probable));
    }
    let is_vacuous = |bound: &[f64]| bound.iter().any(|x| x.is_infinite());
    let show = |ratio: f64, bound: &[f64]| {
        if is_vacuous(bound) { "vacuous".to_owned() } else { two_digits(ratio) }
    };
    format!("{} · {}", show(hard, &allowed.hard), show(probable, &allowed.probable))
}

/// Implementations that the contract admits: whole rows with everything that it lets them round,
/// plain whole rows, tiles, parts.
fn styles(contract: &Contract) -> Vec<Style> {
    let plain = Style { tile: 64, cut: contract.truncates.then_some(4), ..Style::PLAIN };
    let loose = Style {
        scale_inputs: contract.input_roundings > 0,
        store_scores: contract.score_roundings > 0,
        store_steps: contract.stored_steps,
        sum_rounded: contract.sum_of_rounded,
        ..plain
    };
    let tiles = Style { online: true, base_two: true, ..plain };
    let parts = contract.merges.then_some(Style { parts: 4, ..tiles });
    [loose, plain, tiles].into_iter().chain(parts).collect()
}
