//! One evaluation of a row: its weights in integers, and the intervals of outputs and LSE that
//! follow. Derivation: `docs/bounds.md#digits`.

use dashu_int::ops::{BitTest, UnsignedAbs};
use dashu_int::{IBig, Sign, UBig};

use super::exponential::exponential;
use super::logarithm::{ln_2, logarithm};
use super::ratio::Ratio;
use super::row::{Logarithm, Row};

/// Keys at most this far below the largest logit always count: `e^−24000 · 10^309 · n` is below
/// 10⁻¹⁰⁰⁰⁰.
const MIN_CUTOFF: usize = 24_000;

/// Bits of a logit beyond the precision.
const LOGIT_BITS: usize = 4;

/// Weights relative to the largest, each within `2^−precision` of itself.
pub(super) struct Weights {
    precision: usize,
    /// Largest logit, in units of `2^−(precision + 4)`.
    top: IBig,
    /// Power of two that the weights count; it cancels in a quotient.
    exponent: i64,
    /// Number of a group and its weight.
    kept: Vec<(usize, IBig)>,
    /// Groups below the cut-off and, in the same units, what each of their keys weighs at most.
    dropped: Vec<usize>,
    dropped_weight: IBig,
    /// Both ends of the row sum, times `2^precision`.
    mass: (IBig, IBig),
}

impl Weights {
    pub(super) fn new(row: &Row<'_>, precision: usize) -> Self {
        let fraction_bits = precision + LOGIT_BITS;
        let cutoff = MIN_CUTOFF.max(8 * precision);
        let limit = UBig::from(cutoff) << fraction_bits;
        let logits: Vec<IBig> =
            row.groups.iter().map(|group| row.logits.fixed(group.logit, fraction_bits)).collect();
        let top = logits.iter().max().cloned().unwrap_or(IBig::ZERO);
        let (mut kept, mut dropped) = (Vec::new(), Vec::new());
        for (at, logit) in logits.iter().enumerate() {
            let below = (&top - logit).unsigned_abs();
            if below > limit {
                dropped.push(at);
            } else {
                kept.push((at, exponential(&below, fraction_bits, cutoff.bit_len(), precision)));
            }
        }
        // 1.442 < log₂ e, and a factor of 2 for the errors of the logits.
        let dropped_exponent = 1 - (cutoff * 1442 / 1000) as i64;
        let exponents = kept.iter().map(|(_, (_, exponent))| *exponent);
        let exponent =
            exponents.chain((!dropped.is_empty()).then_some(dropped_exponent)).min().unwrap_or(0);
        let scaled = |mantissa: UBig, from: i64| IBig::from(mantissa << (from - exponent) as usize);
        let dropped_weight =
            if dropped.is_empty() { IBig::ZERO } else { scaled(UBig::ONE, dropped_exponent) };
        let kept: Vec<(usize, IBig)> =
            kept.into_iter().map(|(at, (mantissa, from))| (at, scaled(mantissa, from))).collect();

        let count = |at: usize| row.groups[at].keys.len();
        let mass: IBig = kept.iter().map(|(at, weight)| weight * count(*at)).sum();
        let dropped_count: usize = dropped.iter().map(|at| count(*at)).sum();
        let up = |x: &IBig| x << precision;
        let mass = (up(&mass) - &mass, up(&mass) + &mass + up(&(&dropped_weight * dropped_count)));
        Self { precision, top, exponent, kept, dropped, dropped_weight, mass }
    }

    /// The weight of a key of a group as a double; what was dropped is 0.
    pub(super) fn share(&self, group: usize) -> f64 {
        let Ok(at) = self.kept.binary_search_by_key(&group, |(at, _)| *at) else { return 0.0 };
        let scaled = &self.kept[at].1 << self.precision;
        Ratio::new(scaled, (&self.mass.0).unsigned_abs(), 0).nearest()
    }

    /// Both ends of an interval that holds column `c` of the output. Everything below is exact,
    /// times `2^precision`.
    pub(super) fn output(&self, row: &Row<'_>, c: usize) -> (Ratio, Ratio) {
        let (mut sum, mut abs_sum) = (IBig::ZERO, IBig::ZERO);
        for (at, weight) in &self.kept {
            let product = weight * row.values.sum(&row.groups[*at].keys, c);
            abs_sum += (&product).unsigned_abs();
            sum += product;
        }
        let dropped_sum: UBig = self
            .dropped
            .iter()
            .map(|at| row.values.sum(&row.groups[*at].keys, c).unsigned_abs())
            .sum();
        let up = |x: IBig| x << self.precision;
        let radius = abs_sum + up(dropped_sum * &self.dropped_weight);
        let (low, high) = (up(sum.clone()) - &radius, up(sum) + radius);
        let (mass_low, mass_high) = &self.mass;
        let divided =
            |end: IBig, by: &IBig| Ratio::new(end, by.unsigned_abs(), row.values.exponent());
        let is_positive = |end: &IBig| end.sign() == Sign::Positive;
        let low_by = if is_positive(&low) { mass_high } else { mass_low };
        let high_by = if is_positive(&high) { mass_low } else { mass_high };
        (divided(low, low_by), divided(high, high_by))
    }

    /// Both ends of an interval that holds the logarithm of the row sum, the largest logit not
    /// taken off.
    pub(super) fn lse(&self, of: Logarithm) -> (Ratio, Ratio) {
        let bits = self.precision + LOGIT_BITS;
        let ln = |end: &IBig| {
            logarithm(&end.unsigned_abs(), self.exponent - self.precision as i64, bits)
        };
        // Two units each for the largest logit and the logarithm.
        let low = &self.top + ln(&self.mass.0) - IBig::from(4u8);
        let high = &self.top + ln(&self.mass.1) + IBig::from(4u8);
        let natural = |x: IBig| Ratio::new(x, UBig::ONE, -(bits as i64));
        let (low, high) = (natural(low), natural(high));
        if of == Logarithm::Natural {
            return (low, high);
        }
        let ln_2_low = ln_2(bits);
        let ln_2_high = natural(&ln_2_low + IBig::from(2 * bits + 11));
        let ln_2_low = natural(ln_2_low);
        let low_by = if low.is_negative() { &ln_2_low } else { &ln_2_high };
        let high_by = if high.is_negative() { &ln_2_high } else { &ln_2_low };
        (low.over(low_by), high.over(high_by))
    }
}
