//! Start-up checks of what the proofs assume about the machine and about faer.
//!
//! A failed check means that no verdict may be given; a passed one is evidence, not proof, for the assumptions of
//! `docs/bounds.md#dot`.

use std::hint::black_box;

use thiserror::Error;

use crate::exp::{U, exp1};
use crate::gemm::{Products, gamma, times_depth};

/// An assumption of the proofs does not hold here.
#[derive(Clone, Copy, Debug, Error, PartialEq)]
pub enum SelfTestError {
    /// The rounding mode of the thread was changed, or the processor computes in a wider format.
    #[error("round to nearest at 1 + 2^-53: expected 1 and a larger 1 + 3·2^-54, got another rounding")]
    Rounding,
    /// `exp1(0)` must be exactly 1: the proofs count on the weight of the largest logit.
    #[error("exponential at 0: expected 1, got {got}")]
    Exponential {
        /// What came back.
        got: f64,
    },
    /// A matrix product is not a conventional sum in binary64.
    #[error("matrix product of depth {depth}: expected an error of at most {bound:e}, got {got:e}")]
    Product {
        /// Length of the sums.
        depth: usize,
        /// The bound that every conventional sum keeps.
        bound: f64,
        /// The error found.
        got: f64,
    },
}

/// Checks rounding, exponential and matrix products; takes a few milliseconds.
///
/// # Errors
/// [`SelfTestError`] for the first assumption that does not hold.
#[expect(clippy::float_cmp, reason = "the probes are exact")]
pub fn self_test() -> Result<(), SelfTestError> {
    let (half_spacing, more) = (black_box(U), black_box(1.5 * U));
    if 1.0 + half_spacing != 1.0 || 1.0 + more <= 1.0 {
        return Err(SelfTestError::Rounding);
    }
    let one = exp1(black_box(0.0));
    if one != 1.0 {
        return Err(SelfTestError::Exponential { got: one });
    }
    // Small integers are exact in any order; 50-bit integers are not, and must stay within γ.
    for (bits, shape) in [(20, (5, 300, 7)), (50, (3, 1, 2)), (50, (9, 65, 8)), (50, (17, 300, 19)), (50, (64, 40, 64))]
    {
        Products::ALL.into_iter().try_for_each(|products| check_products(products, bits, shape))?;
    }
    Ok(())
}

/// Compares both products of integer matrices with exact integer arithmetic.
fn check_products(products: Products, bits: u32, shape: (usize, usize, usize)) -> Result<(), SelfTestError> {
    let (rows, depth, cols) = shape;
    let mut state = u64::from(bits) << 32 | (rows * depth * cols) as u64;
    let lhs: Vec<i64> = (0..rows * depth).map(|_| integer(&mut state, bits)).collect();
    let rhs: Vec<i64> = (0..cols * depth).map(|_| integer(&mut state, bits)).collect();
    let to_f64 = |xs: &[i64]| -> Vec<f64> { xs.iter().map(|x| *x as f64).collect() };
    let transposed: Vec<i64> = (0..depth * cols).map(|x| rhs[(x % cols) * depth + x / cols]).collect();
    let mut results = [vec![0.0; rows * cols], vec![0.0; rows * cols]];
    products.times_transposed(&mut results[0], &to_f64(&lhs), &to_f64(&rhs), shape);
    products.times(&mut results[1], &to_f64(&lhs), &to_f64(&transposed), shape);

    let is_exact = 2 * bits + usize::BITS - depth.leading_zeros() <= f64::MANTISSA_DIGITS;
    let roundings = if is_exact { 0 } else { depth.max(times_depth(depth)) };
    for (x, (got_transposed, got)) in results[0].iter().zip(&results[1]).enumerate() {
        let (i, j) = (x / cols, x % cols);
        let terms = || (0..depth).map(|t| i128::from(lhs[i * depth + t]) * i128::from(rhs[j * depth + t]));
        let exact: i128 = terms().sum();
        let abs_sum: i128 = terms().map(i128::abs).sum();
        let bound = gamma(roundings, U) * abs_sum as f64 * (1.0 + 4.0 * U);
        for result in [got_transposed, got] {
            // Every partial sum of integers is an integer, so the conversion is exact.
            let error = (*result as i128 - exact).unsigned_abs() as f64;
            if !result.is_finite() || error > bound {
                return Err(SelfTestError::Product { depth, bound, got: error });
            }
        }
    }
    Ok(())
}

/// An integer of at most `bits` bits and either sign (splitmix64).
fn integer(state: &mut u64, bits: u32) -> i64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut x = *state;
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^= x >> 31;
    (x as i64) >> (63 - bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_passes() {
        assert_eq!(self_test(), Ok(()));
    }

    #[test]
    fn integers_have_the_asked_size() {
        let mut state = 1;
        let largest = (0..200).map(|_| integer(&mut state, 20).unsigned_abs()).max().unwrap();
        assert!((1 << 19..=1 << 20).contains(&largest));
    }
}
