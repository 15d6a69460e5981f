//! Logits of one row in place of its dot products, and the error they have. Derivation: `docs/bounds.md#scores`.

use super::element::UNDERFLOW;
use super::sight::Sight;
use super::table::{NO_GRID, exponent};
use crate::exp::{CUTOFF, U};
use crate::gemm::gamma;
use crate::head::Head;

/// Replaces the dot products of row `i` by `fl(fl(scale·s) + bias)`, by `−∞` where the key is not seen.
///
/// Returns the largest, or `None` if a visible logit is not finite.
pub(super) fn to_logits(head: &Head<'_>, sight: &Sight<'_>, i: usize, row: &mut [f64]) -> Option<f64> {
    let scale = head.scale.value;
    let (mask, bias) = (sight.mask(i), head.bias_row(i));
    if mask.is_none() && bias.is_none() {
        return scale_and_max(row, scale);
    }
    let mut top = f64::NEG_INFINITY;
    for (j, z) in row.iter_mut().enumerate() {
        if mask.is_some_and(|mask| !mask[j]) {
            *z = f64::NEG_INFINITY;
            continue;
        }
        *z = *z * scale + bias.map_or(0.0, |bias| bias[j]);
        if !z.is_finite() {
            return None;
        }
        top = top.max(*z);
    }
    Some(top)
}

/// The plain case, in independent lanes so that it becomes vector instructions.
fn scale_and_max(row: &mut [f64], scale: f64) -> Option<f64> {
    const LANES: usize = 8;
    let mut top = [f64::NEG_INFINITY; LANES];
    // 0·z is NaN for every z that is not finite, and NaN stays.
    let mut probe = [0.0; LANES];
    let (chunks, rest) = row.as_chunks_mut::<LANES>();
    for chunk in chunks {
        for lane in 0..LANES {
            let z = chunk[lane] * scale;
            chunk[lane] = z;
            top[lane] = if z > top[lane] { z } else { top[lane] };
            probe[lane] += 0.0 * z;
        }
    }
    for z in rest {
        *z *= scale;
        top[0] = top[0].max(*z);
        probe[0] += 0.0 * *z;
    }
    let is_finite = probe.iter().all(|p| !p.is_nan());
    is_finite.then(|| top.iter().fold(f64::NEG_INFINITY, |max, z| max.max(*z)))
}

/// Sizes of the terms of the kept logits.
#[derive(Clone, Copy)]
pub(super) struct Terms {
    /// Upper bound of `|scale·s| + |bias|`, as computed.
    pub(super) term_max: f64,
    /// Largest `|bias|`.
    pub(super) bias_max: f64,
}

impl Terms {
    /// From logits between `top + lowest` and `top`, without bias.
    pub(super) fn unbiased(top: f64, lowest: f64) -> Self {
        Self { term_max: top.abs().max((top + lowest).abs()) * (1.0 + 4.0 * U), bias_max: 0.0 }
    }

    /// From the logits, their biases and the largest logit.
    pub(super) fn biased(logits: &[f64], bias: &[f64], top: f64) -> Self {
        let mut terms = Self { term_max: 0.0, bias_max: 0.0 };
        for (z, b) in logits.iter().zip(bias) {
            if z - top > CUTOFF {
                terms.term_max = terms.term_max.max((z - b).abs() + b.abs());
                terms.bias_max = terms.bias_max.max(b.abs());
            }
        }
        Self { term_max: terms.term_max * (1.0 + 8.0 * U), ..terms }
    }
}

/// Size and grid of the dot products of a query with some keys.
#[derive(Clone, Copy)]
pub(super) struct Dots {
    /// Upper bound of `Σ_t |q_t k_t|`, by Cauchy and Schwarz.
    pub(super) magnitude: f64,
    /// Every partial sum is below `2^(bits + grid)`.
    pub(super) bits: i32,
    /// Every partial sum is a multiple of `2^grid`.
    pub(super) grid: i32,
}

impl Dots {
    /// From norm and grid of the query, and largest norm and common grid of the keys.
    pub(super) fn new((query_norm, query_grid): (f64, i32), (key_norm, key_grid): (f64, i32)) -> Self {
        let magnitude = (query_norm * key_norm * (1.0 + 2.0 * U)).next_up();
        if query_grid == NO_GRID || key_grid == NO_GRID {
            return Self { magnitude: 0.0, bits: 0, grid: 0 };
        }
        let grid = query_grid + key_grid;
        if !magnitude.is_finite() {
            return Self { magnitude, bits: i32::MAX, grid };
        }
        Self { magnitude, bits: exponent(magnitude) + 1 - grid, grid }
    }

    /// Whether every dot product is exact in `f64`, in any order, fused or not.
    pub(super) fn are_exact(&self) -> bool {
        self.bits <= f64::MANTISSA_DIGITS as i32 && self.grid >= -1022
    }
}

/// Upper bound of `|ẑ_j − z_j|` over the kept keys, for the logits of [`to_logits`].
pub(super) fn logit_error(head: &Head<'_>, dots: &Dots, terms: &Terms, norms: f64) -> f64 {
    let scale = head.scale;
    let dot_error = if dots.are_exact() { 0.0 } else { gamma(head.d_k, U) };
    let scaling_is_exact = scale.value.to_bits() << 12 == 0;
    let scaling = if scaling_is_exact { 0.0 } else { U * terms.term_max };
    let bias = head.bias.map_or(0.0, |bias| U * terms.term_max + bias.rel_error * terms.bias_max);
    let relative = (dot_error + scale.rel_error) * scale.value.abs() * dots.magnitude + scaling + bias;
    let underflows = if dots.are_exact() { 2.0 } else { (2 * head.d_k + 4) as f64 * (1.0 + norms) };
    relative * (1.0 + 16.0 * U) + underflows * (1.0 + scale.value.abs()) * UNDERFLOW
}

/// Relative error of a logit with respect to its own terms `|scale| Σ_t |q_t k_t| + |bias|`, for keys beyond the cut-off.
pub(super) fn relative_logit_error(head: &Head<'_>) -> f64 {
    gamma(head.d_k + 4, U) + head.scale.rel_error + head.bias.map_or(0.0, |bias| bias.rel_error)
}
