//! One row of outputs: which elements are rational, and the digits of the others. Derivation: `docs/bounds.md#digits`.

use dashu_int::ops::{BitTest, UnsignedAbs};
use dashu_int::{IBig, Sign, UBig};

use super::decimal::Decimal;
use super::dyadic::Dyadics;
use super::exponential::exponential;
use super::logits::RowLogits;
use super::ratio::Ratio;
use crate::head::{EmptyRow, Head};

/// Bits of the first evaluation; they double until the digits are decided.
const FIRST_PRECISION: usize = 128;

/// Keys at most this far below the largest logit always count: `e^−24000 · 10^309 · n` is below 10⁻¹⁰⁰⁰⁰.
const LEAST_CUTOFF: usize = 24_000;

/// The values of a head, exactly.
pub(super) struct Values {
    dyadics: Dyadics,
    n_k: usize,
    d_v: usize,
}

impl Values {
    pub(super) fn new(head: &Head<'_>) -> Self {
        Self { dyadics: Dyadics::new(head.value), n_k: head.n_k, d_v: head.d_v }
    }

    /// `Σ_j v_jc`, on the grid of the values.
    fn sum(&self, keys: &[usize], c: usize) -> IBig {
        keys.iter().map(|j| &self.dyadics.integers[j * self.d_v + c]).sum()
    }

    /// Column `c` of the output of a query that sees no key.
    pub(super) fn of_empty_row(&self, empty_row: EmptyRow, c: usize, digits: u32) -> Decimal {
        if empty_row != EmptyRow::Mean || self.n_k == 0 {
            return Decimal::zero();
        }
        let keys: Vec<usize> = (0..self.n_k).collect();
        Ratio::new(self.sum(&keys, c), UBig::from(self.n_k), self.dyadics.exponent).certain(digits)
    }
}

/// A query that sees at least one key: its keys, those with equal logits together.
pub(super) struct Row<'a> {
    values: &'a Values,
    logits: RowLogits,
    groups: Vec<Group>,
}

struct Group {
    keys: Vec<usize>,
    /// One of their logits, by number.
    logit: usize,
}

impl<'a> Row<'a> {
    pub(super) fn new(values: &'a Values, seen: &[usize], logits: RowLogits) -> Self {
        let groups = logits.groups();
        let group =
            |members: &Vec<usize>| Group { keys: members.iter().map(|at| seen[*at]).collect(), logit: members[0] };
        Self { values, groups: groups.iter().map(group).collect(), logits }
    }

    /// The first `width` outputs; `enclosure` gives midpoint and radius of a column.
    pub(super) fn decimals(&self, width: usize, digits: u32, enclosure: impl Fn(usize) -> (f64, f64)) -> Vec<Decimal> {
        let mut decimals: Vec<Option<Decimal>> = (0..width)
            .map(|c| match self.rational(c) {
                Some(ratio) => Some(ratio.certain(digits)),
                None => by_enclosure(enclosure(c), digits),
            })
            .collect();
        let mut precision = FIRST_PRECISION;
        while decimals.iter().any(Option::is_none) {
            let weights = Weights::new(self, precision);
            for (c, decimal) in decimals.iter_mut().enumerate().filter(|(_, decimal)| decimal.is_none()) {
                let (low, high) = weights.output(self, c);
                *decimal = between(&low, &high, digits);
            }
            precision *= 2;
        }
        decimals.into_iter().flatten().collect()
    }

    /// The output, if it is rational: the common mean of the values of every group.
    fn rational(&self, c: usize) -> Option<Ratio> {
        let first = self.groups.first()?;
        let (sum, count) = (self.values.sum(&first.keys, c), first.keys.len());
        let same_mean = |group: &Group| self.values.sum(&group.keys, c) * count == &sum * group.keys.len();
        let exponent = self.values.dyadics.exponent;
        self.groups[1..].iter().all(same_mean).then(|| Ratio::new(sum, UBig::from(count), exponent))
    }
}

