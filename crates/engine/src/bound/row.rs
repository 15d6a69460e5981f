//! Error terms that the elements of a row share. Derivation: `docs/bounds.md#contract`.

use super::formats::Formats;
use super::logits::Logits;
use super::{Element, output_roundings};
use crate::enclosure::RowStats;
use crate::format::{max_finite, min_normal, unit_roundoff};
use crate::gemm::gamma;
use crate::head::{Head, Normalization};

/// Weight of a dropped key, relative to the largest, under logit errors up to a quarter of its own
/// terms, plus 2: `e^−448`.
const DROPPED_WEIGHT: f64 = 1e-194;

/// Error terms of one row.
pub(super) struct RowTerms {
    /// Largest relative error of a weight before its rounding: an implementation's is at most
    /// `1 + τ` times the exact one, and at least `1/(1 + τ)` times. Infinite where keys that were
    /// dropped may matter.
    pub(super) tau: f64,
    /// Absolute error of a logit, and how far the largest may be from itself, as the maximum.
    pub(super) logit_error: f64,
    pub(super) own_error: f64,
    /// Absolute error that all logits have in common, as the maximum has it.
    pub(super) shared: f64,
    /// Lower bound of `L`.
    pub(super) sum_lower: f64,
    /// Lower bound of the row sum that an implementation divides by, errors of adding up aside.
    pub(super) mass: f64,
    /// Absolute error of an exponential by underflow.
    pub(super) omega: f64,
    /// Number of keys that may contribute, and of those that matter, the sink included.
    pub(super) keys: usize,
    pub(super) kept: usize,
    /// Rescalings a weight may suffer.
    pub(super) rescalings: f64,
    /// Roundings of the accumulator that a weighted value passes through, rescalings included.
    pub(super) value_depth: usize,
    /// Error of weights and products, relative to `Σ w|v|`.
    pub(super) nu: f64,
    /// Error of the row sum.
    pub(super) sum_error: f64,
    /// `nu`, and the roundings of an exponential on its way into the row sum, where every key may
    /// have any weight.
    any_nu: f64,
    any_sum_depth: usize,
    /// Whether dot products, logits are free of errors.
    pub(super) dots_are_exact: bool,
    pub(super) logits_are_exact: bool,
}

impl RowTerms {
    /// Terms of row `i`, which has visible keys; `None` if a format of the contract could overflow.
    pub(super) fn new(
        head: &Head<'_>,
        i: usize,
        row: &RowStats,
        logits: &Logits,
        formats: &Formats,
    ) -> Option<Self> {
        if !logits.fit(head, row, formats) {
            return None;
        }
        let sink = usize::from(head.sink.is_some());
        let over_queries = matches!(head.normalization, Normalization::OverQueries);
        let is_known = row.dropped == 0 || logits.dropped_is_safe(head, row, formats);
        let dropped = if is_known { row.dropped } else { 0 };
        let kept = if over_queries { row.visible } else { row.visible - dropped + sink };
        let rescalings = if over_queries {
            formats.rescalings(head.n_q, head.n_q, false)
        } else {
            formats.rescalings(head.n_k, kept, sink == 1)
        };
        let [logit_error, own_error] = logits.error(head, i, row, formats);
        let of_all = logit_error;
        // Halves of the largest numbers cover exponentials up to 2, sums of products up to twice
        // their size, and scores that are right.
        let is_covered = own_error < std::f64::consts::LN_2
            && formats.dot_growth(head.d_k, formats.dot_is_exact(i, row)) < 1.0
            && 4.0 * (logits.terms.max(logits.dots) + logit_error) <= max_finite(formats.softmax);
        if !is_covered {
            return None;
        }
        let logits_are_exact = logit_error == 0.0 && logits.terms == 0.0;
        // The score of a single key is its own maximum: what is wrong with it cancels, but in the
        // log-sum-exp.
        let is_alone =
            kept == 1 && row.dropped == 0 && matches!(head.normalization, Normalization::OverKeys);
        let (logit_error, shared) =
            if is_alone { (own_error, logit_error) } else { (logit_error, 0.0) };
        // Without division the error of the maximum counts as well.
        let copies = if matches!(head.normalization, Normalization::None) { 2.0 } else { 1.0 };
        let exponentials =
            if logits_are_exact { 0.0 } else { (1.0 + rescalings as f64) * formats.exp_error };
        // `1 − ε ≥ e^(−ε/(1 − ε))`: the lower side of an exponential's error.
        let exponent = copies * logit_error + exponentials / (1.0 - formats.exp_error);
        let terms = Self {
            tau: if is_known { expm1_upper(exponent) } else { f64::INFINITY },
            logit_error: of_all,
            own_error,
            shared,
            sum_lower: row.sum_lower,
            mass: 1.0,
            omega: 6.0 * formats.stale * min_normal(formats.softmax)
                + if dropped > 0 { DROPPED_WEIGHT } else { 0.0 },
            keys: row.visible + sink,
            kept,
            rescalings: rescalings as f64,
            value_depth: formats.value_depth(head.n_k, row.visible, kept) + rescalings,
            nu: 0.0,
            sum_error: 0.0,
            any_nu: 0.0,
            any_sum_depth: 0,
            dots_are_exact: logits.dots == 0.0 || formats.dot_is_exact(i, row),
            logits_are_exact,
        };
        Some(terms.complete(head, dropped, formats))
    }

