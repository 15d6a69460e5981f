//! Rows that are worked on together, each in a lane of its own.

use std::ops::Range;

use pulp::Simd;

/// One number of every row of a group, in `V` vectors.
pub(super) type Group<S, const V: usize> = [<S as Simd>::f64s; V];

/// Numbers as groups; the lanes of a group lie side by side.
#[inline(always)]
pub(super) fn groups<S: Simd, const V: usize>(numbers: &[f64]) -> &[Group<S, V>] {
    S::as_simd_f64s(numbers).0.as_chunks().0
}

/// [`groups`], to be written.
#[inline(always)]
pub(super) fn groups_mut<S: Simd, const V: usize>(numbers: &mut [f64]) -> &mut [Group<S, V>] {
    S::as_mut_simd_f64s(numbers).0.as_chunks_mut().0
}

/// Numbers that begin where a cache line does, so that no vector of them lies on two.
#[derive(Default)]
pub(super) struct Aligned {
    numbers: Vec<f64>,
    len: usize,
}

/// Numbers of a cache line, and of the widest vector.
const LINE: usize = 8;

impl Aligned {
    /// Room for `len` numbers, whatever is in it.
    pub(super) fn fit(&mut self, len: usize) -> &mut [f64] {
        self.len = len;
        self.numbers.resize(len + LINE, 0.0);
        self.get_mut()
    }

    pub(super) fn get(&self) -> &[f64] {
        &self.numbers[self.start()..][..self.len]
    }

    pub(super) fn get_mut(&mut self) -> &mut [f64] {
        let start = self.start();
        &mut self.numbers[start..][..self.len]
    }

    fn start(&self) -> usize {
        // Where the machine cannot say, any place will do.
        self.numbers.as_ptr().align_offset(LINE * size_of::<f64>()).min(LINE)
    }
}

/// The keys that the rows of a group see.
pub(super) struct Windows<S: Simd, const V: usize> {
    /// No row sees a key outside of this.
    pub(super) any: Range<usize>,
    /// Every row sees the keys in this.
    all: Range<usize>,
    start: Group<S, V>,
    end: Group<S, V>,
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
        seen: Group<S, V>,
        hidden: f64,
    ) -> Group<S, V> {
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
