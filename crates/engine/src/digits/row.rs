//! One row: which of its numbers are rational, and digits or balls of the others. Derivation:
//! `docs/bounds.md#digits`.

use dashu_int::ops::BitTest;
use dashu_int::{IBig, UBig};

use super::decimal::Decimal;
use super::logits::RowLogits;
use super::ratio::Ratio;
use super::values::Values;
use super::weights::Weights;
use super::{DigitsError, MAX_BITS, Width};
use crate::ball::Ball;

/// Bits of the first evaluation; they double until enough is known.
const FIRST_PRECISION: usize = 128;

/// Which logarithm of a row sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Logarithm {
    /// To base e.
    Natural,
    /// To base 2.
    Binary,
}

/// A row with at least one key or a sink: its keys, those with equal logits together.
pub(super) struct Row<'a> {
    pub(super) values: &'a Values,
    pub(super) logits: RowLogits<'a>,
    pub(super) groups: Vec<Group>,
}

/// Keys with one logit; the sink is key `n_k`.
pub(super) struct Group {
    pub(super) keys: Vec<usize>,
    /// One of their logits, by number.
    pub(super) logit: usize,
}

/// What is asked of a row.
#[derive(Clone, Copy, Debug)]
enum Element {
    Output(usize),
    Lse(Logarithm),
}

impl<'a> Row<'a> {
    /// The row of the given keys, their logits in the same order.
    pub(super) fn new(values: &'a Values, seen: &[usize], logits: RowLogits<'a>) -> Self {
        let groups = logits.groups();
        let group = |members: &Vec<usize>| Group {
            keys: members.iter().map(|at| seen[*at]).collect(),
            logit: members[0],
        };
        Self { values, groups: groups.iter().map(group).collect(), logits }
    }

    /// The first `width` outputs in digits; `enclosure` gives midpoint and radius of a column.
    pub(super) fn decimals(
        &self,
        width: usize,
        digits: u32,
        enclosure: impl Fn(usize) -> (f64, f64),
    ) -> Result<Vec<Decimal>, DigitsError> {
        let first = |c: usize| match self.rational(c) {
            Some(ratio) => Some(ratio.certain(digits)),
            None => by_enclosure(enclosure(c), digits),
        };
        let found = (0..width).map(first).collect();
        self.search((0..width).map(Element::Output).collect(), found, |low, high| {
            between(low, high, digits)
        })
    }

    /// The logarithm of the row sum in digits.
    pub(super) fn lse_decimal(
        &self,
        of: Logarithm,
        digits: u32,
    ) -> Result<Vec<Decimal>, DigitsError> {
        let found = self.rational_lse(of).map(|ratio| ratio.certain(digits));
        self.search(vec![Element::Lse(of)], vec![found], |low, high| between(low, high, digits))
    }

    /// All outputs as balls.
    pub(super) fn balls(&self, width: Width) -> Result<Vec<Ball>, DigitsError> {
        let elements: Vec<usize> = (0..self.values.width()).collect();
        let found =
            elements.iter().map(|c| self.rational(*c).map(|ratio| ball(&ratio, &ratio))).collect();
        let elements = elements.into_iter().map(Element::Output).collect();
        self.search(elements, found, |low, high| within(low, high, width))
    }

    /// The logarithm of the row sum as a ball.
    pub(super) fn lse_ball(&self, of: Logarithm, width: Width) -> Result<Vec<Ball>, DigitsError> {
        let found = self.rational_lse(of).map(|ratio| ball(&ratio, &ratio));
        self.search(vec![Element::Lse(of)], vec![found], |low, high| within(low, high, width))
    }

    /// The keys, the sink among them, and their weights as doubles.
    pub(super) fn weights(&self) -> Vec<(usize, f64)> {
        let weights = Weights::new(self, FIRST_PRECISION);
        let of_group = |at: usize| (self.groups[at].keys.iter().copied(), weights.share(at));
        let groups = (0..self.groups.len()).map(of_group);
        groups.flat_map(|(keys, weight)| keys.map(move |j| (j, weight))).collect()
    }

