//! Exact real numbers made of rationals, square roots and exponentials.

use std::cmp::Ordering;
use std::fmt;
use std::ops::{Add, Mul, Neg, Sub};

use dashu_int::ops::UnsignedAbs;
use dashu_int::{IBig, Sign};
use dashu_ratio::RBig;
use thiserror::Error;

use super::algebraic::Algebraic;
use super::exp_sum::ExpSum;
use super::interval::{Interval, floor_div};
use super::reduce::{clear, reduce};
use crate::rational::{Rational, root_of};

/// `N/D` with `N` and `D` finite sums `Σ c·e^a`, where `c` and `a` are rational combinations of
/// square roots of whole numbers.
///
/// Sums, differences, products and quotients of such numbers are such numbers. Whether one is zero
/// is decided by the theorem of Lindemann and Weierstrass, so that `==` and the order are those of
/// the real numbers, never those of approximations.
#[derive(Clone, Debug)]
pub struct Exact {
    num: ExpSum,
    den: ExpSum,
}

/// Why a number has no exact form here.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum NotExact {
    /// The equality of numbers with such exponentials is not known to be decidable.
    #[error("exponential: expected an exponent without exponentials, got {0}")]
    NestedExponential(String),
    /// Numbers that large are not worked with.
    #[error("exponential: expected an exponent from -65536 to 65536, got {0}")]
    LargeExponent(String),
    /// No square root of this form.
    #[error("square root: expected a rational from 0 up with prime factors below 2^32, got {0}")]
    Root(String),
    /// More terms or digits than are worked with.
    #[error("number: expected one of at most 64 exponentials and 16384 bits, got a longer one")]
    Long,
    /// A quotient by zero.
    #[error("quotient: expected a divisor other than 0, got 0")]
    DivisionByZero,
    /// What depends on the value of an indeterminate.
    #[error("indeterminate: expected what holds of all its values alike, got {0}")]
    Indeterminate(String),
    /// A logarithm where only a number has a place.
    #[error("logarithm: expected a number that can be computed with, got {0}")]
    Logarithm(String),
    /// No real logarithm.
    #[error("logarithm: expected a number from 0 up, got {0}")]
    NegativeLogarithm(String),
    /// A float that is no number.
    #[error("number: expected a finite one, got {0}")]
    NotFinite(f64),
}

impl From<RBig> for Exact {
    fn from(x: RBig) -> Self {
        Rational::from(x).into()
    }
}

impl From<Rational> for Exact {
    fn from(x: Rational) -> Self {
        let (n, d) = x.whole_parts();
        Self { num: ExpSum::constant(n.into()), den: ExpSum::constant(d.into()) }
    }
}

impl From<i64> for Exact {
    fn from(x: i64) -> Self {
        Self::whole(x.into())
    }
}

impl TryFrom<f64> for Exact {
    type Error = NotExact;

    /// The shortest decimal that reads back as `x`, which is what stood in the source: `0.1` is
    /// 1/10.
    fn try_from(x: f64) -> Result<Self, NotExact> {
        let text = format!("{x}");
        let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
        let digits: IBig =
            format!("{whole}{fraction}").parse().map_err(|_| NotExact::NotFinite(x))?;
        Ok(RBig::from_parts(digits, dashu_int::UBig::from(10u8).pow(fraction.len())).into())
    }
}

impl Exact {
    fn new(num: ExpSum, den: ExpSum) -> Self {
        let (num, den) = reduce(num, den);
        Self { num, den }
    }

    /// A whole number.
    fn whole(x: Rational) -> Self {
        Self { num: ExpSum::constant(x.into()), den: ExpSum::constant(Algebraic::ONE) }
    }

    /// An indeterminate: what is said of it is said of every number.
    pub(super) fn symbol(number: u32) -> Self {
        Self {
            num: ExpSum::constant(Algebraic::symbol(number)),
            den: ExpSum::constant(Algebraic::ONE),
        }
    }

    /// Whether indeterminates occur.
    pub(super) fn is_symbolic(&self) -> bool {
        self.num.is_symbolic() || self.den.is_symbolic()
    }

