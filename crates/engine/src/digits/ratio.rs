//! Rational numbers and their correctly rounded decimal digits, by integer division.

use std::cmp::Ordering;

use dashu_int::ops::{BitTest, DivRem, Gcd};
use dashu_int::{IBig, Sign, UBig};

use super::decimal::Decimal;
use super::dyadic::{Dyadics, bits};

/// Digits up to which a dyadic number is printed in full.
const FULL_DIGITS: usize = 40;

/// `numerator / denominator`, not necessarily in lowest terms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ratio {
    negative: bool,
    numerator: UBig,
    /// Positive.
    denominator: UBig,
}

impl Ratio {
    /// `numerator / denominator · 2^exponent`.
    pub(super) fn new(numerator: IBig, denominator: UBig, exponent: i64) -> Self {
        let (sign, mut numerator) = numerator.into_parts();
        let mut denominator = denominator;
        if exponent >= 0 {
            numerator <<= exponent as usize;
        } else {
            denominator <<= exponent.unsigned_abs() as usize;
        }
        Self { negative: sign == Sign::Negative, numerator, denominator }
    }

    /// A finite binary64 number.
    pub(super) fn from_f64(x: f64) -> Self {
        let mut dyadic = Dyadics::new(&[x]);
        Self::new(dyadic.integers.pop().unwrap_or(IBig::ZERO), UBig::ONE, dyadic.exponent)
    }

    /// `significand · 10^exponent`.
    pub(super) fn decimal(negative: bool, significand: UBig, exponent: i64) -> Self {
        let power = UBig::from(10u8).pow(exponent.unsigned_abs() as usize);
        if exponent >= 0 {
            Self { negative, numerator: significand * power, denominator: UBig::ONE }
        } else {
            Self { negative, numerator: significand, denominator: power }
        }
    }

    /// `(self + other)/2`.
    pub(super) fn middle(&self, other: &Self) -> Self {
        let sum = self.signed() * &other.denominator + other.signed() * &self.denominator;
        Self::new(sum, &self.denominator * &other.denominator, -1)
    }

    /// The quotient of two numbers, the second not 0.
    pub(super) fn over(&self, other: &Self) -> Self {
        Self {
            negative: self.negative != other.negative,
            numerator: &self.numerator * &other.denominator,
            denominator: &self.denominator * &other.numerator,
        }
    }

    /// `|self − other|`.
    fn distance(&self, other: &Self) -> Self {
        let difference = self.signed() * &other.denominator - other.signed() * &self.denominator;
        Self {
            negative: false,
            numerator: difference.into_parts().1,
            denominator: &self.denominator * &other.denominator,
        }
    }

    fn signed(&self) -> IBig {
        IBig::from_parts(
            if self.negative { Sign::Negative } else { Sign::Positive },
            self.numerator.clone(),
        )
    }

    /// Whether the number is 0.
    pub(super) fn is_zero(&self) -> bool {
        self.numerator.is_zero()
    }

    /// Whether the number is below 0.
    pub(super) fn is_negative(&self) -> bool {
        self.negative && !self.numerator.is_zero()
    }

    /// The magnitude as the bits of the largest binary64 number that is not above, and how the rest
    /// compares to half a unit of its last place; `None` for no rest.
    fn magnitude_bits(&self) -> (u64, Option<Ordering>) {
        const SMALLEST: i64 = -1074;
        const MAX_SIZE: i64 = 971;
        if self.numerator.is_zero() {
            return (0, None);
        }
        // Power of two that the last place counts: right, or one too low.
        let mut place = (bits(&self.numerator) - bits(&self.denominator) - 53).max(SMALLEST);
        loop {
            let (numerator, denominator) = if place >= 0 {
                (self.numerator.clone(), &self.denominator << place as usize)
            } else {
                (&self.numerator << place.unsigned_abs() as usize, self.denominator.clone())
            };
            let (quotient, rest) = numerator.div_rem(&denominator);
            if quotient.bit_len() > 53 {
                place += 1;
                continue;
            }
            if place > MAX_SIZE {
                return (f64::MAX.to_bits(), Some(Ordering::Greater));
            }
            let significand = u64::try_from(quotient).unwrap_or(0);
            // A normal number carries its leading bit into the field of the exponent.
            let bits = significand + (((place - SMALLEST) as u64) << 52);
            return (bits, (!rest.is_zero()).then(|| (rest << 1).cmp(&denominator)));
        }
    }

