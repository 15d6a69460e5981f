//! Plans as a `proptest` domain: shape and options only. Data comes from the case's seed, so there
//! is nothing else to draw.

use proptest::prelude::*;
use proptest::sample::select;
use qkvet_spec::{BroadcastForm, CallOption, CheckedLaw, Dims, Domain, Dtype, MaskPattern, Values};

use crate::choice::WINDOWS;
use crate::levels::allowed;
use crate::usage::Usage;
use crate::{AlibiChoice, CasePlan, ScaleChoice, SequenceChoice, SinkChoice, SoftcapChoice};

const VALUES: [Values; 11] = [
    Values::Normal,
    Values::Grid,
    Values::Peaked,
    Values::Small,
    Values::Heavy,
    Values::Offset,
    Values::Lofty,
    Values::Exact,
    Values::Routed,
    Values::Deep,
    Values::Stair,
];

const PATTERNS: [MaskPattern; 6] = [
    MaskPattern::Random,
    MaskPattern::Blocks,
    MaskPattern::Strided,
    MaskPattern::LeadingBlock,
    MaskPattern::EmptyRows,
    MaskPattern::Padding,
];

const FORMS: [BroadcastForm; 5] = [
    BroadcastForm::Full,
    BroadcastForm::PerItem,
    BroadcastForm::PerHead,
    BroadcastForm::Shared,
    BroadcastForm::PerKey,
];

/// Off, or one of the choices.
fn maybe<T: Copy + std::fmt::Debug + 'static>(
    choices: &[T],
) -> impl Strategy<Value = Option<T>> + use<T> {
    let mut all = vec![None; choices.len().max(1)];
    all.extend(choices.iter().copied().map(Some));
    select(all)
}

/// Every small plan of a law, its options and formats included; what the law's condition excludes
/// is left out.
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
    let extended = (
        maybe(&allowed(law, &SoftcapChoice::ALL, |_| &[CallOption::Softcap])),
        maybe(&allowed(law, &WINDOWS, |_| &[CallOption::Window])),
        maybe(&allowed(law, &SinkChoice::ALL, |_| &[CallOption::Sinks])),
        maybe(&allowed(law, &AlibiChoice::ALL, |_| &[CallOption::AlibiSlopes])),
        maybe(&allowed(law, &SequenceChoice::ALL, SequenceChoice::options)),
    );
    let law_dims: Vec<_> = law
        .given
        .iter()
        .filter_map(|given| match given.domain {
            Domain::Dim { low, high } => Some(low..=high),
            _ => None,
        })
        .collect();
    let shape =
        (1..=3usize, 1..=3usize, 1..=3usize, 1..=9usize, 1..=36usize, 1..=20usize, 1..=9usize);
    let draw = (
        select(&Dtype::CHECKED[..]),
        select(&VALUES[..]),
        proptest::bool::weighted(0.1),
        any::<u64>(),
    );
    let id = law.law.law.clone();
    let law = law.clone();
    (shape, law_dims, options, extended, draw)
        .prop_map(move |(shape, law_dims, options, extended, (dtype, values, tiny, seed))| {
            let (b, h_k, group, n_q, n_k, d_k, d_v) = shape;
            let (scale, causal, masked, mask, biased, bias) = options;
            let (softcap, window, sinks, alibi, sequences) = extended;
            CasePlan {
                law: id.clone(),
                dtype,
                dims: Dims { b, h_q: group * h_k, h_k, n_q, n_k, d_k, d_v },
                law_dims,
                scale,
                causal,
                mask: masked.then_some(mask),
                bias: biased.then_some(bias),
                softcap,
                window,
                sinks,
                alibi,
                sequences,
                values,
                tiny,
                seed,
            }
        })
        .prop_filter("the law's condition", move |plan| usage.admits(&law, &plan.dims))
}
