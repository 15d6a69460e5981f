//! Scores, exponentials and their products with the values in one sweep over the keys, for rows
//! whose logits need no shift.
//!
//! [`Sweep`] is the pass over the keys of a block of rows, [`RowSums`] what is known of a row
//! behind it. A row is one lane of a group of vectors, so every row meets the same operations in
//! the same order on every processor, and nothing but the exponentials of [`KEY_BLOCK`] keys is
//! kept. Derivation: `docs/bounds.md#streaming`.

mod group;
mod products;
mod weights;

use std::ops::Range;

use pulp::{Simd, WithSimd};

use super::Detail;
use super::blocks::ValueSums;
use super::table::ValueTable;
use crate::gemm::KEY_BLOCK;
use group::{Aligned, Windows, groups, groups_mut};
use weights::{Facts, PAIR, RUN, Scores};

/// The pass over the keys of a block of rows.
pub(super) struct Sweep<'a> {
    /// `(rows, d_k)`.
    pub(super) query: &'a [f64],
    /// The keys that each row sees; none is hidden within.
    pub(super) windows: &'a [Range<usize>],
    /// `scale·log₂e`, rounded: [`base_2_factor`](crate::exp::base_2_factor).
    pub(super) factor: f64,
    /// Values, and the head they belong to.
    pub(super) table: &'a ValueTable<'a>,
    pub(super) detail: Detail,
    pub(super) buffers: &'a mut Buffers,
    /// Gets the products of the rows, `(rows, d_v)`.
    pub(super) sums: &'a mut ValueSums,
}

/// What a sweep works on, kept from block to block.
#[derive(Default)]
pub(super) struct Buffers {
    /// What is known of each row, behind the sweep.
    pub(super) rows: Vec<RowSums>,
    /// Queries by group, `(d_k, lanes)` each.
    query: Aligned,
    /// Of one group and one block of keys, `(keys, lanes)`.
    exponentials: Aligned,
    /// [`Facts`] by group.
    facts: Aligned,
    /// Products by kind and group, `(d_v, lanes)` each.
    products: [Aligned; KINDS],
    abs: Vec<f64>,
    squares: Vec<f64>,
}

/// Products with values; in full also with their sizes and their squares, and of squares with
/// squares.
const KINDS: usize = 4;
/// The last kind.
const OF_SQUARES: usize = 3;

/// What is known of the logits of a row, as far as the detail needs it.
#[derive(Clone, Copy, Debug)]
pub(super) struct RowSums {
    /// Sum of the exponentials; over `n` keys every term passes through at most
    /// [`sum_depth(n)`](crate::exp::sum_depth) additions.
    pub(super) sum: f64,
    /// Sum of their squares, without error bound.
    pub(super) approx_square_sum: f64,
    /// The exponential of the key with the largest logit; no number for a row without keys.
    pub(super) heaviest: f64,
    /// Largest logit, the rounded product of scale and dot product.
    pub(super) largest: f64,
    /// Smallest logit.
    pub(super) smallest: f64,
}

impl WithSimd for Sweep<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        // Sums stay in registers, beside the vectors of a group and one number: 3·8 of 32, or 2·4
        // and 2·6 of 16, for with 3·4 not all of the rest fit. Fewer than 8 would wait for each
        // other.
        if S::REGISTER_COUNT >= 32 {
            self.in_tiles::<S, 3, { PAIR * 3 }, 8, 8>(simd)
        } else {
            self.in_tiles::<S, 2, { PAIR * 2 }, 4, 6>(simd)
        }
    }
}

