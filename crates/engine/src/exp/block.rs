//! Exponentials of a block of scores in one pass, for rows whose logits need no shift. Derivation: `docs/bounds.md#streaming`.

use std::ops::Range;

use pulp::{Simd, WithSimd};

use super::{LANES, exp_vectors};

/// Which of the [`RowLanes`] are kept up to date besides the sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Track {
    /// None.
    Sum,
    /// The largest logit.
    Largest,
    /// All.
    All,
}

/// What is known of the logits of a row, over the keys seen so far; in lanes, which are independent of each other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowLanes {
    sum: [f64; LANES],
    square_sum: [f64; LANES],
    largest: [f64; LANES],
    smallest: [f64; LANES],
}

impl RowLanes {
    /// No key yet.
    pub(crate) fn new() -> Self {
        Self {
            sum: [0.0; LANES],
            square_sum: [0.0; LANES],
            largest: [f64::NEG_INFINITY; LANES],
            smallest: [f64::INFINITY; LANES],
        }
    }

    /// Sum of the exponentials; over `n` keys every term passes through at most [`sum_depth(n)`](super::sum_depth) additions.
    pub(crate) fn sum(&self) -> f64 {
        self.sum.iter().sum()
    }

    /// Sum of their squares, without error bound.
    pub(crate) fn approx_square_sum(&self) -> f64 {
        self.square_sum.iter().sum()
    }

    /// Largest computed logit.
    pub(crate) fn largest(&self) -> f64 {
        self.largest.iter().fold(f64::NEG_INFINITY, |max, x| max.max(*x))
    }

    /// Smallest computed logit.
    pub(crate) fn smallest(&self) -> f64 {
        self.smallest.iter().fold(f64::INFINITY, |min, x| min.min(*x))
    }

    /// Takes in logits and exponentials, the first of them in lane `first`.
    #[inline(always)]
    fn take<S: Simd, const N: usize, const LARGEST: bool, const ALL: bool>(
        &mut self,
        simd: S,
        first: usize,
        x: [S::f64s; N],
        e: [S::f64s; N],
    ) {
        let lanes = |n: usize| (first / S::F64_LANES + n) % (LANES / S::F64_LANES);
        let (sum, _) = S::as_mut_simd_f64s(&mut self.sum);
        for n in 0..N {
            sum[lanes(n)] = simd.add_f64s(sum[lanes(n)], e[n]);
        }
        if LARGEST {
            let (largest, _) = S::as_mut_simd_f64s(&mut self.largest);
            for n in 0..N {
                largest[lanes(n)] = simd.max_f64s(largest[lanes(n)], x[n]);
            }
        }
        if ALL {
            let (square_sum, _) = S::as_mut_simd_f64s(&mut self.square_sum);
            let (smallest, _) = S::as_mut_simd_f64s(&mut self.smallest);
            for n in 0..N {
                square_sum[lanes(n)] = simd.mul_add_f64s(e[n], e[n], square_sum[lanes(n)]);
                smallest[lanes(n)] = simd.min_f64s(smallest[lanes(n)], x[n]);
            }
        }
    }

    /// Takes in the first `n` lanes of others, each of which has met one key.
    fn add_lanes(&mut self, one_key: &Self, n: usize) {
        for lane in 0..n {
            self.sum[lane] += one_key.sum[lane];
            self.square_sum[lane] += one_key.square_sum[lane];
            self.largest[lane] = self.largest[lane].max(one_key.largest[lane]);
            self.smallest[lane] = self.smallest[lane].min(one_key.smallest[lane]);
        }
    }

    /// Replaces dot products by exponentials, with `N` vectors at a time, and takes them in.
    #[inline(always)]
    fn step<S: Simd, const N: usize, const LARGEST: bool, const ALL: bool>(
        &mut self,
        simd: S,
        scores: &mut [f64],
        scale: S::f64s,
    ) {
        let (vectors, _) = S::as_mut_simd_f64s(scores);
        let (groups, _) = vectors.as_chunks_mut::<N>();
        for (g, group) in groups.iter_mut().enumerate() {
            let mut x = *group;
            for x in &mut x {
                *x = simd.mul_f64s(*x, scale);
            }
            *group = exp_vectors(simd, x);
            self.take::<S, N, LARGEST, ALL>(simd, g * N * S::F64_LANES, x, *group);
        }
    }
}

