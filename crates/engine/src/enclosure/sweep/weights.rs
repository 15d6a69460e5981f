//! From dot products to exponentials, a block of keys of one group of rows at a time.

use pulp::Simd;

use super::group::{Group, Windows};
use crate::exp::exp_product_vectors;

/// Keys whose exponentials are computed together.
pub(super) const PAIR: usize = 2;

/// Keys whose exponentials are summed up before they join the sum of their block;
/// [`CHAIN`](super::products::CHAIN) is a multiple.
const RUN: usize = 24;

/// How many [`Facts`] there are; which is which follows.
pub(super) const FACTS: usize = 5;
pub(super) const SUM: usize = 0;
pub(super) const SQUARE_SUM: usize = 1;
pub(super) const MAX_SIZE: usize = 2;
pub(super) const SMALLEST: usize = 3;
pub(super) const HEAVIEST: usize = 4;

/// What is known of the rows of a group, over the keys seen so far: sums of exponentials, and dot
/// products.
pub(super) struct Facts<'a, S: Simd, const V: usize>(pub(super) &'a mut [Group<f64, S, V>; FACTS]);

impl<S: Simd, const V: usize> Facts<'_, S, V> {
    /// No key yet.
    #[inline(always)]
    pub(super) fn clear(self, simd: S) {
        self.0[SUM] = [simd.splat_f64s(0.0); V];
        self.0[SQUARE_SUM] = [simd.splat_f64s(0.0); V];
        self.0[MAX_SIZE] = [simd.splat_f64s(f64::NEG_INFINITY); V];
        self.0[SMALLEST] = [simd.splat_f64s(f64::INFINITY); V];
        self.0[HEAVIEST] = [simd.splat_f64s(0.0); V];
    }

    /// The exponential of the largest, once all keys are seen.
    #[inline(always)]
    pub(super) fn weigh_largest(self, simd: S, factor: S::f64s) {
        self.0[HEAVIEST] = exp_product_vectors(simd, self.0[MAX_SIZE], factor);
    }
}

/// Which dot products of a group of rows become exponentials, and how.
pub(super) struct Scores<'a, S: Simd, const V: usize> {
    pub(super) first_key: usize,
    /// `|scale|·log₂e`, rounded.
    pub(super) factor: S::f64s,
    pub(super) windows: &'a Windows<S, V>,
}

impl<S: Simd, const V: usize> Scores<'_, S, V> {
    /// Replaces dot products by `exp_product(q·k, factor)`, or by 0 where the row does not see the
    /// key, and takes all in.
    ///
    /// The logits must be within the interval of [`exp_product`](crate::exp::exp_product).
    ///
    /// # Shapes
    /// `tile: (keys)`, an even number; the first is a multiple of [`RUN`].
    ///
    /// # Error bound
    /// The sum of the exponentials: [`RUN`] keys, the runs of the tile, the tiles, each one after
    /// the other.
    #[inline(always)]
    pub(super) fn weigh<const M: usize, const WITH_LARGEST: bool, const WITH_ALL: bool>(
        &self,
        simd: S,
        tile: &mut [Group<f64, S, V>],
        facts: Facts<'_, S, V>,
    ) {
        let mut taken = Taken {
            facts: *facts.0,
            run: [simd.splat_f64s(0.0); V],
            block: [simd.splat_f64s(0.0); V],
        };
        let mut first = self.first_key;
        for run in tile.chunks_mut(RUN) {
            if self.windows.sees_all(first, run.len()) {
                self.settle::<M, WITH_LARGEST, WITH_ALL, false>(simd, first, run, &mut taken);
            } else {
                self.settle::<M, WITH_LARGEST, WITH_ALL, true>(simd, first, run, &mut taken);
            }
            taken.end_run(simd);
            first += RUN;
        }
        let Taken { facts: mut all, block, .. } = taken;
        for m in 0..V {
            let sum = &mut all[SUM][m];
            *sum = simd.add_f64s(*sum, block[m]);
        }
        *facts.0 = all;
    }

    /// A run, a pair of keys at a time, which has `M = 2·V` vectors.
    #[inline(always)]
    fn settle<const M: usize, const WITH_LARGEST: bool, const WITH_ALL: bool, const HIDES: bool>(
        &self,
        simd: S,
        first: usize,
        run: &mut [Group<f64, S, V>],
        taken: &mut Taken<S, V>,
    ) {
        let mut key = first;
        for pair in run.as_chunks_mut::<PAIR>().0 {
            let mut dots = [simd.splat_f64s(0.0); M];
            for m in 0..M {
                dots[m] = pair[m / V][m % V];
            }
            let e = exp_product_vectors(simd, dots, self.factor);
            for p in 0..PAIR {
                let mut exponential = pair[p];
                for m in 0..V {
                    exponential[m] = e[p * V + m];
                }
                pair[p] = self.take::<WITH_LARGEST, WITH_ALL, HIDES>(
                    simd,
                    key,
                    (pair[p], exponential),
                    taken,
                );
                key += 1;
            }
        }
    }

    /// Takes in what is known of a key; its exponential, or 0 where it is hidden.
    #[inline(always)]
    fn take<const WITH_LARGEST: bool, const WITH_ALL: bool, const HIDES: bool>(
        &self,
        simd: S,
        key: usize,
        (dot, mut exponential): (Group<f64, S, V>, Group<f64, S, V>),
        taken: &mut Taken<S, V>,
    ) -> Group<f64, S, V> {
        if HIDES {
            exponential = self.windows.choose(simd, key, exponential, 0.0);
        }
        let low = if HIDES { self.windows.choose(simd, key, dot, f64::NEG_INFINITY) } else { dot };
        let high = if HIDES && WITH_ALL {
            self.windows.choose(simd, key, dot, f64::INFINITY)
        } else {
            dot
        };
        taken.take::<WITH_LARGEST, WITH_ALL>(simd, (low, high), exponential);
        exponential
    }
}

/// [`Facts`] in the making, and the sums that have not joined them.
struct Taken<S: Simd, const V: usize> {
    facts: [Group<f64, S, V>; FACTS],
    run: Group<f64, S, V>,
    block: Group<f64, S, V>,
}

impl<S: Simd, const V: usize> Taken<S, V> {
    /// Takes in a key: its dot product for the largest, for the smallest, and its exponential.
    #[inline(always)]
    fn take<const WITH_LARGEST: bool, const WITH_ALL: bool>(
        &mut self,
        simd: S,
        (low, high): (Group<f64, S, V>, Group<f64, S, V>),
        exponential: Group<f64, S, V>,
    ) {
        for m in 0..V {
            self.run[m] = simd.add_f64s(self.run[m], exponential[m]);
            if WITH_LARGEST {
                let largest = &mut self.facts[MAX_SIZE][m];
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
        for m in 0..V {
            self.block[m] = simd.add_f64s(self.block[m], self.run[m]);
            self.run[m] = simd.splat_f64s(0.0);
        }
    }
}
