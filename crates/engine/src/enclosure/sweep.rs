//! Scores, exponentials and their products with the values in one sweep over the keys, for rows
//! whose logits need no shift.
//!
//! [`Sweep`] is the pass of a block of rows over the keys of some [`Panels`], [`RowSums`] what is
//! known of a row behind the last of them. A row is one lane of a group of vectors, so every row
//! meets the same operations in the same order on every processor, and nothing but the exponentials
//! of [`BLOCK`] keys is kept. Derivation: `docs/bounds.md#streaming`.

mod float;
mod group;
mod panels;
mod products;
mod sizes;
mod transposition;
mod weights;

use std::ops::Range;

use pulp::{Simd, WithSimd};

use super::Detail;
use super::blocks::ValueSums;
use super::table::ValueTable;
use crate::format::pow2;
use group::{Aligned, Windows, groups, groups_mut};
use transposition::transpose;
use weights::{Facts, PAIR, Scores};

pub(super) use panels::Panels;
pub(super) use sizes::UNDERFLOW as SMALL_UNDERFLOW;

/// Keys that all rows of a block meet before the next ones, and whose exponentials are kept: a
/// multiple of the chains, of the runs, and of the keys of every tile of sums.
pub(super) const BLOCK: usize = 240;

/// The pass of a block of rows over the keys of some panels.
pub(super) struct Sweep<'a> {
    /// `(rows, d_k)`.
    pub(super) query: &'a [f64],
    /// The keys that each row sees; none is hidden within.
    pub(super) windows: &'a [Range<usize>],
    /// `scale·log₂e`, rounded: [`base_2_factor`](crate::exp::base_2_factor).
    pub(super) factor: f64,
    /// The head that the values belong to.
    pub(super) table: &'a ValueTable<'a>,
    pub(super) detail: Detail,
    /// All that the rows see, in the order of the keys, pass by pass.
    pub(super) panels: &'a Panels,
    /// Whether these are the first and the last panels.
    pub(super) is_first: bool,
    pub(super) is_last: bool,
    pub(super) buffers: &'a mut Buffers,
    /// Gets the products of the rows, `(rows, d_v)`, behind the last panels.
    pub(super) sums: &'a mut ValueSums,
}

/// What a sweep works on, kept from pass to pass; from block to block for its room.
#[derive(Default)]
pub(super) struct Buffers {
    /// What is known of each row, behind the last pass.
    pub(super) rows: Vec<RowSums>,
    /// Queries by group, `(d_k, lanes)` each.
    query: Aligned<f64>,
    /// Of one group and one block of keys, `(keys, lanes)`.
    exponentials: Aligned<f64>,
    /// The same of all groups that are one of `f32`, with their scales.
    small: sizes::Small,
    /// [`Facts`] by group.
    facts: Aligned<f64>,
    /// Products by kind and group, `(columns, lanes)` each.
    products: [Aligned<f64>; KINDS],
}

/// Products with values; in full also with their sizes and their squares, and of squares with
/// squares.
const KINDS: usize = 4;

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

/// Roundings that a product of an exponential with a value passes through at most, `n` neighboring
/// keys: those of its chain, the chains of its block, one for each block.
pub(super) fn product_depth(n: usize) -> usize {
    n.min(products::CHAIN) + BLOCK / products::CHAIN + n.div_ceil(BLOCK) + 1
}

/// [`product_depth`] of what is summed up in `f32`: within a block.
pub(super) const SMALL_DEPTH: usize = products::CHAIN + BLOCK / products::CHAIN;

impl WithSimd for Sweep<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        // Sums stay in registers, beside the vectors of a group and one number: 3·8 of 32 or 2·6 of
        // 16. Ten at least, or they wait for each other.
        if panels::width::<S>() == 8 {
            self.in_tiles::<S, 3, { PAIR * 3 }, 8>(simd)
        } else {
            self.in_tiles::<S, 2, { PAIR * 2 }, 6>(simd)
        }
    }
}

