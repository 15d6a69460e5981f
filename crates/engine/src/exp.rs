//! The exponential of the certified path: the same bits on every machine, with a proved error.
//!
//! The proof is a computation with directed rounding at 300 bits (`tests/numerics_exp.rs`); the
//! argument is in `docs/bounds.md#exp`.

mod product;

use std::f64::consts::LOG2_E;

use pulp::{Arch, Scalar, Simd, WithSimd, bytemuck};

pub(crate) use product::exp_product_vectors;
pub use product::{COEFFICIENTS_BASE_2, FACTOR_ERROR, base_2_factor, exp_product};

/// Unit roundoff of `f64`.
pub(crate) const U: f64 = f64::EPSILON / 2.0;

/// Proved relative error of [`exp1`]: `|exp1(x)/e^x − 1| ≤ 4u` for `x` in `[CUTOFF, −CUTOFF]`.
pub const EXP_ERROR: f64 = 4.0 * U;

/// Below this argument a weight is dropped: `e^−600 < 2.7e-261`.
pub const CUTOFF: f64 = -600.0;

/// `ln 2` cut to 33 bits: its product with any `k`, `|k| < 2^20`, is exact.
pub const LN2_HIGH: f64 = f64::from_bits(0x3fe6_2e42_fee0_0000);
/// `ln 2 − LN2_HIGH`, rounded.
pub const LN2_LOW: f64 = f64::from_bits(0x3dea_39ef_3579_3c76);
/// `1.5 · 2^52`: adding it rounds to an integer, which is then in the low bits.
pub const MAGIC: f64 = 6_755_399_441_055_744.0;

/// Taylor coefficients `1/13!, 1/12!, …, 1/1!, 1/0!`, each correctly rounded (by the division).
pub const COEFFICIENTS: [f64; 14] = [
    1.0 / 6_227_020_800.0,
    1.0 / 479_001_600.0,
    1.0 / 39_916_800.0,
    1.0 / 3_628_800.0,
    1.0 / 362_880.0,
    1.0 / 40_320.0,
    1.0 / 5_040.0,
    1.0 / 720.0,
    1.0 / 120.0,
    1.0 / 24.0,
    1.0 / 6.0,
    1.0 / 2.0,
    1.0,
    1.0,
];

/// `e^x` for `x` in `[CUTOFF, −CUTOFF]`; `exp1(0) = 1` exactly.
///
/// # Error bound
/// Relative error at most [`EXP_ERROR`], in rounding to nearest. Outside of the interval: no bound
/// claimed. Derivation: docs/bounds.md#exp.
pub fn exp1(x: f64) -> f64 {
    exp_vectors(Scalar::new(), [x])[0]
}

/// [`exp1`] of each number: one loop for each operation, so that operations that depend on each
/// other are apart.
#[inline(always)]
pub(crate) fn exp_vectors<S: Simd, const N: usize>(simd: S, x: [S::f64s; N]) -> [S::f64s; N] {
    // Loops, not `map`: what a closure calls is not compiled for the vectors of `S`.
    let (mut shifted, mut r) = (x, x);
    for n in 0..N {
        shifted[n] = simd.mul_add_f64s(x[n], simd.splat_f64s(LOG2_E), simd.splat_f64s(MAGIC));
    }
    for n in 0..N {
        let k = simd.sub_f64s(shifted[n], simd.splat_f64s(MAGIC));
        r[n] = simd.negate_mul_add_f64s(k, simd.splat_f64s(LN2_HIGH), r[n]);
        r[n] = simd.negate_mul_add_f64s(k, simd.splat_f64s(LN2_LOW), r[n]);
    }
    let mut p = [simd.splat_f64s(COEFFICIENTS[0]); N];
    for c in &COEFFICIENTS[1..] {
        for n in 0..N {
            p[n] = simd.mul_add_f64s(p[n], r[n], simd.splat_f64s(*c));
        }
    }
    for n in 0..N {
        p[n] = times_power(simd, p[n], shifted[n]);
    }
    p
}

/// `p · 2^k` for `shifted = MAGIC + k`.
///
/// `p` is near 1 and `|k| < 867`, so the exponent field neither borrows nor ends. The bits of
/// `MAGIC` that the shift leaves are 0.
#[inline(always)]
pub(crate) fn times_power<S: Simd>(simd: S, p: S::f64s, shifted: S::f64s) -> S::f64s {
    let mut k = simd.transmute_u64s_f64s(shifted);
    for bits in bytemuck::cast_slice_mut::<S::u64s, u64>(std::slice::from_mut(&mut k)) {
        *bits <<= 52;
    }
    simd.transmute_f64s_u64s(simd.add_u64s(simd.transmute_u64s_f64s(p), k))
}

