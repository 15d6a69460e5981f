//! Shrinking reaches known minima, keeps the failure and ends in time.

use qkvet_gen::{
    AlibiChoice, CasePlan, SHRINK_BUDGET, ScaleChoice, SequenceChoice, SinkChoice, SoftcapChoice,
    shrink,
};
use qkvet_spec::{
    BroadcastForm, CallOption, Case, CheckedLaw, Dims, Dtype, MaskPattern, Values, Window,
};

use crate::plan_strategy::plan_strategy;
use crate::{catalog, matrices, plain};

fn start(law: &CheckedLaw) -> CasePlan {
    CasePlan {
        dtype: Dtype::Float16,
        scale: ScaleChoice::Small,
        causal: true,
        mask: Some((MaskPattern::Padding, BroadcastForm::Full)),
        bias: Some(BroadcastForm::PerHead),
        softcap: Some(SoftcapChoice::Four),
        window: Some(Window { left: Some(1), right: None }),
        sinks: Some(SinkChoice::Far),
        alibi: Some(AlibiChoice::Signed),
        sequences: Some(SequenceChoice::BothLengths),
        ..plain(
            law,
            Dims { b: 4, h_q: 6, h_k: 2, n_q: 5, n_k: 300, d_k: 40, d_v: 24 },
            Values::Heavy,
        )
    }
}

/// The minimum under `fails` and how many evaluations it took.
fn minimum(fails: impl Fn(&CasePlan, &Case) -> bool) -> (CasePlan, usize) {
    let catalog = catalog();
    let law = &catalog.laws["value"];
    let start = start(law);
    assert!(fails(&start, &crate::built(law, &start)), "the start fails");
    let mut evaluations = 0;
    let mut failed = vec![start.clone()];
    let smallest = shrink(law, &start, SHRINK_BUDGET, &mut |plan, case| {
        evaluations += 1;
        let fails = fails(plan, case);
        if fails {
            failed.push(plan.clone());
        }
        fails
    });
    assert!(failed.contains(&smallest), "the result failed");
    assert!(evaluations <= SHRINK_BUDGET);
    (smallest, evaluations)
}

const ONE: Dims = Dims { b: 1, h_q: 1, h_k: 1, n_q: 1, n_k: 1, d_k: 1, d_v: 1 };

#[test]
fn what_always_fails_ends_at_one_number() {
    let (plan, evaluations) = minimum(|_, _| true);
    assert_eq!(plan.dims, ONE);
    assert!(
        plan.mask.is_none()
            && plan.bias.is_none()
            && !plan.causal
            && plan.scale == ScaleChoice::Default
            && plan.tiny
    );
    assert!(CallOption::ALL.iter().all(|option| !plan.has(*option)));
    assert!(evaluations <= 14, "{evaluations}");
}

#[test]
fn extents_reach_the_boundary() {
    let (plan, _) = minimum(|plan, _| plan.dims.n_k > plan.dims.n_q);
    assert_eq!(plan.dims, Dims { n_k: 2, ..ONE });
    let (plan, evaluations) =
        minimum(|plan, _| !plan.dims.n_k.is_multiple_of(64) && plan.dims.n_k > 64);
    assert_eq!(plan.dims, Dims { n_k: 65, ..ONE });
    assert!(evaluations <= 50, "{evaluations}");
    let (plan, _) = minimum(|plan, _| plan.dims.h_k > 1 && plan.dims.h_q > plan.dims.h_k);
    assert_eq!(plan.dims, Dims { h_q: 4, h_k: 2, ..ONE });
    let (plan, _) = minimum(|plan, _| plan.dims.d_k != plan.dims.d_v && plan.dims.b >= 3);
    assert_eq!((plan.dims.b, plan.dims.d_k + plan.dims.d_v), (3, 3));
}

