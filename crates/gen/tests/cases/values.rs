//! Value families: what each promises about its scores.

use qkvet_engine::format::max_finite;
use qkvet_gen::{CasePlan, ScaleChoice};
use qkvet_spec::{Dtype, Values};

use crate::domain::for_each_plan;
use crate::plan_strategy::plan_strategy;
use crate::{attends, built, catalog, for_each_score, matrices, offset, row, scale, suite_plans};

#[test]
fn no_score_comes_near_overflow_in_float16() {
    let catalog = catalog();
    for (law, plan) in suite_plans(catalog, "core", 1) {
        let case = built(law, &plan);
        let reads = ["value", "copy-under-large-norm-keys", "ignored-under-large-norm-keys"];
        if plan.dtype != Dtype::Float16 || !reads.contains(&plan.law.as_str()) {
            continue;
        }
        let scale = scale(&case);
        for_each_score(&case, |item, head, i, j, dot| {
            let bias = case
                .options
                .bias
                .as_ref()
                .map_or(0.0, |bias| bias.data[offset(&bias.shape, [item, head, i, j])]);
            let largest = dot.abs().max((dot * scale + bias).abs());
            assert!(largest < 60_001.0 && largest < max_finite(Dtype::Float16), "{dot} {plan:?}");
        });
    }
}

/// Whether its scale brings all scores near 0: that of 1/1024 too where dot products must stay in
/// float16.
fn levels_scores(plan: &CasePlan) -> bool {
    match plan.scale {
        ScaleChoice::Zero => true,
        ScaleChoice::Tiny => plan.dtype == Dtype::Float16,
        _ => false,
    }
}

#[test]
fn lofty_scores_overflow_an_exponential_without_the_maximum() {
    let catalog = catalog();
    let least = |dtype| match dtype {
        Dtype::Float64 => 720.0,
        Dtype::Float32 | Dtype::Bfloat16 => 100.0,
        Dtype::Float16 | Dtype::Float8E4m3fn | Dtype::Float8E5m2 => 20.0,
    };
    let law = &catalog.laws["value"];
    for_each_plan(plan_strategy(law), 300, |mut plan| {
        plan.values = Values::Lofty;
        plan.tiny = false;
        let case = built(law, &plan);
        if !levels_scores(&plan) {
            let (scale, least) = (scale(&case), least(plan.dtype));
            for_each_score(&case, |_, _, _, _, dot| {
                assert!(dot * scale > least, "{} {plan:?}", dot * scale)
            });
        }
    });
    // Tokens that are query and key at once: as high above, or, with a negative scale, as far
    // below.
    let law = &catalog.laws["self-attention-permutation-equivariance"];
    for_each_plan(plan_strategy(law), 100, |mut plan| {
        plan.values = Values::Lofty;
        plan.tiny = false;
        let case = built(law, &plan);
        let (scale, tokens) = (scale(&case), matrices(&case, "X"));
        // A large scale makes the other coordinates count as much as the first.
        if !levels_scores(&plan) && plan.scale != ScaleChoice::Large {
            for (i, j) in (0..tokens.rows).flat_map(|i| (0..tokens.rows).map(move |j| (i, j))) {
                let dot: f64 =
                    row(tokens, 0, 0, i).iter().zip(row(tokens, 0, 0, j)).map(|(x, y)| x * y).sum();
                assert!((dot * scale).abs() > least(plan.dtype), "{} {plan:?}", dot * scale);
            }
        }
    });
}

#[test]
fn peaked_scores_spread_by_about_eight_or_three_in_bfloat16() {
    let catalog = catalog();
    for (law, plan) in suite_plans(catalog, "core", 2) {
        if plan.values != Values::Peaked || plan.law != "value" || levels_scores(&plan) {
            continue;
        }
        let case = built(law, &plan);
        let (mut sum, mut n) = (0.0, 0.0);
        for_each_score(&case, |_, _, _, _, dot| {
            let score = dot * scale(&case);
            sum += score * score;
            n += 1.0;
        });
        if n > 200.0 {
            let deviation = f64::sqrt(sum / n);
            let aim = if plan.dtype == Dtype::Bfloat16 { 3.0 } else { 8.0 };
            assert!((aim / 2.0..aim * 2.0).contains(&deviation), "{deviation} {plan:?}");
        }
    }
}

#[test]
fn an_option_moves_no_other_draw_and_a_smaller_shape_keeps_the_leading_part() {
    let catalog = catalog();
    for (law, plan) in suite_plans(catalog, "core", 4) {
        if plan.law != "value"
            || matches!(
                plan.values,
                Values::Exact | Values::Routed | Values::Peaked | Values::Lofty
            )
        {
            continue;
        }
        let case = built(law, &plan);
        let off = CasePlan { mask: None, bias: None, causal: false, ..plan.clone() };
        let off = CasePlan {
            softcap: None,
            window: None,
            sinks: None,
            alibi: None,
            sequences: None,
            ..off
        };
        let bare = built(law, &off);
        assert_eq!(case.bindings, bare.bindings);
        let mut smaller = plan.clone();
        smaller.dims = qkvet_spec::Dims { n_k: plan.dims.n_k.div_ceil(2), b: 1, ..plan.dims };
        let small = built(law, &smaller);
        for j in 0..smaller.dims.n_k {
            assert_eq!(row(matrices(&case, "K"), 0, 0, j), row(matrices(&small, "K"), 0, 0, j));
        }
        assert!((0..plan.dims.n_k).any(|j| attends(
            &bare.options,
            bare.dims,
            [0, 0, plan.dims.n_q - 1, j]
        )));
    }
}
