//! From queries and keys to exponentials, a tile of rows and keys at a time: the scores never leave
//! the registers.

use pulp::Simd;

use super::group::{Group, Windows};
use crate::exp::exp_product_vectors;

/// Elements of a dot product between two checks of where it ends.
const DIMENSIONS: usize = 4;

/// Keys whose exponentials are computed together.
pub(super) const PAIR: usize = 2;

/// Keys whose exponentials are summed up before they join the sum of their block.
pub(super) const RUN: usize = 16;

/// How many [`Facts`] there are; which is which follows.
pub(super) const FACTS: usize = 5;
pub(super) const SUM: usize = 0;
pub(super) const SQUARE_SUM: usize = 1;
pub(super) const MAX_SIZE: usize = 2;
pub(super) const SMALLEST: usize = 3;
pub(super) const HEAVIEST: usize = 4;

/// What is known of the rows of a group, over the keys seen so far: sums of exponentials, and dot
/// products.
pub(super) struct Facts<'a, S: Simd, const V: usize>(pub(super) &'a mut [Group<S, V>; FACTS]);

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

/// Dot products of the rows of a group with some keys that lie side by side.
pub(super) struct Scores<'a, S: Simd, const V: usize> {
    /// `(d_k)`.
    pub(super) query: &'a [Group<S, V>],
    /// `(keys, d_k)`.
    pub(super) key: &'a [f64],
    pub(super) first_key: usize,
    /// `|scale|·log₂e`, rounded.
    pub(super) factor: S::f64s,
    pub(super) windows: &'a Windows<S, V>,
}

impl<S: Simd, const V: usize> Scores<'_, S, V> {
    /// Writes `exp_product(q·k, factor)`, or 0 where the row does not see the key, `N` keys at a
    /// time, and takes all in.
    ///
    /// The logits must be within the interval of [`exp_product`](crate::exp::exp_product).
    ///
    /// # Shapes
    /// `tile: (keys)`.
    ///
    /// # Error bound
    /// A dot product is `d_k` fused operations from 0 on. The sum of the exponentials: [`RUN`]
    /// keys, the runs of the tile, the tiles, each one after the other.
    #[inline(always)]
    pub(super) fn weigh<
        const N: usize,
        const M: usize,
        const WITH_LARGEST: bool,
        const WITH_ALL: bool,
    >(
        &self,
        simd: S,
        tile: &mut [Group<S, V>],
        facts: Facts<'_, S, V>,
    ) {
        let mut taken = Taken {
            facts: *facts.0,
            run: [simd.splat_f64s(0.0); V],
            block: [simd.splat_f64s(0.0); V],
        };
        let (several, single) = tile.as_chunks_mut::<N>();
        let mut k = 0;
        for exponentials in several {
            self.step::<N, M, WITH_LARGEST, WITH_ALL>(simd, k, exponentials, &mut taken);
            k += N;
        }
        for exponentials in single {
            self.step::<1, M, WITH_LARGEST, WITH_ALL>(
                simd,
                k,
                std::array::from_mut(exponentials),
                &mut taken,
            );
            k += 1;
        }
        taken.end_run(simd);
        let Taken { facts: mut all, block, .. } = taken;
        for m in 0..V {
            let sum = &mut all[SUM][m];
            *sum = simd.add_f64s(*sum, block[m]);
        }
        *facts.0 = all;
    }

    #[inline(always)]
    fn step<const N: usize, const M: usize, const WITH_LARGEST: bool, const WITH_ALL: bool>(
        &self,
        simd: S,
        k: usize,
        exponentials: &mut [Group<S, V>; N],
        taken: &mut Taken<S, V>,
    ) {
        let first = self.first_key + k;
        self.dots(simd, k, exponentials);
        if self.windows.sees_all(first, N) {
            self.settle::<M, WITH_LARGEST, WITH_ALL, false>(simd, first, exponentials, taken);
        } else {
            self.settle::<M, WITH_LARGEST, WITH_ALL, true>(simd, first, exponentials, taken);
        }
        if (k + N).is_multiple_of(RUN) {
            taken.end_run(simd);
        }
    }

    /// Dot products with the `N` keys from `k` on.
    #[inline(always)]
    fn dots<const N: usize>(&self, simd: S, k: usize, dots: &mut [Group<S, V>; N]) {
        let d = self.query.len();
        let (several, single) = self.query.as_chunks::<DIMENSIONS>();
        let mut keys: [(&[[f64; DIMENSIONS]], &[f64]); N] = [(&[], &[]); N];
        for (n, key) in keys.iter_mut().enumerate() {
            *key = self.key[(k + n) * d..][..d].as_chunks();
        }
        let mut sums = [[simd.splat_f64s(0.0); V]; N];
        for (c, queries) in several.iter().enumerate() {
            let mut key = [&[0.0; DIMENSIONS]; N];
            for (key, (chunks, _)) in key.iter_mut().zip(&keys) {
                *key = &chunks[c];
            }
            for t in 0..DIMENSIONS {
                for n in 0..N {
                    let key = simd.splat_f64s(key[n][t]);
                    for m in 0..V {
                        sums[n][m] = simd.mul_add_f64s(queries[t][m], key, sums[n][m]);
                    }
                }
            }
        }
        for (t, query) in single.iter().enumerate() {
            for n in 0..N {
                let key = simd.splat_f64s(keys[n].1[t]);
                for m in 0..V {
                    sums[n][m] = simd.mul_add_f64s(query[m], key, sums[n][m]);
                }
            }
        }
        for n in 0..N {
            for m in 0..V {
                dots[n][m] = sums[n][m];
            }
        }
    }

    /// Exponentials in place of the dot products of a tile, a pair of keys at a time, which has
    /// `M = 2·V` vectors.
    #[inline(always)]
    fn settle<const M: usize, const WITH_LARGEST: bool, const WITH_ALL: bool, const HIDES: bool>(
        &self,
        simd: S,
        first: usize,
        tile: &mut [Group<S, V>],
        taken: &mut Taken<S, V>,
    ) {
        let (pairs, single) = tile.as_chunks_mut::<PAIR>();
        let mut key = first;
        for pair in pairs {
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
        for dot in single {
            let exponential = exp_product_vectors(simd, *dot, self.factor);
            *dot =
                self.take::<WITH_LARGEST, WITH_ALL, HIDES>(simd, key, (*dot, exponential), taken);
            key += 1;
        }
    }

    /// Takes in what is known of a key; its exponential, or 0 where it is hidden.
    #[inline(always)]
    fn take<const WITH_LARGEST: bool, const WITH_ALL: bool, const HIDES: bool>(
        &self,
        simd: S,
        key: usize,
        (dot, mut exponential): (Group<S, V>, Group<S, V>),
        taken: &mut Taken<S, V>,
    ) -> Group<S, V> {
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
    facts: [Group<S, V>; FACTS],
    run: Group<S, V>,
    block: Group<S, V>,
}

impl<S: Simd, const V: usize> Taken<S, V> {
    /// Takes in a key: its dot product for the largest, for the smallest, and its exponential.
    #[inline(always)]
    fn take<const WITH_LARGEST: bool, const WITH_ALL: bool>(
        &mut self,
        simd: S,
        (low, high): (Group<S, V>, Group<S, V>),
        exponential: Group<S, V>,
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
