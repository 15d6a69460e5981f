//! Softmax over the keys of each row, by blocks of rows on several threads. Derivation:
//! `docs/bounds.md#streaming`.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use pulp::Arch;
use rayon::iter::{IndexedParallelIterator, IntoParallelRefMutIterator, ParallelIterator};

use super::element::{self, Element, Factors, Normalized, RadiiByRange};
use super::one_pass::OnePass;
use super::rows::{Row, Tables, empty, weigh};
use super::stages::Stages;
use super::sweep::{Buffers, Panels};
use super::table::{ColumnStats, Columns, KeyTable, ValueTable};
use super::visibility::VisibleKeys;
use super::{Detail, HeadEnclosure, RowStats};
use crate::exp::U;
use crate::gemm::{KEY_BLOCK, Products};
use crate::head::{Head, Normalization};

/// Largest number of rows in a block; heads of few queries have smaller ones, for the sake of other
/// threads.
const ROW_BLOCK: usize = 384;

/// Rows of a block at least: a group of `f32` on the widest vectors.
const MIN_ROWS: usize = 48;

/// Scores that a thread holds at most, but for those of a single row: 4 MiB.
const MAX_SCORES: usize = 1 << 19;

/// What all blocks share.
#[derive(Clone, Copy)]
pub(super) struct Job<'a> {
    pub(super) head: &'a Head<'a>,
    pub(super) by: Products,
    pub(super) detail: Detail,
    pub(super) tables: &'a Tables<'a>,
}

/// The part of a [`HeadEnclosure`] that a block of rows fills.
pub(super) struct Block<'a> {
    pub(super) rows: Range<usize>,
    pub(super) mid: &'a mut [f64],
    pub(super) rad: &'a mut [f64],
    abar: &'a mut [f64],
    deviation: &'a mut [f64],
    product_norm: &'a mut [f64],
    value_abs_sum: &'a mut [f64],
    stats: &'a mut [RowStats],
}

/// What a thread needs while it works on a block, kept from block to block and from head to head.
#[derive(Default)]
pub(super) struct Scratch {
    scores: Vec<f64>,
    pub(super) sweep: Buffers,
    pub(super) sums: ValueSums,
    pub(super) panels: Panels,
}

/// What no thread works on. Only its room is kept: whatever is in it is written before it is read.
static SPARE: Mutex<Vec<Scratch>> = Mutex::new(Vec::new());

impl Scratch {
    /// One that is kept, or a new one.
    pub(super) fn take() -> Self {
        SPARE.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default()
    }

    /// Keeps it, but for what a row of extraordinary length has needed.
    pub(super) fn give_back(mut self) {
        if self.scores.len() > MAX_SCORES {
            self.scores = Vec::new();
        }
        SPARE.lock().unwrap_or_else(PoisonError::into_inner).push(self);
    }
}

/// Products of the exponentials of some rows with the values of the keys so far.
#[derive(Default)]
pub(super) struct ValueSums {
    /// `Σ ê v`.
    pub(super) values: Vec<f64>,
    /// `Σ ê |v|`.
    pub(super) abs: Vec<f64>,
    squares: Vec<f64>,
    /// `Σ ê² (v·2^−e)²`.
    pub(super) weighted_squares: Vec<f64>,
    abs_block: Vec<f64>,
    square_block: Vec<f64>,
}

impl ValueSums {
    /// Sums of `n` elements over no key.
    pub(super) fn clear(&mut self, n: usize, detail: Detail) {
        let zeros = |sums: &mut Vec<f64>, n| {
            sums.clear();
            sums.resize(n, 0.0);
        };
        zeros(&mut self.values, n);
        let n = if detail == Detail::Full { n } else { 0 };
        zeros(&mut self.abs, n);
        zeros(&mut self.squares, n);
        zeros(&mut self.weighted_squares, n);
    }

    /// Room for the sums of `n` elements that [`products_mut`](Self::products_mut) gets, whatever
    /// is in it.
    pub(super) fn make_room(&mut self, n: usize, detail: Detail) {
        self.values.resize(n, 0.0);
        let n = if detail == Detail::Full { n } else { 0 };
        for sums in [&mut self.abs, &mut self.squares, &mut self.weighted_squares] {
            sums.resize(n, 0.0);
        }
    }

