//! Products of exponentials with the sizes of values and their squares, in `f32`: they enter bounds
//! only, where three digits are enough. Derivation: `docs/bounds.md#sizes`.

use std::ops::Range;

use pulp::{Simd, bytemuck};

use super::group::{Aligned, Group, groups, groups_mut};
use super::{BLOCK, products};
use crate::exp::{MAGIC, times_power};
use crate::format::pow2;

/// Exponentials are scaled so that the largest of their row so far is within `√2` of this power of
/// two: squares stay below the end of the range of `f32`, and what underflows is `2^−176` of it.
const TOP: i32 = 50;

/// What underflow does to a sum of products, divided by the row sum, is at most this for each key,
/// in units of `2^e`, `e` the square exponent of the values; four times this for their squares.
pub(in crate::enclosure) const UNDERFLOW: f64 = f32::MIN_POSITIVE as f64 / (1u64 << 44) as f64;

/// The scaled exponentials of one block of keys, of all groups that are one of `f32`.
#[derive(Default)]
pub(super) struct Small {
    /// `(BLOCK, lanes)`.
    exponentials: Aligned<f32>,
    /// By group: `2^−k`, then `2^k`, and its square.
    scales: Aligned<f64>,
    /// Sums of some columns, `(N, lanes)`.
    sums: Aligned<f32>,
}

/// How many scales there are; which is which follows.
const SCALES: usize = 3;
const DOWN: usize = 0;
const UP: usize = 1;

impl Small {
    /// Room for groups of `V` vectors of `S`.
    pub(super) fn fit<S: Simd, const V: usize>(&mut self, n: usize) {
        let lanes = V * S::F32_LANES;
        self.exponentials.fit(BLOCK * lanes);
        self.scales.fit(SCALES * lanes);
        self.sums.fit(n * lanes);
    }

    /// Takes the exponentials of group `at` for some of the keys, 0 for the others.
    ///
    /// # Shapes
    /// `exponentials: (keys, lanes)`, `largest` dot products so far.
    #[inline(always)]
    pub(super) fn take<S: Simd, const V: usize>(
        &mut self,
        simd: S,
        at: usize,
        (all, keys): (Range<usize>, Range<usize>),
        exponentials: &[f64],
        (largest, factor): (Group<f64, S, V>, S::f64s),
    ) {
        let lanes = V * S::F64_LANES;
        let scales = groups_mut::<f64, S, V>(self.scales.get_mut());
        let scales = &mut scales[at * SCALES..][..SCALES];
        for m in 0..V {
            // A row that has seen no key has no largest.
            let logit = simd.mul_f64s(largest[m], factor);
            let logit = simd.max_f64s(logit, simd.splat_f64s(-200.0));
            let k = simd.add_f64s(logit, simd.splat_f64s(MAGIC));
            // Exact: MAGIC − k.
            let less = simd.sub_f64s(simd.splat_f64s(2.0 * MAGIC), k);
            let up = times_power(simd, simd.splat_f64s(pow2(-TOP)), k);
            scales[DOWN][m] = times_power(simd, simd.splat_f64s(pow2(TOP)), less);
            scales[UP][m] = up;
            scales[UP + 1][m] = simd.mul_f64s(up, up);
        }
        let down = scales[DOWN];
        let exponentials = groups::<f64, S, V>(exponentials);
        let width = V * S::F32_LANES;
        let rows = &mut self.exponentials.get_mut()[all.start * width..all.end * width];
        for (k, row) in all.zip(rows.chunks_exact_mut(width)) {
            let row = &mut row[at * lanes..][..lanes];
            if keys.contains(&k) {
                let exponentials = &exponentials[k - keys.start];
                for (m, row) in row.chunks_exact_mut(S::F64_LANES).enumerate() {
                    let wide = simd.mul_f64s(exponentials[m], down[m]);
                    let wide = bytemuck::cast_slice::<S::f64s, f64>(std::slice::from_ref(&wide));
                    row.iter_mut().zip(wide).for_each(|(small, x)| *small = *x as f32);
                }
            } else {
                row.fill(0.0);
            }
        }
    }

    /// Adds the products with a block of keys, of which `keys` are seen.
    ///
    /// # Shapes
    /// `panel: (2·columns, BLOCK, N)`, sums of each kind `(groups, columns, N, lanes)`.
    ///
    /// # Error bound
    /// [`SMALL_DEPTH`](super::SMALL_DEPTH) roundings of `f32`, beside those of the exponential and
    /// of the panel, and one of `f64`.
    #[inline(always)]
    pub(super) fn add_products<S: Simd, const V: usize, const N: usize>(
        &mut self,
        simd: S,
        (keys, panel): (Range<usize>, &[f32]),
        (at, columns): (Range<usize>, usize),
        sums: &mut [Aligned<f64>; 3],
    ) {
        let panel = panel.as_chunks::<N>().0;
        for (kind, sums) in sums.iter_mut().enumerate() {
            if kind == 2 {
                let rows = groups_mut::<f32, S, V>(self.exponentials.get_mut());
                for row in &mut rows[keys.clone()] {
                    for e in row {
                        *e = simd.mul_f32s(*e, *e);
                    }
                }
            }
            for c in 0..columns {
                let panel = &panel[(kind.min(1) * columns + c) * BLOCK..][keys.clone()];
                let rows = &groups::<f32, S, V>(self.exponentials.get())[keys.clone()];
                let of_columns = groups_mut::<f32, S, V>(self.sums.get_mut());
                of_columns.as_chunks_mut::<N>().0[0] =
                    products::in_chains::<f32, S, V, N>(simd, rows, panel);
                self.bring_back::<S, V, N>(simd, &at, UP + kind / 2, (c, columns), sums.get_mut());
            }
        }
    }

    /// Adds sums of `f32` to those of `f64`, without their scale.
    #[inline(always)]
    fn bring_back<S: Simd, const V: usize, const N: usize>(
        &self,
        simd: S,
        groups_at: &Range<usize>,
        scale: usize,
        (c, columns): (usize, usize),
        sums: &mut [f64],
    ) {
        let (lanes, scales) =
            (V * S::F64_LANES, groups::<f64, S, V>(self.scales.get()).as_chunks::<SCALES>().0);
        for (at, g) in groups_at.clone().enumerate() {
            let up = &scales[at][scale];
            let sums = &mut sums[(g * columns + c) * N * lanes..][..N * lanes];
            for (n, sums) in groups_mut::<f64, S, V>(sums).iter_mut().enumerate() {
                let small = &self.sums.get()[n * V * S::F32_LANES + at * lanes..][..lanes];
                for (m, small) in small.chunks_exact(S::F64_LANES).enumerate() {
                    let mut wide = up[m];
                    let numbers = std::slice::from_mut(&mut wide);
                    let numbers = bytemuck::cast_slice_mut::<S::f64s, f64>(numbers);
                    numbers.iter_mut().zip(small).for_each(|(x, small)| *x *= f64::from(*small));
                    sums[m] = simd.add_f64s(sums[m], wide);
                }
            }
        }
    }
}