impl Sweep<'_> {
    /// With groups of `V` vectors, exponentials of `M` vectors, scores of `N` keys and products of
    /// `C` columns at a time.
    #[inline(always)]
    fn in_tiles<S: Simd, const V: usize, const M: usize, const N: usize, const C: usize>(
        self,
        simd: S,
    ) {
        match self.detail {
            Detail::Midpoints => self.run::<S, V, M, N, C, false, false>(simd),
            Detail::Radii => self.run::<S, V, M, N, C, true, false>(simd),
            Detail::Rows | Detail::Full => self.run::<S, V, M, N, C, true, true>(simd),
        }
    }

    #[inline(always)]
    fn run<
        S: Simd,
        const V: usize,
        const M: usize,
        const N: usize,
        const C: usize,
        const WITH_LARGEST: bool,
        const WITH_ALL: bool,
    >(
        mut self,
        simd: S,
    ) {
        let head = *self.table.head();
        let lanes = V * S::F64_LANES;
        let n_groups = self.windows.len().div_ceil(lanes);
        let kinds = if self.detail == Detail::Full { KINDS } else { 1 };
        self.prepare::<S, V>(simd, lanes, n_groups, kinds);
        let windows: Vec<Windows<S, V>> =
            self.windows.chunks(lanes).map(|rows| Windows::new(simd, rows)).collect();
        let union = |a: Range<usize>, b: Range<usize>| a.start.min(b.start)..a.end.max(b.end);
        let seen = windows
            .iter()
            .map(|windows| windows.any.clone())
            .filter(|any| !any.is_empty())
            .reduce(union);
        let seen = seen.unwrap_or(0..0);
        let Buffers { query, exponentials, facts, products, abs, squares, .. } = &mut *self.buffers;
        let factor = simd.splat_f64s(self.factor.abs());

        for first_key in seen.clone().step_by(KEY_BLOCK) {
            let block = first_key..seen.end.min(first_key + KEY_BLOCK);
            if kinds == KINDS {
                self.table.abs_and_squares(block.clone(), abs, squares);
            }
            for (g, windows) in windows.iter().enumerate() {
                // From a multiple of the runs on, so that sums do not depend on how many rows are a
                // group.
                let start = first_key + windows.any.start.saturating_sub(first_key) / RUN * RUN;
                let keys = start..windows.any.end.min(block.end);
                if keys.is_empty() {
                    continue;
                }
                let tile = &mut groups_mut::<S, V>(exponentials.get_mut())[..keys.len()];
                let scores = Scores {
                    query: &groups::<S, V>(query.get())[g * head.d_k..(g + 1) * head.d_k],
                    key: &head.key[keys.start * head.d_k..keys.end * head.d_k],
                    first_key: keys.start,
                    factor,
                    windows,
                };
                let (facts, _) =
                    groups_mut::<S, V>(facts.get_mut()).as_chunks_mut::<{ weights::FACTS }>();
                scores.weigh::<N, M, WITH_LARGEST, WITH_ALL>(simd, tile, Facts(&mut facts[g]));

                let d_v = head.d_v;
                let of_keys = (keys.start - first_key) * d_v..(keys.end - first_key) * d_v;
                // One call for all kinds, and no closure: what a closure calls is not compiled for
                // the vectors of `S`.
                for (kind, sums) in products[..kinds].iter_mut().enumerate() {
                    let values = match kind {
                        0 => self.table.of_keys(keys.clone()),
                        1 => &abs[of_keys.clone()],
                        _ => &squares[of_keys.clone()],
                    };
                    if kind == OF_SQUARES {
                        products::square(simd, tile);
                    }
                    let sums = &mut groups_mut::<S, V>(sums.get_mut())[g * d_v..(g + 1) * d_v];
                    products::add::<S, V, C>(simd, tile, values, d_v, sums);
                }
            }
        }
        if WITH_LARGEST {
            let (facts, _) = groups_mut::<S, V>(facts.get_mut()).as_chunks_mut();
            facts.iter_mut().for_each(|facts| Facts(facts).weigh_largest(simd, factor));
        }
        self.finish(lanes, kinds);
    }

    /// Queries lane by lane with the sign of the scale, zeros in the lanes beyond the last row; no
    /// key yet.
    #[inline(always)]
    fn prepare<S: Simd, const V: usize>(
        &mut self,
        simd: S,
        lanes: usize,
        n_groups: usize,
        kinds: usize,
    ) {
        let head = self.table.head();
        let buffers = &mut *self.buffers;
        let (width, sign) = (head.d_k * lanes, 1.0f64.copysign(self.factor));
        let query = buffers.query.fit(n_groups * width);
        query[self.windows.len() / lanes * width..].fill(0.0);
        if head.d_k > 0 {
            // No closure around it: what one calls is not compiled for vectors.
            for (group, rows) in query.chunks_exact_mut(width).zip(self.query.chunks(width)) {
                transpose(rows, head.d_k, group, lanes, sign);
            }
        }
        buffers.exponentials.fit(KEY_BLOCK * lanes);
        let (facts, _) = groups_mut::<S, V>(buffers.facts.fit(n_groups * weights::FACTS * lanes))
            .as_chunks_mut();
        facts.iter_mut().for_each(|facts| Facts(facts).clear(simd));
        buffers.products[..kinds]
            .iter_mut()
            .for_each(|sums| sums.fit(n_groups * head.d_v * lanes).fill(0.0));
    }

    /// What the lanes have come to, row by row.
    #[inline(always)]
    fn finish(self, lanes: usize, kinds: usize) {
        let head = self.table.head();
        let (d_v, scale) = (head.d_v, head.factor().value.abs());
        let Buffers { rows, facts, products, .. } = self.buffers;
        let facts = facts.get();
        let n = self.windows.len();
        rows.clear();
        rows.extend((0..n).map(|i| {
            let fact =
                |which: usize| facts[(i / lanes * weights::FACTS + which) * lanes + i % lanes];
            RowSums {
                sum: fact(weights::SUM),
                approx_square_sum: fact(weights::SQUARE_SUM),
                heaviest: fact(weights::HEAVIEST),
                largest: scale * fact(weights::MAX_SIZE),
                smallest: scale * fact(weights::SMALLEST),
            }
        }));
        if d_v > 0 {
            let width = d_v * lanes;
            for (row_major, by_group) in
                self.sums.products_mut().into_iter().zip(&products[..kinds])
            {
                for (rows, group) in
                    row_major.chunks_mut(width).zip(by_group.get().chunks_exact(width))
                {
                    transpose(group, lanes, rows, d_v, 1.0);
                }
            }
        }
    }
}

