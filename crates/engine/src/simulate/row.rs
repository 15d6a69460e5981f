//! The softmax of one row at once.

use qkvet_spec::{EmptyLse, EmptyRow, Normalization, RowMax};

use super::{How, in_base, joining_sink, tiles};
use crate::format::round;
use crate::head::Head;

/// What is subtracted from the scores of a row whose maximum is `max`.
pub(super) fn shift(how: &How<'_>, logits: &[f64], max: f64) -> f64 {
    match how.execution.row_max {
        RowMax::Found => max,
        RowMax::AtLeast(least) => max.max(least),
        RowMax::Constant(constant) => constant,
        RowMax::First => logits.iter().copied().find(|z| *z > f64::NEG_INFINITY).unwrap_or(max),
    }
}

/// `ln Σ e^z` over the keys of one query and the sink.
pub(super) fn log_sum_exp(head: &Head<'_>, logits: &[f64], how: &How<'_>) -> f64 {
    let formats = &how.formats;
    let r = |x| formats.arithmetic(x);
    let all = || logits.iter().copied().chain(joining_sink(head).map(r));
    let max = all().fold(f64::NEG_INFINITY, f64::max);
    if max == f64::NEG_INFINITY {
        return match how.meaning.empty_lse {
            EmptyLse::NegativeInfinity => max,
            EmptyLse::Infinity => -max,
            EmptyLse::Zero => 0.0,
        };
    }
    let natural = if how.execution.tile > 0 || how.execution.splits > 0 {
        tiles::log_sum_exp(head, logits, how)
    } else {
        let shift = shift(how, logits, max);
        let total = all().fold(0.0, |sum, z| formats.sum(sum + formats.exp(r(z - shift))));
        r(shift + r(libm::log(total)))
    };
    in_base(natural, how)
}

/// The output of a query that sees no key.
pub(super) fn empty(head: &Head<'_>, how: &How<'_>) -> Vec<f64> {
    let mut sums = vec![0.0; head.d_v];
    match head.empty_row {
        EmptyRow::Nan => vec![f64::NAN; head.d_v],
        EmptyRow::Mean if head.n_k > 0 => {
            let r = |x| how.formats.arithmetic(x);
            for value in head.value.chunks_exact(head.d_v.max(1)) {
                sums.iter_mut().zip(value).for_each(|(sum, v)| *sum = r(*sum + v));
            }
            sums.into_iter().map(|sum| round(r(sum / head.n_k as f64), how.dtype)).collect()
        }
        EmptyRow::Zero | EmptyRow::Mean | EmptyRow::First => sums,
    }
}

/// Softmax over the keys of one query, then the weighted sum of the values.
pub(super) fn row(head: &Head<'_>, logits: &[f64], how: &How<'_>) -> Vec<f64> {
    let formats = &how.formats;
    let r = |x| formats.arithmetic(x);
    let sink = joining_sink(head).map(r);
    let max = logits.iter().copied().fold(sink.unwrap_or(f64::NEG_INFINITY), f64::max);
    if max == f64::NEG_INFINITY {
        return empty(head, how);
    }
    let shift = shift(how, logits, max);
    let exponentials: Vec<f64> = logits.iter().map(|z| formats.exp(r(z - shift))).collect();
    let of_sink = sink.map_or(0.0, |sink| formats.exp(r(sink - shift)));
    let total = exponentials.iter().fold(of_sink, |sum, e| formats.sum(sum + e));
    let mut sums = vec![0.0; head.d_v];
    for (j, e) in exponentials.iter().enumerate() {
        let weight = formats.weight(*e);
        let pairs = sums.iter_mut().zip(head.value_row(j));
        pairs.for_each(|(sum, v)| *sum = formats.output(*sum + formats.output(weight * v)));
    }
    let divisor = if head.normalization == Normalization::None { 1.0 } else { divisor(total, how) };
    sums.into_iter().map(|sum| round(quotient(sum, divisor, how), how.dtype)).collect()
}

/// What weighted values are divided by.
pub(super) fn divisor(total: f64, how: &How<'_>) -> f64 {
    if how.execution.epsilon == 0.0 {
        total
    } else {
        how.formats.arithmetic(total + how.execution.epsilon)
    }
}

/// A weighted sum over its row sum; a search for the maximum that began too high leaves nothing,
/// and nothing is said of it.
pub(super) fn quotient(sum: f64, divisor: f64, how: &How<'_>) -> f64 {
    if divisor == 0.0 && matches!(how.execution.row_max, RowMax::AtLeast(_)) {
        return 0.0;
    }
    how.formats.arithmetic(sum / divisor)
}
