//! From the dot products of a row to its exponentials and their error, whatever its options are.

use super::element::{self, Element, UNDERFLOW};
use super::exact;
use super::logits::{Dots, Facts, PlainLine, are_plain, to_plain_logits};
use super::lse::Lse;
use super::stages::{Line, Stages};
use super::table::{KeyTable, ValueTable, common_grid, finite_or_infinite, norm_upper};
use super::visibility::VisibleKeys;
use super::{RowStats, SinkWeight};
use crate::exp::{CUTOFF, EXP_ERROR, U, exp_row, exp1, sum_depth};
use crate::gemm::{gamma, times_depth};
use crate::head::{EmptyRow, Head, Normalization};

/// Dead keys of an exact row are at least this far below the live ones.
const DEAD_GAP: f64 = 1100.0;

/// The exponentials of a row and the error of each.
pub(super) struct RowWeights {
    /// `L̂`.
    pub(super) sum: f64,
    /// Bound of `|p_j/ê_j − 1|` for the exact exponential `p_j` of a kept key.
    pub(super) tau: f64,
    /// Roundings on the way of an exponential into `L̂`.
    pub(super) sum_depth: usize,
    /// Roundings on the way of a product `ê·v` into its sum.
    pub(super) product_depth: usize,
    /// Number of keys that may contribute, the sink among them.
    pub(super) keys: usize,
    /// Whether visible keys or the sink were dropped.
    pub(super) has_dropped: bool,
    /// Whether a sink of value 0 is among the keys.
    pub(super) has_sink: bool,
    /// Whether nothing is rounded in `L̂`.
    pub(super) sum_is_exact: bool,
    /// The exponential of the largest logit.
    pub(super) heaviest: f64,
    /// Whether products with sizes of values and their squares are taken in `f32`.
    pub(super) sizes_are_small: bool,
}

impl RowWeights {
    /// Upper bound of what underflow does to a quotient by the row sum.
    pub(super) fn underflow(&self) -> f64 {
        8.0 * (self.keys as f64 + 4.0) * UNDERFLOW * 1.0f64.max(1.0 / self.sum)
    }

    /// Upper bound of `min(1/2, 2(1 − w_max))`: the mean absolute deviation of the values over
    /// their range is not above.
    pub(super) fn spread(&self) -> f64 {
        let rest =
            self.sum / self.heaviest * (1.0 + 2.0 * gamma(self.sum_depth, U) + 4.0 * U) - 1.0;
        0.5f64.min(2.0 * rest)
    }
}

/// What became of the scores of a row.
pub(super) enum Row {
    Empty,
    Unknown,
    OneKey(usize),
    Weighted(RowWeights),
}

/// What is computed once for a head.
pub(super) struct Tables<'a> {
    pub(super) visibility: VisibleKeys<'a>,
    pub(super) keys: KeyTable,
    pub(super) values: ValueTable<'a>,
}

/// Element of a row without visible keys.
pub(super) fn empty(head: &Head<'_>, c: usize) -> Element {
    match head.empty_row {
        _ if head.sink.is_some() => Element::exact(0.0),
        EmptyRow::Nan => Element { mid: f64::NAN, ..Element::exact(0.0) },
        EmptyRow::Mean if head.n_k > 0 => {
            let column = || (0..head.n_k).map(|j| head.value_row(j)[c]);
            let abs_max = column().fold(0.0f64, |max, v| max.max(v.abs()));
            element::mean(head.n_k, column().sum(), column().map(f64::abs).sum(), abs_max)
                .or_unknown()
        }
        EmptyRow::Zero | EmptyRow::Mean | EmptyRow::First => Element::exact(0.0),
    }
}

/// Norm and grid of query `i`.
pub(super) fn query_size(head: &Head<'_>, i: usize) -> (f64, i32) {
    let query = head.query_row(i);
    (finite_or_infinite(norm_upper(query)), common_grid(query))
}

