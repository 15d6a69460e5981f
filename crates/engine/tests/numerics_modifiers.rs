//! Modifiers move bounds in their own direction, and as far as those need who declare them.

use crate::numerics_common;

use numerics_common::problems::{contract, problem, ratios, with_options};
use numerics_common::simulate::{Machine, Style, Tangent};
use numerics_common::{Problem, rng};
use qkvet_engine::bound::bound;
use qkvet_engine::enclosure::enclose;
use qkvet_engine::format::round;
use qkvet_spec::{Catalog, Contract};
use rand::RngExt;

/// What is allowed more never makes a bound smaller, what is promised more never larger.
#[test]
fn modifiers_move_bounds_in_their_own_direction() {
    let catalog = Catalog::embedded().unwrap();
    let mut rng = rng(13);
    for base in catalog.contracts.values() {
        let fitting: Vec<(Contract, bool)> = catalog
            .modifiers
            .values()
            .filter(|modifier| modifier.fits(base.dtype))
            .map(|modifier| {
                let name = modifier.modifier.replace("-N", "-24");
                let promises = modifier.allows.is_empty();
                (catalog.contract(&format!("{}+{name}", base.contract)).unwrap(), promises)
            })
            .collect();
        let pairs = looser_pairs(&catalog, base);
        for trial in 0..30 {
            let problem = problem(&mut rng, base.dtype);
            let problem = if trial % 3 == 0 { with_options(&mut rng, problem) } else { problem };
            let head = problem.head();
            let enclosure = enclose(&head);
            let of = |contract: &Contract| bound(&head, &enclosure, contract);
            let of_base = of(base);
            for (modified, promises) in &fitting {
                let bound = of(modified);
                let (small, large) =
                    if *promises { (&bound, &of_base) } else { (&of_base, &bound) };
                let all = |small: &[f64], large: &[f64]| {
                    small.iter().zip(large).all(|(small, large)| small <= large)
                };
                let name = &modified.contract;
                assert!(all(&small.hard, &large.hard), "{name}: {:?} {:?}", small.hard, large.hard);
                // Where any weights are allowed there is no probable bound beside the hard one.
                let [less, more] = [small, large].map(|bound| {
                    let pairs = bound.probable.iter().zip(&bound.hard);
                    pairs.map(|(probable, hard)| probable.min(*hard)).collect::<Vec<f64>>()
                });
                assert!(all(&less, &more), "{name}: {less:?} {more:?}");
                assert!(all(&small.lse_hard, &large.lse_hard), "{name}");
                assert!(all(&small.lse_probable, &large.lse_probable), "{name}");
            }
            for (small, large) in &pairs {
                let hard = |contract| of(contract).hard;
                let (less, more) = (hard(small), hard(large));
                assert!(
                    less.iter().zip(&more).all(|(less, more)| less <= more),
                    "{}: {less:?} {more:?}",
                    large.contract
                );
            }
        }
    }
}

/// `base+one` and `base+one+other` for all modifiers of which both allow something, as far as they
/// go together.
fn looser_pairs(catalog: &Catalog, base: &Contract) -> Vec<(Contract, Contract)> {
    let allowing: Vec<&str> = catalog
        .modifiers
        .values()
        .filter(|modifier| modifier.fits(base.dtype) && !modifier.allows.is_empty())
        .map(|modifier| modifier.modifier.as_str())
        .collect();
    let both = |one: &&str, other: &&str| {
        catalog.contract(&format!("{}+{one}+{other}", base.contract)).ok()
    };
    let pair = |one: &&str, other: &&str| {
        Some((catalog.contract(&format!("{}+{one}", base.contract)).ok()?, both(one, other)?))
    };
    allowing
        .iter()
        .flat_map(|one| allowing.iter().filter_map(move |other| pair(one, other)))
        .collect()
}