impl Sweep<'_> {
    /// With groups of `V` vectors, exponentials of `M` vectors, and `N` keys or columns at a time.
    #[inline(always)]
    fn in_tiles<S: Simd, const V: usize, const M: usize, const N: usize>(self, simd: S) {
        match self.detail {
            Detail::Midpoints => self.run::<S, V, M, N, false, false>(simd),
            Detail::Radii => self.run::<S, V, M, N, true, false>(simd),
            Detail::Rows | Detail::Full => self.run::<S, V, M, N, true, true>(simd),
        }
    }

    #[inline(always)]
    fn run<
        S: Simd,
        const V: usize,
        const M: usize,
        const N: usize,
        const WITH_LARGEST: bool,
        const WITH_ALL: bool,
    >(
        mut self,
        simd: S,
    ) {
        let d_k = self.table.head().d_k;
        let (lanes, columns) = (V * S::F64_LANES, self.table.head().d_v.div_ceil(N));
        // So many groups are one group of `f32`.
        let together = S::F32_LANES / S::F64_LANES;
        let n_groups = self.windows.len().div_ceil(lanes);
        if self.is_first {
            self.prepare::<S, V>(simd, lanes, n_groups, columns * N);
        }
        let windows: Vec<Windows<S, V>> =
            self.windows.chunks(lanes).map(|rows| Windows::new(simd, rows)).collect();
        let Buffers { query, exponentials, small, facts, products, .. } = &mut *self.buffers;
        let (query, facts) = (groups::<f64, S, V>(query.get()), facts.get_mut());
        let facts = groups_mut::<f64, S, V>(facts).as_chunks_mut::<{ weights::FACTS }>().0;
        let [of_values, of_sizes @ ..] = products;
        let factor = simd.splat_f64s(self.factor.abs());
        let union = |a: Range<usize>, b: Range<usize>| match (a.is_empty(), b.is_empty()) {
            (true, _) => b,
            (_, true) => a,
            _ => a.start.min(b.start)..a.end.max(b.end),
        };

        for panel in &self.panels.blocks {
            let Range { start: first_key, end: last_key } = panel.keys;
            // From the start of a chain on, so that sums do not depend on how many rows are a group.
            let seen = |windows: &Windows<S, V>| {
                let start = windows.any.start.saturating_sub(first_key);
                let end = windows.any.end.min(last_key).saturating_sub(first_key);
                // The first number that is not below the second makes it empty.
                (start / products::CHAIN * products::CHAIN).min(end)..end
            };
            for (t, windows) in windows.chunks(together).enumerate() {
                let mut all = 0..0;
                if WITH_ALL && self.detail == Detail::Full {
                    all = windows.iter().map(seen).fold(0..0, union);
                }
                for (at, windows) in windows.iter().enumerate() {
                    let (g, keys) = (t * together + at, seen(windows));
                    // Up to a whole panel; what is behind the last key is hidden.
                    let tile = groups_mut::<f64, S, V>(exponentials.get_mut());
                    let tile = &mut tile[..keys.len().next_multiple_of(N)];
                    let key = &panel.key.get().as_chunks::<N>().0[keys.start / N * d_k..];
                    let query = &query[g * d_k..(g + 1) * d_k];
                    for (p, dots) in tile.as_chunks_mut::<N>().0.iter_mut().enumerate() {
                        let key = &key[p * d_k..][..d_k];
                        *dots = products::products::<f64, S, V, N>(simd, query, key);
                    }
                    let scores = Scores { first_key: first_key + keys.start, factor, windows };
                    scores.weigh::<M, WITH_LARGEST, WITH_ALL>(simd, tile, Facts(&mut facts[g]));

                    let tile = &tile[..keys.len()];
                    let sums = groups_mut::<f64, S, V>(of_values.get_mut()).as_chunks_mut::<N>().0;
                    let values = panel.value.get().as_chunks::<N>().0;
                    for (c, sums) in sums[g * columns..(g + 1) * columns].iter_mut().enumerate() {
                        let values = &values[c * BLOCK..][keys.clone()];
                        let more = products::in_chains::<f64, S, V, N>(simd, tile, values);
                        products::add::<f64, S, V, N>(simd, sums, &more);
                    }
                    if !all.is_empty() {
                        let largest = facts[g][weights::MAX_SIZE];
                        let tile = exponentials.get();
                        small.take::<S, V>(simd, at, (all.clone(), keys), tile, (largest, factor));
                    }
                }
                if !all.is_empty() {
                    let groups = t * together..t * together + windows.len();
                    let panel = (all, panel.sizes.get());
                    small.add_products::<S, V, N>(simd, panel, (groups, columns), of_sizes);
                }
            }
        }
        if self.is_last {
            if WITH_LARGEST {
                facts.iter_mut().for_each(|facts| Facts(facts).weigh_largest(simd, factor));
            }
            self.finish(simd, lanes, columns * N);
        }
    }

    /// Queries lane by lane with the sign of the scale, zeros in the lanes beyond the last row; no
    /// key yet.
    #[inline(always)]
    fn prepare<S: Simd, const V: usize>(
        &mut self,
        simd: S,
        lanes: usize,
        n_groups: usize,
        columns: usize,
    ) {
        let head = self.table.head();
        let buffers = &mut *self.buffers;
        let (width, sign) = (head.d_k * lanes, 1.0f64.copysign(self.factor));
        let query = buffers.query.fit(n_groups * width);
        query[self.windows.len() / lanes * width..].fill(0.0);
        if head.d_k > 0 {
            // No closure around it: what one calls is not compiled for vectors.
            for (group, rows) in query.chunks_exact_mut(width).zip(self.query.chunks(width)) {
                transpose(simd, (rows, head.d_k), (group, lanes), sign);
            }
        }
        buffers.exponentials.fit(BLOCK * lanes);
        let (facts, _) =
            groups_mut::<f64, S, V>(buffers.facts.fit(n_groups * weights::FACTS * lanes))
                .as_chunks_mut();
        facts.iter_mut().for_each(|facts| Facts(facts).clear(simd));
        let kinds = if self.detail == Detail::Full { KINDS } else { 1 };
        if kinds > 1 {
            buffers.small.fit::<S, V>(panels::width::<S>());
        }
        buffers.products[..kinds]
            .iter_mut()
            .for_each(|sums| sums.fit(n_groups * columns * lanes).fill(0.0));
    }

    /// What the lanes have come to, row by row.
    #[inline(always)]
    fn finish<S: Simd>(self, simd: S, lanes: usize, columns: usize) {
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
        if d_v == 0 {
            return;
        }
        self.sums.make_room(n * d_v, self.detail);
        // Sizes come without the power of two of the values, as squares do.
        let powers = [1.0, pow2(self.table.square_exponent), 1.0, 1.0];
        let kinds = self.sums.products_mut().into_iter().zip(products).zip(powers);
        for ((row_major, by_group), power) in kinds {
            let by_group = by_group.get().chunks_exact(columns * lanes);
            for (rows, group) in row_major.chunks_mut(d_v * lanes).zip(by_group) {
                transpose(simd, (group, lanes), (rows, d_v), power);
            }
        }
    }
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "the same operations in the same order")]
mod tests {
    use pulp::{Arch, Scalar};