    /// Whether it is 0, of indeterminates whatever they are.
    pub fn is_zero(&self) -> bool {
        self.num.is_zero()
    }

    /// How many terms it is written with.
    pub(super) fn terms(&self) -> usize {
        let of = |sum: &ExpSum| sum.terms().map(|(_, x)| x.factors().count()).sum::<usize>();
        of(&self.num) + of(&self.den)
    }

    /// Whether it is 0, for a choice between two ways.
    ///
    /// # Errors
    /// Something that is 0 for some values of an indeterminate, perhaps, and for others not.
    pub(super) fn vanishes(&self) -> Result<bool, NotExact> {
        match self.is_zero() {
            false if self.is_symbolic() => Err(NotExact::Indeterminate(self.to_string())),
            is_zero => Ok(is_zero),
        }
    }

    /// The number, if it is seen to be rational: always, if its exponents are multiples of one
    /// number, none more than 64 times it.
    pub fn rational(&self) -> Option<RBig> {
        let (num, den) = self.rationals()?;
        Some(num.times(&den.inverse()?).big())
    }

    /// Numerator and denominator of a rational.
    fn rationals(&self) -> Option<(&Rational, &Rational)> {
        Some((self.num.algebraic()?.rational()?, self.den.algebraic()?.rational()?))
    }

    /// The number, if numerator and denominator are.
    fn fraction(&self) -> Option<Rational> {
        let (n, d) = self.rationals()?;
        if d.is_one() { Some(n.clone()) } else { Some(n.times(&d.inverse()?)) }
    }

