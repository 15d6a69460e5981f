//! From queries and keys to exponentials, a tile of rows and keys at a time: the scores never leave the registers.

use pulp::Simd;

use super::group::{Group, VECTORS, Windows};
use crate::exp::exp_vectors;

/// Keys whose exponentials are summed up before they join the sum of their block.
pub(super) const RUN: usize = 16;

/// How many [`Facts`] there are; which is which follows.
pub(super) const FACTS: usize = 4;
pub(super) const SUM: usize = 0;
pub(super) const SQUARE_SUM: usize = 1;
pub(super) const LARGEST: usize = 2;
pub(super) const SMALLEST: usize = 3;

/// What is known of the logits of the rows of a group, over the keys seen so far.
pub(super) struct Facts<'a, S: Simd>(pub(super) &'a mut [Group<S>; FACTS]);

impl<S: Simd> Facts<'_, S> {
    /// No key yet.
    #[inline(always)]
    pub(super) fn clear(self, simd: S) {
        self.0[SUM] = [simd.splat_f64s(0.0); VECTORS];
        self.0[SQUARE_SUM] = [simd.splat_f64s(0.0); VECTORS];
        self.0[LARGEST] = [simd.splat_f64s(f64::NEG_INFINITY); VECTORS];
        self.0[SMALLEST] = [simd.splat_f64s(f64::INFINITY); VECTORS];
    }
}

/// Dot products of the rows of a group with some keys that lie side by side.
pub(super) struct Scores<'a, S: Simd> {
    /// `(d_k)`.
    pub(super) query: &'a [Group<S>],
    /// `(keys, d_k)`.
    pub(super) key: &'a [f64],
    pub(super) first_key: usize,
    pub(super) scale: S::f64s,
    pub(super) windows: &'a Windows<S>,
}