    use super::panels::{Pack, Panel};
    use super::*;
    use crate::enclosure::visibility::VisibleKeys;
    use crate::exp::{U, base_2_factor, exp_product, sum_depth};
    use crate::gemm::gamma;
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

    /// What the loops may run on.
    #[derive(Clone, Copy, Debug)]
    pub(super) enum Vectors {
        /// The widest ones.
        Widest,
        One,
        #[cfg(target_arch = "x86_64")]
        V3(pulp::x86::V3),
        #[cfg(target_arch = "x86_64")]
        V4(pulp::x86::V4),
    }

    impl Vectors {
        /// All that this processor has.
        pub(super) fn all() -> Vec<Self> {
            let mut all = vec![Self::Widest, Self::One];
            #[cfg(target_arch = "x86_64")]
            {
                all.extend(pulp::x86::V3::try_new().map(Self::V3));
                all.extend(pulp::x86::V4::try_new().map(Self::V4));
            }
            all
        }

        pub(super) fn run<T: WithSimd<Output = ()>>(self, task: T) {
            match self {
                Self::Widest => Arch::new().dispatch(task),
                Self::One => task.with_simd(Scalar::new()),
                #[cfg(target_arch = "x86_64")]
                Self::V3(simd) => Simd::vectorize(simd, task),
                #[cfg(target_arch = "x86_64")]
                Self::V4(simd) => Simd::vectorize(simd, task),
            }
        }
    }