/// Turns the dot products of row `i` with the keys of its window into exponentials and bounds their
/// error.
///
/// Derivation: `docs/bounds.md#softmax`, and `docs/bounds.md#sink` for the sink.
pub(super) fn weigh(
    head: &Head<'_>,
    tables: &Tables<'_>,
    i: usize,
    row: &mut [f64],
    stages: &mut Stages,
) -> (RowStats, Row) {
    let (visibility, keys) = (&tables.visibility, &tables.keys);
    let (window, visible) = (visibility.window(i), visibility.count(i));
    let over_keys = matches!(head.normalization, Normalization::OverKeys);
    // Without a row sum a sink has nothing to join.
    let sink = head.sink.filter(|_| over_keys);
    if sink.is_some_and(|sink| !sink.is_finite()) {
        return (RowStats::unknown(head, visible), Row::Unknown);
    }
    if visible == 0 {
        return (RowStats::empty(sink), Row::Empty);
    }
    let query = query_size(head, i);
    let line = Line { i, start: window.start, mask: visibility.mask(i), query };
    let is_plain = are_plain(head);
    let top = if is_plain {
        to_plain_logits(head, line.mask, row)
    } else {
        stages.run(head, keys, &line, row)
    };
    let Some(top) = top else {
        return (RowStats::unknown(head, visible), Row::Unknown);
    };
    let shift = sink.map_or(top, |sink| sink.max(top));
    let staged = (!is_plain).then(|| stages.facts(row.iter().copied().enumerate(), shift));
    let chosen = |chooses: &dyn Fn(usize) -> bool| {
        keys.of_keys((0..window.len()).filter(|k| chooses(*k)).map(|k| window.start + k))
    };
    let exact = (over_keys && shift == 0.0 && staged.is_none_or(|facts| facts.gap >= DEAD_GAP))
        .then(|| Dots::new(query, chosen(&|k| row[k] > CUTOFF)))
        .and_then(|dots| exact::scan(head, i, window.start, row, dots.are_exact()));

    let exponentials = exp_row(row, shift);
    let kept_keys = if exponentials.kept == row.len() {
        keys.of_window(window.clone())
    } else {
        chosen(&|k| row[k] > 0.0)
    };
    let (key_norm, _) =
        line.mask.map_or_else(|| keys.of_window(window.clone()), |mask| chosen(&|k| mask[k]));
    let (sink_weight, sink_x) = match sink.map(|sink| sink - shift) {
        None => (SinkWeight::Absent, f64::NEG_INFINITY),
        Some(x) if x > CUTOFF => (SinkWeight::Kept, x),
        Some(x) => (SinkWeight::Dropped, x),
    };
    let is_kept = sink_weight == SinkWeight::Kept;
    let sink_exponential = if is_kept { exp1(sink_x) } else { 0.0 };
    let sum = exponentials.sum + sink_exponential;
    let lowest = if is_kept { exponentials.lowest.min(sink_x) } else { exponentials.lowest };
    let dropped = visible - exponentials.kept;

    let dots = Dots::new(query, kept_keys);
    let facts = staged.unwrap_or_else(|| {
        let plain = PlainLine {
            top,
            shift,
            lowest: exponentials.lowest,
            query_norm: query.0,
            key_norm,
            kept: exponentials.kept,
            has_dropped: dropped > 0,
        };
        Facts::plain(head, &dots, &plain)
    });
    let is_exact = exact.is_some();
    let logit_error = if is_exact { 0.0 } else { facts.error };

    // Without division the rounding of the maximum counts; with it every shift is as good as any
    // other.
    let shift_error = U * lowest.abs() + if over_keys { 0.0 } else { logit_error };
    let exp_error = if lowest < 0.0 { EXP_ERROR * (1.0 + 8.0 * U) } else { 0.0 };
    let y = logit_error + shift_error + exp_error;
    let tau = (y + y * y) * (1.0 + 8.0 * U);
    let depth = sum_depth(row.len()) + usize::from(is_kept);
    let sum_lower = sum * (1.0 - 2.0 * tau - 2.0 * gamma(depth, U) - 8.0 * U);

    let factor = head.factor();
    let (sink_size, sink_ratio) = match sink {
        Some(sink) if is_kept => (sink.abs(), 0.0),
        Some(sink) => (0.0, sink.abs() / -sink_x * (1.0 + 8.0 * U)),
        None => (0.0, 0.0),
    };
    let dropped_ratio =
        exact.as_ref().map_or(facts.dropped_ratio.max(sink_ratio), |exact| exact.dead_ratio);
    let final_max = shift.abs().max((shift + lowest).abs()) * (1.0 + 8.0 * U) + 2.0 * logit_error;
    let square_sum = exponentials.approx_square_sum + sink_exponential * sink_exponential;
    let weights = RowWeights {
        sum,
        tau,
        sum_depth: depth,
        product_depth: times_depth(row.len()),
        keys: visible + usize::from(sink.is_some()),
        has_dropped: dropped > 0 || sink_weight == SinkWeight::Dropped,
        has_sink: sink.is_some(),
        sum_is_exact: is_exact || exponentials.kept + usize::from(is_kept) <= 1,
        heaviest: 1.0,
        sizes_are_small: false,
    };
    // A sum without division has its own logarithm: there the shift counts once.
    let lse = Lse::of_row(&weights, shift, logit_error + U * lowest.abs() + exp_error);
    let dot_max = factor.value.abs() * dots.magnitude * (1.0 + factor.rel_error) * (1.0 + 8.0 * U);
    let stats = RowStats {
        visible,
        dropped,
        sink: sink_weight,
        dropped_ratio,
        logit_max: if is_exact {
            0.0
        } else {
            ((facts.term_max + 2.0 * logit_error) * (1.0 + 8.0 * U)).max(sink_size)
        },
        final_max: if is_exact { 0.0 } else { final_max },
        bias_max: facts.bias_max * (1.0 + 4.0 * U),
        dot_max: if exact.as_ref().is_some_and(|exact| exact.products_vanish) {
            0.0
        } else {
            dot_max
        },
        query_norm: query.0,
        key_norm,
        sum_lower: if over_keys { sum_lower.max(1.0) } else { 1.0 },
        weight_norm: square_sum.sqrt() / if over_keys { sum } else { 1.0 },
        dot_bits: dots.bits,
        dot_grid: dots.grid,
        exact,
        lse,
    };
    if visible == 1 && sink.is_none() {
        return (stats, Row::OneKey(window.start + row.iter().position(|e| *e > 0.0).unwrap_or(0)));
    }
    if !(tau < 0.5 && facts.dropped_is_safe()) {
        return (RowStats { exact: None, lse: Lse::unknown(), ..stats }, Row::Unknown);
    }
    (stats, Row::Weighted(weights))
}