    /// Terms of the mean over all keys.
    pub(super) fn mean(head: &Head<'_>, formats: &Formats) -> Self {
        let terms = Self {
            tau: 0.0,
            logit_error: 0.0,
            own_error: 0.0,
            shared: 0.0,
            sum_lower: head.n_k.max(1) as f64,
            mass: 1.0,
            omega: 0.0,
            keys: head.n_k,
            kept: head.n_k,
            rescalings: 0.0,
            value_depth: formats.value_depth(head.n_k, head.n_k, head.n_k),
            nu: 0.0,
            sum_error: 0.0,
            any_nu: 0.0,
            any_sum_depth: 0,
            dots_are_exact: true,
            logits_are_exact: true,
        };
        terms.complete(head, 0, formats)
    }

    fn complete(self, head: &Head<'_>, dropped: usize, formats: &Formats) -> Self {
        let (u_p, u_a, u_t) = (formats.weights_unit, formats.softmax_unit(), formats.operand_unit);
        let partial = formats.partial.map_or(0.0, unit_roundoff);
        // Who writes the softmax out merges nothing.
        let stored = formats.step_unit.max(partial);
        let nu = |value_depth: usize| {
            let products = gamma(value_depth, formats.dot_unit);
            let nu = (1.0 + u_p) * (1.0 + products) * (1.0 + u_a) * (1.0 + u_a) * (1.0 + u_a);
            nu * (1.0 + u_t) * (1.0 + u_t) * (1.0 + stored) - 1.0
        };
        let has_sink = head.sink.is_some();
        let all = formats.rescalings(head.n_k, self.keys, has_sink);
        let any_nu = match self.kept == self.keys {
            true => nu(self.value_depth),
            false => nu(formats.value_depth(head.n_k, self.keys, self.keys) + all),
        };
        let any_sum_depth = formats.sum_depth(self.keys) + all;
        let nu = nu(self.value_depth);
        let terms = if matches!(head.normalization, Normalization::OverQueries) {
            head.n_q
        } else {
            self.kept
        };
        let sum_depth = formats.sum_depth(terms) + self.rescalings as usize;
        let adding = (1.0 + gamma(sum_depth, u_a)) * (1.0 + formats.step_unit) - 1.0;
        let vanishing = 2.0 * (dropped as f64 + 1.0) * self.omega;
        let sum_error = adding + self.growth() * self.growth() * vanishing;
        let mass = match head.normalization {
            Normalization::OverKeys => self.row_sum(formats),
            Normalization::None | Normalization::OverQueries => 1.0,
        };
        Self { nu, sum_error, mass, any_nu, any_sum_depth, ..self }
    }

    /// `1 + τ`.
    pub(super) fn growth(&self) -> f64 {
        1.0 + self.tau
    }

