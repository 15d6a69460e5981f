//! The exact family: scores 0 or out of sight, every sum a small integer.

use qkvet_gen::plan_strategy;
use qkvet_spec::{Case, Dtype, Values};

use crate::{attends, built, catalog, for_each_score, matrices, row, scale, suite_plans};

/// Of the rows that see a key: how many there are, and how many see a power of two of live keys.
fn check(case: &Case) -> (usize, usize) {
    let scale = scale(case);
    let mut live = vec![0; case.dims.b * case.dims.h_q * case.dims.n_q];
    let mut seen = live.clone();
    let (query, key) = (matrices(case, "Q"), matrices(case, "K"));
    let group = case.dims.h_q / case.dims.h_k;
    for_each_score(case, |item, head, i, j, dot| {
        let at = (item * case.dims.h_q + head) * case.dims.n_q + i;
        let (q, k) = (row(query, item, head, i), row(key, item, head / group, j));
        if dot == 0.0 {
            assert!(q.iter().zip(k).all(|(x, y)| x * y == 0.0), "every product of a live key is 0");
            assert!(scale * dot == 0.0);
        } else {
            assert!(scale * dot <= -1100.0, "{scale} · {dot}");
        }
        if let Some(bias) = &case.options.bias {
            let bias = bias.data[crate::offset(&bias.shape, item, head, i, j)];
            assert!(bias == 0.0 || (bias == -2048.0 && dot != 0.0));
        }
        if attends(case, item, head, i, j) {
            seen[at] += 1;
            live[at] += usize::from(dot == 0.0);
        }
    });
    let value = matrices(case, "V");
    assert!(value.data.iter().all(|x| x.fract() == 0.0 && x.abs() <= 4.0));
    let rows = seen.iter().filter(|n| **n > 0).count();
    (rows, live.iter().filter(|n| n.is_power_of_two() && **n <= 32).count())
}

#[test]
fn scores_are_zero_or_vanish_in_float64_too() {
    let catalog = catalog();
    let (mut rows, mut exact, mut last) = (0, 0, 0);
    for seed in 0..3 {
        for (law, plan) in suite_plans(&catalog, "core", seed) {
            if plan.values != Values::Exact || plan.law != "value" {
                continue;
            }
            let case = built(law, &plan);
            let (all, powers) = check(&case);
            if plan.scale.value() != Some(0.0) {
                rows += all;
                exact += powers;
                for_each_score(&case, |_, _, _, j, dot| last += usize::from(dot == 0.0 && j + 1 == case.dims.n_k));
            }
        }
    }
    assert!(rows > 1000 && exact * 10 >= rows * 9, "{exact} of {rows} rows are exact");
    assert!(last > 100, "the last key is alive {last} times");
}

/// Widths at which the default scale is so small that float16 cannot hold a vanishing score: every key is alive.
#[test]
fn where_float16_cannot_hold_the_score_every_key_is_alive() {
    let catalog = catalog();
    let law = &catalog.laws["value"];
    for (dtype, alive) in [(Dtype::Float16, true), (Dtype::Bfloat16, false)] {
        let mut plan = crate::plain(law, qkvet_spec::Dims { d_k: 4096, n_k: 8, ..crate::DIMS }, Values::Exact);
        plan.dtype = dtype;
        let mut dead = 0;
        let case = built(law, &plan);
        check(&case);
        for_each_score(&case, |_, _, _, _, dot| dead += usize::from(dot != 0.0));
        assert_eq!(dead == 0, alive);
    }
}

#[test]
fn the_family_holds_for_every_plan() {
    let catalog = catalog();
    let law = &catalog.laws["value"];
    crate::domain::for_each_plan(plan_strategy(law), 200, |mut plan| {
        plan.values = Values::Exact;
        plan.tiny = false;
        check(&built(law, &plan));
    });
}
