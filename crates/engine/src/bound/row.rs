//! Error terms that the elements of a row share. Derivation: `docs/bounds.md#contract`.

use super::formats::Formats;
use super::{Element, output_roundings};
use crate::enclosure::RowStats;
use crate::format::{max_finite, min_normal, unit_roundoff};
use crate::gemm::gamma;
use crate::head::{Head, Normalization};

/// Weight of a dropped key, relative to the largest, under logit errors up to a quarter of its own terms, plus 2: `e^−448`.
const DROPPED_WEIGHT: f64 = 1e-194;

/// Error terms of one row.
pub(super) struct RowTerms {
    /// Relative error of a weight before its rounding; infinite if it may reach 1.
    pub(super) tau: f64,
    /// Lower bound of `L`.
    pub(super) sum_lower: f64,
    /// Lower bound of the sum of the implementation's exponentials.
    pub(super) mass: f64,
    /// Absolute error of an exponential by underflow.
    pub(super) omega: f64,
    /// Number of keys that may contribute, and of those that matter.
    pub(super) keys: usize,
    pub(super) kept: usize,
    /// Rescalings a weight may suffer.
    pub(super) rescalings: f64,
    /// Error of weights and products, relative to `Σ w|v|`.
    pub(super) nu: f64,
    /// Error of the row sum.
    pub(super) sum_error: f64,
    /// Whether dot products, logits are free of errors.
    pub(super) dots_are_exact: bool,
    pub(super) logits_are_exact: bool,
}

impl RowTerms {
    /// Terms of a row with visible keys; `None` if a format of the contract could overflow.
    pub(super) fn new(head: &Head<'_>, row: &RowStats, formats: &Formats) -> Option<Self> {
        if !fits(head, row, formats) || (row.dropped > 0 && !dropped_is_safe(head, row, formats)) {
            return None;
        }
        let over_queries = matches!(head.normalization, Normalization::OverQueries);
        let kept = if over_queries { row.visible } else { row.visible - row.dropped };
        let rescalings =
            if over_queries { formats.rescalings(head.n_q, head.n_q) } else { formats.rescalings(head.n_k, kept) };
        let logit_error = logit_error(head, row, formats);
        let logits_are_exact = logit_error == 0.0 && row.logit_max == 0.0;
        // Without division the error of the maximum counts as well.
        let copies = if matches!(head.normalization, Normalization::None) { 2.0 } else { 1.0 };
        let exponentials = if logits_are_exact { 0.0 } else { (1.0 + rescalings as f64) * formats.exp_error };
        let tau = expm1_upper(copies * logit_error + exponentials);
        let terms = Self {
            tau: if tau < 1.0 { tau } else { f64::INFINITY },
            sum_lower: row.sum_lower,
            mass: 1.0,
            omega: 6.0 * min_normal(formats.softmax) + if row.dropped > 0 { DROPPED_WEIGHT } else { 0.0 },
            keys: row.visible,
            kept,
            rescalings: rescalings as f64,
            nu: 0.0,
            sum_error: 0.0,
            dots_are_exact: row.dot_max == 0.0 || formats.dot_is_exact(row),
            logits_are_exact,
        };
        Some(terms.complete(head, row.dropped, formats))
    }

    /// Terms of the mean over all keys.
    pub(super) fn mean(head: &Head<'_>, formats: &Formats) -> Option<Self> {
        let terms = Self {
            tau: 0.0,
            sum_lower: head.n_k.max(1) as f64,
            mass: 1.0,
            omega: 0.0,
            keys: head.n_k,
            kept: head.n_k,
            rescalings: 0.0,
            nu: 0.0,
            sum_error: 0.0,
            dots_are_exact: true,
            logits_are_exact: true,
        };
        Some(terms.complete(head, 0, formats))
    }

    fn complete(self, head: &Head<'_>, dropped: usize, formats: &Formats) -> Self {
        let (u_p, u_a) = (unit_roundoff(formats.weights), unit_roundoff(formats.softmax));
        let rescalings = self.rescalings as usize;
        let products = gamma(self.kept + rescalings, unit_roundoff(formats.dot));
        let nu = (1.0 + u_p) * (1.0 + products) * (1.0 + u_a) * (1.0 + u_a) * (1.0 + u_a) - 1.0;
        let terms = if matches!(head.normalization, Normalization::OverQueries) { head.n_q } else { self.kept };
        let sum_error = gamma(terms + rescalings, u_a) + 2.0 * (dropped as f64 + 1.0) * self.omega;
        let keys = self.keys as f64;
        let mass = match head.normalization {
            Normalization::OverKeys => {
                ((1.0 - self.tau) * self.sum_lower - keys * self.omega) * (1.0 - u_p) - keys * formats.weights_underflow
            }
            Normalization::None | Normalization::OverQueries => 1.0,
        };
        Self { nu, sum_error, mass, ..self }
    }

