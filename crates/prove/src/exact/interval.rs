//! Fixed-point intervals: whole multiples of `2^−bits` on both ends, rounded outward.
//!
//! They give signs and digits of numbers that are known to be nonzero; equality is decided
//! elsewhere, without them.

use dashu_int::ops::{DivEuclid, SquareRoot};
use dashu_int::{IBig, Sign, UBig};

use crate::rational::Rational;

/// `[low · 2^−bits, high · 2^−bits]`; the caller keeps `bits`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Interval {
    pub(super) low: IBig,
    pub(super) high: IBig,
}

/// `⌊x / d⌋` for `d > 0`.
pub(super) fn floor_div(x: &IBig, d: &IBig) -> IBig {
    x.div_euclid(d)
}

/// `⌈x / d⌉` for `d > 0`.
fn ceil_div(x: &IBig, d: &IBig) -> IBig {
    -floor_div(&-x, d)
}

/// `⌊x · 2^−k⌋` or, upward, `⌈x · 2^−k⌉`.
fn shift(x: &IBig, k: usize, up: bool) -> IBig {
    // A shift to the right rounds down, below 0 too.
    if up { -(-x >> k) } else { x >> k }
}

impl Interval {
    pub(super) fn rational(x: &Rational, bits: usize) -> Self {
        if let Some(n) = x.whole() {
            let n = IBig::from(n) << bits;
            return Self { low: n.clone(), high: n };
        }
        let (n, d) = x.parts();
        let (n, d) = (n << bits, IBig::from(d));
        Self { low: floor_div(&n, &d), high: ceil_div(&n, &d) }
    }

    /// `√n`.
    pub(super) fn root(n: &UBig, bits: usize) -> Self {
        let n = n << (2 * bits);
        let low = n.sqrt();
        let high = if &low * &low == n { low.clone() } else { &low + UBig::ONE };
        Self { low: low.into(), high: high.into() }
    }

    pub(super) fn plus(&self, other: &Self) -> Self {
        Self { low: &self.low + &other.low, high: &self.high + &other.high }
    }

    pub(super) fn times(&self, other: &Self, bits: usize) -> Self {
        let corners = [
            &self.low * &other.low,
            &self.low * &other.high,
            &self.high * &other.low,
            &self.high * &other.high,
        ];
        let low = corners.iter().min().unwrap_or(&corners[0]);
        let high = corners.iter().max().unwrap_or(&corners[0]);
        Self { low: shift(low, bits, false), high: shift(high, bits, true) }
    }

    /// `e^x`, which grows with `x`.
    pub(super) fn exp(&self, bits: usize) -> Self {
        Self { low: exp(&self.low, bits, false), high: exp(&self.high, bits, true) }
    }

    /// The sign of every number in it, if they have one.
    pub(super) fn sign(&self) -> Option<Sign> {
        if self.low > IBig::ZERO {
            Some(Sign::Positive)
        } else if self.high < IBig::ZERO {
            Some(Sign::Negative)
        } else {
            None
        }
    }

    pub(super) fn negated(self) -> Self {
        Self { low: -self.high, high: -self.low }
    }
}

/// `e^x` for `x` in units of `2^−bits`, rounded down or up.
///
/// `e^x = (e^y)^(2^k)` with `y = x · 2^−k < 2^−7`; the series of `e^y` and each square are rounded
/// the same way. The terms left out sum to less than two units, because each is less than a
/// hundredth of the one before and the last was at most two.
fn exp(x: &IBig, bits: usize, up: bool) -> IBig {
    if *x < IBig::ZERO {
        // The reciprocal of the other end. `e^|x| ≥ 1`, so that it is no less than one unit of
        // 2^−bits short of 1.
        let (one, e) = (IBig::ONE << (2 * bits), exp(&-x, bits, !up));
        return if up { ceil_div(&one, &e) } else { floor_div(&one, &e) };
    }
    let whole = x >> bits;
    let k = 8 + UBig::try_from(whole).map_or(0, |n| dashu_int::ops::BitTest::bit_len(&n));
    let work = bits + 2 * k + 16;
    let y = shift(&(x << (work - bits)), k, up);
    let one = IBig::ONE << work;
    let (mut sum, mut term) = (one.clone(), one);
    for i in 1u32.. {
        let product = shift(&(&term * &y), work, up);
        term = if up { ceil_div(&product, &i.into()) } else { floor_div(&product, &i.into()) };
        sum += &term;
        if term <= IBig::from(2) {
            break;
        }
    }
    if up {
        sum += 4;
    }
    for _ in 0..k {
        sum = shift(&(&sum * &sum), work, up);
    }
    shift(&sum, work - bits, up)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponentials_enclose_known_digits() {
        // e to 30 digits, and e^−1 from below and above.
        let bits = 100;
        let scale = IBig::from(10).pow(30);
        for (x, digits) in
            [(1i64, "2718281828459045235360287471352"), (-1, "367879441171442321595523770161")]
        {
            let x = Interval::rational(&x.into(), bits).exp(bits);
            let digits: IBig = digits.parse().unwrap();
            assert!(
                shift(&(&x.low * &scale), bits, false) <= digits
                    && digits <= shift(&(&x.high * &scale), bits, true)
            );
            assert!(&x.high - &x.low <= IBig::from(16));
        }
    }

    #[test]
    fn ends_are_rounded_outward() {
        let third = Interval::rational(&Rational::Small(-1, 3), 4);
        assert_eq!((third.low, third.high), (IBig::from(-6), IBig::from(-5)));
        let root = Interval::root(&UBig::from(2u8), 4);
        assert_eq!((root.low.clone(), root.high.clone()), (IBig::from(22), IBig::from(23)));
        let square = root.times(&root, 4);
        assert!(square.low <= IBig::from(32) && IBig::from(32) <= square.high);
        assert_eq!(root.negated().sign(), Some(Sign::Negative));
        assert_eq!(Interval { low: IBig::from(-1), high: IBig::ONE }.sign(), None);
    }
}
