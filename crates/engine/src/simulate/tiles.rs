//! The softmax of one row by tiles of keys with running maximum and sums, and by parts that are
//! merged.

use qkvet_spec::{Merge, Rescale};

use super::row::{divisor, empty, quotient, shift};
use super::{How, joining_sink};
use crate::format::round;
use crate::head::Head;

/// What is known of the keys seen so far: their maximum, `Σ e^(z − max)`, `Σ e^(z − max) v`.
#[derive(Clone, Debug)]
struct Part {
    max: f64,
    sum: f64,
    values: Vec<f64>,
    /// Something in it is NaN by the habit of the execution.
    is_nan: bool,
}

/// The output of one query.
pub(super) fn row(head: &Head<'_>, logits: &[f64], how: &How<'_>) -> Vec<f64> {
    if logits.iter().all(|z| *z == f64::NEG_INFINITY) {
        // With a sink the output is 0, as it is where a sum of nothing is divided by it.
        return if joining_sink(head).is_some() { vec![0.0; head.d_v] } else { empty(head, how) };
    }
    let part = merged(head, logits, how);
    if part.is_nan {
        return vec![f64::NAN; head.d_v];
    }
    let is_divided = how.execution.rescale == Rescale::DividedEachTile;
    let divisor = if is_divided { 1.0 } else { divisor(part.sum, how) };
    part.values.into_iter().map(|sum| round(quotient(sum, divisor, how), how.dtype)).collect()
}

/// `ln Σ e^z` of one query that sees something.
pub(super) fn log_sum_exp(head: &Head<'_>, logits: &[f64], how: &How<'_>) -> f64 {
    let r = |x| how.formats.arithmetic(x);
    let part = merged(head, logits, how);
    if part.is_nan { f64::NAN } else { r(part.max + r(libm::log(part.sum))) }
}

/// All keys of a row, and the sink.
fn merged(head: &Head<'_>, logits: &[f64], how: &How<'_>) -> Part {
    let n_k = head.n_k;
    let size = n_k.div_ceil(how.execution.splits.max(1)).max(1);
    let starts: Vec<usize> = (0..n_k.max(1)).step_by(size).collect();
    let sink = joining_sink(head).map(|sink| how.formats.arithmetic(sink));
    let in_each = how.execution.merge == Merge::SinkInEach;
    let mut parts: Vec<Part> = starts
        .into_iter()
        .map(|start| {
            let part = online(head, logits, how, start, (start + size).min(n_k));
            sink.filter(|_| in_each).map_or(part.clone(), |sink| with_sink(part, sink, how))
        })
        .collect();
    if parts.len() > 1 && how.execution.merge == Merge::LastDropped {
        parts.truncate(parts.len() - 1);
    }
    let whole = if parts.len() == 1 { parts.remove(0) } else { joined(&parts, how) };
    sink.filter(|_| !in_each).map_or(whole.clone(), |sink| with_sink(whole, sink, how))
}

/// The keys `start..end` of a row, tile by tile.
fn online(head: &Head<'_>, logits: &[f64], how: &How<'_>, start: usize, end: usize) -> Part {
    let formats = &how.formats;
    let r = |x| formats.arithmetic(x);
    let size = if how.execution.tile == 0 { head.n_k.max(1) } else { how.execution.tile };
    let mut part =
        Part { max: f64::NEG_INFINITY, sum: 0.0, values: vec![0.0; head.d_v], is_nan: false };
    for first in (start..end).step_by(size) {
        let last = (first + size).min(end);
        let tile = &logits[first..last];
        let max = tile.iter().copied().fold(part.max, f64::max);
        if max == f64::NEG_INFINITY {
            part.is_nan |= how.execution.rescale == Rescale::NanWhenEmpty;
            continue;
        }
        let max = shift(how, tile, max);
        // Nothing was seen yet, so there is nothing to rescale.
        let factor =
            if part.max == f64::NEG_INFINITY { 1.0 } else { formats.exp(r(part.max - max)) };
        let (of_sum, of_values) = match how.execution.rescale {
            Rescale::Both | Rescale::NanWhenEmpty | Rescale::DividedEachTile => (factor, factor),
            Rescale::Neither => (1.0, 1.0),
            Rescale::SumOnly => (factor, 1.0),
            Rescale::ValuesOnly => (1.0, factor),
        };
        part.max = max;
        part.sum = formats.sum(part.sum * of_sum);
        part.values.iter_mut().for_each(|sum| *sum = formats.output(*sum * of_values));
        for (j, z) in (first..last).zip(tile) {
            let e = formats.exp(r(z - max));
            part.sum = formats.sum(part.sum + e);
            let weight = formats.weight(e);
            let pairs = part.values.iter_mut().zip(head.value_row(j));
            pairs.for_each(|(sum, v)| *sum = formats.output(*sum + formats.output(weight * v)));
        }
        if how.execution.rescale == Rescale::DividedEachTile {
            part.values.iter_mut().for_each(|sum| *sum = r(*sum / part.sum));
        }
    }
    part
}

/// A sink joins the row sum.
fn with_sink(part: Part, sink: f64, how: &How<'_>) -> Part {
    let formats = &how.formats;
    let r = |x| formats.arithmetic(x);
    let max = part.max.max(sink);
    let factor = if part.max == f64::NEG_INFINITY { 0.0 } else { formats.exp(r(part.max - max)) };
    let sum = formats.sum(formats.sum(part.sum * factor) + formats.exp(r(sink - max)));
    let values = part.values.iter().map(|value| formats.output(value * factor)).collect();
    Part { max, sum, values, ..part }
}

/// Parts joined into one.
fn joined(parts: &[Part], how: &How<'_>) -> Part {
    let formats = &how.formats;
    let r = |x| formats.arithmetic(x);
    let is_empty = |part: &Part| part.max == f64::NEG_INFINITY;
    let mut is_nan = parts.iter().any(|part| part.is_nan);
    is_nan |= how.execution.merge == Merge::NanWhenEmpty && parts.iter().any(is_empty);
    let seen: Vec<&Part> = parts.iter().filter(|part| !is_empty(part)).collect();
    let max = seen.iter().fold(f64::NEG_INFINITY, |max, part| max.max(part.max));
    let lse = |part: &Part| r(part.max + r(libm::log(part.sum)));
    let largest = seen.iter().fold(f64::NEG_INFINITY, |max, part| max.max(lse(part)));
    // What the weighted values and the row sum of a part count.
    let factors = |part: &Part| match how.execution.merge {
        Merge::ByLse | Merge::LastDropped | Merge::NanWhenEmpty | Merge::SinkInEach => {
            let factor = formats.exp(r(part.max - max));
            (factor, r(part.sum * factor))
        }
        Merge::Mean => (r(1.0 / part.sum), 1.0),
        Merge::ByOwnSum => (1.0, part.sum),
        Merge::LseBaseTwo => {
            let factor = r(libm::exp2(r(lse(part) - largest)));
            (r(factor / part.sum), factor)
        }
    };
    let mut whole = Part { max, sum: 0.0, values: vec![0.0; parts[0].values.len()], is_nan };
    for part in seen {
        let (of_values, of_sum) = factors(part);
        whole.sum = formats.sum(whole.sum + of_sum);
        let pairs = whole.values.iter_mut().zip(&part.values);
        pairs.for_each(|(sum, value)| {
            *sum = formats.output(*sum + formats.output(value * of_values))
        });
    }
    whole
}