    /// Adds the products with a block of keys, at most [`KEY_BLOCK`]; in full, squares the
    /// exponentials in the course of it.
    ///
    /// # Shapes
    /// `exponentials: (rows, keys)` with `stride` numbers from row to row.
    pub(super) fn add(
        &mut self,
        table: &ValueTable<'_>,
        by: Products,
        exponentials: &mut [f64],
        stride: usize,
        (rows, keys): (usize, Range<usize>),
        detail: Detail,
    ) {
        let head = table.head();
        let shape = (rows, keys.len(), head.d_v);
        if rows == 0 || keys.is_empty() || head.d_v == 0 {
            return;
        }
        by.add_times(&mut self.values, exponentials, stride, table.of_keys(keys.clone()), shape);
        if detail < Detail::Full {
            return;
        }
        let n = keys.len();
        table.abs_and_squares(keys, &mut self.abs_block, &mut self.square_block);
        by.add_times(&mut self.abs, exponentials, stride, &self.abs_block, shape);
        by.add_times(&mut self.squares, exponentials, stride, &self.square_block, shape);
        exponentials
            .chunks_mut(stride)
            .take(rows)
            .for_each(|row| row[..n].iter_mut().for_each(|e| *e *= *e));
        by.add_times(&mut self.weighted_squares, exponentials, stride, &self.square_block, shape);
    }

    /// Products with values, their sizes, their squares, and of squares with squares; the last
    /// three are empty but in full.
    pub(super) fn products_mut(&mut self) -> [&mut Vec<f64>; 4] {
        [&mut self.values, &mut self.abs, &mut self.squares, &mut self.weighted_squares]
    }

    /// Sums of each kind.
    fn of_elements(&self, elements: Range<usize>) -> [&[f64]; 4] {
        [&self.values, &self.abs, &self.squares, &self.weighted_squares]
            .map(|sums| &sums[elements.clone()])
    }
}

/// Fills the enclosure for [`Normalization::OverKeys`] and [`Normalization::None`].
pub(super) fn enclose(
    head: &Head<'_>,
    by: Products,
    detail: Detail,
    enclosure: &mut HeadEnclosure,
) {
    let visibility = VisibleKeys::new(head);
    let tables = Tables {
        keys: KeyTable::new(head),
        values: ValueTable::new(head, &visibility),
        visibility,
    };
    let job = Job { head, by, detail, tables: &tables };
    let blocks = blocks(head, enclosure);
    match OnePass::new(job) {
        Some(one_pass) => one_pass.enclose(blocks),
        None => each(&mut { blocks }, |block| enclose_block(job, block)),
    }
}

/// Does the same with each, on the threads of the pool where there are several.
pub(super) fn each<T: Send>(items: &mut [T], work: impl Fn(&mut T) + Send + Sync) {
    if let [one] = items {
        work(one);
    } else {
        items.par_iter_mut().with_max_len(1).for_each(work);
    }
}

/// Blocks of rows; where they end depends on the head alone.
fn blocks<'a>(head: &Head<'_>, enclosure: &'a mut HeadEnclosure) -> Vec<Block<'a>> {
    let size = head.n_q.div_ceil(8).next_multiple_of(MIN_ROWS).clamp(MIN_ROWS, ROW_BLOCK);
    let mut rest = Block {
        rows: 0..head.n_q,
        mid: &mut enclosure.mid,
        rad: &mut enclosure.rad,
        abar: &mut enclosure.abar,
        deviation: &mut enclosure.deviation,
        product_norm: &mut enclosure.product_norm,
        value_abs_sum: &mut enclosure.value_abs_sum,
        stats: &mut enclosure.rows,
    };
    let mut blocks = Vec::with_capacity(head.n_q.div_ceil(size));
    while !rest.rows.is_empty() {
        blocks.push(rest.take(size, head.d_v));
    }
    blocks
}