    /// The nearest finite binary64 number, ties away from zero.
    pub(super) fn nearest(&self) -> f64 {
        let (bits, rest) = self.magnitude_bits();
        let up = rest.is_some_and(Ordering::is_ge);
        let magnitude = f64::from_bits(bits + u64::from(up)).min(f64::MAX);
        if self.negative { -magnitude } else { magnitude }
    }

    /// The least binary64 number that is not below the distance to a finite one.
    pub(super) fn distance_up(&self, x: f64) -> f64 {
        let (bits, rest) = self.distance(&Self::from_f64(x)).magnitude_bits();
        f64::from_bits(bits + u64::from(rest.is_some()))
    }

    /// Whether both are the same number.
    pub(super) fn equals(&self, other: &Self) -> bool {
        let (x, y) = (&self.numerator * &other.denominator, &other.numerator * &self.denominator);
        x == y && (self.negative == other.negative || x.is_zero())
    }

    /// Rounded to `digits` significant digits, ties to even; `None` for 0.
    pub(super) fn rounded(&self, digits: u32) -> Option<Decimal> {
        if self.numerator.is_zero() {
            return None;
        }
        let ten = UBig::from(10u8);
        let (lowest, beyond) = (ten.pow(digits as usize - 1), ten.pow(digits as usize));
        // Exponent of the first digit: a guess by the number of bits, log₁₀ 2 ≈ 0.30103, then
        // corrected.
        let mut first = (bits(&self.numerator) - bits(&self.denominator) - 1) * 30_103 / 100_000;
        loop {
            let shift = i64::from(digits) - 1 - first;
            let power = ten.pow(shift.unsigned_abs() as usize);
            let (numerator, denominator) = if shift >= 0 {
                (&self.numerator * power, self.denominator.clone())
            } else {
                (self.numerator.clone(), &self.denominator * power)
            };
            let (mut quotient, rest) = numerator.div_rem(&denominator);
            if quotient >= beyond {
                first += 1;
                continue;
            }
            if quotient < lowest {
                first -= 1;
                continue;
            }
            let rounds_up = match (rest << 1).cmp(&denominator) {
                Ordering::Greater => true,
                Ordering::Equal => quotient.bit(0),
                Ordering::Less => false,
            };
            if rounds_up {
                quotient += 1u8;
            }
            // One digit more: the unit is that of the decimal, whatever side the number came from.
            let unit = if quotient == beyond { 1 - shift } else { -shift };
            return Some(Decimal::rounded(Decimal::exact(self.negative, &quotient, -shift), unit));
        }
    }

    /// The number itself if its expansion ends within `digits` digits, or within [`FULL_DIGITS`]
    /// and it is dyadic.
    pub(super) fn exact(&self, digits: u32) -> Option<Decimal> {
        let divisor = (&self.numerator).gcd(&self.denominator);
        let (numerator, denominator) = (&self.numerator / &divisor, &self.denominator / &divisor);
        let twos = denominator.trailing_zeros().unwrap_or(0);
        let (mut odd, mut fives) = (&denominator >> twos, 0);
        while let (quotient, 0) = (&odd).div_rem(5u8) {
            (odd, fives) = (quotient, fives + 1);
        }
        if !odd.is_one() {
            return None;
        }
        let places = twos.max(fives);
        let significand = numerator * UBig::from(10u8).pow(places) / denominator;
        let decimal = Decimal::exact(self.negative, &significand, -(places as i64));
        let count = decimal.digit_count();
        (count <= digits as usize || (fives == 0 && count <= FULL_DIGITS)).then_some(decimal)
    }

    /// The decimal of a number that is known to be this one.
    pub(super) fn certain(&self, digits: u32) -> Decimal {
        self.exact(digits).or_else(|| self.rounded(digits)).unwrap_or_else(Decimal::zero)
    }
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "rounding is exact")]
mod tests {
    use super::*;

    fn ratio(numerator: i64, denominator: u64) -> Ratio {
        Ratio::new(IBig::from(numerator), UBig::from(denominator), 0)
    }

