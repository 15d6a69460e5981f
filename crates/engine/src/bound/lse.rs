//! The log-sum-exp of a row under a contract. Derivation: `docs/bounds.md#lse-contract`.

use super::INFLATION;
use super::formats::Formats;
use super::logits::Logits;
use super::merging::factor_error;
use super::probable::{self, LAMBDA};
use super::row::RowTerms;
use crate::enclosure::RowStats;
use crate::format::{max_finite, min_normal, underflow, unit_roundoff};
use crate::gemm::gamma;
use crate::head::{Head, Normalization};

/// Roundings of the maximum on its way into the result, beside those on its way into the
/// exponentials.
const MAXIMUM: usize = 4;

/// Roundings of sum and base between logarithm and result.
const SUM: usize = 3;

/// Hard and probable bound of the log-sum-exp of a row with visible keys.
pub(super) fn lse_bound(
    head: &Head<'_>,
    row: &RowStats,
    logits: &Logits,
    terms: &RowTerms,
    formats: &Formats,
) -> (f64, f64) {
    let row_sum = terms.row_sum(formats);
    let is_meaningful = terms.tau.is_finite() && terms.sum_error < 1.0 && row_sum > 0.0;
    if matches!(head.normalization, Normalization::OverQueries) {
        return (f64::INFINITY, f64::INFINITY);
    }
    let keys_log = libm::log(terms.keys as f64) * (1.0 + 1e-15);
    let u_a = formats.softmax_unit();
    let rest = |sum: f64| {
        let log = (formats.exp_error + 2.0 * u_a + formats.step_unit) * (keys_log + sum);
        let maximum = gamma(MAXIMUM, u_a) * (logits.terms + sum);
        let inner = sum + log + maximum + factor_error(head, logits, terms, formats);
        let size = logits.terms + keys_log;
        inner + gamma(SUM, u_a) * (size + inner)
    };
    let hard = if is_meaningful {
        // The sum is at least this share of the exact one, and at most its inverse.
        let share = row_sum / terms.sum_lower * (1.0 - terms.sum_error);
        let sum = libm::log1p((1.0 - share) / share) * (1.0 + 1e-15);
        rounded(rest(sum + terms.shared), logits.terms + keys_log, formats)
    } else {
        f64::INFINITY
    };
    let random = probable::sources(head, logits, terms, formats);
    let size = LAMBDA * random.own + random.common;
    let probable = if size < 0.5 && terms.tau.is_finite() {
        let depth = (formats.sum_depth(terms.kept) as f64 + terms.rescalings).sqrt();
        let rounded_weights = if formats.sum_of_rounded {
            formats.weights_unit + formats.operand_unit + formats.step_unit
        } else {
            0.0
        };
        let underflow = terms.keys as f64
            * (terms.omega + if formats.sum_of_rounded { formats.weights_underflow } else { 0.0 });
        let sum = (LAMBDA
            * (random.own * row.weight_norm + rounded_weights * row.weight_norm + depth * u_a)
            + random.common
            + formats.step_unit)
            * 1.05
            / (1.0 - size)
            + 2.0 * underflow;
        rounded(rest(sum), logits.terms + keys_log, formats)
    } else {
        hard
    };
    (hard, if probable.is_nan() { hard } else { probable.min(hard) })
}

/// Bound of a row that sees nothing but the sink.
pub(super) fn sink_bound(sink: f64, formats: &Formats) -> f64 {
    let u_a = formats.softmax_unit();
    rounded(gamma(14 + MAXIMUM + SUM, u_a) * sink.abs(), sink.abs(), formats)
}

/// The error of a number of this size after it is rounded to the format of the log-sum-exp.
fn rounded(error: f64, size: f64, formats: &Formats) -> f64 {
    let u = unit_roundoff(formats.lse);
    let total = (1.0 + u) * error + u * size + underflow(formats.lse) + min_normal(formats.softmax);
    let total = INFLATION * total;
    if size + total <= max_finite(formats.lse) { total } else { f64::INFINITY }
}