/// `to[j, i] = sign·from[i, j]`, for as many rows and columns as both have.
///
/// # Shapes
/// `from: (.., from_width)`, `to: (.., to_width)`.
#[inline(always)]
fn transpose(from: &[f64], from_width: usize, to: &mut [f64], to_width: usize, sign: f64) {
    /// Rows of `from` that are read side by side.
    const SIDE: usize = 8;
    let n = (from.len() / from_width).min(to_width);
    for first in (0..n / SIDE * SIDE).step_by(SIDE) {
        let rows = &from[first * from_width..(first + SIDE) * from_width];
        for (j, to) in to.chunks_exact_mut(to_width).enumerate().take(from_width) {
            for (i, to) in to[first..first + SIDE].iter_mut().enumerate() {
                *to = sign * rows[i * from_width + j];
            }
        }
    }
    for i in n / SIDE * SIDE..n {
        for (j, to) in to.chunks_exact_mut(to_width).enumerate().take(from_width) {
            to[i] = sign * from[i * from_width + j];
        }
    }
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "the same operations in the same order")]
mod tests {
    use pulp::{Arch, Scalar};

    use super::*;
    use crate::enclosure::visibility::VisibleKeys;
    use crate::exp::{U, base_2_factor, exp_product, sum_depth};
    use crate::gemm::{gamma, times_depth};
    use crate::head::{EmptyRow, Head, Normalization, RealScale, Span, Stage, Visible};

    struct Problem {
        n_q: usize,
        n_k: usize,
        d_k: usize,
        d_v: usize,
        numbers: [Vec<f64>; 3],
        spans: Vec<Span>,
    }

    impl Problem {
        /// Windows of every kind: whole, empty, a single key, beginning and ending within blocks,
        /// runs and tiles.
        fn new((n_q, n_k, d_k, d_v): (usize, usize, usize, usize)) -> Self {
            let number = |at: usize| ((at * 7919) % 1009) as f64 / 504.0 - 1.0;
            let numbers = |salt, n| (0..n).map(|at| number(at + salt)).collect();
            let window = |i: usize| match i % 5 {
                0 => (0, n_k),
                1 => (i.min(n_k), i.min(n_k)),
                2 => (i % n_k, i % n_k + 1),
                3 => (0, (7 * i) % n_k + 1),
                _ => ((3 * i) % n_k, n_k - (i % n_k) / 4),
            };
            let spans =
                (0..n_q).map(window).map(|(start, end)| Span { start, end: end.max(start) });
            Self {
                n_q,
                n_k,
                d_k,
                d_v,
                numbers: [numbers(0, n_q * d_k), numbers(1, n_k * d_k), numbers(2, n_k * d_v)],
                spans: spans.collect(),
            }
        }