/// The decimal to which every number of the ball rounds.
fn by_enclosure((mid, rad): (f64, f64), digits: u32) -> Option<Decimal> {
    let (low, high) = ((mid - rad).next_down(), (mid + rad).next_up());
    let are_finite = low.is_finite() && high.is_finite();
    are_finite.then(|| between(&Ratio::from_f64(low), &Ratio::from_f64(high), digits)).flatten()
}

/// The decimal to which every number from `low` to `high` rounds: rounding is monotone, so the ends decide.
fn between(low: &Ratio, high: &Ratio, digits: u32) -> Option<Decimal> {
    match (low.rounded(digits), high.rounded(digits)) {
        (Some(low), Some(high)) if low == high => Some(low),
        (low, high) => {
            let vanishes = |end: &Option<Decimal>| end.as_ref().is_none_or(Decimal::is_zero);
            (vanishes(&low) && vanishes(&high)).then(Decimal::vanishing)
        }
    }
}

/// Weights relative to the largest, each within `2^−precision` of itself.
struct Weights {
    precision: usize,
    /// Number of a group and its weight, in units of a power of two that cancels in the quotient.
    kept: Vec<(usize, IBig)>,
    /// Groups below the cut-off and, in the same units, what each of their keys weighs at most.
    dropped: Vec<usize>,
    dropped_weight: IBig,
}

impl Weights {
    fn new(row: &Row<'_>, precision: usize) -> Self {
        let fraction_bits = precision + 4;
        let cutoff = LEAST_CUTOFF.max(8 * precision);
        let limit = UBig::from(cutoff) << fraction_bits;
        let logits: Vec<IBig> = row.groups.iter().map(|group| row.logits.fixed(group.logit, fraction_bits)).collect();
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
        let exponent = exponents.chain((!dropped.is_empty()).then_some(dropped_exponent)).min().unwrap_or(0);
        let scaled = |mantissa: UBig, from: i64| IBig::from(mantissa << (from - exponent) as usize);
        Self {
            precision,
            dropped_weight: if dropped.is_empty() { IBig::ZERO } else { scaled(UBig::ONE, dropped_exponent) },
            kept: kept.into_iter().map(|(at, (mantissa, from))| (at, scaled(mantissa, from))).collect(),
            dropped,
        }
    }

    /// Both ends of an interval that holds column `c` of the output. Everything below is exact, times `2^precision`.
    fn output(&self, row: &Row<'_>, c: usize) -> (Ratio, Ratio) {
        let (mut sum, mut abs_sum, mut mass) = (IBig::ZERO, IBig::ZERO, IBig::ZERO);
        for (at, weight) in &self.kept {
            let keys = &row.groups[*at].keys;
            let product = weight * row.values.sum(keys, c);
            abs_sum += (&product).unsigned_abs();
            sum += product;
            mass += weight * keys.len();
        }
        let (mut dropped_sum, mut dropped_count) = (IBig::ZERO, 0);
        for at in &self.dropped {
            let keys = &row.groups[*at].keys;
            dropped_sum += row.values.sum(keys, c).unsigned_abs();
            dropped_count += keys.len();
        }
        let up = |x: IBig| x << self.precision;
        let radius = abs_sum + up(dropped_sum * &self.dropped_weight);
        let (low, high) = (up(sum.clone()) - &radius, up(sum) + radius);
        let mass_low = up(mass.clone()) - &mass;
        let mass_high = up(mass.clone()) + mass + up(&self.dropped_weight * dropped_count);
        let divided = |end: IBig, by: &IBig| Ratio::new(end, by.unsigned_abs(), row.values.dyadics.exponent);
        let is_positive = |end: &IBig| end.sign() == Sign::Positive;
        let low_by = if is_positive(&low) { &mass_high } else { &mass_low };
        let high_by = if is_positive(&high) { &mass_low } else { &mass_high };
        (divided(low, low_by), divided(high, high_by))
    }
}
