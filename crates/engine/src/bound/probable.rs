//! The bound that independent roundings of mean zero do not exceed. Derivation:
//! `docs/bounds.md#probable`.

use super::Element;
use super::formats::Formats;
use super::logits::Logits;
use super::row::RowTerms;
use crate::enclosure::RowStats;
use crate::format::{min_normal, unit_roundoff};
use crate::head::Head;

/// Hoeffding: a sum of independent errors exceeds `λ` times the root of their summed squares with
/// chance `2e^(−λ²/2) < 5e-16`.
pub(super) const LAMBDA: f64 = 8.5;

/// Errors of the exponentials of a row.
pub(super) struct Sources {
    /// Root of the summed squares of what each exponential has for itself.
    pub(super) own: f64,
    /// What all have in common, or what has no mean of zero.
    pub(super) common: f64,
}

/// Errors of the exponentials, from logits, exponentials and rescalings.
pub(super) fn sources(
    head: &Head<'_>,
    logits: &Logits,
    terms: &RowTerms,
    formats: &Formats,
) -> Sources {
    let (u_in, u_a, u_d) = (unit_roundoff(formats.input), formats.softmax_unit(), formats.dot_unit);
    let (a, z) = (logits.dots, logits.terms);
    let depth = formats.score_depth(head.d_k) as f64;
    let (dots, cut) = match () {
        () if terms.dots_are_exact => (0.0, 0.0),
        () if formats.truncates => {
            (depth.sqrt() * u_d * a, (depth * u_d + 2.0 * formats.operand_unit) * a)
        }
        () => (depth.sqrt() * u_d * a, 0.0),
    };
    let operands = if terms.dots_are_exact {
        0.0
    } else {
        std::f64::consts::SQRT_2 * formats.operand_unit * a
    };
    let stored = formats.input_roundings.sqrt() * u_in * a
        + f64::from(logits.score_roundings(formats)).sqrt() * u_in * z
        + 2.0 * formats.step_unit * z;
    let exp_error = if terms.logits_are_exact { 0.0 } else { formats.exp_error };
    let cap = formats.tanh_error * logits.capped + formats.tanh_absolute * logits.cap_size;
    let roundings = (8 + logits.option_roundings()) as f64;
    let own = dots + operands + stored + roundings * u_a * z + exp_error;
    // A tangent is an approximation, one function of its argument: its error is the same wherever
    // the argument is.
    Sources { own, common: terms.rescalings * exp_error + 8.0 * u_a * z + cut + cap }
}

/// The probable bound, `absolute` being the part that does not scale with the weights; infinite
/// when errors are not small.
pub(super) fn probable(
    head: &Head<'_>,
    row: &RowStats,
    logits: &Logits,
    terms: &RowTerms,
    formats: &Formats,
    element: &Element,
    absolute: f64,
) -> f64 {
    let Element { output, abar, deviation, product_norm, .. } = *element;
    let (u_d, u_a) = (formats.dot_unit, formats.softmax_unit());
    let (u_p, u_t) = (formats.weights_unit, std::f64::consts::SQRT_2 * formats.operand_unit);
    let Sources { own, common } = sources(head, logits, terms, formats);
    let size = LAMBDA * own + common;
    if size >= 0.5 || terms.tau.is_infinite() {
        return f64::INFINITY;
    }
    let sum_depth = (formats.sum_depth(terms.kept) as f64 + terms.rescalings).sqrt();
    let value_depth = (terms.value_depth as f64).sqrt();
    let centered_norm = product_norm + output * row.weight_norm;
    let random = (u_p + u_t + formats.step_unit) * product_norm
        + own * centered_norm
        + value_depth * u_d * abar
        + sum_depth * u_a * output;
    // What is cut off points to zero, and there are few partial outputs: their errors add up.
    let cut = if formats.truncates {
        terms.value_depth as f64 * u_d + 2.0 * formats.operand_unit
    } else {
        0.0
    };
    let linear = (cut + formats.partial.map_or(0.0, unit_roundoff)) * abar;
    1.05 * (LAMBDA * random + common * deviation + linear) / (1.0 - size)
        + (unit_roundoff(formats.output) + 3.0 * u_a + formats.step_unit) * output
        + absolute
        + formats.storing_underflow()
        + min_normal(formats.softmax)
}