    /// Products of each kind, and sums of rows, of so many blocks of keys a pass.
    fn sweep(
        head: &Head<'_>,
        detail: Detail,
        vectors: Vectors,
        blocks: usize,
    ) -> ([Vec<f64>; KINDS], Vec<RowSums>) {
        let visibility = VisibleKeys::new(head);
        let table = ValueTable::new(head, &visibility);
        let windows: Vec<_> = (0..head.n_q).map(|i| visibility.window(i)).collect();
        let (mut buffers, mut sums) = (Buffers::default(), ValueSums::default());
        for first in (0..head.n_k).step_by(blocks * BLOCK) {
            let last = head.n_k.min(first + blocks * BLOCK);
            let mut panels = Panels::default();
            for first in (first..last).step_by(BLOCK) {
                let mut panel = Panel { keys: first..last.min(first + BLOCK), ..Panel::default() };
                let with_sizes = detail == Detail::Full;
                vectors.run(Pack { table: &table, with_sizes, panel: &mut panel });
                panels.blocks.push(panel);
            }
            vectors.run(Sweep {
                query: head.query,
                windows: &windows,
                table: &table,
                factor: base_2_factor(head.factor().value).unwrap(),
                detail,
                panels: &panels,
                is_first: first == 0,
                is_last: last == head.n_k,
                buffers: &mut buffers,
                sums: &mut sums,
            });
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
            let (products, rows) = sweep(&head, Detail::Full, Vectors::Widest, 9);
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
                    let limit = gamma(product_depth(e.len()) + plain + 2, U);
                    for kind in 0..KINDS {
                        // Of the exponential and the value, and twice of their squares.
                        let small = gamma(SMALL_DEPTH + 4, f64::from(f32::EPSILON) / 2.0);
                        let limit = if kind == 0 { limit } else { limit + small };
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

    /// How many rows are worked on together depends on the processor, how many keys are copied at a
    /// time on the head, and no bit may depend on that.
    #[test]
    fn all_vectors_and_passes_give_the_same_bits() {
        let bits = |numbers: &[f64]| numbers.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        for shape in SHAPES {
            let problem = Problem::new(shape);
            for detail in [Detail::Midpoints, Detail::Radii, Detail::Full] {
                let (products, rows) = sweep(&problem.head(), detail, Vectors::Widest, 9);
                for (vectors, blocks) in
                    Vectors::all().into_iter().flat_map(|vectors| [(vectors, 9), (vectors, 1)])
                {
                    let (others, other_rows) = sweep(&problem.head(), detail, vectors, blocks);
                    for kind in 0..KINDS {
                        assert_eq!(
                            bits(&products[kind]),
                            bits(&others[kind]),
                            "{shape:?} {detail:?} kind {kind} {vectors:?} {blocks}"
                        );
                    }
                    for (row, other) in rows.iter().zip(&other_rows) {
                        let all = |row: &RowSums| {
                            bits(&[row.sum, row.approx_square_sum, row.largest, row.smallest])
                        };
                        assert_eq!(all(row), all(other), "{shape:?} {detail:?} {vectors:?}");
                    }
                }
            }
        }
    }
}
