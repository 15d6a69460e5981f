//! Rationals: two machine words where they are enough, and nearly always they are.

use std::cmp::Ordering;

use dashu_int::ops::{BitTest, Gcd};
use dashu_int::{IBig, Sign, UBig};
use dashu_ratio::RBig;

/// A fraction in lowest terms, its denominator positive. `Large` holds only what `Small` cannot, so
/// that equal numbers are written alike. The derived order is that of the form; the numbers compare
/// by [`compare`](Self::compare).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rational {
    Small(i64, i64),
    Large(Box<RBig>),
}

use Rational::{Large, Small};

impl From<RBig> for Rational {
    fn from(x: RBig) -> Self {
        match (i64::try_from(x.numerator()), i64::try_from(x.denominator())) {
            (Ok(n), Ok(d)) => Small(n, d),
            _ => Large(Box::new(x)),
        }
    }
}

impl From<i64> for Rational {
    fn from(n: i64) -> Self {
        Small(n, 1)
    }
}

impl Rational {
    pub(crate) const ZERO: Self = Small(0, 1);
    pub(crate) const ONE: Self = Small(1, 1);

    /// `n / d` for `d > 0`.
    fn reduced(n: i128, d: i128) -> Self {
        let common = if d == 1 {
            1
        } else {
            i128::try_from(gcd(n.unsigned_abs(), d.unsigned_abs())).unwrap_or(1)
        };
        let (n, d) = if common == 1 { (n, d) } else { (n / common, d / common) };
        match (i64::try_from(n), i64::try_from(d)) {
            (Ok(n), Ok(d)) => Small(n, d),
            _ => Large(Box::new(RBig::from_parts_signed(n.into(), d.into()))),
        }
    }

    pub(crate) fn big(&self) -> RBig {
        match self {
            Small(n, d) => RBig::from_parts_signed((*n).into(), (*d).into()),
            Large(x) => (**x).clone(),
        }
    }

    pub(crate) fn parts(&self) -> (IBig, UBig) {
        match self {
            Small(n, d) => ((*n).into(), d.unsigned_abs().into()),
            Large(x) => (x.numerator().clone(), x.denominator().clone()),
        }
    }

    /// Numerator and denominator as whole numbers.
    pub(crate) fn whole_parts(&self) -> (Self, Self) {
        match self {
            Small(n, d) => (Small(*n, 1), Small(*d, 1)),
            Large(x) => (
                RBig::from(x.numerator().clone()).into(),
                RBig::from(x.denominator().clone()).into(),
            ),
        }
    }

    /// The number modulo a prime below 2^31; `None` where it is long or the prime divides its
    /// denominator.
    pub(crate) fn modulo(&self, prime: u64) -> Option<u64> {
        let Small(n, d) = self else { return None };
        let p = i64::try_from(prime).ok()?;
        let (n, d) = (u64::try_from(n.rem_euclid(p)).ok()?, u64::try_from(d.rem_euclid(p)).ok()?);
        (d != 0).then(|| n * inverse_modulo(d, prime) % prime)
    }

    pub(crate) fn is_zero(&self) -> bool {
        *self == Self::ZERO
    }

    pub(crate) fn is_one(&self) -> bool {
        *self == Self::ONE
    }

    /// The number, if it is whole and small.
    pub(crate) fn whole(&self) -> Option<i64> {
        match self {
            Small(n, 1) => Some(*n),
            _ => None,
        }
    }

    pub(crate) fn plus(&self, other: &Self) -> Self {
        match (self, other) {
            // Below 2^126 each.
            (Small(n, d), Small(m, e)) if d == e => {
                Self::reduced(i128::from(*n) + i128::from(*m), (*d).into())
            }
            (Small(n, d), Small(m, e)) => {
                let (n, d, m, e) = (i128::from(*n), i128::from(*d), i128::from(*m), i128::from(*e));
                Self::reduced(n * e + m * d, d * e)
            }
            _ => (self.big() + other.big()).into(),
        }
    }

    pub(crate) fn times(&self, other: &Self) -> Self {
        match (self, other) {
            (Small(n, d), Small(m, e)) => {
                Self::reduced(i128::from(*n) * i128::from(*m), i128::from(*d) * i128::from(*e))
            }
            _ => (self.big() * other.big()).into(),
        }
    }

    pub(crate) fn negated(&self) -> Self {
        match self {
            Small(n, d) => Self::reduced(-i128::from(*n), (*d).into()),
            Large(x) => (-(**x).clone()).into(),
        }
    }

    /// `1/x`; `None` for 0.
    pub(crate) fn inverse(&self) -> Option<Self> {
        match self {
            Small(0, _) => None,
            Small(n, d) if *n > 0 => Some(Small(*d, *n)),
            Small(n, d) => Some(Self::reduced(-i128::from(*d), -i128::from(*n))),
            Large(x) => Some((RBig::ONE / &**x).into()),
        }
    }

    /// The sign; 0 counts as positive.
    pub(crate) fn sign(&self) -> Sign {
        match self {
            Small(n, _) if *n < 0 => Sign::Negative,
            Small(..) => Sign::Positive,
            Large(x) => x.sign(),
        }
    }