#[test]
fn options_stay_only_where_they_are_needed() {
    let (plan, _) = minimum(|plan, _| plan.causal && plan.dims.n_q != plan.dims.n_k);
    assert!(
        plan.causal
            && plan.mask.is_none()
            && plan.bias.is_none()
            && plan.scale == ScaleChoice::Default
    );
    assert_eq!(plan.dims, Dims { n_k: 2, ..ONE });
    let (plan, _) = minimum(|plan, _| plan.mask.is_some());
    assert_eq!(plan.mask, Some((MaskPattern::LeadingBlock, BroadcastForm::Shared)));
    let (plan, _) = minimum(|plan, _| plan.scale == ScaleChoice::Small && plan.bias.is_some());
    assert_eq!(plan.bias, Some(BroadcastForm::Shared));
    let (plan, _) = minimum(|plan, _| plan.values == Values::Heavy && !plan.tiny);
    assert_eq!(plan.values, Values::Heavy);
}

#[test]
fn extended_options_that_are_needed_end_at_their_simplest() {
    let check = |needed: &dyn Fn(&CasePlan) -> bool,
                 simplest: &dyn Fn(&CasePlan) -> bool,
                 options: &[CallOption]| {
        let (plan, _) = minimum(|plan, _| needed(plan));
        let on: Vec<CallOption> =
            CallOption::ALL.into_iter().filter(|option| plan.has(*option)).collect();
        assert_eq!(on, options);
        assert!(simplest(&plan), "{plan:?}");
    };
    check(
        &|plan| plan.softcap.is_some(),
        &|plan| plan.softcap == Some(SoftcapChoice::Thirty),
        &[CallOption::Softcap],
    );
    let simplest = Window { left: Some(2), right: Some(0) };
    check(
        &|plan| plan.window.is_some(),
        &|plan| plan.window == Some(simplest),
        &[CallOption::Window],
    );
    check(
        &|plan| plan.sinks.is_some(),
        &|plan| plan.sinks == Some(SinkChoice::Near),
        &[CallOption::Sinks],
    );
    let geometric = Some(AlibiChoice::Geometric);
    check(
        &|plan| plan.alibi.is_some(),
        &|plan| plan.alibi == geometric,
        &[CallOption::AlibiSlopes],
    );
    check(&|plan| plan.has(CallOption::KeyLengths), &|_| true, &[CallOption::KeyLengths]);
    check(&|plan| plan.has(CallOption::QueryLengths), &|_| true, &[CallOption::QueryLengths]);
    // What is needed as it is stays.
    let far = |plan: &CasePlan| {
        plan.sinks == Some(SinkChoice::Far) && plan.softcap == Some(SoftcapChoice::Four)
    };
    check(&far, &far, &[CallOption::Softcap, CallOption::Sinks]);
}

#[test]
fn failures_that_depend_on_the_data_shrink_too() {
    let (plan, _) = minimum(|_, case| matrices(case, "V").data.iter().any(|x| *x > 0.0));
    assert!(plan.tiny && plan.dims.n_k * plan.dims.d_v <= 4, "{plan:?}");
}

#[test]
fn the_budget_is_kept_and_the_law_respected() {
    let catalog = catalog();
    for law in catalog.asking_laws() {
        crate::domain::for_each_plan(plan_strategy(law), 5, |plan| {
            for budget in [0, 1, 7] {
                let mut evaluations = 0;
                let result = shrink(law, &plan, budget, &mut |_, _| {
                    evaluations += 1;
                    true
                });
                assert!(evaluations <= budget);
                crate::built(law, &result);
                let nothing = shrink(law, &plan, budget, &mut |_, _| false);
                assert_eq!(nothing, plan);
            }
        });
    }
    // Grouped heads say nothing below two groups of two.
    let law = &catalog.laws["grouped-heads"];
    let mut start = start(law);
    (start.causal, start.bias, start.sequences) = (false, None, Some(SequenceChoice::Packed));
    let smallest = shrink(law, &start, SHRINK_BUDGET, &mut |_, _| true);
    assert_eq!(smallest.dims, Dims { h_q: 4, h_k: 2, ..ONE });
}
