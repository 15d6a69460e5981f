//! Plain logits of one row in place of its dot products, and what is known of logits. Derivation:
//! `docs/bounds.md#scores`.

use super::element::UNDERFLOW;
use super::table::{NO_GRID, exponent};
use crate::exp::{CUTOFF, U};
use crate::gemm::gamma;
use crate::head::Head;

/// Whether the logits are dot products times the scale, without cap, bias and ALiBi.
pub(super) fn are_plain(head: &Head<'_>) -> bool {
    head.cap().is_none() && head.biases().is_none() && head.slopes().is_none()
}

/// Replaces dot products by plain logits `fl(scale·s)`, by `−∞` where the key is not seen.
///
/// Returns the largest, or `None` if a visible logit is not finite.
pub(super) fn to_plain_logits(
    head: &Head<'_>,
    mask: Option<&[bool]>,
    row: &mut [f64],
) -> Option<f64> {
    let scale = head.factor().value;
    let Some(mask) = mask else {
        return scale_and_max(row, scale);
    };
    let mut top = f64::NEG_INFINITY;
    for (z, is_seen) in row.iter_mut().zip(mask) {
        if !is_seen {
            *z = f64::NEG_INFINITY;
            continue;
        }
        *z *= scale;
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

/// What is known of the logits of a row, or of all rows, besides their values.
#[derive(Clone, Copy)]
pub(super) struct Facts {
    /// Upper bound `δ` of `|ẑ_j − z_j|` over the kept keys.
    pub(super) error: f64,
    /// Upper bound of `|scale·q·k| + |bias| + |ALiBi|` over the kept keys.
    pub(super) term_max: f64,
    /// Upper bound of `|bias| + |ALiBi|` over the kept keys, multiplied by a scale that follows.
    pub(super) bias_max: f64,
    /// Upper bound of the terms of a dropped key over its distance to the largest logit.
    pub(super) dropped_ratio: f64,
    /// Lower bound of the true distance of the dropped logits from the largest computed one; `∞`
    /// for none.
    pub(super) gap: f64,
}

impl Facts {
    /// Of plain logits, with size and grid of the dot products of the kept keys. Derivation:
    /// docs/bounds.md#scores.
    pub(super) fn plain(head: &Head<'_>, dots: &Dots, line: &PlainLine) -> Self {
        let scale = head.factor();
        let term_max = match line.kept {
            0 => 0.0,
            _ => line.top.abs().max((line.shift + line.lowest).abs()) * (1.0 + 4.0 * U),
        };
        let dot_error = if dots.are_exact() { 0.0 } else { gamma(head.d_k, U) };
        let scaling = if is_power_of_two(scale.value) { 0.0 } else { U * term_max };
        let relative = (dot_error + scale.rel_error) * scale.value.abs() * dots.magnitude + scaling;
        let norms = line.query_norm + line.key_norm;
        let underflows =
            if dots.are_exact() { 2.0 } else { (2 * head.d_k + 4) as f64 * (1.0 + norms) };
        let error =
            relative * (1.0 + 16.0 * U) + underflows * (1.0 + scale.value.abs()) * UNDERFLOW;
        let mut facts =
            Self { error, term_max, bias_max: 0.0, dropped_ratio: 0.0, gap: f64::INFINITY };
        if line.has_dropped {
            let magnitude = scale.value.abs()
                * (1.0 + scale.rel_error)
                * line.query_norm
                * line.key_norm
                * 1.01;
            facts.dropped_ratio = magnitude / (-CUTOFF - 1.0).max(line.shift - magnitude);
            // Errors of dropped logits are relative to their terms, and these to the distance.
            let error = (gamma(head.d_k + 4, U) + scale.rel_error) * facts.dropped_ratio;
            facts.gap = if error <= MAX_DROPPED_ERROR {
                -CUTOFF * (1.0 - 2.0 * MAX_DROPPED_ERROR)
            } else {
                0.0
            };
        }
        facts
    }

    /// What holds for both.
    pub(super) fn max(&self, other: &Self) -> Self {
        Self {
            error: self.error.max(other.error),
            term_max: self.term_max.max(other.term_max),
            bias_max: self.bias_max.max(other.bias_max),
            dropped_ratio: self.dropped_ratio.max(other.dropped_ratio),
            gap: self.gap.min(other.gap),
        }
    }

    /// Whether every dropped key is truly more than 599.4 below the largest.
    pub(super) fn dropped_is_safe(&self) -> bool {
        self.gap - self.error >= -CUTOFF - 0.51
    }
}

/// Largest relative error of a plain logit, by its distance to the largest, at which a dropped key
/// is still beyond the cut-off.
const MAX_DROPPED_ERROR: f64 = 1.0 / 1_048_576.0;

/// A line of plain logits.
pub(super) struct PlainLine {
    /// The largest.
    pub(super) top: f64,
    /// What they are compared with: the largest, or a larger sink.
    pub(super) shift: f64,
    /// The smallest that is kept, minus the shift.
    pub(super) lowest: f64,
    /// Upper bound of `‖q‖`.
    pub(super) query_norm: f64,
    /// Upper bound of `‖k‖` over the visible keys.
    pub(super) key_norm: f64,
    /// How many are kept.
    pub(super) kept: usize,
    /// Whether visible keys are dropped.
    pub(super) has_dropped: bool,
}

/// Whether a product with this number, or with 0, is exact but for underflow.
pub(super) fn is_power_of_two(x: f64) -> bool {
    x.to_bits() << 12 == 0
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
    pub(super) fn new(
        (query_norm, query_grid): (f64, i32),
        (key_norm, key_grid): (f64, i32),
    ) -> Self {
        let magnitude = (query_norm * key_norm * (1.0 + 2.0 * U)).next_up();
        if query_grid == NO_GRID || key_grid == NO_GRID {
            return Self { magnitude: 0.0, bits: 0, grid: 0 };
        }
        let grid = query_grid + key_grid;
        // A process that flushes subnormals to zero does not read a number below the normal range
        // as it is.
        if !magnitude.is_finite() || query_grid.min(key_grid) < -1022 {
            return Self { magnitude, bits: i32::MAX, grid };
        }
        Self { magnitude, bits: exponent(magnitude) + 1 - grid, grid }
    }

    /// Whether every dot product is exact in `f64`, in any order, fused or not.
    pub(super) fn are_exact(&self) -> bool {
        self.bits <= f64::MANTISSA_DIGITS as i32 && self.grid >= -1022
    }
}
