//! Rows side by side: groups of vectors, where they lie, and the keys that each of their rows sees.

use std::ops::Range;

use pulp::Simd;

use super::float::Float;

/// `V` vectors, so many rows of which one number each is in them.
pub(super) type Group<F, S, const V: usize> = [<F as Float>::Vector<S>; V];

/// Numbers as groups; the lanes of a group lie side by side.
#[inline(always)]
pub(super) fn groups<F: Float, S: Simd, const V: usize>(numbers: &[F]) -> &[Group<F, S, V>] {
    F::vectors::<S>(numbers).as_chunks().0
}

/// [`groups`], to be written.
#[inline(always)]
pub(super) fn groups_mut<F: Float, S: Simd, const V: usize>(
    numbers: &mut [F],
) -> &mut [Group<F, S, V>] {
    F::vectors_mut::<S>(numbers).as_chunks_mut().0
}

/// Numbers that begin where a cache line does, so that no vector of them lies on two.
#[derive(Default)]
pub(super) struct Aligned<F> {
    numbers: Vec<F>,
    len: usize,
}

/// Bytes of a cache line, and of the widest vector.
const LINE: usize = 64;

impl<F: Float> Aligned<F> {
    /// Room for `len` numbers, whatever is in it.
    pub(super) fn fit(&mut self, len: usize) -> &mut [F] {
        self.len = len;
        self.numbers.resize(len + LINE / size_of::<F>(), F::ZERO);
        self.get_mut()
    }

    pub(super) fn get(&self) -> &[F] {
        &self.numbers[self.start()..][..self.len]
    }

    pub(super) fn get_mut(&mut self) -> &mut [F] {
        let start = self.start();
        &mut self.numbers[start..][..self.len]
    }

    fn start(&self) -> usize {
        // Where the machine cannot say, any place will do. Nothing is there before the first `fit`.
        self.numbers.as_ptr().align_offset(LINE).min(self.numbers.len() - self.len)
    }
}

/// The keys that the rows of a group see.
pub(super) struct Windows<S: Simd, const V: usize> {
    /// No row sees a key outside of this.
    pub(super) any: Range<usize>,
    /// Every row sees the keys in this.
    all: Range<usize>,
    start: Group<f64, S, V>,
    end: Group<f64, S, V>,
}

impl<S: Simd, const V: usize> Windows<S, V> {
    /// Of at most as many rows as a group has lanes.
    #[inline(always)]
    pub(super) fn new(simd: S, rows: &[Range<usize>]) -> Self {
        let mut windows = Self {
            any: Range { start: usize::MAX, end: 0 },
            all: 0..usize::MAX,
            start: [simd.splat_f64s(0.0); V],
            end: [simd.splat_f64s(f64::INFINITY); V],
        };
        let starts = pulp::bytemuck::cast_slice_mut::<S::f64s, f64>(&mut windows.start);
        let ends = pulp::bytemuck::cast_slice_mut::<S::f64s, f64>(&mut windows.end);
        for ((row, start), end) in rows.iter().zip(starts).zip(ends) {
            // Exact: no context has 2^53 keys.
            (*start, *end) = (row.start as f64, row.end as f64);
            windows.all = windows.all.start.max(row.start)..windows.all.end.min(row.end);
            if !row.is_empty() {
                windows.any = windows.any.start.min(row.start)..windows.any.end.max(row.end);
            }
        }
        windows
    }

    /// Whether every row sees each of `n` keys from `first` on.
    #[inline(always)]
    pub(super) fn sees_all(&self, first: usize, n: usize) -> bool {
        self.all.start <= first && first + n <= self.all.end
    }

    /// `seen` in the rows that see the key, `hidden` in the others.
    #[inline(always)]
    pub(super) fn choose(
        &self,
        simd: S,
        key: usize,
        seen: Group<f64, S, V>,
        hidden: f64,
    ) -> Group<f64, S, V> {
        let (key, hidden) = (simd.splat_f64s(key as f64), simd.splat_f64s(hidden));
        let mut chosen = seen;
        for m in 0..V {
            let before_end =
                simd.select_f64s(simd.less_than_f64s(key, self.end[m]), seen[m], hidden);
            chosen[m] = simd.select_f64s(
                simd.greater_than_or_equal_f64s(key, self.start[m]),
                before_end,
                hidden,
            );
        }
        chosen
    }
}