    /// The hard bound, `absolute` being the part that does not scale with the weights.
    pub(super) fn hard(&self, head: &Head<'_>, formats: &Formats, element: &Element, absolute: f64) -> f64 {
        // Not the negations: a NaN must end here too.
        let is_meaningful = self.tau < 1.0 && self.sum_error < 1.0 && self.mass > 0.0;
        if !is_meaningful {
            return f64::INFINITY;
        }
        let Element { output, abar, deviation, .. } = *element;
        let before_output = match head.normalization {
            Normalization::OverKeys => {
                let share = self.sum_lower / self.mass;
                let logits = self.tau * share * deviation;
                let weights = self.nu * (1.0 + self.tau) * share * abar.max(deviation + logits);
                (logits + weights + absolute + self.sum_error * output) / (1.0 - self.sum_error)
            }
            Normalization::None => (self.tau + self.nu * (1.0 + self.tau)) * abar + absolute,
            Normalization::OverQueries => {
                let tau = (1.0 + self.tau) / ((1.0 - self.tau) * (1.0 - self.sum_error)) - 1.0;
                (tau + self.nu * (1.0 + tau)) * abar + absolute * (1.0 + tau)
            }
        };
        let rounding = output_roundings(formats);
        (1.0 + rounding) * before_output + rounding * output + formats.dtype_underflow + min_normal(formats.softmax)
    }
}

/// Whether logit errors, relative to the terms of a logit, leave every dropped key `e^−448` below the largest.
pub(super) fn dropped_is_safe(head: &Head<'_>, row: &RowStats, formats: &Formats) -> bool {
    relative_logit_error(head, formats) * row.dropped_ratio <= 0.25 && input_underflow(head, row, formats) <= 1.0
}

/// Relative error of a logit with respect to `|scale| Σ_t |q_t k_t| + |bias|`, whatever the key.
fn relative_logit_error(head: &Head<'_>, formats: &Formats) -> f64 {
    let dots = formats.dot_growth(head.d_k, false) + head.scale.rel_error;
    (1.0 + dots) * (1.0 + formats.score_growth) * (1.0 + gamma(18, unit_roundoff(formats.softmax))) - 1.0
}

/// Bound of `|ẑ − z|` for the kept keys, up to what all keys have in common, exponential arguments included.
fn logit_error(head: &Head<'_>, row: &RowStats, formats: &Formats) -> f64 {
    let factor = magnification(head);
    let is_exact = formats.dot_is_exact(row);
    let dots = if row.dot_max == 0.0 {
        0.0
    } else {
        let flushed = if is_exact { 0.0 } else { 2.0 * head.d_k as f64 * min_normal(formats.dot) * factor };
        (formats.dot_growth(head.d_k, is_exact) + head.scale.rel_error) * row.dot_max
            + input_underflow(head, row, formats)
            + flushed
    };
    let size = row.logit_max + dots;
    if size == 0.0 {
        return 0.0;
    }
    let scores = formats.score_growth * size + formats.score_roundings * formats.dtype_underflow * factor;
    let roundings = if head.bias.is_some() { 18 } else { 14 };
    let softmax = gamma(roundings, unit_roundoff(formats.softmax)) * (size + scores)
        + f64::from(roundings as u32) * min_normal(formats.softmax) * factor;
    let bias = head.bias.map_or(0.0, |bias| bias.rel_error * row.bias_max);
    dots + scores + softmax + bias
}

/// Error of a dot product when elements of query and key are rounded in `dtype` below its normal range.
fn input_underflow(head: &Head<'_>, row: &RowStats, formats: &Formats) -> f64 {
    let unit = formats.input_roundings * formats.dtype_underflow;
    let width = head.d_k as f64;
    (unit * width.sqrt() * (row.query_norm + row.key_norm) + unit * unit * width) * magnification(head) * 1.01
}

/// By how much the scale may enlarge an absolute error, or an element into which it is folded.
fn magnification(head: &Head<'_>) -> f64 {
    (head.scale.value.abs() * (1.0 + head.scale.rel_error)).max(1.0)
}

/// Whether no format of the contract overflows before the values are met.
fn fits(head: &Head<'_>, row: &RowStats, formats: &Formats) -> bool {
    let (scale, factor) = (head.scale.value.abs(), magnification(head));
    let inputs = if formats.input_roundings > 0.0 { row.query_norm.max(row.key_norm) * factor } else { 0.0 };
    let raw = if scale > 0.0 { row.dot_max / scale } else { row.query_norm * row.key_norm };
    let scores = if formats.score_roundings > 0.0 { raw.max(row.dot_max).max(row.logit_max) } else { 0.0 };
    inputs <= max_finite(formats.dtype) / 2.0
        && row.query_norm * row.key_norm * factor <= max_finite(formats.dot) / 2.0
        && scores <= max_finite(formats.dtype) / 2.0
        && 4.0 * row.logit_max.max(row.dot_max) <= max_finite(formats.softmax)
        && (row.visible as f64) <= max_finite(formats.softmax) / 2.0
}

/// Upper bound of `e^y − 1` for `0 ≤ y < 0.7`; infinite beyond. The Taylor series after its third term is below a geometric one.
pub(super) fn expm1_upper(y: f64) -> f64 {
    if y < 0.7 { (y + y * y / 2.0 + y * y * y / 6.0 / (1.0 - y / 4.0)) * (1.0 + 1e-14) } else { f64::INFINITY }
}
