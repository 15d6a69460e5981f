//! Start-up checks of what the proofs assume about the machine and about faer.
//!
//! A failed check means that no verdict may be given; a passed one is evidence, not proof, for the
//! assumptions of `docs/bounds.md#dot`.

use std::hint::black_box;

use thiserror::Error;

use crate::exp::{U, exp1};
use crate::gemm::{Products, gamma, times_depth};

/// An assumption of the proofs does not hold here.
#[derive(Clone, Copy, Debug, Error, PartialEq)]
pub enum SelfTestError {
    /// The rounding mode of the thread was changed, or the processor computes in a wider format.
    #[error(
        "round to nearest at 1 + 2^-53: expected 1 and a larger 1 + 3·2^-54, got another rounding"
    )]
    Rounding,
    /// Numbers below 2^−1022 are flushed to zero, or read as zero: another program may have asked
    /// the processor to.
    #[error(
        "{operation}: expected {expected:e}, got {got:e}, subnormal numbers are flushed to zero; torch.set_flush_denormal(True) or a library built with -ffast-math asks for that"
    )]
    Subnormals {
        /// What was computed.
        operation: &'static str,
        /// The result, a number of `f64`.
        expected: f64,
        /// What came back.
        got: f64,
    },
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

/// Whether this thread rounds to nearest and keeps subnormal numbers, now; takes nanoseconds.
pub fn rounds_conventionally() -> bool {
    check_rounding(|a, b| black_box(a) + black_box(b)).is_ok()
        && check_subnormals(|a, b| black_box(a) * black_box(b)).is_ok()
}

/// Checks rounding, subnormal numbers, exponential and matrix products; takes a few milliseconds.
///
/// # Errors
/// [`SelfTestError`] for the first assumption that does not hold.
pub fn self_test() -> Result<(), SelfTestError> {
    check_rounding(|a, b| black_box(a) + black_box(b))?;
    check_subnormals(|a, b| black_box(a) * black_box(b))?;
    check_exponential(|x| exp1(black_box(x)))?;
    // Small integers are exact in any order; 50-bit integers are not, and must stay within γ.
    for (bits, shape) in [
        (20, (5, 300, 7)),
        (50, (3, 1, 2)),
        (50, (9, 65, 8)),
        (50, (17, 300, 19)),
        (50, (64, 40, 64)),
    ] {
        for products in Products::ALL {
            check_products(
                |results, factors| multiply(products, results, factors, shape),
                bits,
                shape,
            )?;
        }
    }
    Ok(())
}

#[expect(clippy::float_cmp, reason = "the probes are exact")]
fn check_rounding(add: impl Fn(f64, f64) -> f64) -> Result<(), SelfTestError> {
    // Half a spacing is a tie and goes to the even 1, from both sides; a little more is rounded
    // away from it.
    let rounds = add(1.0, U) == 1.0 && add(-1.0, -U) == -1.0;
    let is_nearest = add(1.0, 1.5 * U) == 1.0 + 2.0 * U && add(-1.0, -1.5 * U) == -1.0 - 2.0 * U;
    if rounds && is_nearest { Ok(()) } else { Err(SelfTestError::Rounding) }
}

fn check_subnormals(multiply: impl Fn(f64, f64) -> f64) -> Result<(), SelfTestError> {
    let smallest = f64::from_bits(1);
    let probes = [
        ("half of the smallest normal number", f64::MIN_POSITIVE, 0.5, f64::MIN_POSITIVE / 2.0),
        ("the smallest number times 2^52", smallest, 1.0 / f64::EPSILON, f64::MIN_POSITIVE),
    ];
    for (operation, a, b, expected) in probes {
        let got = multiply(a, b);
        if got.to_bits() != expected.to_bits() {
            return Err(SelfTestError::Subnormals { operation, expected, got });
        }
    }
    Ok(())
}

#[expect(clippy::float_cmp, reason = "the probes are exact")]
fn check_exponential(exp: impl Fn(f64) -> f64) -> Result<(), SelfTestError> {
    let got = exp(0.0);
    if got == 1.0 { Ok(()) } else { Err(SelfTestError::Exponential { got }) }
}

/// Factors of a product: `lhs`, `rhs` by columns for [`Products::times_transposed`], and by rows
/// for [`Products::times`].
type Factors<'a> = [&'a [f64]; 3];

/// Both products.
fn multiply(
    products: Products,
    results: &mut [Vec<f64>; 2],
    factors: Factors<'_>,
    shape: (usize, usize, usize),
) {
    let [lhs, columns, rows] = factors;
    let [transposed, straight] = results;
    products.times_transposed(transposed, lhs, columns, shape);
    products.times(straight, lhs, rows, shape);
}

