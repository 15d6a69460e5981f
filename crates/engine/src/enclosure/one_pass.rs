//! Rows whose logits are bounded beforehand: dot products, exponentials and products with the
//! values in passes over the keys, of which nothing is kept. Derivation: `docs/bounds.md#streaming`.

use std::ops::Range;

use pulp::{Arch, Simd, WithSimd};

use super::blocks::{Block, Job, Scratch, each, enclose_block};
use super::logits::{Dots, Facts, PlainLine, are_plain};
use super::lse::Lse;
use super::rows::{Row, RowWeights};
use super::sweep::{self, RowSums, Sweep};
use super::table::{Columns, norms_and_grids};
use super::{Detail, RowStats};
use crate::exp::{EXP_ERROR, FACTOR_ERROR, U, base_2_factor, sum_depth};
use crate::gemm::{Products, gamma};
use crate::head::{Head, Normalization};

/// Largest bound of a logit at which its exponential needs no shift: squares of exponentials stay
/// far from both ends of the range.
const MAX_LOGIT: f64 = 100.0;

/// Dot products below this are finite whatever the order of their sums.
const MAX_DOT: f64 = 1e300;

/// Numbers of keys and values that are copied at a time, 4 MiB: all of most heads.
const MAX_COPIED: usize = 1 << 19;

/// What is known of a row before its scores.
struct Bounded {
    window: Range<usize>,
    dots: Dots,
    query_norm: f64,
    key_norm: f64,
    /// Upper bound of every computed logit.
    logit: f64,
}

/// A head whose rows may need no shift.
pub(super) struct OnePass<'a> {
    job: Job<'a>,
    factor: f64,
}

/// A block of rows on its way.
struct Task<'a> {
    block: Block<'a>,
    open: Option<Open>,
}

/// Rows that need no shift.
struct Open {
    rows: Vec<Bounded>,
    windows: Vec<Range<usize>>,
    /// From the first pass to the last.
    scratch: Option<Scratch>,
}

impl<'a> OnePass<'a> {
    /// `None` when logits have more than a scale, when values are too far apart for `f32`, and for
    /// [`Products::FixedOrder`], whose results are kept by others.
    pub(super) fn new(job: Job<'a>) -> Option<Self> {
        let Job { head, by, tables, .. } = job;
        let is_softmax = matches!(head.normalization, Normalization::OverKeys);
        let is_open = by == Products::Faer
            && is_softmax
            && head.sink.is_none()
            && are_plain(head)
            && !tables.values.are_far_apart();
        let factor = base_2_factor(head.factor().value)?;
        is_open.then_some(Self { job, factor })
    }

    /// Fills the blocks, in the general way where a row has a mask, could be exact or may have large
    /// logits, or an overflow is met.
    pub(super) fn enclose(&self, blocks: Vec<Block<'_>>) {
        let Job { head, detail, tables, .. } = self.job;
        let mut tasks: Vec<_> =
            blocks.into_iter().map(|block| Task { block, open: None }).collect();
        each(&mut tasks, |task| {
            task.open = bounded(self.job, &task.block);
            if task.open.is_none() {
                enclose_block(self.job, &mut task.block);
            }
        });
        tasks.retain(|task| task.open.is_some());
        let copied = (MAX_COPIED / (head.d_k + head.d_v).max(1)).next_multiple_of(sweep::BLOCK);
        // What the blocks of a wave have come to is kept from pass to pass.
        let wave =
            if head.n_k <= copied { tasks.len() } else { 2 * rayon::current_num_threads().max(3) };
        let mut packer = Scratch::take();
        for tasks in tasks.chunks_mut(wave.max(1)) {
            let windows =
                tasks.iter().map(|task| tables.visibility.window_of_rows(task.block.rows.clone()));
            let seen = windows
                .filter(|window| !window.is_empty())
                .reduce(|a, b| a.start.min(b.start)..a.end.max(b.end))
                .unwrap_or(0..0);
            let mut keys = seen.start / sweep::BLOCK * sweep::BLOCK..seen.end;
            let mut is_first = true;
            loop {
                let pass = keys.start..keys.end.min(keys.start + copied);
                keys.start = pass.end;
                let is_last = keys.is_empty();
                packer.panels.pack(&tables.values, pass, detail == Detail::Full);
                let panels = &packer.panels;
                each(tasks, |task| self.pass(task, panels, (is_first, is_last)));
                is_first = false;
                if is_last {
                    break;
                }
            }
        }
        packer.give_back();
    }

