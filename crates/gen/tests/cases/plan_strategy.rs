//! Plans as a `proptest` domain: shape and options only. Data comes from the case's seed, so there
//! is nothing else to draw.

use proptest::prelude::*;
use proptest::sample::select;
use qkvet_gen::{AlibiChoice, CasePlan, ScaleChoice, SequenceChoice, SinkChoice, SoftcapChoice};
use qkvet_spec::{
    BroadcastForm, CallOption, CheckedLaw, Dims, Domain, Dtype, IndexEnv, MaskPattern, OptionSet,
    Values, Window,
};

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

const WINDOWS: [Window; 5] = [
    Window { left: Some(2), right: Some(0) },
    Window { left: Some(0), right: Some(5) },
    Window { left: None, right: Some(2) },
    Window { left: Some(1), right: None },
    Window { left: Some(500), right: Some(500) },
];

/// Off, or one of the choices whose options the law ranges over.
fn maybe<T: Copy + std::fmt::Debug + 'static>(
    law: &CheckedLaw,
    choices: &[T],
    options: fn(T) -> &'static [CallOption],
) -> impl Strategy<Value = Option<T>> + use<T> {
    let ranges =
        |choice: &T| options(*choice).iter().all(|option| law.law.options.contains(option));
    let allowed: Vec<_> = choices.iter().copied().filter(ranges).map(Some).collect();
    let mut all = vec![None; allowed.len().max(1)];
    all.extend(allowed);
    select(all)
}

/// Whether the law says something for these extents.
fn admits(law: &CheckedLaw, dims: Dims) -> bool {
    let env = IndexEnv::new(dims, Dtype::Float64, OptionSet::default());
    law.law.condition.as_ref().is_none_or(|condition| condition.holds(&env))
        && law.law.misfit.is_none_or(|misfit| {
            let (_, n, least) = misfit.least(&dims);
            n >= least
        })
}

/// Every small plan of a law, its options and formats included; what the law's condition excludes
/// is left out.
pub(crate) fn plan_strategy(law: &CheckedLaw) -> impl Strategy<Value = CasePlan> + use<> {
    let has_margin = law
        .given
        .iter()
        .any(|given| matches!(given.domain, Domain::Separated { .. } | Domain::Opposed { .. }));
    let has = |option| law.law.options.contains(&option);
    let scales: Vec<ScaleChoice> = ScaleChoice::ALL
        .into_iter()
        .filter(|scale| *scale == ScaleChoice::Default || has(CallOption::Scale))
        .filter(|scale| *scale != ScaleChoice::Zero || !has_margin)
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
        maybe(law, &SoftcapChoice::ALL, |_| &[CallOption::Softcap]),
        maybe(law, &WINDOWS, |_| &[CallOption::Window]),
        maybe(law, &SinkChoice::ALL, |_| &[CallOption::Sinks]),
        maybe(law, &AlibiChoice::ALL, |_| &[CallOption::AlibiSlopes]),
        maybe(law, &SequenceChoice::ALL, SequenceChoice::options),
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
                rows: None,
                seed,
            }
        })
        .prop_filter("the law's condition", move |plan| admits(&law, plan.dims))
}
