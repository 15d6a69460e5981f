//! The natural logarithm in integer arithmetic, to any precision. Derivation:
//! `docs/bounds.md#digits`.

use dashu_int::ops::BitTest;
use dashu_int::{IBig, UBig};

use super::dyadic::shifted;

/// Bits beyond the asked precision, besides those of the multiple of ln 2.
const GUARD_BITS: usize = 32;

/// `ln(mantissa · 2^exponent)` in units of `2^−fraction_bits`, for a positive mantissa.
///
/// # Error bound
/// Less than 2 units; `ln 1 = 0`.
pub(super) fn logarithm(mantissa: &UBig, exponent: i64, fraction_bits: usize) -> IBig {
    // mantissa = m·2^k with 0.7 ≤ m < 1.4.
    let mut k = mantissa.bit_len();
    if mantissa * 10u8 < UBig::from(7u8) << k {
        k -= 1;
    }
    let doublings = exponent + k as i64;
    let bits = fraction_bits + doublings.unsigned_abs().bit_len() + GUARD_BITS;
    let one = UBig::ONE << k;
    let (is_below, difference) =
        if *mantissa < one { (true, &one - mantissa) } else { (false, mantissa - &one) };
    let half = atanh(&((difference << bits) / (mantissa + one)), bits);
    let twice = IBig::from(half << 1);
    let sum = if is_below { -twice } else { twice } + ln_2(bits) * doublings;
    let (sign, magnitude) = sum.into_parts();
    IBig::from_parts(sign, shifted(&magnitude, fraction_bits as i64 - bits as i64))
}

/// `ln 2 = 2 atanh(1/3)` in units of `2^−bits`: below the true number by less than `2·bits + 11`
/// units.
pub(super) fn ln_2(bits: usize) -> IBig {
    IBig::from(atanh(&((UBig::ONE << bits) / 3u8), bits) << 1)
}

/// `Σ u^(2i+1)/(2i+1)` in units of `2^−bits` for `u = fixed · 2^−bits ≤ 1/3`, each term cut.
fn atanh(fixed: &UBig, bits: usize) -> UBig {
    let square = (fixed * fixed) >> bits;
    let (mut power, mut sum) = (fixed.clone(), UBig::ZERO);
    for odd in (1u64..).step_by(2) {
        if power.is_zero() {
            break;
        }
        sum += &power / odd;
        power = (power * &square) >> bits;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use dashu_float::FBig;
    use dashu_float::round::mode::HalfEven;

    type Big = FBig<HalfEven, 2>;

    #[test]
    fn agrees_with_another_library_within_the_bound() {
        let cases = [
            (2u64, 0),
            (3, 0),
            (3, -1),
            (7, -3),
            (10, 0),
            (u64::MAX, 0),
            (12_345, -10),
            (1, 100),
            (5, -900),
        ];
        for (mantissa, exponent) in cases.into_iter().chain((90..150).map(|m| (m, -7))) {
            for fraction_bits in [64, 128, 300] {
                let got = logarithm(&UBig::from(mantissa), exponent, fraction_bits);
                let big = |m: IBig, e: isize| {
                    Big::from_parts(m, e).with_precision(fraction_bits + 100).value()
                };
                let expected = big(IBig::from(mantissa), exponent as isize).ln();
                let difference = (big(got, 0) - expected * big(IBig::ONE, fraction_bits as isize))
                    .to_f64()
                    .value();
                assert!(
                    difference.abs() < 2.0,
                    "ln({mantissa}·2^{exponent}) at {fraction_bits} bits: {difference}"
                );
            }
        }
    }

    #[test]
    fn one_gives_zero() {
        assert!(logarithm(&(UBig::ONE << 77), -77, 200).is_zero());
    }
}