/// What [`exp_row`] learns about a row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExpSum {
    /// Sum of the exponentials; every term passes through at most [`sum_depth`] additions.
    pub(crate) sum: f64,
    /// Sum of their squares, without error bound.
    pub(crate) approx_square_sum: f64,
    /// Smallest argument above [`CUTOFF`].
    pub(crate) lowest: f64,
    /// How many arguments are above [`CUTOFF`].
    pub(crate) kept: usize,
}

const LANES: usize = 16;

/// Additions that a term of a sum over `n` exponentials passes through at most.
pub(crate) fn sum_depth(n: usize) -> usize {
    n / LANES + 2 * LANES
}

/// Replaces each `x` by `exp1(x − shift)`, or by 0 where `x − shift ≤ CUTOFF` (also for `x = −∞`).
pub(crate) fn exp_row(row: &mut [f64], shift: f64) -> ExpSum {
    let lanes = Arch::new().dispatch(RowPass { row, shift });
    ExpSum {
        sum: lanes.sum.iter().sum(),
        approx_square_sum: lanes.square_sum.iter().sum(),
        lowest: lanes.lowest.iter().fold(0.0, |low, x| x.min(low)),
        kept: lanes.kept.iter().sum::<f64>() as usize,
    }
}

struct RowPass<'a> {
    row: &'a mut [f64],
    shift: f64,
}

impl WithSimd for RowPass<'_> {
    type Output = Lanes;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Lanes {
        let mut lanes = Lanes::new();
        let (chunks, rest) = self.row.as_chunks_mut::<LANES>();
        for chunk in chunks {
            lanes.step(simd, chunk, self.shift);
        }
        if !rest.is_empty() {
            let mut chunk = [f64::NEG_INFINITY; LANES];
            chunk[..rest.len()].copy_from_slice(rest);
            lanes.step(simd, &mut chunk, self.shift);
            rest.copy_from_slice(&chunk[..rest.len()]);
        }
        lanes
    }
}

/// Independent accumulators, so that the loop over a chunk becomes vector instructions.
struct Lanes {
    sum: [f64; LANES],
    square_sum: [f64; LANES],
    lowest: [f64; LANES],
    kept: [f64; LANES],
}

impl Lanes {
    fn new() -> Self {
        Self {
            sum: [0.0; LANES],
            square_sum: [0.0; LANES],
            lowest: [0.0; LANES],
            kept: [0.0; LANES],
        }
    }

    #[inline(always)]
    #[expect(clippy::needless_range_loop, reason = "several arrays in step")]
    fn step<S: Simd>(&mut self, simd: S, chunk: &mut [f64; LANES], shift: f64) {
        let x = chunk.map(|z| z - shift);
        let mut e = x.map(|x| if x > CUTOFF { x } else { CUTOFF });
        let (pairs, _) = S::as_mut_simd_f64s(&mut e).0.as_chunks_mut::<2>();
        for pair in pairs {
            *pair = exp_vectors(simd, *pair);
        }
        for lane in 0..LANES {
            let is_kept = x[lane] > CUTOFF;
            chunk[lane] = if is_kept { e[lane] } else { 0.0 };
            let lowest = if is_kept { x[lane] } else { 0.0 };
            self.lowest[lane] = if lowest < self.lowest[lane] { lowest } else { self.lowest[lane] };
            self.kept[lane] += if is_kept { 1.0 } else { 0.0 };
        }
        for lane in 0..LANES {
            self.sum[lane] += chunk[lane];
            self.square_sum[lane] += chunk[lane] * chunk[lane];
        }
    }
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "these results are exact by construction")]
mod tests {
    use super::*;

    #[test]
    fn one_at_zero_and_halves_at_multiples_of_ln_2() {
        assert_eq!(exp1(0.0), 1.0);
        assert_eq!(exp1(-0.0), 1.0);
        assert!((exp1(-std::f64::consts::LN_2) - 0.5).abs() <= 4.0 * U);
    }

    #[test]
    fn a_row_drops_what_is_far_below_and_counts_what_it_keeps() {
        for n in [0, 1, 15, 16, 17, 40] {
            let mut row: Vec<f64> = (0..n).map(|j| 3.0 - 50.0 * j as f64).collect();
            let direct: Vec<f64> = row
                .iter()
                .map(|x| x - 3.0)
                .map(|x| if x > CUTOFF { exp1(x) } else { 0.0 })
                .collect();
            let stats = exp_row(&mut row, 3.0);
            assert_eq!(row, direct);
            assert_eq!(stats.kept, n.min(12));
            assert_eq!(stats.lowest, -50.0 * n.min(12).saturating_sub(1) as f64);
            assert!((stats.sum - direct.iter().sum::<f64>()).abs() <= 2.0 * U * stats.sum);
        }
    }
}
