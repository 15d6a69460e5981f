//! The exponential in integer arithmetic, to any precision. Derivation: `docs/bounds.md#digits`.

use dashu_int::ops::BitTest;
use dashu_int::{IBig, UBig};

use super::dyadic::shifted;

/// Bits beyond the asked precision, besides those that the squarings take.
const GUARD_BITS: usize = 64;

/// `e^−x` as `mantissa · 2^exponent`, for `x = fixed · 2^−fraction_bits` below `2^integer_bits`.
///
/// # Error bound
/// `|ln(mantissa · 2^exponent) + x| ≤ 2^−(precision + 2)`.
pub(super) fn exponential(
    fixed: &UBig,
    fraction_bits: usize,
    integer_bits: usize,
    precision: usize,
) -> (UBig, i64) {
    let halvings = integer_bits + 8;
    let bits = precision + halvings + GUARD_BITS;
    let y = shifted(fixed, bits as i64 - (fraction_bits + halvings) as i64);

    // Taylor series at y < 2^−8, alternating.
    let mut term = UBig::ONE << bits;
    let mut sum = IBig::from(term.clone());
    for k in 1u64.. {
        term = ((term * &y) >> bits) / k;
        if term.is_zero() {
            break;
        }
        sum = if k % 2 == 1 { sum - &term } else { sum + &term };
    }

    let (_, mut mantissa) = sum.into_parts();
    let mut exponent = -(bits as i64);
    for _ in 0..halvings {
        mantissa = &mantissa * &mantissa;
        let excess = mantissa.bit_len().saturating_sub(bits);
        mantissa >>= excess;
        exponent = 2 * exponent + excess as i64;
    }
    (mantissa, exponent)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dashu_float::FBig;
    use dashu_float::round::mode::HalfEven;

    type Big = FBig<HalfEven, 2>;

    /// Distance to the exponential of another library, in units of `2^−(precision + 2)` of the
    /// value.
    fn error(fixed: u64, fraction_bits: usize, precision: usize) -> f64 {
        let (mantissa, exponent) = exponential(&UBig::from(fixed), fraction_bits, 15, precision);
        let big = |m: IBig, e: i64| {
            Big::from_parts(m, e as isize).with_precision(precision + 100).value()
        };
        let x = big(IBig::from(fixed), -(fraction_bits as i64));
        let relative = big(mantissa.into(), exponent) / (-x).exp() - big(IBig::ONE, 0);
        (relative * big(IBig::ONE, precision as i64 + 2)).to_f64().value().abs()
    }

    #[test]
    fn agrees_with_another_library_within_the_bound() {
        for precision in [64, 128, 300] {
            for (fixed, fraction_bits) in [
                (0, 10),
                (1, 60),
                (1, 1),
                (1, 0),
                (20, 0),
                (699_999, 10),
                (24_000, 0),
                (0xffff_ffff_ffff, 40),
            ] {
                let error = error(fixed, fraction_bits, precision);
                assert!(
                    error <= 1.0,
                    "e^-({fixed}·2^-{fraction_bits}) at {precision} bits: {error}"
                );
            }
        }
    }

    #[test]
    fn zero_gives_exactly_one() {
        let (mantissa, exponent) = exponential(&UBig::ZERO, 100, 15, 100);
        assert_eq!(mantissa, UBig::ONE << usize::try_from(-exponent).unwrap());
    }
}
