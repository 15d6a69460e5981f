//! Suites: how many cases, which, and that they never drift.

use std::collections::{BTreeMap, BTreeSet};

use qkvet_engine::format::is_representable;
use qkvet_gen::{CasePlan, ScaleChoice, case_id, check_suite, plans};
use qkvet_spec::{Binding, CallOption, CheckedLaw, Dims, Dtype, Suite};
use sha2::{Digest, Sha256};

use crate::{built, catalog, is_extended, suite_plans};

fn ids(suite: &str, seed: u64) -> Vec<(String, String)> {
    let catalog = catalog();
    let mut plans = suite_plans(catalog, suite, seed);
    // The id of a case says its format: cases of two formats are never the same.
    plans.retain(|(_, plan)| suite == "smoke" || plan.dtype == Dtype::Float32);
    plans_ids(&plans)
}

fn plans_ids(plans: &[(&CheckedLaw, CasePlan)]) -> Vec<(String, String)> {
    plans
        .iter()
        .map(|(law, plan)| (format!("{} {}", plan.law, plan.dtype), case_id(&built(law, plan))))
        .collect()
}

/// Ids of smoke and a hash of all ids of core, the extended cases and those of refusal apart. A
/// change here means that stored ids mean other cases: say why in the commit.
#[test]
fn ids_are_the_same_on_every_machine() {
    let catalog = catalog();
    let group = |law: &CheckedLaw, plan: &CasePlan| match () {
        () if law.law.misfit.is_some() => "-refusal",
        () if is_extended(plan) || law.law.law == "log-sum-exp" => "-extended",
        () => "",
    };
    for suffix in ["", "-extended", "-refusal"] {
        let of = |suite: &str| {
            let plans = suite_plans(catalog, suite, 0);
            let chosen: Vec<_> =
                plans.into_iter().filter(|(law, plan)| group(law, plan) == suffix).collect();
            plans_ids(&chosen)
        };
        let smoke: Vec<String> =
            of("smoke").into_iter().map(|(group, id)| format!("{id} {group}")).collect();
        insta::assert_snapshot!(format!("smoke{suffix}"), smoke.join("\n"));
        let core = summary(of("core"));
        insta::assert_snapshot!(format!("core{suffix}"), core);
    }
}

/// Hash and numbers.
fn summary(ids: Vec<(String, String)>) -> String {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut hash = Sha256::new();
    for (group, id) in ids {
        hash.update(format!("{group} {id}\n"));
        *counts.entry(group.split(' ').next().unwrap().to_owned()).or_default() += 1;
    }
    let hash: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    let total: usize = counts.values().sum();
    let counts: Vec<String> = counts.into_iter().map(|(law, n)| format!("{n:4} {law}")).collect();
    format!("{hash}\n{total:4} in all\n{}", counts.join("\n"))
}

#[test]
fn two_seeds_share_no_case_and_one_seed_has_none_twice() {
    for suite in ["smoke", "core"] {
        let (first, second) = (ids(suite, 0), ids(suite, 1));
        assert_eq!(first.len(), second.len());
        let all: BTreeSet<&String> = first.iter().chain(&second).map(|(_, id)| id).collect();
        assert_eq!(all.len(), first.len() + second.len(), "{suite}");
    }
}

#[test]
fn leaving_out_laws_and_formats_shifts_nothing() {
    let catalog = catalog();
    let suite = &catalog.suites["core"];
    let laws = catalog.suite_laws(suite).unwrap();
    let few: Vec<_> = laws.iter().copied().skip(3).step_by(4).collect();
    let all = plans(suite, &laws, &suite.dtypes, 5);
    let kept = plans(suite, &few, &[Dtype::Float16], 5);
    let chosen = |law: &String| few.iter().any(|few| few.law.law == *law);
    let expected: Vec<_> =
        all.into_iter().filter(|plan| plan.dtype == Dtype::Float16 && chosen(&plan.law)).collect();
    assert_eq!(kept, expected);
}

#[test]
fn suites_are_as_large_as_they_promise() {
    let catalog = catalog();
    for (suite, low, high) in [("core", 1_500, 14_000), ("smoke", 150, 1_300)] {
        check_suite(&catalog.suites[suite]).unwrap();
        let plans = suite_plans(catalog, suite, 0);
        assert!((low..=high).contains(&plans.len()), "{suite}: {}", plans.len());
        for law in catalog.asking_laws().map(|law| &law.law.law) {
            for dtype in Dtype::CHECKED {
                assert!(
                    plans.iter().any(|(_, plan)| plan.law == *law && plan.dtype == dtype),
                    "{suite} {law} {dtype}"
                );
            }
        }
    }
}

