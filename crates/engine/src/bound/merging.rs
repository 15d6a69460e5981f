//! Partial results that are normalized on their own, stored and merged. Derivation:
//! `docs/bounds.md#merging`.

use super::formats::Formats;
use super::logits::Logits;
use super::row::{RowTerms, expm1_upper};
use super::{Element, INFLATION};
use crate::format::unit_roundoff;
use crate::head::{Head, Normalization};

/// Relative error of the factors by which partial results are merged; 0 where nothing is.
pub(super) fn factor_error(
    head: &Head<'_>,
    logits: &Logits,
    terms: &RowTerms,
    formats: &Formats,
) -> f64 {
    // A single key whose logit is 0 has lse 0: every factor is exp(0). Another logit is not what
    // its own lse was rounded from.
    let is_one = terms.keys <= 1 && logits.terms == 0.0;
    if !formats.merges || is_one || !matches!(head.normalization, Normalization::OverKeys) {
        return 0.0;
    }
    let (keys, levels) = (terms.keys as f64, terms.rescalings + 2.0);
    let log = |x: f64| libm::log(x) * (1.0 + 1e-15);
    let lse = logits.terms + terms.logit_error + log(keys);
    let functions = formats.exp_error * (2.0 + log(1.0 + (keys - 1.0) / levels));
    let exponent = levels * (formats.softmax_unit() * (4.0 * lse + 16.0) + functions);
    // Shares that are off by a factor of 2 are none.
    if exponent < std::f64::consts::LN_2 { expm1_upper(exponent) } else { f64::INFINITY }
}

/// What merging may add to the bound of an element whose partial results are rounded to nothing
/// narrower than the softmax format; `size` is `Ā + |O|`.
pub(super) fn merge_error(factors: f64, size: f64) -> f64 {
    INFLATION * 2.0 * factors * size
}

/// What storing partial outputs adds where each of them is the exact one, up to the factors: one
/// rounding of each.
pub(super) fn stored_error(
    terms: &RowTerms,
    factors: f64,
    formats: &Formats,
    element: &Element,
) -> f64 {
    match formats.partial {
        Some(partial) if terms.keys > 1 || factors > 0.0 || partial != formats.output => {
            // The exact output is a number of the output's format, so rounding at most doubles an
            // error.
            INFLATION
                * 2.0
                * (1.0 + 2.0 * factors)
                * (unit_roundoff(partial) * element.abar + formats.partial_underflow)
        }
        _ => 0.0,
    }
}