        fn head(&self) -> Head<'_> {
            let [query, key, value] = &self.numbers;
            Head {
                n_q: self.n_q,
                n_k: self.n_k,
                d_k: self.d_k,
                d_v: self.d_v,
                query,
                key,
                value,
                stages: &[Stage::Scale],
                scale: RealScale::exact(-0.75),
                softcap: None,
                bias: None,
                alibi: None,
                alibi_shifts: None,
                sink: None,
                visible: Visible::Spans(&self.spans),
                normalization: Normalization::OverKeys,
                empty_row: EmptyRow::Zero,
            }
        }
    }

    /// Products of each kind, and sums of rows, on the vectors of `arch`, or one number after the
    /// other.
    fn sweep(
        head: &Head<'_>,
        detail: Detail,
        arch: Option<Arch>,
    ) -> ([Vec<f64>; KINDS], Vec<RowSums>) {
        let visibility = VisibleKeys::new(head);
        let table = ValueTable::new(head, &visibility);
        let windows: Vec<_> = (0..head.n_q).map(|i| visibility.window(i)).collect();
        let (mut buffers, mut sums) = (Buffers::default(), ValueSums::default());
        sums.make_room(head.n_q * head.d_v, detail);
        let pass = Sweep {
            query: head.query,
            windows: &windows,
            table: &table,
            factor: base_2_factor(head.factor().value).unwrap(),
            detail,
            buffers: &mut buffers,
            sums: &mut sums,
        };
        match arch {
            Some(arch) => arch.dispatch(pass),
            None => pass.with_simd(Scalar::new()),
        }
        (sums.products_mut().map(std::mem::take), buffers.rows)
    }

    const SHAPES: [(usize, usize, usize, usize); 6] = [
        (1, 1, 1, 1),
        (3, 15, 2, 0),
        (25, 17, 3, 9),
        (24, 300, 8, 8),
        (49, 257, 5, 19),
        (7, 600, 64, 3),
    ];

    /// Against one key after the other: every kind of product, in the window of each row.
    #[test]
    fn rows_get_the_exponentials_and_products_of_the_keys_they_see() {
        for shape in SHAPES {
            let problem = Problem::new(shape);
            let head = problem.head();
            let square_exponent = ValueTable::new(&head, &VisibleKeys::new(&head)).square_exponent;
            let (products, rows) = sweep(&head, Detail::Full, Some(Arch::new()));
            for (i, row) in rows.iter().enumerate() {
                let span = problem.spans[i];
                let dots: Vec<f64> = (span.start..span.end)
                    .map(|j| {
                        let pairs = head
                            .query_row(i)
                            .iter()
                            .zip(&head.key[j * head.d_k..(j + 1) * head.d_k]);
                        pairs.fold(0.0, |dot, (q, k)| libm::fma(*q, *k, dot))
                    })
                    .collect();
                let factor = base_2_factor(-0.75).unwrap();
                let e: Vec<f64> = dots.iter().map(|dot| exp_product(*dot, factor)).collect();
                let logits: Vec<f64> = dots.iter().map(|dot| dot * -0.75).collect();
                // Both sides round: the plain sums of this test at most once a term and once a
                // product.
                let plain = e.len() + 2;
                let sum: f64 = e.iter().sum();
                assert!(
                    (row.sum - sum).abs() <= gamma(sum_depth(e.len()) + plain, U) * sum,
                    "{shape:?} row {i}"
                );
                let square_sum: f64 = e.iter().map(|e| e * e).sum();
                let error = (row.approx_square_sum - square_sum).abs();
                assert!(error <= gamma(2 * plain, U) * square_sum, "{shape:?} row {i}");
                assert_eq!(
                    row.largest,
                    logits.iter().fold(f64::NEG_INFINITY, |max, x| max.max(*x))
                );
                assert!(
                    e.is_empty() || row.heaviest == e.iter().fold(0.0, |max: f64, e| max.max(*e))
                );
                assert_eq!(row.smallest, logits.iter().fold(f64::INFINITY, |min, x| min.min(*x)));
                for c in 0..head.d_v {
                    let power = crate::format::pow2(-square_exponent);
                    let value = |j: usize| head.value_row(span.start + j)[c];
                    let square = |j: usize| (value(j) * power) * (value(j) * power);
                    let total = |term: &dyn Fn(usize) -> f64| (0..e.len()).map(term).sum::<f64>();
                    let expected = [
                        total(&|j| e[j] * value(j)),
                        total(&|j| e[j] * value(j).abs()),
                        total(&|j| e[j] * square(j)),
                        total(&|j| e[j] * e[j] * square(j)),
                    ];
                    let sizes = [expected[1], expected[1], expected[2], expected[3]];
                    let limit = gamma(times_depth(e.len()) + plain + 2, U);
                    for kind in 0..KINDS {
                        let error = (products[kind][i * head.d_v + c] - expected[kind]).abs();
                        assert!(
                            error <= limit * sizes[kind],
                            "{shape:?} row {i} column {c} kind {kind}: {error:e}"
                        );
                    }
                }
            }
        }
    }

    /// How many rows are worked on together depends on the processor, and no bit may depend on
    /// that.
    #[test]
    fn all_vectors_give_the_same_bits() {
        let bits = |numbers: &[f64]| numbers.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        for shape in SHAPES {
            let problem = Problem::new(shape);
            for detail in [Detail::Midpoints, Detail::Radii, Detail::Full] {
                let (products, rows) = sweep(&problem.head(), detail, Some(Arch::new()));
                let (one_by_one, rows_one_by_one) = sweep(&problem.head(), detail, None);
                for kind in 0..KINDS {
                    assert_eq!(
                        bits(&products[kind]),
                        bits(&one_by_one[kind]),
                        "{shape:?} {detail:?} kind {kind}"
                    );
                }
                for (row, other) in rows.iter().zip(&rows_one_by_one) {
                    let all = |row: &RowSums| {
                        bits(&[row.sum, row.approx_square_sum, row.largest, row.smallest])
                    };
                    assert_eq!(all(row), all(other), "{shape:?} {detail:?}");
                }
            }
        }
    }
}
