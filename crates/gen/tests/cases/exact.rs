//! The exact family: scores 0 or out of sight, every sum a small integer.

use qkvet_gen::CasePlan;
use qkvet_spec::{Case, Dims, Dtype, Values};

use crate::plan_strategy::plan_strategy;
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
            let bias = bias.data[crate::offset(&bias.shape, [item, head, i, j])];
            assert!(bias == 0.0 || (bias == -2048.0 && dot != 0.0));
        }
        if attends(&case.options, case.dims, [item, head, i, j]) {
            seen[at] += 1;
            live[at] += usize::from(dot == 0.0);
        }
    });
    let value = matrices(case, "V");
    assert!(value.data.iter().all(|x| x.fract() == 0.0 && x.abs() <= 4.0));
    let rows = seen.iter().filter(|n| **n > 0).count();
    // A sink of score 0 counts like a key, one out of sight does not count.
    let sinks = case.options.sinks.as_ref().map_or(&[][..], |sinks| &sinks.data);
    assert!(sinks.iter().all(|sink| *sink == sinks[0] && [0.0, -2048.0].contains(sink)));
    let others = usize::from(sinks.first() == Some(&0.0));
    (rows, live.iter().filter(|n| **n > 0 && (*n + others).is_power_of_two() && **n <= 32).count())
}

#[test]
fn scores_are_zero_or_vanish_in_float64_too() {
    let catalog = catalog();
    let (mut rows, mut exact, mut last) = (0, 0, 0);
    for seed in 0..3 {
        for (law, plan) in suite_plans(catalog, "core", seed) {
            if !matches!(plan.values, Values::Exact | Values::Routed)
                || plan.law != "value"
                || plan.alibi.is_some()
            {
                continue;
            }
            let case = built(law, &plan);
            let (all, powers) = check(&case);
            // With a softcap every key is alive.
            if plan.scale.value() != Some(0.0) && plan.softcap.is_none() {
                rows += all;
                exact += powers;
                for_each_score(&case, |_, _, _, j, dot| {
                    last += usize::from(dot == 0.0 && j + 1 == case.dims.n_k)
                });
            }
        }
    }
    assert!(rows > 1000 && exact * 10 >= rows * 9, "{exact} of {rows} rows are exact");
    assert!(last > 100, "the last key is alive {last} times");
}

/// Widths at which the default scale is so small that float16 cannot hold a vanishing score: every
/// key is alive.
#[test]
fn where_float16_cannot_hold_the_score_every_key_is_alive() {
    let catalog = catalog();
    let law = &catalog.laws["value"];
    for (dtype, alive) in [(Dtype::Float16, true), (Dtype::Bfloat16, false)] {
        let mut plan =
            crate::plain(law, qkvet_spec::Dims { d_k: 4096, n_k: 8, ..crate::DIMS }, Values::Exact);
        plan.dtype = dtype;
        let mut dead = 0;
        let case = built(law, &plan);
        check(&case);
        for_each_score(&case, |_, _, _, _, dot| dead += usize::from(dot != 0.0));
        assert_eq!(dead == 0, alive);
    }
}

/// The keys that a query of the routed family sees, by the output of plain arithmetic: `None` where
/// a column is none of 0, 1/m.
fn read_off(case: &Case, item: usize, head: usize, i: usize) -> Option<Vec<usize>> {
    let (query, key, value) = (matrices(case, "Q"), matrices(case, "K"), matrices(case, "V"));
    let key_head = head / (case.dims.h_q / case.dims.h_k);
    let live: Vec<usize> = (0..case.dims.n_k)
        .filter(|j| {
            row(query, item, head, i)
                .iter()
                .zip(row(key, item, key_head, *j))
                .all(|(q, k)| q * k == 0.0)
        })
        .collect();
    let seen: Vec<usize> = live
        .iter()
        .copied()
        .filter(|j| attends(&case.options, case.dims, [item, head, i, *j]))
        .collect();
    let mut output = vec![0.0; case.dims.d_v];
    for j in &seen {
        output
            .iter_mut()
            .zip(row(value, item, key_head, *j))
            .for_each(|(o, v)| *o += v / seen.len() as f64);
    }
    // From here on the output is all there is, beside the live keys and their columns.
    let column = |j: usize| row(value, item, key_head, j).iter().position(|v| *v == 1.0);
    let shares = output.iter().filter(|o| **o > 0.0);
    if shares.clone().any(|share| Some(share) != shares.clone().next()) {
        return None;
    }
    Some(live.into_iter().filter(|j| column(*j).is_some_and(|c| output[c] > 0.0)).collect())
}

#[test]
fn the_output_of_the_routed_family_shows_which_keys_are_seen() {
    let catalog = catalog();
    let (mut rows, mut many, mut last) = (0, 0, 0);
    for (law, plan) in suite_plans(catalog, "core", 1) {
        let all_alive =
            plan.softcap.is_some() || plan.alibi.is_some() || plan.scale.value() == Some(0.0);
        if plan.values != Values::Routed || plan.law != "value" || all_alive {
            continue;
        }
        let case = built(law, &plan);
        check(&case);
        for line in matrices(&case, "V").data.chunks(case.dims.d_v) {
            assert_eq!(
                (line.iter().sum::<f64>(), line.iter().filter(|v| **v != 0.0).count()),
                (1.0, 1)
            );
        }
        for item in 0..case.dims.b {
            for (head, i) in
                (0..case.dims.h_q).flat_map(|head| (0..case.dims.n_q).map(move |i| (head, i)))
            {
                let seen = read_off(&case, item, head, i)
                    .unwrap_or_else(|| panic!("{item} {head} {i} {plan:?}"));
                assert!(
                    seen.iter().all(|j| attends(&case.options, case.dims, [item, head, i, *j])),
                    "{seen:?} {plan:?}"
                );
                rows += 1;
                many += usize::from(seen.len() > 1);
                last += usize::from(seen.contains(&(case.dims.n_k - 1)));
            }
        }
    }
    assert!(rows > 200 && many * 4 > rows && last * 20 > rows, "{rows} {many} {last}");
}

#[test]
fn the_first_classes_hold_both_ends_and_the_keys_beside_tile_boundaries() {
    let catalog = catalog();
    let law = &catalog.laws["value"];
    for seed in 0..6 {
        let dims = Dims { b: 1, h_q: 1, h_k: 1, n_q: 1, n_k: 300, d_k: 16, d_v: 8 };
        let plan = CasePlan { seed, ..crate::plain(law, dims, Values::Routed) };
        let case = built(law, &plan);
        let key = matrices(&case, "K");
        let classes = |j: usize| row(key, 0, 0, j).iter().filter(|k| **k == 0.0).count();
        assert!((0..300).all(|j| classes(j) <= 1), "a key has one class");
        let ends = [0, 299].into_iter().chain((32..300).step_by(32).flat_map(|j| [j - 1, j]));
        for j in ends {
            assert_eq!(classes(j), 1, "key {j}, seed {seed}");
        }
    }
}

#[test]
fn the_family_holds_for_every_plan() {
    let catalog = catalog();
    let law = &catalog.laws["value"];
    crate::domain::for_each_plan(plan_strategy(law), 200, |mut plan| {
        plan.values = if plan.seed % 2 == 0 { Values::Exact } else { Values::Routed };
        plan.tiny = false;
        plan.softcap = None;
        check(&built(law, &plan));
    });
}
