//! The bound that independent roundings of mean zero do not exceed. Derivation: `docs/bounds.md#probable`.

use super::Element;
use super::formats::Formats;
use super::row::RowTerms;
use crate::enclosure::RowStats;
use crate::format::{min_normal, unit_roundoff};
use crate::head::Head;

/// Hoeffding: a sum of independent errors exceeds `λ` times the root of their summed squares with chance `2e^(−λ²/2) < 5e-16`.
const LAMBDA: f64 = 8.5;

/// The probable bound, `absolute` being the part that does not scale with the weights; infinite when errors are not small.
pub(super) fn probable(
    head: &Head<'_>,
    row: &RowStats,
    terms: &RowTerms,
    formats: &Formats,
    element: &Element,
    absolute: f64,
) -> f64 {
    let Element { output, abar, deviation, product_norm, .. } = *element;
    let (u_io, u_d) = (unit_roundoff(formats.dtype), unit_roundoff(formats.dot));
    let (u_a, u_p) = (unit_roundoff(formats.softmax), unit_roundoff(formats.weights));
    let (a, z) = (row.dot_max, row.logit_max);

    let dots = if terms.dots_are_exact { 0.0 } else { (head.d_k as f64).sqrt() * u_d * a };
    let stored = formats.input_roundings.sqrt() * u_io * a + formats.score_roundings.sqrt() * u_io * z;
    let exp_error = if terms.logits_are_exact { 0.0 } else { formats.exp_error };
    let own = dots + stored + 8.0 * u_a * z + exp_error;
    let common = terms.rescalings * exp_error + 8.0 * u_a * z;
    let size = LAMBDA * own + common;
    if size >= 0.5 {
        return f64::INFINITY;
    }
    let depth = (terms.kept as f64 + terms.rescalings).sqrt();
    let centered_norm = product_norm + output * row.weight_norm;
    let random = u_p * product_norm + own * centered_norm + depth * (u_d * abar + u_a * output);
    1.05 * (LAMBDA * random + common * deviation) / (1.0 - size)
        + (unit_roundoff(formats.dtype) + 3.0 * u_a) * output
        + absolute
        + formats.dtype_underflow
        + min_normal(formats.softmax)
}
