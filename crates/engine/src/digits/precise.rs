//! One head at arbitrary precision: digits and balls of its outputs and of its logarithms of row
//! sums.

use super::decimal::Decimal;
use super::logits::ExactLogits;
use super::row::{Logarithm, Row, ball};
use super::values::Values;
use super::{DigitsError, Width, check_all, is_bias};
use crate::ball::Ball;
use crate::head::{EmptyRow, Head, Normalization};

/// A head whose rows can be evaluated to any precision. Derivation: `docs/bounds.md#digits`.
pub struct PreciseHead<'a> {
    head: &'a Head<'a>,
    logits: ExactLogits<'a>,
    values: Values,
}

impl<'a> PreciseHead<'a> {
    /// Prepares a head: keys and values become integers.
    ///
    /// # Errors
    /// [`DigitsError`] for weights that are not normalized over the keys, for inputs that are not
    /// finite (a bias of −∞ hides its key), and for a cap that is not positive.
    ///
    /// # Panics
    /// Unless the slices have the lengths that the shapes say, see [`Head`].
    pub fn new(head: &'a Head<'a>) -> Result<Self, DigitsError> {
        head.assert_shapes();
        if head.normalization != Normalization::OverKeys {
            return Err(DigitsError::Normalization { got: head.normalization });
        }
        check_finite(head)?;
        Ok(Self { head, logits: ExactLogits::new(head), values: Values::new(head) })
    }

    /// How many keys row `i` sees.
    pub fn visible(&self, i: usize) -> usize {
        self.logits.visible(i).len()
    }

    /// Row `i`, if there is anything in its row sum.
    fn row(&self, i: usize) -> Option<Row<'_>> {
        let mut seen = self.logits.visible(i);
        let logits = self.logits.of_row(i, &seen);
        if self.head.sink.is_some() {
            seen.push(self.head.n_k);
        }
        (!seen.is_empty()).then(|| Row::new(&self.values, &seen, logits))
    }

    /// The outputs of row `i` as balls, each as narrow as asked for.
    ///
    /// # Shapes
    /// → `d_v` balls.
    ///
    /// # Error bound
    /// The exact output is within the radius of the midpoint; the radius is 0 where the output is
    /// rational and an `f64`.
    ///
    /// # Edge cases
    /// An empty row is what its policy says; NaN has the radius 0, and nothing else is NaN.
    ///
    /// # Errors
    /// [`DigitsError::Undecided`] under a softcap only.
    pub fn output(&self, i: usize, width: Width) -> Result<Vec<Ball>, DigitsError> {
        let of_empty = |c: usize| match self.head.empty_row {
            EmptyRow::Nan => Ball::exact(f64::NAN),
            policy => {
                let ratio = self.values.of_empty_row(policy, c);
                ball(&ratio, &ratio)
            }
        };
        match self.row(i) {
            Some(row) => row.balls(width),
            None => Ok((0..self.head.d_v).map(of_empty).collect()),
        }
    }

    /// The keys that row `i` sees and their weights, each the nearest `f64` of a number within
    /// `2^−126` of the exact weight.
    pub fn weights(&self, i: usize) -> Vec<(usize, f64)> {
        let mut weights = self.row(i).map(|row| row.weights()).unwrap_or_default();
        // The sink is no key.
        weights.retain(|(j, _)| *j < self.head.n_k);
        weights
    }

    /// The first `columns` outputs of row `i`, correctly rounded to `digits` significant decimal
    /// digits; `None` for an empty row that is NaN. `enclosure` gives midpoint and radius of a
    /// column where they are known.
    pub(super) fn output_digits(
        &self,
        i: usize,
        columns: usize,
        digits: u32,
        enclosure: impl Fn(usize) -> (f64, f64),
    ) -> Result<Option<Vec<Decimal>>, DigitsError> {
        let policy = self.head.empty_row;
        match self.row(i) {
            Some(row) => row.decimals(columns, digits, enclosure).map(Some),
            None if policy == EmptyRow::Nan => Ok(None),
            None => {
                let of_empty = |c| self.values.of_empty_row(policy, c).certain(digits);
                Ok(Some((0..columns).map(of_empty).collect()))
            }
        }
    }

    /// The logarithm of the row sum `Σ_j e^(z_ij)`, over the visible keys and the sink, as a ball
    /// as narrow as asked for; `−∞` where there is nothing to sum.
    ///
    /// # Errors
    /// As [`PreciseHead::output`].
    pub fn lse(&self, i: usize, of: Logarithm, width: Width) -> Result<Ball, DigitsError> {
        let balls = self.row(i).map(|row| row.lse_ball(of, width)).transpose()?;
        Ok(balls.and_then(|balls| balls.first().copied()).unwrap_or(Ball::exact(f64::NEG_INFINITY)))
    }

    /// The logarithm of the row sum, correctly rounded to `digits` significant decimal digits as in
    /// [`answer`](super::answer); `None` where there is nothing to sum.
    ///
    /// # Errors
    /// As [`PreciseHead::output`], and [`DigitsError::Digits`].
    pub fn lse_digits(
        &self,
        i: usize,
        of: Logarithm,
        digits: u32,
    ) -> Result<Option<Decimal>, DigitsError> {
        super::check_digits(digits)?;
        let decimals = self.row(i).map(|row| row.lse_decimal(of, digits)).transpose()?;
        Ok(decimals.and_then(|decimals| decimals.into_iter().next()))
    }
}

/// Whether every number of a head is a real one; −∞ may stand in the bias.
fn check_finite(head: &Head<'_>) -> Result<(), DigitsError> {
    check_all("query", head.query, f64::is_finite)?;
    check_all("key", head.key, f64::is_finite)?;
    check_all("value", head.value, f64::is_finite)?;
    check_all("scale", &[head.scale.factor], f64::is_finite)?;
    check_all("bias", head.bias.unwrap_or(&[]), is_bias)?;
    check_all("slope", head.alibi.map(|alibi| alibi.slope).as_slice(), f64::is_finite)?;
    check_all("sink", head.sink.as_slice(), f64::is_finite)?;
    match head.softcap {
        Some(got) if !(got > 0.0 && got.is_finite()) => Err(DigitsError::Softcap { got }),
        _ => Ok(()),
    }
}