#[test]
fn core_keeps_every_choice_of_the_value_law() {
    let catalog = catalog();
    let suite = &catalog.suites["core"];
    for dtype in Dtype::CHECKED {
        let value = &catalog.laws["value"];
        let mut plans: Vec<_> = plans(suite, &[value], &[dtype], 0);
        assert!(suite.shapes.iter().all(|dims| plans.iter().any(|plan| plan.dims == *dims)));
        let alone = Suite { together: None, ..suite.clone() };
        let others = qkvet_gen::plans(&alone, &[value], &[dtype], 0);
        plans.retain(|plan| !is_extended(plan) && others.contains(plan));
        assert!(plans.len() <= suite.limit.unwrap() + 6 * suite.alone);
        assert!(suite.values.iter().all(|values| plans.iter().any(|plan| plan.values == *values)));
        assert!(ScaleChoice::ALL.iter().all(|scale| plans.iter().any(|plan| plan.scale == *scale)));
        for pattern in &suite.masks {
            assert!(plans.iter().any(|plan| plan.mask.is_some_and(|mask| mask.0 == *pattern)));
        }
        for form in &suite.broadcast {
            assert!(plans.iter().any(|plan| plan.mask.is_some_and(|mask| mask.1 == *form)));
            assert!(plans.iter().any(|plan| plan.bias == Some(*form)));
        }
        assert!(plans.iter().any(|plan| plan.mask.is_none() && plan.bias.is_none()));
        assert!(plans.iter().any(|plan| plan.causal) && plans.iter().any(|plan| !plan.causal));
    }
}

#[test]
fn without_a_limit_every_pair_of_choices_occurs() {
    let catalog = catalog();
    let core = catalog.suites["core"].clone();
    let suite = Suite { limit: None, alone: 0, extended: None, together: None, ..core };
    let plans = plans(&suite, &[&catalog.laws["value"]], &[Dtype::Float32], 0);
    let shapes = suite.shapes.len();
    assert!((shapes * suite.values.len()..=shapes * 10).contains(&plans.len()), "{}", plans.len());
    for dims in &suite.shapes {
        for values in &suite.values {
            assert!(plans.iter().any(|plan| plan.dims == *dims && plan.values == *values));
        }
        for pattern in &suite.masks {
            assert!(
                plans
                    .iter()
                    .any(|plan| plan.dims == *dims
                        && plan.mask.is_some_and(|mask| mask.0 == *pattern))
            );
        }
    }
    for pattern in &suite.masks {
        for form in &suite.broadcast {
            assert!(plans.iter().any(|plan| plan.mask == Some((*pattern, *form))));
        }
    }
    let twice = Suite { rounds: 2, ..suite };
    let plans_twice = qkvet_gen::plans(&twice, &[&catalog.laws["value"]], &[Dtype::Float32], 0);
    assert_eq!(plans_twice[..plans.len()], plans[..]);
    let seeds: BTreeSet<u64> = plans_twice.iter().map(|plan| plan.seed).collect();
    assert_eq!(seeds.len(), 2 * plans.len());
}

#[test]
fn every_element_is_a_number_of_the_format() {
    let catalog = catalog();
    for (law, plan) in suite_plans(catalog, "core", 3) {
        let case = built(law, &plan);
        let exact = |x: &f64| x.is_finite() && is_representable(*x, plan.dtype);
        let tensors = [&case.options.bias, &case.options.sinks, &case.options.alibi_slopes];
        let tensors = tensors.into_iter().flatten().flat_map(|tensor| &tensor.data);
        let options = tensors.chain(&case.options.scale).chain(&case.options.softcap);
        assert!(options.into_iter().all(exact), "{plan:?}");
        for (name, binding) in &case.bindings {
            match binding {
                Binding::Real(x) => assert!(exact(x), "{name} {plan:?}"),
                Binding::Matrices(matrices) => {
                    assert!(matrices.data.iter().all(exact), "{name} {plan:?}")
                }
                _ => {}
            }
        }
    }
}