    /// One pass over some keys; the last one fills the block.
    fn pass(&self, task: &mut Task<'_>, panels: &sweep::Panels, (is_first, is_last): (bool, bool)) {
        let Job { head, detail, tables, .. } = self.job;
        let Task { block, open: Some(open) } = task else { return };
        let mut scratch = open.scratch.take().unwrap_or_else(Scratch::take);
        let Scratch { sweep, sums, .. } = &mut scratch;
        Arch::new().dispatch(Sweep {
            query: &head.query[block.rows.start * head.d_k..block.rows.end * head.d_k],
            windows: &open.windows,
            factor: self.factor,
            table: &tables.values,
            detail,
            panels,
            is_first,
            is_last,
            buffers: sweep,
            sums,
        });
        if !is_last {
            open.scratch = Some(scratch);
            return;
        }
        let is_known = self.fill(block, &open.rows, &scratch);
        scratch.give_back();
        if !is_known {
            enclose_block(self.job, block);
        }
    }

    /// Whether the rows are what was expected of them; fills the block.
    fn fill(&self, block: &mut Block<'_>, rows: &[Bounded], scratch: &Scratch) -> bool {
        let Job { head, detail, tables, .. } = self.job;
        let Scratch { sweep, sums, .. } = scratch;
        let mut columns = Columns::new(&tables.values, &tables.visibility);
        for ((i, row), row_sums) in block.rows.clone().zip(rows).zip(&sweep.rows) {
            let Some((stats, outcome)) = weigh(head, detail, row, row_sums) else {
                return false;
            };
            let first = block.rows.start;
            block.set_row(self.job, columns.of_row(i), (i, stats, &outcome), sums, first);
        }
        let results: &[f64] = if detail == Detail::Midpoints { &sums.values } else { block.rad };
        Arch::new().dispatch(AllFinite(results))
    }
}

/// Whether no number is infinite or NaN.
struct AllFinite<'a>(&'a [f64]);

impl WithSimd for AllFinite<'_> {
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) -> bool {
        // Without a way out early, so that the loop becomes vector instructions.
        self.0.iter().fold(true, |all, x| all & (x.abs() < f64::INFINITY))
    }
}

/// Bounds of the logits of every row of the block; `None` if one of them is too large, or if there
/// can be something exact.
fn bounded(job: Job<'_>, block: &Block<'_>) -> Option<Open> {
    let Job { head, tables, .. } = job;
    let query = &head.query[block.rows.start * head.d_k..block.rows.end * head.d_k];
    let norms = norms_and_grids(query, block.rows.len(), head.d_k);
    let underflow = (2 * head.d_k + 4) as f64 * f64::MIN_POSITIVE;
    let mut rows = Vec::with_capacity(norms.len());
    for (i, query) in block.rows.clone().zip(norms) {
        let window = tables.visibility.window(i);
        let keys = tables.keys.of_window(window.clone());
        let dots = Dots::new(query, keys);
        // Covers the roundings of the dot product, whose γ is below 2^−10 for every width that fits
        // into memory, and of the scale.
        let logit = head.factor().value.abs() * (dots.magnitude * (1.0 + 1.0 / 512.0) + underflow)
            + underflow;
        let is_bounded = 0.0 < dots.magnitude && dots.magnitude <= MAX_DOT && logit <= MAX_LOGIT;
        if tables.visibility.mask(i).is_some() || !(is_bounded || window.is_empty()) {
            return None;
        }
        rows.push(Bounded { window, dots, query_norm: query.0, key_norm: keys.0, logit });
    }
    let windows = rows.iter().map(|row| row.window.clone()).collect();
    Some(Open { rows, windows, scratch: None })
}