    /// Both numbers, if they are whole.
    fn wholes<'a>(&'a self, other: &'a Self) -> Option<(&'a Rational, &'a Rational)> {
        match (self.rationals()?, other.rationals()?) {
            ((x, one), (y, other)) if one.is_one() && other.is_one() => Some((x, y)),
            _ => None,
        }
    }

    /// `Σ x·y` with one reduction at the end: of `x` over one divisor, as the weights of a row are,
    /// and rational `y`.
    pub(super) fn weighted<'a>(
        pairs: impl Iterator<Item = Option<(&'a Self, &'a Self)>>,
    ) -> Option<Self> {
        let mut rational = Rational::ZERO;
        let mut sum: Option<(ExpSum, &ExpSum)> = None;
        for pair in pairs {
            let (x, y) = pair?;
            let factor = y.fraction()?;
            if x.is_zero() || y.is_zero() {
                continue;
            }
            if let (Some(x), None) = (x.fraction(), &sum) {
                rational = rational.plus(&x.times(&factor));
                continue;
            }
            if !rational.is_zero() {
                return None;
            }
            let factor = factor.into();
            let term = x.num.shifted(&Algebraic::ZERO, &factor);
            sum = match sum {
                None => Some((term, &x.den)),
                Some((sum, den)) if *den == x.den => Some((sum.plus(&term), den)),
                Some(_) => return None,
            };
        }
        Some(sum.map_or_else(|| rational.into(), |(num, den)| Self::new(num, den.clone())))
    }

    /// `1/x`.
    ///
    /// # Errors
    /// `x = 0`.
    pub fn inverse(&self) -> Result<Self, NotExact> {
        if self.is_zero() {
            return Err(NotExact::DivisionByZero);
        }
        Ok(Self::new(self.den.clone(), self.num.clone()))
    }

    /// `x / y`.
    ///
    /// # Errors
    /// `y = 0`.
    pub fn divide(&self, other: &Self) -> Result<Self, NotExact> {
        Ok(self * &other.inverse()?)
    }

    /// `e^x`.
    ///
    /// # Errors
    /// An `x` that contains exponentials, or one beyond ±65536.
    pub fn exp(&self) -> Result<Self, NotExact> {
        let (Some(num), Some(den)) =
            (self.num.algebraic(), self.den.algebraic().and_then(|den| den.inverse()))
        else {
            return Err(NotExact::NestedExponential(self.to_string()));
        };
        if !self.is_symbolic() && self.magnitude() > Self::from(65536) {
            return Err(NotExact::LargeExponent(self.to_string()));
        }
        Ok(Self::power_of_e(num.times(&den)))
    }

    /// `e^x`, however large.
    pub(super) fn power_of_e(exponent: Algebraic) -> Self {
        Self::new(ExpSum::term(exponent, Algebraic::ONE), ExpSum::constant(Algebraic::ONE))
    }

    /// The `a` of `e^a`, if the number is such a power.
    pub(super) fn exponent(&self) -> Option<Self> {
        let mut terms = self.num.terms();
        let ((exponent, factor), None) = (terms.next()?, terms.next()) else { return None };
        let is_power = factor.is_one() && self.den.algebraic()?.is_one();
        is_power.then(|| {
            Self::new(ExpSum::constant(exponent.clone()), ExpSum::constant(Algebraic::ONE))
        })
    }

    /// `√x`.
    ///
    /// # Errors
    /// An `x` that is negative or not rational, or one with prime factors too large to find.
    pub fn sqrt(&self) -> Result<Self, NotExact> {
        let root = self.rational().and_then(|x| Algebraic::root(&x));
        let root = root.ok_or_else(|| NotExact::Root(self.to_string()))?;
        Ok(Self::new(ExpSum::constant(root), ExpSum::constant(Algebraic::ONE)))
    }

    /// The root of order `n` of a rational number that is not negative, if it is seen to be
    /// rational.
    pub fn rational_root(&self, n: usize) -> Option<Self> {
        root_of(&self.rational()?, n).map(Self::from)
    }

    /// `|x|`.
    ///
    /// # Errors
    /// Indeterminates.
    pub fn abs(&self) -> Result<Self, NotExact> {
        if self.is_symbolic() {
            Err(NotExact::Indeterminate(self.to_string()))
        } else {
            Ok(self.magnitude())
        }
    }

    fn magnitude(&self) -> Self {
        if self.signum() == Ordering::Less { -self } else { self.clone() }
    }

    /// How `x` compares with 0. Of indeterminates only whether it is 0 says something.
    pub fn signum(&self) -> Ordering {
        match (self.is_zero(), self.num.sign() == self.den.sign()) {
            (true, _) => Ordering::Equal,
            (false, true) => Ordering::Greater,
            (false, false) => Ordering::Less,
        }
    }

    /// The number, if it is short enough to work on with: what a few operations make of short
    /// numbers takes bounded time.
    ///
    /// # Errors
    /// A longer one.
    pub(super) fn short(self) -> Result<Self, NotExact> {
        let is_short = |sum: &ExpSum| sum.len() <= 64 && sum.bits() <= 1 << 14;
        if is_short(&self.num) && is_short(&self.den) { Ok(self) } else { Err(NotExact::Long) }
    }

    /// The value between whole multiples of `2^−bits`; `None` if `D` is not seen to differ from 0
    /// at this precision.
    fn interval(&self, bits: usize) -> Option<Interval> {
        let (num, den) = (self.num.interval(bits), self.den.interval(bits));
        let (num, den) = match den.sign()? {
            Sign::Positive => (num, den),
            Sign::Negative => (num.negated(), den.negated()),
        };
        let over = |n: &IBig, high: bool| {
            // A quotient moves away from 0 with a smaller divisor.
            let d = if (*n > IBig::ZERO) == high { &den.low } else { &den.high };
            let n = n << bits;
            if high { -floor_div(&-n, d) } else { floor_div(&n, d) }
        };
        Some(Interval { low: over(&num.low, false), high: over(&num.high, true) })
    }

    /// The value rounded to `places` decimals, to nearest, ties away from 0; every digit is
    /// certain. Indeterminates have none: then its form.
    ///
    /// Only a rational is a tie; whether the value is that rational is decided exactly.
    pub fn digits(&self, places: usize) -> String {
        if self.is_symbolic() {
            return self.to_string();
        }
        let scale = IBig::from(10).pow(places);
        let mut bits = 64 + 4 * places;
        loop {
            if let Some(Interval { low, high }) = self.interval(bits) {
                let (low, high) = (nearest(&(low * &scale), bits), nearest(&(high * &scale), bits));
                if low == high {
                    return decimal(&low, places);
                }
                if &high - &low == IBig::ONE {
                    let halfway = RBig::from_parts_signed(&low + &high, IBig::from(2) * &scale);
                    if *self == halfway.into() {
                        return decimal(if high > IBig::ZERO { &high } else { &low }, places);
                    }
                }
            }
            bits *= 2;
        }
    }
}