#[test]
fn suites_that_no_call_can_have_are_refused() {
    let core = catalog().suites["core"].clone();
    let message = |suite: &Suite| check_suite(suite).unwrap_err().to_string();
    let mut suite = core.clone();
    suite.shapes[1].h_k = 4;
    assert_eq!(
        message(&suite),
        "heads at `shapes[1]` of suite core: expected h_q to be a multiple of h_k, got h_q = 6, h_k = 4"
    );
    suite.shapes[1].h_k = 0;
    assert_eq!(
        message(&suite),
        "extent `h_k` at `shapes[1]` of suite core: expected 1 to 65536, got 0"
    );
    suite.shapes[1] = Dims { b: 65536, h_q: 65536, h_k: 65536, n_q: 65536, ..suite.shapes[0] };
    assert!(
        message(&suite).contains("`shapes[1]` of suite core: expected 134217728 elements at most")
    );
    let suite = Suite { strength: 4, ..core.clone() };
    assert_eq!(message(&suite), "number at `strength` of suite core: expected 1, 2 or 3, got 4");
    let suite = Suite { values: Vec::new(), ..core };
    assert_eq!(
        message(&suite),
        "list at `values` of suite core: expected at least one entry, got none"
    );
}

#[test]
fn every_option_also_occurs_alone() {
    let catalog = catalog();
    let suite = &catalog.suites["core"];
    let plans = plans(suite, &[&catalog.laws["value"]], &[Dtype::Float32], 0);
    let on = |plan: &CasePlan| {
        CallOption::ALL.into_iter().filter(|option| plan.has(*option)).collect::<Vec<_>>()
    };
    for option in CallOption::ALL {
        let alone = plans.iter().filter(|plan| on(plan) == [option]).count();
        // Lengths and packed sequences share their turns.
        let least = if plans.iter().any(|plan| plan.sequences.is_some() && plan.has(option)) {
            1
        } else {
            suite.alone
        };
        assert!(alone >= least, "option {option}: {alone}");
    }
}

/// Extents that are asked for add calls of laws that say what a call returns, without options and
/// causal; rows are drawn by the seed. No other plan moves, and no other law looks at some rows.
#[test]
fn extents_and_rows_that_are_asked_for_add_plans_and_move_none() {
    let catalog = catalog();
    let core = &catalog.suites["core"];
    let laws = catalog.suite_laws(core).unwrap();
    // More scores than there is room for, which nobody writes down.
    let long = Dims { b: 1, h_q: 2, h_k: 1, n_q: 40_000, n_k: 40_000, d_k: 1, d_v: 1 };
    let asked = Suite { at: vec![long], ..core.clone() };
    check_suite(&asked).unwrap();
    let before = plans(core, &laws, &[Dtype::Float32], 5);
    let after = plans(&asked, &laws, &[Dtype::Float32], 5);
    let (added, rest): (Vec<_>, Vec<_>) = after.into_iter().partition(|plan| plan.dims == long);
    assert_eq!(rest, before);
    let found: Vec<_> = added.iter().map(|plan| (plan.law.as_str(), plan.causal)).collect();
    let laws_of_results = ["log-sum-exp", "value"];
    for law in laws_of_results {
        assert!(found.contains(&(law, false)) && found.contains(&(law, true)), "{found:?}");
    }
    assert_eq!(found.len(), 4);

    let some = Suite { rows: Some(3), at: vec![Dims { n_q: 50, n_k: 60, ..long }], ..core.clone() };
    let mut drawn = BTreeSet::new();
    for plan in plans(&some, &laws, &[Dtype::Float32], 5) {
        let law = &catalog.laws[&plan.law];
        let case = built(law, &plan);
        let expected = if laws_of_results.contains(&plan.law.as_str()) && plan.dims.n_q > 3 {
            Some(3)
        } else {
            None
        };
        assert_eq!(case.rows().map(<[usize]>::len), expected, "{plan:?}");
        drawn.extend(case.rows().filter(|_| plan.dims.n_q == 50).map(<[usize]>::to_vec));
    }
    assert!(drawn.len() > 1, "each call has rows of its own: {drawn:?}");
    let zero = Suite { at: vec![Dims { n_k: 0, ..long }], ..core.clone() };
    assert!(check_suite(&zero).unwrap_err().to_string().contains("--at, number 1"));
}
