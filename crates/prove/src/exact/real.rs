//! Exact numbers and logarithms of exact numbers.

use std::cmp::Ordering;
use std::fmt;

use dashu_int::IBig;
use dashu_ratio::RBig;

use super::near::Near;
use super::number::{Exact, NotExact, decimal};
use crate::rational::Rational;

/// Terms of a product of polynomials.
const MAX_TERMS: usize = 1_000;

/// A number as laws meet it: exact, or the natural logarithm of an exact number from 0 up (the
/// log-sum-exp of a row).
///
/// Logarithms are kept as their arguments: two are equal iff the arguments are.
#[derive(Clone, Debug)]
pub enum Real {
    /// The number itself.
    Plain(Exact),
    /// `ln x`; `ln 0 = −∞`.
    Log(Exact),
    /// A number without an exact form here, enclosed.
    Near(Near),
}

impl From<Exact> for Real {
    fn from(x: Exact) -> Self {
        Self::Plain(x)
    }
}

impl From<i64> for Real {
    fn from(x: i64) -> Self {
        Self::Plain(x.into())
    }
}

impl Real {
    /// `ln x`, as a number where `x` is a power of e.
    pub(super) fn log(x: Exact) -> Self {
        x.exponent().map_or_else(|| Self::Log(x), Self::Plain)
    }

    /// The number, where a logarithm has no place.
    ///
    /// # Errors
    /// A logarithm.
    pub fn plain(&self) -> Result<&Exact, NotExact> {
        match self {
            Self::Plain(x) => Ok(x),
            Self::Log(_) | Self::Near(_) => Err(NotExact::Logarithm(self.to_string())),
        }
    }

    /// The number enclosed.
    fn near(&self) -> Result<Near, NotExact> {
        match self {
            Self::Plain(x) if x.is_symbolic() => Err(NotExact::Indeterminate(x.to_string())),
            Self::Log(x) if x.is_zero() || x.is_symbolic() => {
                Err(NotExact::Logarithm(self.to_string()))
            }
            Self::Plain(x) => Ok(Near::exact(x)),
            Self::Log(x) => Near::log(x),
            Self::Near(x) => Ok(x.clone()),
        }
    }

    /// Whether every digit of [`Real::digits`] is certain: a number that is only enclosed may lie
    /// too near to the middle of two decimals.
    pub fn is_certain(&self, places: usize) -> bool {
        !matches!(self, Self::Near(x) if !x.is_certain(places))
    }

    /// `e^x`.
    ///
    /// # Errors
    /// An exponent that contains exponentials.
    pub fn exp(&self) -> Result<Exact, NotExact> {
        match self {
            Self::Plain(x) => x.exp(),
            Self::Log(x) => Ok(x.clone()),
            Self::Near(_) => Err(NotExact::Logarithm(self.to_string())),
        }
    }

    /// `ln x`; `ln 0 = −∞`.
    ///
    /// # Errors
    /// A negative number, a logarithm, or indeterminates.
    pub fn ln(&self) -> Result<Self, NotExact> {
        let x = self.plain()?;
        if x.is_symbolic() {
            return Err(NotExact::Indeterminate(x.to_string()));
        }
        if x.signum() == Ordering::Less {
            Err(NotExact::NegativeLogarithm(x.to_string()))
        } else {
            Ok(Self::log(x.clone()))
        }
    }

    /// `x + y`; with a logarithm, `ln(e^x · e^y)`.
    ///
    /// # Errors
    /// `−∞` and a number that contains exponentials; a result too long to work with.
    pub fn plus(&self, other: &Self) -> Result<Self, NotExact> {
        match (self, other) {
            (Self::Plain(x), Self::Plain(y)) => Ok(Self::Plain((x + y).short()?)),
            (Self::Plain(zero), x) | (x, Self::Plain(zero)) if zero.is_zero() => Ok(x.clone()),
            (Self::Near(_), _) | (_, Self::Near(_)) => {
                Ok(Self::Near(self.near()?.plus(&other.near()?)))
            }
            (x, y) => match (x.exp(), y.exp()) {
                (Ok(x), Ok(y)) => Ok(Self::log((&x * &y).short()?)),
                _ => Ok(Self::Near(x.near()?.plus(&y.near()?))),
            },
        }
    }

    /// `−x`.
    ///
    /// # Errors
    /// `−∞`.
    pub fn negated(&self) -> Result<Self, NotExact> {
        Ok(match self {
            Self::Plain(x) => Self::Plain(-x),
            Self::Log(x) => Self::log(x.inverse()?),
            Self::Near(x) => Self::Near(x.negated()),
        })
    }

    /// `x · y`; other multiples of a logarithm than those by −1, 0 and 1 are enclosed.
    ///
    /// # Errors
    /// A product with `−∞` or with indeterminates; a result too long to work with.
    pub fn times(&self, other: &Self) -> Result<Self, NotExact> {
        match (self, other) {
            // Polynomials grow with every product.
            (Self::Plain(x), Self::Plain(y))
                if (x.is_symbolic() || y.is_symbolic()) && x.terms() * y.terms() > MAX_TERMS =>
            {
                Err(NotExact::Long)
            }
            (Self::Plain(x), Self::Plain(y)) => Ok(Self::Plain((x * y).short()?)),
            (Self::Plain(factor), log @ Self::Log(x))
            | (log @ Self::Log(x), Self::Plain(factor)) => match factor.rational() {
                Some(one) if one.is_one() => Ok(log.clone()),
                Some(zero) if zero.is_zero() && !x.is_zero() => Ok(0.into()),
                Some(minus) if (-minus.clone()).is_one() => log.negated(),
                _ => Ok(Self::Near(self.near()?.times(&other.near()?))),
            },
            (Self::Plain(zero), _) | (_, Self::Plain(zero)) if zero.is_zero() => Ok(0.into()),
            (x, y) => Ok(Self::Near(x.near()?.times(&y.near()?))),
        }
    }