impl<S: Simd> Scores<'_, S> {
    /// Writes `exp1(fl(scale · q·k))`, or 0 where the row does not see the key, `N` keys at a time, and takes all in.
    ///
    /// The logits must be within the interval of [`exp1`](crate::exp::exp1).
    ///
    /// # Shapes
    /// `tile: (keys)`.
    ///
    /// # Error bound
    /// A dot product is `d_k` fused operations from 0 on. The sum of the exponentials: [`RUN`] keys, the runs of the tile, the
    /// tiles, each one after the other.
    #[inline(always)]
    pub(super) fn weigh<const N: usize, const WITH_LARGEST: bool, const WITH_ALL: bool>(
        &self,
        simd: S,
        tile: &mut [Group<S>],
        facts: Facts<'_, S>,
    ) {
        let mut taken =
            Taken { facts: *facts.0, run: [simd.splat_f64s(0.0); VECTORS], block: [simd.splat_f64s(0.0); VECTORS] };
        let (several, single) = tile.as_chunks_mut::<N>();
        let mut k = 0;
        for exponentials in several {
            self.step::<N, WITH_LARGEST, WITH_ALL>(simd, k, exponentials, &mut taken);
            k += N;
        }
        for exponentials in single {
            self.step::<1, WITH_LARGEST, WITH_ALL>(simd, k, std::array::from_mut(exponentials), &mut taken);
            k += 1;
        }
        taken.end_run(simd);
        let Taken { facts: mut all, block, .. } = taken;
        for m in 0..VECTORS {
            let sum = &mut all[SUM][m];
            *sum = simd.add_f64s(*sum, block[m]);
        }
        *facts.0 = all;
    }

    #[inline(always)]
    fn step<const N: usize, const WITH_LARGEST: bool, const WITH_ALL: bool>(
        &self,
        simd: S,
        k: usize,
        exponentials: &mut [Group<S>; N],
        taken: &mut Taken<S>,
    ) {
        let first = self.first_key + k;
        let dots = self.dots::<N>(simd, k);
        if self.windows.sees_all(first, N) {
            self.settle::<N, WITH_LARGEST, WITH_ALL, false>(simd, first, dots, exponentials, taken);
        } else {
            self.settle::<N, WITH_LARGEST, WITH_ALL, true>(simd, first, dots, exponentials, taken);
        }
        if (k + N).is_multiple_of(RUN) {
            taken.end_run(simd);
        }
    }

    /// Dot products with the `N` keys from `k` on.
    #[inline(always)]
    fn dots<const N: usize>(&self, simd: S, k: usize) -> [Group<S>; N] {
        let d = self.query.len();
        let keys: [&[f64]; N] = std::array::from_fn(|n| &self.key[(k + n) * d..][..d]);
        let mut dots = [[simd.splat_f64s(0.0); VECTORS]; N];
        for (t, query) in self.query.iter().enumerate() {
            for n in 0..N {
                let key = simd.splat_f64s(keys[n][t]);
                for m in 0..VECTORS {
                    dots[n][m] = simd.mul_add_f64s(query[m], key, dots[n][m]);
                }
            }
        }
        dots
    }

    /// Exponentials of a tile, two keys at a time.
    #[inline(always)]
    fn settle<const N: usize, const WITH_LARGEST: bool, const WITH_ALL: bool, const HIDES: bool>(
        &self,
        simd: S,
        first: usize,
        dots: [Group<S>; N],
        exponentials: &mut [Group<S>; N],
        taken: &mut Taken<S>,
    ) {
        for n in (0..N).step_by(2) {
            let mut x = [simd.splat_f64s(0.0); 2 * VECTORS];
            let many = (N - n).min(2);
            for p in 0..many {
                for m in 0..VECTORS {
                    x[p * VECTORS + m] = simd.mul_f64s(dots[n + p][m], self.scale);
                }
            }
            let e = exp_vectors(simd, x);
            for p in 0..many {
                let (mut logit, mut exponential) = (dots[n], dots[n]);
                for m in 0..VECTORS {
                    (logit[m], exponential[m]) = (x[p * VECTORS + m], e[p * VECTORS + m]);
                }
                let key = first + n + p;
                if HIDES {
                    exponential = self.windows.choose(simd, key, exponential, 0.0);
                }
                let low = if HIDES { self.windows.choose(simd, key, logit, f64::NEG_INFINITY) } else { logit };
                let high = if HIDES && WITH_ALL { self.windows.choose(simd, key, logit, f64::INFINITY) } else { logit };
                exponentials[n + p] = exponential;
                taken.take::<WITH_LARGEST, WITH_ALL>(simd, (low, high), exponential);
            }
        }
    }
}

/// [`Facts`] in the making, and the sums that have not joined them.
struct Taken<S: Simd> {
    facts: [Group<S>; FACTS],
    run: Group<S>,
    block: Group<S>,
}

impl<S: Simd> Taken<S> {
    /// Takes in a key: its logit for the largest, for the smallest, and its exponential.
    #[inline(always)]
    fn take<const WITH_LARGEST: bool, const WITH_ALL: bool>(
        &mut self,
        simd: S,
        (low, high): (Group<S>, Group<S>),
        exponential: Group<S>,
    ) {
        for m in 0..VECTORS {
            self.run[m] = simd.add_f64s(self.run[m], exponential[m]);
            if WITH_LARGEST {
                let largest = &mut self.facts[LARGEST][m];
                *largest = simd.max_f64s(*largest, low[m]);
            }
            if WITH_ALL {
                let smallest = &mut self.facts[SMALLEST][m];
                *smallest = simd.min_f64s(*smallest, high[m]);
                let square_sum = &mut self.facts[SQUARE_SUM][m];
                *square_sum = simd.mul_add_f64s(exponential[m], exponential[m], *square_sum);
            }
        }
    }

    #[inline(always)]
    fn end_run(&mut self, simd: S) {
        for m in 0..VECTORS {
            self.block[m] = simd.add_f64s(self.block[m], self.run[m]);
            self.run[m] = simd.splat_f64s(0.0);
        }
    }
}
