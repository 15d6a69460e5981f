//! The hyperbolic tangent of the certified path, with a proved relative error.
//!
//! The proof is a computation with directed rounding (`tests/numerics_tanh.rs`); the argument is in
//! `docs/bounds.md#tanh`.

use std::f64::consts::LOG2_E;

use crate::exp::{COEFFICIENTS, LN2_HIGH, LN2_LOW, MAGIC, U};

/// Proved relative error of [`tanh1`]: `|tanh1(x)/tanh x − 1| ≤ 9u` where `|x| ≥ 2^−1000` or
/// `x = 0`.
pub const TANH_ERROR: f64 = 9.0 * U;

/// From here on the tangent counts as that of this argument, `1 − 8.5e-18`.
pub const SATURATION: f64 = 20.0;

/// `tanh x` for any `x` that is not NaN: odd, `tanh1(0) = 0`, never beyond ±1.
///
/// # Error bound
/// Relative error at most [`TANH_ERROR`] for `|x| ≥ 2^−1000`, in rounding to nearest. Derivation:
/// docs/bounds.md#tanh.
pub fn tanh1(x: f64) -> f64 {
    tanh_lanes([x])[0]
}

/// [`tanh1`] of each number: one loop for each operation, so that each becomes vector instructions.
#[inline(always)]
fn tanh_lanes<const N: usize>(x: [f64; N]) -> [f64; N] {
    // −2|x|, exactly.
    let doubled = x.map(|x| if x.abs() < SATURATION { -2.0 * x.abs() } else { -2.0 * SATURATION });
    let shifted = doubled.map(|x| x * LOG2_E + MAGIC);
    let mut r = doubled;
    for (r, shifted) in r.iter_mut().zip(&shifted) {
        let k = shifted - MAGIC;
        *r = (*r - k * LN2_HIGH) - k * LN2_LOW;
    }
    // (e^r − 1)/r, so that nothing cancels near 0.
    let mut p = [COEFFICIENTS[0]; N];
    for c in &COEFFICIENTS[1..13] {
        for (p, r) in p.iter_mut().zip(&r) {
            *p = *p * *r + c;
        }
    }
    // m = e^(−2|x|) − 1 = 2^k (e^r − 1) + (2^k − 1), then tanh |x| = −m/(2 + m).
    let mut result = [0.0; N];
    for lane in 0..N {
        let k = shifted[lane].to_bits().wrapping_sub(MAGIC.to_bits());
        let power = f64::from_bits(1.0f64.to_bits().wrapping_add(k << 52));
        let m = power * (r[lane] * p[lane]) + (power - 1.0);
        result[lane] = (-m / (2.0 + m)).copysign(x[lane]);
    }
    result
}

/// Replaces each number by its [`tanh1`].
pub(crate) fn tanh_row(row: &mut [f64]) {
    const LANES: usize = 8;
    let (chunks, rest) = row.as_chunks_mut::<LANES>();
    for chunk in chunks {
        *chunk = tanh_lanes(*chunk);
    }
    for x in rest {
        *x = tanh1(*x);
    }
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "these results are exact by construction")]
mod tests {
    use super::*;

    #[test]
    fn odd_and_bounded() {
        assert_eq!(tanh1(0.0).to_bits(), 0.0f64.to_bits());
        assert_eq!(tanh1(-0.0).to_bits(), (-0.0f64).to_bits());
        for x in [1e-300, 1e-9, 0.17, 0.3, 1.0, 7.0, 19.9, 20.0, 1e300, f64::INFINITY] {
            assert_eq!(tanh1(x), -tanh1(-x));
            assert!(tanh1(x) > 0.0 && tanh1(x) <= 1.0, "{x}");
        }
    }

    #[test]
    fn a_row_is_the_function_of_each_number() {
        for n in [0, 1, 7, 8, 9, 40] {
            let xs: Vec<f64> = (0..n).map(|j| 0.3 * f64::from(j) - 4.0).collect();
            let mut row = xs.clone();
            tanh_row(&mut row);
            assert_eq!(row, xs.iter().map(|x| tanh1(*x)).collect::<Vec<_>>());
        }
    }
}