    /// `1 / x`.
    ///
    /// # Errors
    /// 0, and a logarithm that may be 0.
    pub fn inverse(&self) -> Result<Self, NotExact> {
        match self {
            Self::Plain(x) => Ok(Self::Plain(x.inverse()?)),
            other => Ok(Self::Near(other.near()?.inverse()?)),
        }
    }

    /// The order of the numbers.
    ///
    /// # Errors
    /// A logarithm beside a number that contains exponentials; indeterminates, unless both are
    /// equal whatever they are.
    pub fn compare(&self, other: &Self) -> Result<Ordering, NotExact> {
        match (self, other) {
            (Self::Plain(x), Self::Plain(y)) => ordered(x, y),
            (Self::Near(_), _) | (_, Self::Near(_)) => self.near()?.compare(&other.near()?),
            // The exponential grows with its argument.
            (x, y) => ordered(&x.exp()?, &y.exp()?),
        }
    }

    /// The value rounded to `places` decimals, to nearest, ties away from 0; every digit is
    /// certain. `ln 0` is `-∞`.
    pub fn digits(&self, places: usize) -> String {
        match self {
            Self::Plain(x) => x.digits(places),
            Self::Near(x) => x.digits(places),
            Self::Log(x) if x.is_zero() => "-∞".to_owned(),
            Self::Log(x) if *x < 1.into() => match x.inverse() {
                Ok(inverse) => decimal(&-log_digits(&inverse, places), places),
                Err(_) => "-∞".to_owned(),
            },
            Self::Log(x) => decimal(&log_digits(x, places), places),
        }
    }
}

fn ordered(x: &Exact, y: &Exact) -> Result<Ordering, NotExact> {
    match x.cmp(y) {
        Ordering::Less | Ordering::Greater if x.is_symbolic() || y.is_symbolic() => {
            Err(NotExact::Indeterminate((x - y).to_string()))
        }
        order => Ok(order),
    }
}

/// `ln x · 10^places` for `x ≥ 1`, to the nearest whole number, ties up: the number of halves
/// passed on the way.
fn log_digits(x: &Exact, places: usize) -> IBig {
    let scale = IBig::from(2) * IBig::from(10).pow(places);
    // e^((2m − 1) / (2 · 10^places)) ≤ x
    let half = |m: &IBig| Rational::from(RBig::from_parts_signed(m * 2 - 1, scale.clone()));
    let reached = |m: &IBig| Exact::power_of_e(half(m).into()) <= *x;
    let mut high = IBig::ONE;
    while reached(&high) {
        high *= 2;
    }
    let mut low = IBig::ZERO;
    while &high - &low > IBig::ONE {
        let middle: IBig = (&low + &high) >> 1;
        if reached(&middle) { low = middle } else { high = middle }
    }
    low
}

impl fmt::Display for Real {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain(x) => x.fmt(f),
            Self::Near(x) => x.fmt(f),
            Self::Log(x) if x.is_zero() => f.write_str("-∞"),
            Self::Log(x) => write!(f, "ln({x})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_keep_their_arguments() {
        let log = |n: i64| Real::Log(n.into());
        assert_eq!(log(2).plus(&log(3)).unwrap().compare(&log(6)).unwrap(), Ordering::Equal);
        assert_eq!(log(2).plus(&1.into()).unwrap().to_string(), "ln(2·e)");
        assert_eq!(log(1).compare(&0.into()).unwrap(), Ordering::Equal);
        assert_eq!(log(0).compare(&Real::from(-50)).unwrap(), Ordering::Less);
        let e = Exact::from(1).exp().unwrap();
        assert_eq!(Real::log(e.clone()).to_string(), "1");
        assert_eq!(Real::log(&e * &2.into()).to_string(), "ln(2·e)");
        assert!(log(0).negated().is_err());
        assert_eq!(log(2).times(&log(3)).unwrap().digits(4), "0.7615");
        assert_eq!(log(8).times(&log(2).inverse().unwrap()).unwrap().digits(9), "3.000000000");
        assert_eq!(log(2).times(&0.into()).unwrap().to_string(), "0");
        assert!(log(0).times(&0.into()).is_err());
    }

    #[test]
    fn logarithms_have_certain_digits() {
        assert_eq!(Real::Log(2.into()).digits(12), "0.693147180560");
        assert_eq!(Real::Log(10.into()).digits(3), "2.303");
        assert_eq!(Real::Log(1.into()).digits(3), "0.000");
        let e = Exact::from(RBig::from_parts_signed((-1).into(), 8.into())).exp().unwrap();
        assert_eq!(Real::Log(e).digits(2), "-0.13");
    }
}