/// Replaces each dot product `s` of a block by `exp1(fl(scale · s))`, and by 0 outside of the window of its row.
///
/// The logits must be within the interval of [`exp1`](super::exp1).
///
/// # Shapes
/// `scores: (rows, keys)`, the keys from `first_key` on; `windows` and `lanes` have an entry for each row.
pub(crate) struct BlockPass<'a> {
    pub(crate) scores: &'a mut [f64],
    pub(crate) keys: usize,
    pub(crate) first_key: usize,
    pub(crate) scale: f64,
    pub(crate) windows: &'a [Range<usize>],
    pub(crate) lanes: &'a mut [RowLanes],
    pub(crate) track: Track,
}

impl WithSimd for BlockPass<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        match self.track {
            Track::Sum => self.rows::<S, false, false>(simd),
            Track::Largest => self.rows::<S, true, false>(simd),
            Track::All => self.rows::<S, true, true>(simd),
        }
    }
}

impl BlockPass<'_> {
    #[inline(always)]
    fn rows<S: Simd, const LARGEST: bool, const ALL: bool>(self, simd: S) {
        let scale = simd.splat_f64s(self.scale);
        let rows = self.scores.chunks_exact_mut(self.keys).zip(self.windows).zip(self.lanes);
        for ((row, window), lanes) in rows {
            let end = window.end.saturating_sub(self.first_key).min(self.keys);
            let start = window.start.saturating_sub(self.first_key).min(end);
            row[..start].fill(0.0);
            row[end..].fill(0.0);
            let seen = &mut row[start..end];
            let mut sums = *lanes;
            let (chunks, rest) = seen.as_chunks_mut::<{ 2 * LANES }>();
            for chunk in chunks {
                sums.step::<S, 4, LARGEST, ALL>(simd, chunk, scale);
            }
            let (chunks, rest) = rest.as_chunks_mut::<LANES>();
            for chunk in chunks {
                sums.step::<S, 2, LARGEST, ALL>(simd, chunk, scale);
            }
            if !rest.is_empty() {
                let (mut last, mut sums_of_last) = ([0.0; LANES], RowLanes::new());
                last[..rest.len()].copy_from_slice(rest);
                sums_of_last.step::<S, 2, LARGEST, ALL>(simd, &mut last, scale);
                rest.copy_from_slice(&last[..rest.len()]);
                sums.add_lanes(&sums_of_last, rest.len());
            }
            *lanes = sums;
        }
    }
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "the same operations in another arrangement")]
mod tests {
    use pulp::Arch;

    use super::*;
    use crate::exp::{U, exp1};

    /// Against one element after the other, over blocks of all widths around the lanes, and windows that end inside of them.
    #[test]
    fn blocks_of_scores_become_exponentials_in_the_window_of_each_row() {
        for (keys, track) in
            [(1, Track::All), (15, Track::Largest), (16, Track::All), (17, Track::Sum), (40, Track::All)]
        {
            let (first_key, scale) = (5, -0.37);
            let windows = [0..0, 0..3, 4..6, 0..5 + keys / 2, 6..5 + keys, 5 + keys / 2..1000, 0..1000, 900..1000];
            let scores: Vec<f64> = (0..windows.len() * keys).map(|x| (x % 23) as f64 * 3.0 - 40.0).collect();
            let mut got = scores.clone();
            let mut lanes = [RowLanes::new(); 8];
            let pass =
                BlockPass { scores: &mut got, keys, first_key, scale, windows: &windows, lanes: &mut lanes, track };
            Arch::new().dispatch(pass);
            for (i, window) in windows.iter().enumerate() {
                let logits: Vec<Option<f64>> = (0..keys)
                    .map(|k| window.contains(&(first_key + k)).then(|| scores[i * keys + k] * scale))
                    .collect();
                let expected: Vec<f64> = logits.iter().map(|x| x.map_or(0.0, exp1)).collect();
                assert_eq!(got[i * keys..(i + 1) * keys], expected);
                let sum: f64 = expected.iter().sum();
                let square_sum: f64 = expected.iter().map(|e| e * e).sum();
                let seen = || logits.iter().flatten();
                assert!((lanes[i].sum() - sum).abs() <= 64.0 * U * sum);
                if track != Track::Sum {
                    assert_eq!(lanes[i].largest(), seen().fold(f64::NEG_INFINITY, |max, x| max.max(*x)));
                }
                if track == Track::All {
                    assert_eq!(lanes[i].smallest(), seen().fold(f64::INFINITY, |min, x| min.min(*x)));
                    assert!((lanes[i].approx_square_sum() - square_sum).abs() <= 64.0 * U * square_sum);
                }
            }
        }
    }
}