/// `x · 2^−bits` to the nearest whole number, ties away from 0.
fn nearest(x: &IBig, bits: usize) -> IBig {
    let round = |x: &IBig| floor_div(&(x * 2 + (IBig::ONE << bits)), &(IBig::ONE << (bits + 1)));
    if *x < IBig::ZERO { -round(&-x) } else { round(x) }
}

/// `x · 10^−places`.
pub(super) fn decimal(x: &IBig, places: usize) -> String {
    let sign = if *x < IBig::ZERO { "-" } else { "" };
    let digits = format!("{:0>width$}", x.clone().unsigned_abs().to_string(), width = places + 1);
    let (whole, fraction) = digits.split_at(digits.len() - places);
    if places == 0 { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") }
}

impl Add for &Exact {
    type Output = Exact;

    fn add(self, other: &Exact) -> Exact {
        if self.is_zero() {
            return other.clone();
        }
        if other.is_zero() {
            return self.clone();
        }
        if let Some((x, y)) = self.wholes(other) {
            return Exact::whole(x.plus(y));
        }
        if let (Some(x), Some(y)) = (self.fraction(), other.fraction()) {
            return x.plus(&y).into();
        }
        if self.den == other.den {
            return Exact::new(self.num.plus(&other.num), self.den.clone());
        }
        Exact::new(
            self.num.times(&other.den).plus(&other.num.times(&self.den)),
            self.den.times(&other.den),
        )
    }
}

impl Mul for &Exact {
    type Output = Exact;

    fn mul(self, other: &Exact) -> Exact {
        if let Some((x, y)) = self.wholes(other) {
            return Exact::whole(x.times(y));
        }
        if self.is_zero() || other.is_zero() {
            return Exact::from(0);
        }
        if let (Some(x), Some(y)) = (self.fraction(), other.fraction()) {
            return x.times(&y).into();
        }
        // A rational has no factor in common with sums of exponentials but rational ones.
        for (x, y) in [(self, other), (other, self)] {
            if let Some((n, d)) = x.rationals() {
                let shifted =
                    |sum: &ExpSum, by: &Rational| sum.shifted(&Algebraic::ZERO, &by.clone().into());
                let (num, den) = clear(shifted(&y.num, n), shifted(&y.den, d));
                return Exact { num, den };
            }
        }
        Exact::new(self.num.times(&other.num), self.den.times(&other.den))
    }
}

impl Neg for &Exact {
    type Output = Exact;

    fn neg(self) -> Exact {
        Exact { num: self.num.negated(), den: self.den.clone() }
    }
}

impl Sub for &Exact {
    type Output = Exact;

    fn sub(self, other: &Exact) -> Exact {
        self + &-other
    }
}

impl PartialEq for Exact {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Exact {}

impl PartialOrd for Exact {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Exact {
    fn cmp(&self, other: &Self) -> Ordering {
        if self.num == other.num && self.den == other.den {
            return Ordering::Equal;
        }
        if let Some((x, y)) = self.wholes(other) {
            return x.compare(y);
        }
        // Numbers that are far apart need no exact difference.
        if !self.is_symbolic()
            && !other.is_symbolic()
            && let (Some(x), Some(y)) = (self.interval(64), other.interval(64))
        {
            if x.high < y.low {
                return Ordering::Less;
            }
            if x.low > y.high {
                return Ordering::Greater;
            }
        }
        (self - other).signum()
    }
}

impl fmt::Display for Exact {
    /// `3·e^(√2/2)/(2·e^(√2/2) + 1)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.den.algebraic().is_some_and(|den| den.is_one()) {
            return write!(f, "{}", self.num);
        }
        if self.num.is_sum() { write!(f, "({})", self.num) } else { write!(f, "{}", self.num) }?;
        let den = self.den.to_string();
        if den.chars().all(|c| c.is_ascii_digit()) {
            write!(f, "/{den}")
        } else {
            write!(f, "/({den})")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root(n: i64) -> Exact {
        Exact::from(n).sqrt().unwrap()
    }

    /// `e^(√2/2)`, the number of the two-column example.
    fn t() -> Exact {
        root(2).divide(&2.into()).unwrap().exp().unwrap()
    }

    #[test]
    fn forms_are_canonical() {
        let x = (&t() * &3.into()).divide(&(&(&t() * &2.into()) + &1.into())).unwrap();
        assert_eq!(x.to_string(), "3·e^(√2/2)/(2·e^(√2/2) + 1)");
        assert_eq!(x.digits(12), "1.203336278039");
        // (t² − 1)/(t + 1) = t − 1, and a form that only looks irrational.
        let square = &t() * &t();
        let y = (&square - &1.into()).divide(&(&t() + &1.into())).unwrap();
        assert_eq!(y.to_string(), "e^(√2/2) - 1");
        assert_eq!((&root(2) * &root(8)).rational(), Some(RBig::from(4)));
        assert_eq!(root(2).divide(&root(8)).unwrap().to_string(), "1/2");
        assert_eq!(root(2).inverse().unwrap().to_string(), "√2/2");
        assert_eq!(Exact::from(-1).exp().unwrap().to_string(), "e^(-1)");
        assert_eq!((&Exact::from(1) + &root(3)).exp().unwrap().to_string(), "e^(1 + √3)");
    }

    #[test]
    fn equality_needs_no_common_form() {
        // e^√2 · e^√3 = e^(√2 + √3), and (a² − b²)/(a − b) = a + b with two exponents that have no
        // common unit.
        let (a, b) = (root(2).exp().unwrap(), root(3).exp().unwrap());
        assert_eq!(&a * &b, (&root(2) + &root(3)).exp().unwrap());
        assert_eq!((&(&a * &a) - &(&b * &b)).divide(&(&a - &b)).unwrap(), &a + &b);
        assert_ne!(&a * &b, (&root(5) + &Exact::try_from(0.91).unwrap()).exp().unwrap());
    }

    #[test]
    fn digits_are_rounded_to_nearest_and_ties_away_from_zero() {
        let check = |x: f64, places, text: &str| {
            assert_eq!(Exact::try_from(x).unwrap().digits(places), text)
        };
        check(0.125, 2, "0.13");
        check(-0.125, 2, "-0.13");
        check(-0.001, 2, "0.00");
        check(2.5, 0, "3");
        check(-1e-3, 3, "-0.001");
        // A tie that is hidden behind two exponents without a common unit.
        let (a, b) = (root(2).exp().unwrap(), root(3).exp().unwrap());
        let x = (&(&a + &b) * &Exact::try_from(0.125).unwrap()).divide(&(&b + &a)).unwrap();
        assert_eq!(x.digits(2), "0.13");
        let near = &x - &Exact::from(-90).exp().unwrap();
        assert_eq!(near.digits(2), "0.12");
        assert_eq!(Exact::from(1).exp().unwrap().digits(30), "2.718281828459045235360287471353");
    }

    #[test]
    fn what_has_no_form_is_refused() {
        let e = Exact::from(1).exp().unwrap();
        assert!(matches!(e.exp(), Err(NotExact::NestedExponential(_))));
        assert!(matches!(e.sqrt(), Err(NotExact::Root(_))));
        assert!(matches!(Exact::from(-4).sqrt(), Err(NotExact::Root(_))));
        assert!(matches!(Exact::from(100_000).exp(), Err(NotExact::LargeExponent(_))));
        assert_eq!(e.divide(&Exact::from(0)), Err(NotExact::DivisionByZero));
        assert!(matches!(Exact::try_from(f64::NAN), Err(NotExact::NotFinite(_))));
    }
}