/// The error of the exponentials of a row; `None` if all its logits are 0, or the error is no use.
fn weigh(
    head: &Head<'_>,
    detail: Detail,
    row: &Bounded,
    sums: &RowSums,
) -> Option<(RowStats, Row)> {
    let n = row.window.len();
    if n == 0 {
        return Some((RowStats::empty(None), Row::Empty));
    }
    let mut weights = RowWeights {
        sum: sums.sum,
        tau: 0.0,
        sum_depth: sum_depth(n),
        product_depth: sweep::product_depth(n),
        keys: n,
        has_dropped: false,
        has_sink: false,
        sum_is_exact: n == 1,
        heaviest: 1.0,
        sizes_are_small: detail == Detail::Full,
    };
    let outcome =
        |weights| if n == 1 { Row::OneKey(row.window.start) } else { Row::Weighted(weights) };
    if detail == Detail::Midpoints {
        return Some((RowStats::empty(None), outcome(weights)));
    }
    let largest = sums.largest;
    if largest == 0.0 && weights.sum >= n as f64 {
        return None;
    }
    weights.heaviest = sums.heaviest;
    let (top, lowest) =
        if detail >= Detail::Rows { (largest, sums.smallest) } else { (row.logit, -row.logit) };
    let (query_norm, key_norm) = (row.query_norm, row.key_norm);
    let line =
        PlainLine { top, shift: 0.0, lowest, query_norm, key_norm, kept: n, has_dropped: false };
    let facts = Facts::plain(head, &row.dots, &line);
    let y = exponent_error(&facts);
    weights.tau = (y + y * y) * (1.0 + 8.0 * U);
    if weights.tau.is_nan() || weights.tau >= 0.5 {
        return None;
    }
    let stats = if detail >= Detail::Rows {
        stats(head, row, sums, &facts, &weights)
    } else {
        RowStats::empty(None)
    };
    Some((stats, outcome(weights)))
}

/// Error of the logarithm of every exponential: of the logits, of the factor of base 2, of the
/// exponential itself.
fn exponent_error(facts: &Facts) -> f64 {
    facts.error + (FACTOR_ERROR * facts.term_max + EXP_ERROR) * (1.0 + 8.0 * U)
}

fn stats(
    head: &Head<'_>,
    row: &Bounded,
    sums: &RowSums,
    facts: &Facts,
    weights: &RowWeights,
) -> RowStats {
    let sum_error = 2.0 * weights.tau + 2.0 * gamma(weights.sum_depth, U) + 16.0 * U;
    let final_max =
        sums.largest.abs().max(sums.smallest.abs()) * (1.0 + 8.0 * U) + 2.0 * facts.error;
    let scale = head.factor();
    let lse = match row.window.len() {
        // The only logit itself.
        1 => Lse::of_row(&RowWeights { sum: 1.0, ..*weights }, sums.largest, facts.error),
        _ => Lse::of_row(weights, 0.0, exponent_error(facts)),
    };
    RowStats {
        visible: row.window.len(),
        logit_max: (facts.term_max + 2.0 * facts.error) * (1.0 + 8.0 * U),
        final_max,
        dot_max: scale.value.abs() * row.dots.magnitude * (1.0 + scale.rel_error) * (1.0 + 8.0 * U),
        query_norm: row.query_norm,
        key_norm: row.key_norm,
        sum_lower: (weights.sum / weights.heaviest * (1.0 - sum_error)).max(1.0),
        weight_norm: sums.approx_square_sum.sqrt() / weights.sum,
        dot_bits: row.dots.bits,
        dot_grid: row.dots.grid,
        lse,
        ..RowStats::empty(None)
    }
}
