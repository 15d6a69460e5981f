//! Right implementations of many kinds are right by default: each result of each lies within the
//! default contract of its format.

mod recipe;

use std::collections::BTreeSet;

use qkvet_engine::interpret::interpret;
use qkvet_engine::law::{Judge, evaluate};
use qkvet_engine::lowering::ResultName;
use qkvet_gen::{build, call_id, plans};
use qkvet_run::adapters::builtin::flash::Flash;
use qkvet_spec::shape::CheckedLaw;
use qkvet_spec::{Call, CallOption, Catalog, Dtype, Meaning, Response, Target};

use recipe::{Recipe, recipe};

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

/// How far the worst result of each recipe is from what is allowed, and the calls with a result
/// beyond that.
fn judged(calls: &[Call], recipes: &[Recipe], catalog: &Catalog) -> Vec<(f64, Vec<String>)> {
    let mut found = vec![(0.0f64, Vec::new()); recipes.len()];
    for call in calls {
        let contract = catalog.default_contract(call.dtype()).expect("a contract");
        let expected = interpret(&Meaning::standard(), call, contract, ResultName::Output);
        for (recipe, (worst, beyond)) in recipes.iter().zip(&mut found) {
            let output = recipe.output(call).output;
            let mut is_right = true;
            for (at, x) in output.data.iter().enumerate() {
                let (exact, hard) = (&expected.exact[at], expected.hard[at]);
                let share = ((x - exact.mid).abs() - exact.rad) / hard;
                *worst = worst.max(if hard.is_finite() && hard > 0.0 { share } else { 0.0 });
                if !expected.holds(at, *x) {
                    if is_right {
                        beyond.push(format!(
                            "{:?} {:?} at {at}: {x:e}, expected {:e} ± {:e}, {share} of {hard:e}",
                            call.dims(),
                            call.options.on().iter().collect::<Vec<_>>(),
                            exact.mid,
                            exact.rad
                        ));
                    }
                    is_right = false;
                }
            }
        }
    }
    found
}

fn all_are_right(suite: &str, dtype: Dtype, seeds: std::ops::Range<u64>) {
    let catalog = Catalog::embedded().expect("a catalog");
    let recipes: Vec<Recipe> = (0..RECIPES).map(recipe).collect();
    let mut report = String::new();
    for seed in seeds {
        let calls = calls(&catalog, suite, dtype, seed);
        for ((worst, beyond), recipe) in judged(&calls, &recipes, &catalog).iter().zip(&recipes) {
            println!("{dtype} seed {seed} {} calls {worst:.3} {recipe:?}", calls.len());
            for one in beyond.iter().take(3) {
                report +=
                    &format!("{} of {} calls {recipe:?}\n  {one}\n", beyond.len(), calls.len());
            }
        }
    }
    assert!(report.is_empty(), "{report}");
}

#[test]
fn in_float64() {
    all_are_right("smoke", Dtype::Float64, 0..1);
}

#[test]
fn in_float32() {
    all_are_right("smoke", Dtype::Float32, 0..1);
}

#[test]
fn in_bfloat16() {
    all_are_right("smoke", Dtype::Bfloat16, 0..1);
}

#[test]
fn in_float16() {
    all_are_right("smoke", Dtype::Float16, 0..1);
}
