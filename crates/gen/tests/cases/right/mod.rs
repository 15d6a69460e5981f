//! Right implementations of many kinds are right by default: each result of each lies within the
//! default contract of its format.

mod recipe;

use std::collections::BTreeSet;

use qkvet_engine::flash::Flash;
use qkvet_engine::interpret::interpret;
use qkvet_engine::law::{Judge, evaluate};
use qkvet_engine::lowering::ResultName;
use qkvet_gen::{build, call_id, plans};
use qkvet_spec::shape::CheckedLaw;
use qkvet_spec::{Call, CallOption, Catalog, Dtype, Meaning, Response, Target};

use recipe::{Exponential, Recipe, recipe};

/// Recipes that are tried.
const RECIPES: usize = 72;

/// Keeps the calls that a right target answers.
#[derive(Default)]
struct Kept {
    known: BTreeSet<String>,
    calls: Vec<Call>,
}

impl Target for Kept {
    fn call(&mut self, call: &Call) -> Response {
        let response = Flash.call(call);
        if matches!(response, Response::Output(_)) && self.known.insert(call_id(call)) {
            self.calls.push(call.clone());
        }
        response
    }
}

/// Calls of a suite with options that recipes have.
fn calls(catalog: &Catalog, suite: &str, dtype: Dtype, seed: u64) -> Vec<Call> {
    let suite = &catalog.suites[suite];
    let laws: Vec<&CheckedLaw> = catalog.suite_laws(suite).expect("known laws");
    let contract = catalog.default_contract(dtype).expect("a contract");
    let mut kept = Kept::default();
    for plan in plans(suite, &laws, &[dtype], seed) {
        let law = &catalog.laws[&plan.law];
        let case = build(law, &plan).expect("a case");
        let judge = Judge { meaning: &Meaning::standard(), contract };
        evaluate(law, &case, judge, &mut kept).expect("a verdict");
    }
    const OPTIONS: [CallOption; 6] = [
        CallOption::Scale,
        CallOption::Causal,
        CallOption::Mask,
        CallOption::Bias,
        CallOption::Softcap,
        CallOption::Window,
    ];
    let is_known = |call: &Call| {
        CallOption::ALL.iter().all(|one| OPTIONS.contains(one) || !call.options.has(*one))
    };
    kept.calls.retain(is_known);
    kept.calls
}

/// The calls of each recipe with a result beyond what is allowed.
fn judged(calls: &[Call], recipes: &[Recipe], catalog: &Catalog) -> Vec<Vec<String>> {
    let mut found = vec![Vec::new(); recipes.len()];
    for call in calls {
        let contract = catalog.default_contract(call.dtype()).expect("a contract");
        // Once for all of them.
        let expected = interpret(&Meaning::standard(), call, contract, ResultName::Output);
        for (recipe, beyond) in recipes.iter().zip(&mut found) {
            let output = recipe.output(call).output;
            let wrong = output.data.iter().enumerate().find(|(at, x)| !expected.holds(*at, **x));
            let about = |(at, x): (usize, &f64)| {
                let (exact, hard) = (&expected.exact[at], expected.hard[at]);
                let on: Vec<CallOption> = call.options.on().iter().collect();
                let dims = call.dims();
                format!("{dims:?} {on:?} at {at}: {x:e}, expected {:e} ± {hard:e}", exact.mid)
            };
            beyond.extend(wrong.map(about));
        }
    }
    found
}

/// The larger suite in the slow tests.
#[expect(clippy::disallowed_methods, reason = "how much is run is said to every test this way")]
fn all_are_right(dtype: Dtype) {
    let is_slow = std::env::var("QKVET_TEST_TIER").is_ok_and(|tier| tier == "all");
    are_right(if is_slow { "core" } else { "smoke" }, dtype, 0..1);
}

fn are_right(suite: &str, dtype: Dtype, seeds: std::ops::Range<u64>) {
    let catalog = Catalog::embedded().expect("a catalog");
    let recipes: Vec<Recipe> = (0..RECIPES).map(recipe).collect();
    for seed in seeds {
        let calls = calls(&catalog, suite, dtype, seed);
        assert!(calls.len() > 200, "{} calls", calls.len());
        for (beyond, recipe) in judged(&calls, &recipes, &catalog).iter().zip(&recipes) {
            let n = calls.len();
            assert!(beyond.is_empty(), "{} of {n} of {recipe:?}\n{}", beyond.len(), beyond[0]);
        }
    }
}

/// It is seen where something is not right.
#[test]
fn a_coarse_exponential_is_found_in_wide_formats() {
    let catalog = Catalog::embedded().expect("a catalog");
    let coarse = Recipe { exponential: Exponential::Coarse, stored_steps: false, ..recipe(0) };
    for dtype in [Dtype::Float64, Dtype::Float32] {
        let calls = calls(&catalog, "smoke", dtype, 0);
        let beyond = &judged(&calls, &[coarse], &catalog)[0];
        assert!(beyond.len() > 20, "{dtype}: {} of {}", beyond.len(), calls.len());
    }
}

#[test]
fn in_float64() {
    all_are_right(Dtype::Float64);
}

#[test]
fn in_float32() {
    all_are_right(Dtype::Float32);
}

#[test]
fn in_bfloat16() {
    all_are_right(Dtype::Bfloat16);
}

#[test]
fn in_float16() {
    all_are_right(Dtype::Float16);
}