    /// Lower bound of the sum of an implementation's weights, errors of adding up aside.
    pub(super) fn row_sum(&self, formats: &Formats) -> f64 {
        let keys = self.keys as f64;
        let exponentials = self.sum_lower / self.growth() - keys * self.growth() * self.omega;
        if formats.sum_of_rounded {
            exponentials
                * (1.0 - formats.weights_unit)
                * (1.0 - formats.operand_unit)
                * (1.0 - formats.step_unit)
                - keys * self.growth() * formats.weights_underflow
        } else {
            exponentials
        }
    }

    /// The hard bound, `absolute` being the part that does not scale with the weights.
    pub(super) fn hard(
        &self,
        head: &Head<'_>,
        formats: &Formats,
        element: &Element,
        absolute: f64,
    ) -> f64 {
        // Not the negations: a NaN must end here too.
        let is_meaningful = self.tau.is_finite() && self.sum_error < 1.0 && self.mass > 0.0;
        if !is_meaningful {
            return f64::INFINITY;
        }
        let Element { output, abar, deviation, .. } = *element;
        let before_output = match head.normalization {
            Normalization::OverKeys => {
                let share = self.sum_lower / self.mass;
                // Factors between `1/(1 + τ)` and `1 + τ` are this far from their middle.
                let off = self.tau * (1.0 + 1.0 / self.growth()) / 2.0;
                let logits = off * share * deviation;
                let spread =
                    if formats.sum_of_rounded { abar.max(deviation + logits) } else { abar };
                let weights = self.nu * self.growth() * share * spread;
                (logits + weights + absolute + self.sum_error * output) / (1.0 - self.sum_error)
            }
            Normalization::None => (self.tau + self.nu * self.growth()) * abar + absolute,
            Normalization::OverQueries => {
                let squared = self.tau * (2.0 + self.tau);
                let tau = (squared + self.sum_error) / (1.0 - self.sum_error);
                (tau + self.nu * (1.0 + tau)) * abar + absolute * (1.0 + tau)
            }
        };
        rounded_output(before_output, output, formats)
    }

    /// The bound of an output that is a mean of the values with any weights, errors of sums and
    /// roundings included; infinite where weights do not sum to 1. The key of the largest score has
    /// an exponential of 1, but for what it differs from itself, and the row sum is at least that.
    pub(super) fn of_any_weights(
        &self,
        head: &Head<'_>,
        formats: &Formats,
        element: &Element,
        absolute: f64,
    ) -> f64 {
        let adding = gamma(self.any_sum_depth, formats.softmax_unit());
        let rounded = if formats.sum_of_rounded { self.any_nu } else { formats.step_unit };
        let sum_error = (1.0 + adding) * (1.0 + rounded) - 1.0;
        let lost = if formats.sum_of_rounded { formats.weights_underflow } else { 0.0 };
        let largest = (1.0 - self.own_error) * (1.0 - formats.exp_error);
        let mass = (1.0 - adding) * (1.0 - rounded) * largest - self.keys as f64 * lost;
        let is_mean = matches!(head.normalization, Normalization::OverKeys);
        // Not the negation: a NaN must end here too.
        if !(is_mean && adding < 1.0 && rounded < 1.0 && mass > 0.0) {
            return f64::INFINITY;
        }
        let errors = (self.any_nu + sum_error) * element.largest + absolute;
        rounded_output(element.farthest + errors / mass, element.output, formats)
    }
}

/// The error of an output of this size after its last roundings.
fn rounded_output(error: f64, output: f64, formats: &Formats) -> f64 {
    let rounding = output_roundings(formats);
    (1.0 + rounding) * error
        + rounding * output
        + formats.storing_underflow()
        + min_normal(formats.softmax)
}

/// Upper bound of `e^y − 1` for `y ≥ 0`. The Taylor series after its third term is below a
/// geometric one; libm's error beyond is below an ulp.
pub(super) fn expm1_upper(y: f64) -> f64 {
    if y < 0.7 {
        (y + y * y / 2.0 + y * y * y / 6.0 / (1.0 - y / 4.0)) * (1.0 + 1e-14)
    } else {
        libm::expm1(y) * (1.0 + 1e-14)
    }
}