    /// The order of the numbers.
    pub(crate) fn compare(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Small(n, d), Small(m, e)) => {
                (i128::from(*n) * i128::from(*e)).cmp(&(i128::from(*m) * i128::from(*d)))
            }
            _ => self.big().cmp(&other.big()),
        }
    }

    /// The largest rational of which both are whole multiples: the common divisor of the numerators
    /// over the common multiple of the denominators.
    pub(crate) fn common(&self, other: &Self) -> Self {
        match (self, other) {
            (Small(n, 1), Small(m, 1)) => {
                Self::reduced(positive(gcd(n.unsigned_abs().into(), m.unsigned_abs().into())), 1)
            }
            (Small(0, _), x) | (x, Small(0, _)) => {
                if x.sign() == Sign::Negative {
                    x.negated()
                } else {
                    x.clone()
                }
            }
            (Small(n, d), Small(m, e)) => {
                let top = gcd(n.unsigned_abs().into(), m.unsigned_abs().into());
                let shared = gcd(d.unsigned_abs().into(), e.unsigned_abs().into());
                Self::reduced(positive(top), i128::from(*d) / positive(shared) * i128::from(*e))
            }
            _ => {
                let ((n, d), (m, e)) = (self.parts(), other.parts());
                let top: UBig = (n * IBig::from(e.clone())).gcd(&(m * IBig::from(d.clone())));
                RBig::from_parts(top.into(), d * e).into()
            }
        }
    }

    /// Bits of numerator and denominator.
    pub(crate) fn bits(&self) -> usize {
        match self {
            Small(n, d) => (n.unsigned_abs().bit_len()) + d.unsigned_abs().bit_len(),
            Large(x) => x.numerator().bit_len() + x.denominator().bit_len(),
        }
    }
}

/// `1/x` modulo a prime below 2^31: `x^(p−2)`.
pub(crate) fn inverse_modulo(x: u64, prime: u64) -> u64 {
    let (mut power, mut square, mut exponent) = (1, x % prime, prime - 2);
    while exponent > 0 {
        if exponent % 2 == 1 {
            power = power * square % prime;
        }
        square = square * square % prime;
        exponent /= 2;
    }
    power
}

/// A divisor of a number of 64 bits.
fn positive(n: u128) -> i128 {
    i128::try_from(n).unwrap_or(1)
}

fn gcd(mut x: u128, mut y: u128) -> u128 {
    while y != 0 {
        // Words divide faster than pairs of them.
        if let (Ok(mut a), Ok(mut b)) = (u64::try_from(x), u64::try_from(y)) {
            while b != 0 {
                (a, b) = (b, a % b);
            }
            return a.into();
        }
        (x, y) = (y, x % y);
    }
    x
}

/// The root of order `n` of `x ≥ 0`, if it is rational; none for `n = 0`.
pub(crate) fn root_of(x: &RBig, n: usize) -> Option<RBig> {
    if *x < RBig::ZERO || n == 0 {
        return None;
    }
    let (top, bottom) = x.clone().into_parts();
    let whole = |power: UBig| {
        let root = power.nth_root(n);
        (root.pow(n) == power).then_some(root)
    };
    Some(RBig::from_parts(IBig::from(whole(top.into_parts().1)?), whole(bottom)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers around the ends of a word, and what dashu makes of them.
    #[test]
    fn small_and_large_are_one_arithmetic() {
        let ends = [0, 1, -1, 2, -3, 6, 1 << 40, i64::MAX, i64::MIN, i64::MIN + 1];
        let mut all = Vec::new();
        for n in ends {
            for d in [1, 2, 3, 6, 1 << 40, i64::MAX] {
                all.push(RBig::from_parts_signed(n.into(), d.into()));
                all.push(RBig::from_parts_signed(n.into(), d.into()) * RBig::from(i64::MAX));
            }
        }
        for x in &all {
            let small = Rational::from(x.clone());
            assert_eq!(small.big(), *x);
            assert_eq!(small.negated(), (-x.clone()).into());
            assert_eq!(small.sign() == Sign::Negative, *x < RBig::ZERO);
            assert_eq!(small.inverse(), (!x.is_zero()).then(|| (RBig::ONE / x).into()));
            for y in &all {
                let other = Rational::from(y.clone());
                assert_eq!(small.plus(&other), (x + y).into());
                assert_eq!(small.times(&other), (x * y).into());
                assert_eq!(small.compare(&other), x.cmp(y));
                let common = small.common(&other);
                if let Some(over) = common.inverse() {
                    assert!(common.sign() == Sign::Positive);
                    let (a, b) = (small.times(&over), other.times(&over));
                    assert!(a.parts().1 == UBig::ONE && b.parts().1 == UBig::ONE);
                    assert_eq!(a.parts().0.gcd(b.parts().0), UBig::ONE);
                } else {
                    assert!(x.is_zero() && y.is_zero());
                }
            }
        }
    }
    #[test]
    fn roots_are_rational_or_none() {
        let ratio = |n: i32, d: u32| RBig::from_parts(IBig::from(n), UBig::from(d));
        assert_eq!(root_of(&ratio(4, 9), 2), Some(ratio(2, 3)));
        assert_eq!(root_of(&ratio(8, 27), 3), Some(ratio(2, 3)));
        assert_eq!(root_of(&ratio(-4, 7), 1), None);
        assert_eq!(root_of(&ratio(0, 1), 5), Some(RBig::ZERO));
        for (x, n) in [
            (ratio(2, 9), 2),
            (ratio(4, 8), 2),
            (ratio(-4, 1), 2),
            (ratio(4, 9), 3),
            (ratio(1, 1), 0),
        ] {
            assert_eq!(root_of(&x, n), None, "{x}, {n}");
        }
        // Of any length, and nothing beside them.
        let long = RBig::from_parts(IBig::from(7).pow(100), UBig::from(3_u8).pow(90));
        for n in 1..=32 {
            let power = RBig::from_parts(long.numerator().pow(n), long.denominator().pow(n));
            assert_eq!(root_of(&power, n), Some(long.clone()), "{n}");
            assert_eq!(root_of(&(power + RBig::ONE), n).is_some(), n == 1, "{n}");
        }
    }
}