impl<'a> Block<'a> {
    /// Its first `n` rows, or as many as there are; the others stay.
    fn take(&mut self, n: usize, d_v: usize) -> Self {
        fn front<'a, T>(xs: &mut &'a mut [T], n: usize) -> &'a mut [T] {
            let n = n.min(xs.len());
            let (front, rest) = std::mem::take(xs).split_at_mut(n);
            *xs = rest;
            front
        }
        let rows = self.rows.start..self.rows.end.min(self.rows.start + n);
        self.rows.start = rows.end;
        let elements = rows.len() * d_v;
        Self {
            mid: front(&mut self.mid, elements),
            rad: front(&mut self.rad, elements),
            abar: front(&mut self.abar, elements),
            deviation: front(&mut self.deviation, elements),
            product_norm: front(&mut self.product_norm, elements),
            value_abs_sum: front(&mut self.value_abs_sum, elements),
            stats: front(&mut self.stats, rows.len()),
            rows,
        }
    }

    /// Stores what is known of row `i`.
    pub(super) fn set_row(
        &mut self,
        job: Job<'_>,
        columns: &ColumnStats,
        (i, stats, outcome): (usize, RowStats, &Row),
        sums: &ValueSums,
        first: usize,
    ) {
        let d_v = job.head.d_v;
        let elements = (i - self.rows.start) * d_v..(i - self.rows.start + 1) * d_v;
        let values = &sums.values[(i - first) * d_v..(i - first + 1) * d_v];
        match (job.detail, outcome) {
            (Detail::Midpoints, Row::Weighted(row)) => {
                let mids = self.mid[elements].iter_mut().zip(values);
                mids.for_each(|(mid, sum)| {
                    *mid = if is_divided(job.head) { sum / row.sum } else { *sum }
                });
            }
            (_, Row::Weighted(row)) if is_divided(job.head) => {
                let (mid, rad) = (&mut self.mid[elements.clone()], &mut self.rad[elements.clone()]);
                if job.detail == Detail::Full {
                    Arch::new().dispatch(Normalized {
                        factors: &Factors::new(row, job.tables.values.square_exponent),
                        columns,
                        sums: sums.of_elements((i - first) * d_v..(i - first + 1) * d_v),
                        mid,
                        rad,
                        abar: &mut self.abar[elements.clone()],
                        deviation: &mut self.deviation[elements.clone()],
                        product_norm: &mut self.product_norm[elements.clone()],
                    });
                } else {
                    Arch::new().dispatch(RadiiByRange { row, columns, sums: values, mid, rad });
                }
                if stats.exact.is_some() {
                    for (c, rad) in self.rad[elements.clone()].iter_mut().enumerate() {
                        *rad = certain_radius(&stats, columns, c).unwrap_or(*rad);
                    }
                }
                if job.detail >= Detail::Rows {
                    let sums = self.value_abs_sum[elements].iter_mut().enumerate();
                    sums.for_each(|(c, sum)| *sum = columns.abs_sum(c));
                }
            }
            _ => {
                let factors = match outcome {
                    Row::Weighted(row) => {
                        Some(Factors::new(row, job.tables.values.square_exponent))
                    }
                    Row::Empty | Row::Unknown | Row::OneKey(_) => None,
                };
                for (c, index) in elements.enumerate() {
                    let element = match (outcome, &factors) {
                        (Row::Empty, _) => empty(job.head, c),
                        (Row::OneKey(j), _) => {
                            Element::exact(job.head.value[j * d_v + c]).or_unknown()
                        }
                        (_, Some(factors)) => weighted(
                            job,
                            factors,
                            &stats,
                            columns,
                            sums,
                            ((i - first) * d_v + c, c),
                        ),
                        (_, None) => Element::unknown(),
                    };
                    self.set(index, element);
                    if job.detail >= Detail::Rows {
                        self.value_abs_sum[index] = match outcome {
                            Row::Empty => element.abar * job.head.n_k as f64 * (1.0 + 4.0 * U),
                            Row::Unknown | Row::OneKey(_) | Row::Weighted(_) => columns.abs_sum(c),
                        };
                    }
                }
            }
        }
        if !job.tables.values.are_finite() && matches!(outcome, Row::Weighted(_)) {
            let elements = (i - self.rows.start) * d_v..(i - self.rows.start + 1) * d_v;
            let unknown = elements.enumerate().filter(|(c, _)| !columns.abs_sum(*c).is_finite());
            unknown.for_each(|(_, index)| self.set(index, Element::unknown()));
        }
        if job.detail >= Detail::Rows {
            self.stats[i - self.rows.start] = stats;
        }
    }

    fn set(&mut self, index: usize, element: Element) {
        self.mid[index] = element.mid;
        for (part, x) in [
            (&mut self.rad, element.rad),
            (&mut self.abar, element.abar),
            (&mut self.deviation, element.deviation),
            (&mut self.product_norm, element.product_norm),
        ] {
            if let Some(entry) = part.get_mut(index) {
                *entry = x;
            }
        }
    }
}

