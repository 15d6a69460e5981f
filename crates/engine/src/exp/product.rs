//! `2^(x·c)`: the exponential of a logit `scale·x` whose factor `c ≈ scale·log₂e` is known
//! beforehand.
//!
//! Fewer operations than [`exp1`](super::exp1) of a product: nothing is left of the reduction but
//! one fused operation. The proof is a computation, as there (`tests/numerics_exp_product.rs`); the
//! argument is in `docs/bounds.md#exp-product`.

use std::f64::consts::LOG2_E;

use pulp::{Scalar, Simd};

use super::{MAGIC, U, times_power};

/// Proved relative error of the factor: `|c/(scale·log₂e) − 1|` is at most this.
pub const FACTOR_ERROR: f64 = 1.25 * U;

/// Interpolates `2^x` on `[−1/2, 1/2]`, 1 at 0; the other coefficients are those of `(2^x − 1)/x`
/// at the zeros of the Chebyshev polynomial of degree 11, rounded. From the highest to the lowest.
pub const COEFFICIENTS_BASE_2: [f64; 12] = [
    f64::from_bits(0x3dfe_9d3f_e395_2179),
    f64::from_bits(0x3e3e_6063_f721_7bc6),
    f64::from_bits(0x3e7b_524f_ae62_7834),
    f64::from_bits(0x3eb6_2bfd_4777_3353),
    f64::from_bits(0x3eef_fcbf_c670_dcd4),
    f64::from_bits(0x3f24_3091_3096_fd9f),
    f64::from_bits(0x3f55_d87f_e78a_5276),
    f64::from_bits(0x3f83_b2ab_6fba_1dda),
    f64::from_bits(0x3fac_6b08_d704_a0c2),
    f64::from_bits(0x3fce_bfbd_ff82_c598),
    f64::from_bits(0x3fe6_2e42_fefa_39ef),
    1.0,
];

/// The factor `c = fl(scale·log₂e)`; `None` if that is 0, subnormal or not finite.
///
/// # Error bound
/// `|c/(scale·log₂e) − 1| ≤` [`FACTOR_ERROR`]. Derivation: docs/bounds.md#exp-product.
pub fn base_2_factor(scale: f64) -> Option<f64> {
    let factor = scale * LOG2_E;
    factor.is_normal().then_some(factor)
}

/// `2^(x·factor)` for `|x·factor| ≤ 865`; 1 exactly for `x = 0`.
///
/// # Error bound
/// Relative error at most [`EXP_ERROR`](super::EXP_ERROR), in rounding to nearest. Outside of the
/// interval: no bound claimed. Derivation: docs/bounds.md#exp-product.
pub fn exp_product(x: f64, factor: f64) -> f64 {
    exp_product_vectors(Scalar::new(), [x], factor)[0]
}

/// [`exp_product`] of each number: one loop for each operation, so that operations that depend on
/// each other are apart.
#[inline(always)]
pub(crate) fn exp_product_vectors<S: Simd, const N: usize>(
    simd: S,
    x: [S::f64s; N],
    factor: S::f64s,
) -> [S::f64s; N] {
    // Loops, not `map`: what a closure calls is not compiled for the vectors of `S`.
    let (mut shifted, mut rest) = (x, x);
    for n in 0..N {
        shifted[n] = simd.mul_add_f64s(x[n], factor, simd.splat_f64s(MAGIC));
    }
    for n in 0..N {
        // −k, exact.
        let less = simd.sub_f64s(simd.splat_f64s(MAGIC), shifted[n]);
        rest[n] = simd.mul_add_f64s(x[n], factor, less);
    }
    let mut p = [simd.splat_f64s(COEFFICIENTS_BASE_2[0]); N];
    for c in &COEFFICIENTS_BASE_2[1..] {
        for n in 0..N {
            p[n] = simd.mul_add_f64s(p[n], rest[n], simd.splat_f64s(*c));
        }
    }
    for n in 0..N {
        p[n] = times_power(simd, p[n], shifted[n]);
    }
    p
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "these results are exact by construction")]
mod tests {
    use super::*;

    #[test]
    fn one_at_zero_and_powers_at_integers() {
        let factor = base_2_factor(0.125).unwrap();
        assert_eq!(exp_product(0.0, factor), 1.0);
        assert_eq!(exp_product(-0.0, factor), 1.0);
        assert_eq!(exp_product(3.0, 2.0), 64.0);
        assert_eq!(exp_product(-865.0, 1.0), crate::format::pow2(-865));
    }

    #[test]
    fn a_factor_that_cannot_be_held_is_none() {
        for scale in [0.0, 1e-310, f64::MAX, f64::NAN] {
            assert_eq!(base_2_factor(scale), None, "{scale:e}");
        }
    }
}
