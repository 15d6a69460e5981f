//! Binary64 numbers as integers on a common grid: what is exact stays exact.

use dashu_int::ops::BitTest;
use dashu_int::{IBig, Sign, UBig};

use crate::enclosure::{NO_GRID, common_grid, exponent};

/// Integers `m` that stand for the reals `m · 2^exponent`.
#[derive(Clone, Debug)]
pub(super) struct Dyadics {
    pub(super) integers: Vec<IBig>,
    pub(super) exponent: i64,
}

impl Dyadics {
    /// Finite numbers, exactly.
    pub(super) fn new(xs: &[f64]) -> Self {
        let grid = match common_grid(xs) {
            NO_GRID => 0,
            grid => grid,
        };
        Self { integers: xs.iter().map(|x| integer(*x, grid)).collect(), exponent: i64::from(grid) }
    }

    /// Each number times an integer times a power of two.
    pub(super) fn times(self, factor: &IBig, exponent: i64) -> Self {
        Self {
            integers: self.integers.into_iter().map(|m| m * factor).collect(),
            exponent: self.exponent + exponent,
        }
    }

    /// Sums, element by element.
    pub(super) fn plus(self, other: Self) -> Self {
        let exponent = self.exponent.min(other.exponent);
        let up = |m: IBig, from: i64| m << (from - exponent) as usize;
        let pairs = self.integers.into_iter().zip(other.integers);
        Self {
            integers: pairs.map(|(x, y)| up(x, self.exponent) + up(y, other.exponent)).collect(),
            exponent,
        }
    }
}

/// `x · 2^−grid`, an integer.
fn integer(x: f64, grid: i32) -> IBig {
    let bits = x.abs().to_bits();
    if bits == 0 {
        return IBig::ZERO;
    }
    let significand = (bits & ((1 << 52) - 1)) | (u64::from(bits >> 52 > 0) << 52);
    let shift = exponent(x) - 52 - grid;
    let magnitude = if shift >= 0 {
        UBig::from(significand) << shift as usize
    } else {
        UBig::from(significand >> -shift)
    };
    IBig::from_parts(if x < 0.0 { Sign::Negative } else { Sign::Positive }, magnitude)
}

/// `⌊x · 2^shift⌋`.
pub(super) fn shifted(x: &UBig, shift: i64) -> UBig {
    if shift >= 0 { x << shift as usize } else { x >> shift.unsigned_abs() as usize }
}

/// Number of bits of the magnitude.
pub(super) fn bits(x: &UBig) -> i64 {
    x.bit_len() as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_on_the_coarsest_grid() {
        let dyadics = Dyadics::new(&[1.5, -0.25, 0.0, 1024.0]);
        assert_eq!(dyadics.exponent, -2);
        assert_eq!(dyadics.integers, [6, -1, 0, 4096].map(IBig::from));
        let smallest = Dyadics::new(&[5e-324, f64::MIN_POSITIVE]);
        assert_eq!(smallest.exponent, -1074);
        assert_eq!(smallest.integers, [IBig::ONE, IBig::ONE << 52]);
        assert_eq!(Dyadics::new(&[f64::MAX]).integers[0], (IBig::ONE << 53) - IBig::ONE);
    }

    #[test]
    fn sums_and_products_are_exact() {
        let sum =
            Dyadics::new(&[1e300]).plus(Dyadics::new(&[-1e-300])).plus(Dyadics::new(&[-1e300]));
        let tiny = Dyadics::new(&[-1e-300]);
        assert_eq!(
            sum.integers[0],
            tiny.integers[0].clone() << (tiny.exponent - sum.exponent) as usize
        );
        let product = Dyadics::new(&[0.75]).times(&IBig::from(-3), 4);
        assert_eq!((product.integers[0].clone(), product.exponent), (IBig::from(-9), 2));
    }
}
