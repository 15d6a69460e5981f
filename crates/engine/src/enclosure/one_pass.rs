//! Rows whose logits are bounded beforehand: scale, exponential and sums in one pass over a block
//! of scores, which is never needed again. Derivation: `docs/bounds.md#streaming`.

use pulp::{Arch, Simd, WithSimd};

use super::{Detail, RowStats};
use std::ops::Range;

use super::blocks::{Block, Job, Scratch};
use super::logits::{Dots, Facts, PlainLine, are_plain};
use super::lse::Lse;
use super::rows::{Row, RowWeights};
use super::sweep::{RowSums, Sweep};
use super::table::{Columns, norms_and_grids};
use crate::exp::{EXP_ERROR, FACTOR_ERROR, U, base_2_factor, sum_depth};
use crate::gemm::{Products, gamma, times_depth};
use crate::head::{Head, Normalization};

/// Largest bound of a logit at which its exponential needs no shift: squares of exponentials stay
/// far from both ends of the range.
const MAX_LOGIT: f64 = 100.0;

/// Dot products below this are finite whatever the order of their sums.
const MAX_DOT: f64 = 1e300;

/// What is known of a row before its scores.
struct Bounded {
    window: Range<usize>,
    dots: Dots,
    query_norm: f64,
    key_norm: f64,
    /// Upper bound of every computed logit.
    logit: f64,
}

/// Fills the block, or returns false where this way is not open.
///
/// It is not when logits have more than a scale, or may be large, a row has a mask, a row could be
/// exact, or an overflow is met; nor for [`Products::FixedOrder`], whose results are kept by
/// others.
pub(super) fn enclose(job: Job<'_>, scratch: &mut Scratch, block: &mut Block<'_>) -> bool {
    let Job { head, by, detail, tables } = job;
    let is_softmax = matches!(head.normalization, Normalization::OverKeys) && head.sink.is_none();
    if by == Products::FixedOrder || !is_softmax || !are_plain(head) {
        return false;
    }
    let Some((rows, factor)) = bounded(job, block).zip(base_2_factor(head.factor().value)) else {
        return false;
    };
    let (n, d_k, d_v) = (rows.len(), head.d_k, head.d_v);
    let Scratch { sweep, windows, sums, .. } = scratch;
    windows.clear();
    windows.extend(rows.iter().map(|row| row.window.clone()));
    sums.make_room(n * d_v, detail);
    let query = &head.query[block.rows.start * d_k..block.rows.end * d_k];
    Arch::new().dispatch(Sweep {
        query,
        windows,
        factor,
        table: &tables.values,
        detail,
        buffers: sweep,
        sums,
    });

    let mut columns = Columns::new(&tables.values, &tables.visibility);
    for ((i, row), row_sums) in block.rows.clone().zip(&rows).zip(&sweep.rows) {
        let Some((stats, outcome)) = weigh(head, detail, row, row_sums) else {
            return false;
        };
        block.set_row(job, columns.of_row(i), (i, stats, &outcome), sums, block.rows.start);
    }
    let results: &[f64] = if detail == Detail::Midpoints { &sums.values } else { block.rad };
    Arch::new().dispatch(AllFinite(results))
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
fn bounded(job: Job<'_>, block: &Block<'_>) -> Option<Vec<Bounded>> {
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
    Some(rows)
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
        product_depth: times_depth(n),
        keys: n,
        has_dropped: false,
        has_sink: false,
        sum_is_exact: n == 1,
        heaviest: 1.0,
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