fn is_divided(head: &Head<'_>) -> bool {
    matches!(head.normalization, Normalization::OverKeys)
}

/// Element `index` of the sums, in column `c`, where nothing is divided.
fn weighted(
    job: Job<'_>,
    factors: &Factors<'_>,
    stats: &RowStats,
    columns: &ColumnStats,
    sums: &ValueSums,
    (index, c): (usize, usize),
) -> Element {
    let general = if job.detail == Detail::Full {
        let [values, abs, _, weighted_squares] = sums.of_elements(index..index + 1);
        element::unnormalized(factors, [values[0], abs[0], weighted_squares[0]], columns, c)
    } else {
        element::unnormalized_by_range(factors, sums.values[index], columns, c)
    };
    certain_radius(stats, columns, c).map_or(general, |rad| Element { rad, ..general })
}

/// The radius where weights do not matter. Zeros sum to 0; the sums and the quotient of an exact
/// row are exact in `f64`, so only its dead keys remain.
fn certain_radius(stats: &RowStats, columns: &ColumnStats, c: usize) -> Option<f64> {
    if columns.abs_sum(c) == 0.0 {
        return Some(0.0);
    }
    let exact =
        stats.exact.as_ref().filter(|exact| exact.sums_exactly(c, f64::MANTISSA_DIGITS, -1022))?;
    exact.dead_share(c)
}

/// The general way: all scores of a row at once, so that their largest is known before the first
/// exponential.
pub(super) fn enclose_block(job: Job<'_>, block: &mut Block<'_>) {
    let Job { head, by, detail, tables } = job;
    let mut scratch = Scratch::take();
    let (d_k, d_v) = (head.d_k, head.d_v);
    let width = tables.visibility.window_of_rows(block.rows.clone()).len();
    let rows_at_once = (MAX_SCORES / width.max(1)).clamp(1, ROW_BLOCK);
    let mut columns = Columns::new(&tables.values, &tables.visibility);
    let mut stages = Stages::default();
    for start in block.rows.clone().step_by(rows_at_once) {
        let rows = start..block.rows.end.min(start + rows_at_once);
        let window = tables.visibility.window_of_rows(rows.clone());
        let width = window.len();
        scratch.scores.resize(rows.len() * width, 0.0);
        let scores = &mut scratch.scores[..];
        let query = &head.query[rows.start * d_k..rows.end * d_k];
        let key = &head.key[window.start * d_k..window.end * d_k];
        by.times_transposed(scores, query, key, (rows.len(), d_k, width));

        let mut outcomes = Vec::with_capacity(rows.len());
        for i in rows.clone() {
            let row = &mut scores[(i - start) * width..(i - start + 1) * width];
            let seen = tables.visibility.window(i);
            let seen = if seen.is_empty() {
                0..0
            } else {
                seen.start - window.start..seen.end - window.start
            };
            row[..seen.start].fill(0.0);
            row[seen.end..].fill(0.0);
            let (stats, outcome) = weigh(head, tables, i, &mut row[seen], &mut stages);
            if !matches!(outcome, Row::Weighted(_)) {
                row.fill(0.0);
            }
            outcomes.push((i, stats, outcome));
        }

        scratch.sums.clear(rows.len() * d_v, detail);
        for first in (0..width).step_by(KEY_BLOCK) {
            let last = width.min(first + KEY_BLOCK);
            let keys = window.start + first..window.start + last;
            scratch.sums.add(
                &tables.values,
                by,
                &mut scores[first..],
                width,
                (rows.len(), keys),
                detail,
            );
        }
        for (i, stats, outcome) in outcomes {
            block.set_row(job, columns.of_row(i), (i, stats, &outcome), &scratch.sums, start);
        }
    }
    scratch.give_back();
}