/// How far a machine that keeps the modified contract gets in 200 problems: the largest share of
/// the plain bound, and of the modified one.
fn reach(
    plain: &Contract,
    modified: &Contract,
    mut problem: impl FnMut(u64) -> Problem,
) -> (f64, f64) {
    (0..200).fold((0.0, 0.0), |(of_plain, of_modified): (f64, f64), trial| {
        let problem = problem(trial);
        let head = problem.head();
        let enclosure = enclose(&head);
        let mut machine = Machine { contract: modified, style: Style::PLAIN, rng: rng(trial) };
        let outputs = machine.run(&problem, head.scale.value);
        let of = |contract| ratios(&enclosure, &bound(&head, &enclosure, contract), &outputs).0;
        (of_plain.max(of(plain)), of_modified.max(of(modified)))
    })
}

/// A tangent made of exponentials has an absolute error: of small logits under a large cap it leaves
/// less than its relative error would.
#[test]
fn a_tangent_made_of_exponentials_keeps_every_contract() {
    let contract = contract("f32");
    for tangent in [Tangent::Quotient, Tangent::Sigmoid] {
        let (mut of_uncapped, mut worst) = (0.0f64, 0.0f64);
        for trial in 0..100 {
            let plain = Problem::gaussian(trial, (2, 5, 8, 2), contract.dtype);
            let capped = Problem { softcap: Some(4096.0), ..plain.clone() };
            let style = Style { tangent, ..Style::PLAIN };
            let outputs = Machine { contract: &contract, style, rng: rng(trial) }
                .run(&capped, capped.head().scale.value);
            let reached = |problem: &Problem| {
                let enclosure = enclose(&problem.head());
                ratios(&enclosure, &bound(&problem.head(), &enclosure, &contract), &outputs).0
            };
            (of_uncapped, worst) = (of_uncapped.max(reached(&plain)), worst.max(reached(&capped)));
        }
        assert!(worst <= 1.0, "{tangent:?}: {worst}");
        assert!(of_uncapped > 10.0, "{tangent:?}: {of_uncapped} without what a cap is allowed");
    }
}

/// A softcap whose tangents are off by 2^-11, as the hardware may have them.
#[test]
fn an_approximate_tangent_is_allowed_where_it_is_declared() {
    let mut rng = rng(19);
    for base in ["f32", "bf16-flash", "f16-flash"] {
        let (plain, modified) = (contract(base), contract(&format!("{base}+approximate-tanh")));
        let (of_plain, worst) = reach(&plain, &modified, |trial| {
            let mut problem = Problem::gaussian(trial, (2, 3, 8, 2), plain.dtype);
            let spread = libm::exp(rng.random_range(0.0..4.0));
            problem.query.iter_mut().for_each(|q| *q = round(*q * spread, plain.dtype));
            problem.softcap = Some([5.0, 30.0, 50.0][rng.random_range(0..3)]);
            problem
        });
        assert!(of_plain > 1.0, "{base}: a tangent off by 2^-11 stays within the bound");
        assert!(
            worst <= 1.0 && worst > 0.01,
            "{base}: {worst} of the bound of {}",
            modified.contract
        );
    }
}

/// The textbook softmax, every step of which is stored in 16 bits.
#[test]
fn a_softmax_that_stores_its_steps_is_allowed_where_it_is_declared() {
    // In bfloat16 a sum of many keys may be anything.
    for (base, modifier, n_k) in
        [("f16-unfused", "f16-softmax", 40), ("bf16-unfused", "bf16-softmax", 4)]
    {
        let (plain, modified) = (contract(base), contract(&format!("{base}+{modifier}")));
        let (of_plain, worst) = reach(&plain, &modified, |trial| {
            let mut problem = Problem::gaussian(trial, (2, n_k, 8, 2), plain.dtype);
            problem.query.iter_mut().for_each(|q| *q = round(*q / 8.0, plain.dtype));
            problem.value.iter_mut().for_each(|v| *v = round(1.0 + v.abs(), plain.dtype));
            problem
        });
        assert!(of_plain > 1.0, "{base}: a softmax in 16 bits stays within the bound");
        assert!(
            worst <= 1.0 && worst > 0.001,
            "{base}: {worst} of the bound of {}",
            modified.contract
        );
    }
}
