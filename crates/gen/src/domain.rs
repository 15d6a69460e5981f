//! Plans as a `proptest` domain: shape and options only. Data comes from the case's seed, so there is nothing else to draw.

use proptest::prelude::*;
use proptest::sample::select;
use qkvet_spec::{BroadcastForm, CallOption, CheckedLaw, Dims, Domain, Dtype, MaskPattern, Values};

use crate::usage::Usage;
use crate::{CasePlan, ScaleChoice};

const VALUES: [Values; 8] = [
    Values::Normal,
    Values::Grid,
    Values::Peaked,
    Values::Small,
    Values::Heavy,
    Values::Offset,
    Values::Lofty,
    Values::Exact,
];

const PATTERNS: [MaskPattern; 6] = [
    MaskPattern::Random,
    MaskPattern::Blocks,
    MaskPattern::Strided,
    MaskPattern::LeadingBlock,
    MaskPattern::EmptyRows,
    MaskPattern::Padding,
];

const FORMS: [BroadcastForm; 5] =
    [BroadcastForm::Full, BroadcastForm::PerItem, BroadcastForm::PerHead, BroadcastForm::Shared, BroadcastForm::PerKey];

/// Every small plan of a law, its options and formats included; what the law's condition excludes is left out.
pub fn plan_strategy(law: &CheckedLaw) -> impl Strategy<Value = CasePlan> + use<> {
    let usage = Usage::of(law);
    let has = |option| law.law.options.contains(&option);
    let scales: Vec<ScaleChoice> = ScaleChoice::ALL
        .into_iter()
        .filter(|scale| *scale == ScaleChoice::Default || has(CallOption::Scale))
        .filter(|scale| *scale != ScaleChoice::Zero || !usage.margin)
        .collect();
    let off_or = |on: bool| if on { proptest::bool::ANY.boxed() } else { Just(false).boxed() };
    let options = (
        select(scales),
        off_or(has(CallOption::Causal)),
        off_or(has(CallOption::Mask)),
        (select(&PATTERNS[..]), select(&FORMS[..])),
        off_or(has(CallOption::Bias)),
        select(&FORMS[..]),
    );
    let law_dims: Vec<_> = law
        .given
        .iter()
        .filter_map(|given| match given.domain {
            Domain::Dim { low, high } => Some(low..=high),
            _ => None,
        })
        .collect();
    let shape = (1..=3usize, 1..=3usize, 1..=3usize, 1..=9usize, 1..=36usize, 1..=20usize, 1..=9usize);
    let draw = (select(&Dtype::CHECKED[..]), select(&VALUES[..]), proptest::bool::weighted(0.1), any::<u64>());
    let id = law.law.law.clone();
    let law = law.clone();
    (shape, law_dims, options, draw)
        .prop_map(move |((b, h_k, group, n_q, n_k, d_k, d_v), law_dims, options, (dtype, values, tiny, seed))| {
            let (scale, causal, masked, mask, biased, bias) = options;
            CasePlan {
                law: id.clone(),
                dtype,
                dims: Dims { b, h_q: group * h_k, h_k, n_q, n_k, d_k, d_v },
                law_dims,
                scale,
                causal,
                mask: masked.then_some(mask),
                bias: biased.then_some(bias),
                values,
                tiny,
                seed,
            }
        })
        .prop_filter("the law's condition", move |plan| usage.admits(&law, &plan.dims))
}
