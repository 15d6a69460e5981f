//! What is added to the scores, and the sink: from options and choices to numbers.

use qkvet_spec::{Alibi, Bias, Call, CallOptions, IndexEnv, Mask, Meaning, Sinks};

use super::Maps;
use super::visibility::Rules;
use crate::head::RealScale;

/// `a + b`, and whether that is a double.
pub(super) fn sum(a: f64, b: f64) -> (f64, bool) {
    let sum = a + b;
    if !sum.is_finite() {
        // −∞ hides a key, whatever is added to it.
        return (sum, [a, b].iter().any(|term| term.to_bits() == sum.to_bits()));
    }
    let b_part = sum - a;
    (sum, (a - (sum - b_part)) + (b - b_part) == 0.0)
}

/// What the bias, and a mask that is added, add to the score of each of `n_k` keys; `None` where
/// nothing is.
pub(super) fn bias_entries(
    maps: &Maps<'_>,
    rules: &Rules<'_>,
    call: &Call,
    h: usize,
    n_k: usize,
    is_rounded: &mut bool,
) -> Option<Vec<f64>> {
    let Meaning { bias: kind, mask: mask_kind, .. } = maps.meaning;
    let bias =
        call.options.bias.as_ref().filter(|_| matches!(kind, Bias::Added | Bias::Subtracted));
    let mask = call.options.mask.as_ref().filter(|_| *mask_kind == Mask::Added);
    if bias.is_none() && mask.is_none() {
        return None;
    }
    let dims = call.dims();
    let mut entries = Vec::with_capacity(dims.n_q * n_k);
    for i in 0..dims.n_q {
        let bias = bias.map(|bias| (&bias.data, rules.bias_row(&bias.shape, h, i)));
        let mask = mask.map(|mask| (&mask.data, rules.mask_row(&mask.shape, h, i)));
        for j in 0..dims.n_k {
            let given = bias.as_ref().map_or(0.0, |(data, at)| data[at(j)]);
            let signed = if *kind == Bias::Subtracted { -given } else { given };
            let one = mask.as_ref().is_some_and(|(data, at)| data[at(j)]);
            let (entry, is_exact) = sum(signed, f64::from(u8::from(one)));
            *is_rounded |= !is_exact;
            entries.push(entry);
        }
        entries.resize((i + 1) * n_k, 0.0);
    }
    Some(entries)
}

/// The slope of ALiBi that a head meets: what is added is minus it times the distance.
pub(super) fn alibi_slope(maps: &Maps<'_>, here: IndexEnv, options: &CallOptions) -> Option<f64> {
    let slopes = options.alibi_slopes.as_ref()?;
    let slope = slopes.data[maps.value(&maps.meaning.alibi_head, here, slopes.data.len())];
    match maps.meaning.alibi {
        Alibi::Used => Some(slope),
        Alibi::Reversed => Some(-slope),
        Alibi::Ignored => None,
    }
}

/// The sink that a head meets.
pub(super) fn sink_of(
    maps: &Maps<'_>,
    here: IndexEnv,
    options: &CallOptions,
    scale: RealScale,
    is_rounded: &mut bool,
) -> Option<f64> {
    let sinks = options.sinks.as_ref()?;
    let sink = sinks.data[maps.value(&maps.meaning.sink_head, here, sinks.data.len())];
    match maps.meaning.sinks {
        Sinks::Used | Sinks::Twice => Some(sink),
        Sinks::Ignored => None,
        Sinks::Scaled => {
            let scaled = sink * scale.value;
            *is_rounded |= scale.rel_error != 0.0 || sink.mul_add(scale.value, -scaled) != 0.0;
            Some(scaled)
        }
    }
}