    /// Evaluates with more and more bits until every element is found; `found` gives those that are
    /// known already.
    fn search<T>(
        &self,
        elements: Vec<Element>,
        mut found: Vec<Option<T>>,
        decide: impl Fn(&Ratio, &Ratio) -> Option<T>,
    ) -> Result<Vec<T>, DigitsError> {
        // Without capped logits the end is a theorem.
        let most_bits = if self.logits.are_algebraic() { usize::MAX } else { MAX_BITS };
        let mut precision = FIRST_PRECISION;
        while found.iter().any(Option::is_none) {
            if precision > most_bits {
                return Err(DigitsError::Undecided { bits: MAX_BITS });
            }
            let weights = Weights::new(self, precision);
            for (element, found) in
                elements.iter().zip(&mut found).filter(|(_, found)| found.is_none())
            {
                let (low, high) = match element {
                    Element::Output(c) => weights.output(self, *c),
                    Element::Lse(of) => weights.lse(*of),
                };
                *found = decide(&low, &high);
            }
            precision *= 2;
        }
        Ok(found.into_iter().flatten().collect())
    }

    /// The output, if it is rational: the common mean of the values of every group.
    fn rational(&self, c: usize) -> Option<Ratio> {
        let first = self.groups.first()?;
        let (sum, count) = (self.values.sum(&first.keys, c), first.keys.len());
        let same_mean =
            |group: &Group| self.values.sum(&group.keys, c) * count == &sum * group.keys.len();
        self.groups[1..]
            .iter()
            .all(same_mean)
            .then(|| Ratio::new(sum, UBig::from(count), self.values.exponent()))
    }

    /// The logarithm of the row sum, if it is rational: one rational logit alone; to base 2,
    /// `log₂ 2^k` of zeros.
    fn rational_lse(&self, of: Logarithm) -> Option<Ratio> {
        let [group] = &self.groups[..] else { return None };
        let logit = self.logits.rational(group.logit)?;
        let count = group.keys.len();
        match of {
            Logarithm::Natural => (count == 1).then_some(logit),
            Logarithm::Binary => (logit.is_zero() && count.is_power_of_two())
                .then(|| Ratio::new(IBig::from(count.bit_len() - 1), UBig::ONE, 0)),
        }
    }
}

/// The ball of an interval, outwards.
pub(super) fn ball(low: &Ratio, high: &Ratio) -> Ball {
    let mid = low.middle(high).nearest();
    let rad = low.distance_up(mid).max(high.distance_up(mid));
    Ball { mid, rad, soft: rad }
}

/// The ball of an interval, if it is narrow enough, or no longer gets narrower: no wider than the
/// spacing of its midpoint.
fn within(low: &Ratio, high: &Ratio, width: Width) -> Option<Ball> {
    let ball = ball(low, high);
    let spacing = ball.mid.abs().next_up() - ball.mid.abs();
    let wanted = width.absolute.max(width.relative * ball.mid.abs());
    // Half a spacing is due to the midpoint; an interval of 2^−10 spacings adds no more than that.
    let is_sharp = || ball.rad <= spacing * (0.5 + 1.0 / 1024.0) || ball.rad <= f64::from_bits(1);
    (ball.rad <= wanted || ball.mid.abs() >= f64::MAX || is_sharp()).then_some(ball)
}

/// The decimal to which every number of the ball rounds.
fn by_enclosure((mid, rad): (f64, f64), digits: u32) -> Option<Decimal> {
    let (low, high) = ((mid - rad).next_down(), (mid + rad).next_up());
    let are_finite = low.is_finite() && high.is_finite();
    are_finite.then(|| between(&Ratio::from_f64(low), &Ratio::from_f64(high), digits)).flatten()
}

/// The decimal to which every number from `low` to `high` rounds: rounding is monotone, so the ends
/// decide.
fn between(low: &Ratio, high: &Ratio, digits: u32) -> Option<Decimal> {
    match (low.rounded(digits), high.rounded(digits)) {
        (Some(low), Some(high)) if low == high => Some(low),
        (low, high) => {
            let vanishes = |end: &Option<Decimal>| end.as_ref().is_none_or(Decimal::is_zero);
            (vanishes(&low) && vanishes(&high)).then(Decimal::vanishing)
        }
    }
}
