//! Exponentials of a block of scores in one pass, for rows whose logits need no shift. Derivation: `docs/bounds.md#streaming`.

use std::ops::Range;

use pulp::{Simd, WithSimd};

use super::{LANES, exp_lanes};

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

    /// Takes in the first `n` lanes.
    #[inline(always)]
    #[expect(clippy::needless_range_loop, reason = "several arrays in step")]
    fn step<const LARGEST: bool, const ALL: bool>(&mut self, x: &[f64; LANES], e: &[f64; LANES], n: usize) {
        for lane in 0..n {
            self.sum[lane] += e[lane];
        }
        if LARGEST {
            for lane in 0..n {
                self.largest[lane] = if x[lane] > self.largest[lane] { x[lane] } else { self.largest[lane] };
            }
        }
        if ALL {
            for lane in 0..n {
                self.square_sum[lane] += e[lane] * e[lane];
                self.smallest[lane] = if x[lane] < self.smallest[lane] { x[lane] } else { self.smallest[lane] };
            }
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
    fn with_simd<S: Simd>(self, _simd: S) {
        match self.track {
            Track::Sum => self.rows::<false, false>(),
            Track::Largest => self.rows::<true, false>(),
            Track::All => self.rows::<true, true>(),
        }
    }
}

impl BlockPass<'_> {
    #[inline(always)]
    fn rows<const LARGEST: bool, const ALL: bool>(self) {
        let rows = self.scores.chunks_exact_mut(self.keys).zip(self.windows).zip(self.lanes);
        for ((row, window), lanes) in rows {
            let end = window.end.saturating_sub(self.first_key).min(self.keys);
            let start = window.start.saturating_sub(self.first_key).min(end);
            row[..start].fill(0.0);
            row[end..].fill(0.0);
            let seen = &mut row[start..end];
            let mut sums = *lanes;
            let (chunks, rest) = seen.as_chunks_mut::<LANES>();
            for chunk in chunks {
                let x = chunk.map(|s| s * self.scale);
                *chunk = exp_lanes(x);
                sums.step::<LARGEST, ALL>(&x, chunk, LANES);
            }
            if !rest.is_empty() {
                let mut x = [0.0; LANES];
                x[..rest.len()].copy_from_slice(rest);
                let x = x.map(|s| s * self.scale);
                let e = exp_lanes(x);
                rest.copy_from_slice(&e[..rest.len()]);
                sums.step::<LARGEST, ALL>(&x, &e, rest.len());
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
