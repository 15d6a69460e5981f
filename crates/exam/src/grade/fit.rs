//! How numbers that were stated stand to the right ones.

use std::borrow::Cow;
use std::collections::BTreeSet;

use qkvet_prove::exact::Real;

use crate::question::Tolerance;
use crate::student_answer::{Form, ParsedNumber, ends_within, half_unit, is_within};

/// How a number stands to the right one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fit {
    /// It is that number.
    Exact,
    /// It is at most half a unit of the last asked digit away.
    Rounded,
    /// It is right to so many decimals, which are fewer than asked, but at least half of them.
    Coarse(usize),
    /// It is right to so many decimals, which are fewer than half of those asked: nearly any answer
    /// is.
    Vague(usize),
    /// It is in a band of the tolerance, which leaves so many millionths of the points.
    Band(u32),
    /// It is less than a unit of the last asked digit away, and the right one goes on behind that
    /// digit.
    LastDigit,
    /// It is another number.
    Difference,
}

impl Fit {
    pub(super) fn is_right(self) -> bool {
        matches!(self, Self::Exact | Self::Rounded | Self::Band(ALL))
    }

    /// The share of the points of a number; `coarse` is that of fewer digits.
    pub(super) fn share(self, coarse: f64) -> f64 {
        match self {
            Self::Band(millionths) => f64::from(millionths) / f64::from(ALL),
            _ if self.is_right() => 1.0,
            Self::Coarse(_) | Self::LastDigit => coarse,
            _ => 0.0,
        }
    }

    /// Whether it is right as far as it goes, and goes far enough to say something.
    pub(super) fn is_about(self) -> bool {
        !matches!(self, Self::Vague(_) | Self::Difference)
    }
}

/// All of the points, in millionths.
const ALL: u32 = 1_000_000;

/// Raises how numbers stand to the right ones to what a tolerance gives them, where that is more.
pub(super) fn tolerate(
    fits: &mut [Fit],
    (given, rows): (&[Vec<ParsedNumber>], &[Vec<Real>]),
    places: Option<usize>,
    (tolerance, coarse): (&Tolerance, f64),
) {
    if tolerance.0.is_empty() {
        return;
    }
    for (fit, (x, right)) in fits.iter_mut().zip(given.iter().flatten().zip(rows.iter().flatten()))
    {
        let Some(share) = tolerance.share(&x.value, right, places) else { continue };
        if share > fit.share(coarse) {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 1")]
            let millionths = (share * f64::from(ALL)).round() as u32;
            *fit = Fit::Band(millionths);
        }
    }
}

/// Fewest decimals that earn something where an exact value is asked.
const FEWEST: usize = 2;

/// Compares a number with the right one, of which `places` decimals are asked, or the exact value.
pub(super) fn fit(x: &ParsedNumber, right: &Real, places: Option<usize>) -> Fit {
    if x.is(right) || places.is_none() && is_computed(x, right) {
        return Fit::Exact;
    }
    if places.is_some_and(|places| x.is_near(right, places)) {
        return Fit::Rounded;
    }
    // 0 tells nothing of a number that is not 0.
    if x.is(&Real::from(0)) {
        return Fit::Difference;
    }
    let Form::Decimal(stated) = x.form else { return Fit::Difference };
    let last = places.map_or(stated, |places| stated.min(places));
    // What ends there is not rounded, so that no way to round it gives its neighbors.
    let is_cut = || {
        let unit = &half_unit(last) + &half_unit(last);
        ends_within(&x.value, last)
            && !ends_within(right, last)
            && is_within(&x.value, right, &unit)
    };
    let vanishes = |places: usize| is_within(right, &Real::from(0), &half_unit(places));
    match places {
        Some(places) if stated >= places => {
            if is_cut() {
                Fit::LastDigit
            } else {
                Fit::Difference
            }
        }
        _ if x.is_near(right, stated) => right_to(stated, places),
        // The last digit was cut off where it should have been rounded: the one before it is right.
        _ if stated > 1 && is_cut() && !vanishes(stated - 1) => right_to(stated - 1, places),
        _ => Fit::Difference,
    }
}

/// What so many right decimals are, which are fewer than asked.
fn right_to(stated: usize, places: Option<usize>) -> Fit {
    let is_enough = places.map_or(stated >= FEWEST, |places| 2 * stated >= places);
    if is_enough { Fit::Coarse(stated) } else { Fit::Vague(stated) }
}