    fn check(numerator: i64, denominator: u64, digits: u32, expected: &str, is_exact: bool) {
        let decimal = ratio(numerator, denominator).certain(digits);
        assert_eq!(decimal.to_string(), expected, "{numerator}/{denominator}");
        assert_eq!(decimal.is_exact(), is_exact, "{numerator}/{denominator}");
    }

    #[test]
    fn rationals_are_rounded_by_division() {
        check(1, 3, 5, "0.33333", false);
        check(-2, 3, 5, "-0.66667", false);
        check(1, 2, 1, "0.5", true);
        check(0, 7, 3, "0", true);
        check(1, 5, 1, "0.2", true);
        check(1234, 1, 4, "1234", true);
        check(123_456, 1, 2, "123456", true);
        check(1, 1 << 20, 3, "9.5367431640625e-7", true);
        check(999_999, 1_000_003, 3, "1", false);
        check(99_999, 100_000 * 7, 4, "0.1429", false);
    }

    #[test]
    fn ties_go_to_even() {
        check(1, 40, 1, "0.02", false);
        check(3, 40, 1, "0.08", false);
        check(-21, 20, 2, "-1", false);
        check(23, 20, 2, "1.2", false);
        check(199, 200, 2, "1", false);
    }

    #[test]
    fn ends_of_binary64_are_rounded_as_the_standard_library_does() {
        for x in
            [0.1, 1.0 / 3.0, 5e-324, f64::MAX, f64::MIN_POSITIVE, 123_456_789.0, -9.5, 1e22, 1e23]
        {
            let rounded = Ratio::from_f64(x).rounded(17).unwrap().to_string();
            assert_eq!(rounded.parse::<f64>().unwrap().to_bits(), f64::to_bits(x));
            let expected: Decimal = format!("{x:.16e}").parse().unwrap();
            assert_eq!(rounded, expected.to_string());
        }
        assert!(Ratio::from_f64(-0.0).rounded(3).is_none());
    }

    #[test]
    fn equality_is_of_numbers_not_of_terms() {
        assert!(ratio(1, 2).equals(&Ratio::from_f64(0.5)) && ratio(2, 4).equals(&ratio(1, 2)));
        assert!(!ratio(1, 10).equals(&Ratio::from_f64(0.1)) && !ratio(-1, 2).equals(&ratio(1, 2)));
    }

    #[test]
    fn nearest_numbers_are_those_of_the_standard_library() {
        for text in [
            "0.1",
            "1",
            "123456789.123456789",
            "5e-324",
            "7e-324",
            "2.4e-324",
            "1.7976931348623157e308",
            "1e-310",
        ] {
            let decimal: Decimal = text.parse().unwrap();
            let x: f64 = text.parse().unwrap();
            let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
            let places = mantissa.split_once('.').map_or(0, |(_, fraction)| fraction.len() as i64);
            let significand: UBig = mantissa.replace('.', "").parse().unwrap();
            let ratio =
                Ratio::decimal(false, significand, exponent.parse::<i64>().unwrap() - places);
            assert_eq!(ratio.nearest().to_bits(), x.to_bits(), "{decimal}");
            let error = ratio.distance_up(x);
            // Half a spacing at most, and the true distance at least.
            assert!(error <= 0.5 * (x.next_up() - x) || error <= 5e-324, "{text}: {error:e}");
            assert!((error == 0.0) == ratio.equals(&Ratio::from_f64(x)), "{text}: {error:e}");
        }
        let huge = Ratio::new(IBig::from(-1), UBig::ONE, 1024);
        assert_eq!(
            (huge.nearest(), huge.distance_up(-f64::MAX)),
            (-f64::MAX, crate::format::pow2(971))
        );
        let beyond = Ratio::new(IBig::from(1), UBig::ONE, 5000);
        assert_eq!((beyond.nearest(), beyond.distance_up(0.0)), (f64::MAX, f64::INFINITY));
        assert_eq!(Ratio::new(IBig::from(1), UBig::ONE, -5000).distance_up(0.0), 5e-324);
        assert_eq!(ratio(1, 3).middle(&ratio(-1, 1)).nearest(), -1.0 / 3.0);
        assert_eq!(ratio(1, 3).over(&ratio(-2, 9)).nearest(), -1.5);
    }
}
