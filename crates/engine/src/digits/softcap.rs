//! The cap `c·tanh(x/c)` in integer arithmetic, to any precision. Derivation:
//! `docs/bounds.md#digits`.

use dashu_int::ops::BitTest;
use dashu_int::{IBig, Sign, UBig};

use super::dyadic::{Dyadics, bits, shifted};
use super::exponential::exponential;

/// Bits beyond those of the result.
const GUARD_BITS: usize = 8;

/// A positive cap, exactly.
pub(super) struct Cap {
    significand: UBig,
    exponent: i64,
}

impl Cap {
    /// A positive finite number.
    pub(super) fn new(cap: f64) -> Self {
        let mut dyadic = Dyadics::new(&[cap]);
        let (_, significand) = dyadic.integers.pop().unwrap_or(IBig::ONE).into_parts();
        Self { significand, exponent: dyadic.exponent }
    }

    /// `c·tanh(x/c)` in units of `2^−fraction_bits`, for `x = fixed · 2^−fraction_bits`.
    ///
    /// # Error bound
    /// Less than 2 units; 0 gives 0.
    pub(super) fn of(&self, fixed: &IBig, fraction_bits: usize) -> IBig {
        let (sign, magnitude) = fixed.clone().into_parts();
        // c < 2^integer_bits.
        let integer_bits = usize::try_from(bits(&self.significand) + self.exponent).unwrap_or(0);
        let y_bits = fraction_bits + integer_bits + GUARD_BITS;
        // Twice x/c, in units of 2^−y_bits.
        let shift = 1 + y_bits as i64 - fraction_bits as i64 - self.exponent;
        let y = if shift >= 0 {
            shifted(&magnitude, shift) / &self.significand
        } else {
            magnitude / shifted(&self.significand, -shift)
        };
        let cap_shift = self.exponent + fraction_bits as i64;
        if y >= UBig::from(y_bits) << y_bits {
            return IBig::from_parts(sign, shifted(&self.significand, cap_shift));
        }
        let (mantissa, exponent) = exponential(&y, y_bits, y_bits.bit_len(), y_bits);
        // (1 − e)/(1 + e), both times 2^−exponent.
        let one = UBig::ONE << exponent.unsigned_abs() as usize;
        let below_one = IBig::from(one.clone()) - IBig::from(mantissa.clone());
        let numerator =
            if below_one.sign() == Sign::Negative { UBig::ZERO } else { below_one.into_parts().1 };
        let quotient = if cap_shift >= 0 {
            shifted(&(numerator * &self.significand), cap_shift) / (one + mantissa)
        } else {
            (numerator * &self.significand) / shifted(&(one + mantissa), -cap_shift)
        };
        IBig::from_parts(sign, quotient)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dashu_float::FBig;
    use dashu_float::round::mode::HalfEven;

    type Big = FBig<HalfEven, 2>;

    /// Distance to the definition by another library's exponential, in units of the result.
    fn error(x: f64, cap: f64, fraction_bits: usize) -> f64 {
        let exact = Dyadics::new(&[x]);
        let fixed = exact.integers[0].clone()
            << usize::try_from(exact.exponent + fraction_bits as i64).unwrap();
        let got = Cap::new(cap).of(&fixed, fraction_bits);
        let big =
            |m: IBig, e: isize| Big::from_parts(m, e).with_precision(fraction_bits + 1400).value();
        let number =
            |x: f64| Big::try_from(x).unwrap().with_precision(fraction_bits + 1400).value();
        let e = (number(-2.0) * number(x.abs()) / number(cap)).exp();
        let tanh = (number(1.0) - e.clone()) / (number(1.0) + e);
        let expected = number(cap.copysign(x)) * tanh * big(IBig::ONE, fraction_bits as isize);
        let difference = big(got, 0) - expected;
        difference.to_f64().value().abs()
    }

    #[test]
    fn agrees_with_the_definition_within_the_bound() {
        for (x, cap) in [
            (0.0, 1.0),
            (1.0, 1.0),
            (-3.5, 2.0),
            (1e-30, 50.0),
            (100.0, 0.1),
            (-1e5, 30.0),
            (1e300, 1e10),
            (2.5, 1e250),
            (1e260, 1e250),
            (40.0, 1e-40),
            (1.0, 0.125),
        ] {
            for fraction_bits in [200, 333] {
                let error = error(x, cap, fraction_bits);
                assert!(error < 2.0, "{cap} tanh({x}/{cap}) at {fraction_bits} bits: {error}");
            }
        }
    }

    #[test]
    fn zero_stays_zero_and_the_sign_stays() {
        let cap = Cap::new(3.0);
        assert!(cap.of(&IBig::ZERO, 100).is_zero());
        let one = IBig::ONE << 100;
        assert_eq!(cap.of(&-one.clone(), 100), -cap.of(&one, 100));
    }
}