/// Digits of any number that the nearest of binary64 has.
const DIGITS: usize = 15;

/// Whether an exact number was written as programs print it: what is stated is at most half a unit
/// of the 15th digit from it. The nearest of binary64 is nearer, and what a few roundings on the
/// way leave is mostly near enough.
fn is_computed(x: &ParsedNumber, right: &Real) -> bool {
    let Form::Decimal(stated) = x.form else { return false };
    let shown = x.value.digits(stated);
    let digits = shown.chars().filter(char::is_ascii_digit).skip_while(|c| *c == '0').count();
    digits > 0
        && (stated + DIGITS).checked_sub(digits).is_some_and(|places| x.is_near(right, places))
}

/// How the entries of a matrix stand to the right ones, row after row; `given` has the extents of
/// `rows`.
///
/// Zeros at the end may be dropped, as programs do: 0.7 beside 1.85 is 0.70 if that is right to two
/// decimals.
pub(super) fn fits(
    given: &[Vec<ParsedNumber>],
    rows: &[Vec<Real>],
    places: Option<usize>,
) -> Vec<Fit> {
    let decimals = given.iter().flatten().filter_map(|x| match x.form {
        Form::Decimal(stated) => Some(stated),
        Form::Expression => None,
    });
    let decimals: BTreeSet<usize> = decimals.collect();
    let pairs = || rows.iter().flatten().zip(given.iter().flatten());
    let mut fits: Vec<Fit> =
        pairs().map(|(right, x)| fit(&padded(x, right, &decimals), right, places)).collect();
    // 0.00 for 0.0017 tells something where most entries are told so.
    let coarsest = fits
        .iter()
        .filter_map(|fit| if let Fit::Coarse(stated) = fit { Some(*stated) } else { None })
        .min();
    if let Some(stated) = coarsest
        && 2 * fits.iter().filter(|fit| fit.is_about()).count() >= fits.len()
    {
        for (fit, (right, x)) in fits.iter_mut().zip(pairs()) {
            let is_coarse = matches!(x.form, Form::Decimal(own) if own <= stated);
            if *fit == Fit::Difference
                && is_coarse
                && x.is(&Real::from(0))
                && x.is_near(right, stated)
            {
                *fit = Fit::Coarse(stated);
            }
        }
    }
    fits
}

/// A number with zeros at its end, so that it has as many decimals as another entry has, if it is
/// right to these.
fn padded<'a>(
    x: &'a ParsedNumber,
    right: &Real,
    decimals: &BTreeSet<usize>,
) -> Cow<'a, ParsedNumber> {
    let Form::Decimal(stated) = x.form else { return Cow::Borrowed(x) };
    let mut more = decimals.iter().rev().copied().take_while(|decimals| *decimals > stated);
    match more.find(|decimals| x.is_near(right, *decimals)) {
        Some(decimals) => Cow::Owned(ParsedNumber { form: Form::Decimal(decimals), ..x.clone() }),
        None => Cow::Borrowed(x),
    }
}

/// Whether two matrices have as many rows, each of which is as long.
pub(super) fn have_same_extents<X, Y>(x: &[Vec<X>], y: &[Vec<Y>]) -> bool {
    x.len() == y.len() && x.iter().zip(y).all(|(x, y)| x.len() == y.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No rounding makes another number of one that ends where it is asked for.
    #[test]
    fn the_last_digit_is_one_of_two_only_where_the_number_goes_on() {
        for (x, right, expected) in [
            ("0.0029", "0.003", Fit::Rounded),
            ("0.002", "0.003", Fit::Difference),
            ("0.004", "0.003", Fit::Difference),
            ("0.0021", "0.003", Fit::Difference),
            ("0.707", "sqrt(2)/2", Fit::Rounded),
            ("0.708", "sqrt(2)/2", Fit::LastDigit),
            ("0.333", "1/3", Fit::Rounded),
            ("0.334", "1/3", Fit::LastDigit),
            ("0.332", "1/3", Fit::Difference),
        ] {
            let right = ParsedNumber::read(right).unwrap().value;
            assert_eq!(fit(&ParsedNumber::read(x).unwrap(), &right, Some(3)), expected, "{x}");
        }
    }
}