/// Compares products of integer matrices with exact integer arithmetic.
fn check_products(
    multiply: impl Fn(&mut [Vec<f64>; 2], Factors<'_>),
    bits: u32,
    shape: (usize, usize, usize),
) -> Result<(), SelfTestError> {
    let (rows, depth, cols) = shape;
    let mut state = u64::from(bits) << 32 | (rows * depth * cols) as u64;
    let lhs: Vec<i64> = (0..rows * depth).map(|_| integer(&mut state, bits)).collect();
    let rhs: Vec<i64> = (0..cols * depth).map(|_| integer(&mut state, bits)).collect();
    let to_f64 = |xs: &[i64]| -> Vec<f64> { xs.iter().map(|x| *x as f64).collect() };
    let transposed: Vec<i64> =
        (0..depth * cols).map(|x| rhs[(x % cols) * depth + x / cols]).collect();
    let mut results = [vec![0.0; rows * cols], vec![0.0; rows * cols]];
    multiply(&mut results, [&to_f64(&lhs), &to_f64(&rhs), &to_f64(&transposed)]);

    let is_exact = 2 * bits + usize::BITS - depth.leading_zeros() <= f64::MANTISSA_DIGITS;
    let roundings = if is_exact { 0 } else { depth.max(times_depth(depth)) };
    for (x, (got_transposed, got)) in results[0].iter().zip(&results[1]).enumerate() {
        let (i, j) = (x / cols, x % cols);
        let terms =
            || (0..depth).map(|t| i128::from(lhs[i * depth + t]) * i128::from(rhs[j * depth + t]));
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

    /// What a sum of two numbers, the larger first, loses in rounding is itself a number: its sign
    /// tells the direction.
    #[test]
    fn other_roundings_are_noticed() {
        let rest = |a: f64, b: f64| b - ((a + b) - a);
        let upward = |a: f64, b: f64| if rest(a, b) > 0.0 { (a + b).next_up() } else { a + b };
        let downward = |a: f64, b: f64| if rest(a, b) < 0.0 { (a + b).next_down() } else { a + b };
        let to_zero = |a: f64, b: f64| if a > 0.0 { downward(a, b) } else { upward(a, b) };
        assert_eq!(check_rounding(upward), Err(SelfTestError::Rounding));
        assert_eq!(check_rounding(downward), Err(SelfTestError::Rounding));
        assert_eq!(check_rounding(to_zero), Err(SelfTestError::Rounding));
        assert_eq!(check_rounding(|a, b| a + b), Ok(()));
    }

    #[test]
    fn flushed_results_and_flushed_inputs_are_told_apart() {
        let flush = |x: f64| if x.abs() < f64::MIN_POSITIVE { 0.0 } else { x };
        let operation = |result: Result<(), SelfTestError>| match result {
            Err(SelfTestError::Subnormals { operation, got: 0.0, .. }) => operation,
            other => panic!("{other:?}"),
        };
        assert!(operation(check_subnormals(|a, b| flush(a * b))).starts_with("half"));
        assert!(operation(check_subnormals(|a, b| flush(a) * b)).starts_with("the smallest"));
    }

    #[test]
    fn an_exponential_that_misses_1_is_noticed() {
        let got = 1.0f64.next_down();
        assert_eq!(check_exponential(|_| got), Err(SelfTestError::Exponential { got }));
    }

    /// A narrower format, a lost term and a detour through larger numbers, as fast products of
    /// matrices take.
    #[test]
    fn products_that_are_not_conventional_are_noticed() {
        let shape = (9, 65, 8);
        let check = |spoil: &dyn Fn(&mut f64, Factors<'_>)| {
            let spoiled = |results: &mut [Vec<f64>; 2], factors: Factors<'_>| {
                multiply(Products::FixedOrder, results, factors, shape);
                results[1].iter_mut().for_each(|x| spoil(x, factors));
            };
            check_products(spoiled, 50, shape)
        };
        assert_eq!(check(&|_, _| {}), Ok(()));
        for (name, result) in [
            ("narrow", check(&|x, _| *x = f64::from(*x as f32))),
            ("lost term", check(&|x, [lhs, columns, _]| *x -= lhs[0] * columns[0])),
            ("detour", check(&|x, [lhs, ..]| *x = (*x + 1e20 * lhs[0]) - 1e20 * lhs[0])),
        ] {
            assert!(
                matches!(result, Err(SelfTestError::Product { depth: 65, .. })),
                "{name}: {result:?}"
            );
        }
    }

    #[test]
    fn integers_have_the_asked_size() {
        let mut state = 1;
        let largest = (0..200).map(|_| integer(&mut state, 20).unsigned_abs()).max().unwrap();
        assert!((1 << 19..=1 << 20).contains(&largest));
    }
}
