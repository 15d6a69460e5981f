//! Softmax over the keys of each row, streaming over blocks of rows and of keys.

use super::element::{self, Element, Sums};
use super::exact::{self, ExactRow};
use super::logits::{Dots, Terms, logit_error, relative_logit_error, to_logits};
use super::sight::Sight;
use super::table::{KeyTable, ValueTable, common_grid, norm_upper};
use super::{HeadEnclosure, RowStats};
use crate::exp::{CUTOFF, EXP_ERROR, U, exp_row, sum_depth};
use crate::gemm::{Products, gamma, times_depth};
use crate::head::{EmptyRow, Head, Normalization};

/// Rows per block: the scores of a block stay in the cache.
const ROW_BLOCK: usize = 64;

/// Largest relative error of a logit, by its own terms, at which a dropped key is still beyond `CUTOFF + 1/2`.
const MAX_DROPPED_ERROR: f64 = 1.0 / 1_048_576.0;

/// The exponentials of a row and the error of each.
pub(super) struct RowWeights {
    /// `L̂`.
    pub(super) sum: f64,
    /// Bound of `|p_j/ê_j − 1|` for the exact exponential `p_j` of a kept key.
    pub(super) tau: f64,
    /// Roundings on the way of an exponential into `L̂`.
    pub(super) sum_depth: usize,
    /// Roundings on the way of a product `ê·v` into its sum.
    pub(super) product_depth: usize,
    /// Number of keys that may contribute.
    pub(super) keys: usize,
    /// Whether visible keys were dropped.
    pub(super) has_dropped: bool,
}

/// What became of the scores of a row.
enum Row {
    Empty,
    Unknown,
    OneKey(usize),
    Weighted(RowWeights),
}

struct Tables<'a> {
    sight: Sight<'a>,
    keys: KeyTable,
    values: ValueTable,
}

/// Fills the enclosure for [`Normalization::OverKeys`] and [`Normalization::None`].
pub(super) fn enclose(head: &Head<'_>, by: Products, enclosure: &mut HeadEnclosure) {
    let sight = Sight::new(head);
    let tables = Tables { keys: KeyTable::new(head), values: ValueTable::new(head, &sight), sight };
    let (d_k, d_v) = (head.d_k, head.d_v);
    let mut buffer = Vec::new();
    let mut products = [const { Vec::new() }; 4];
    for start in (0..head.n_q).step_by(ROW_BLOCK) {
        let rows = start..head.n_q.min(start + ROW_BLOCK);
        let limit = rows.clone().map(|i| tables.sight.limit(i)).max().unwrap_or(0);
        buffer.resize(rows.len() * limit, 0.0);
        let query = &head.query[rows.start * d_k..rows.end * d_k];
        by.times_transposed(&mut buffer, query, &head.key[..limit * d_k], (rows.len(), d_k, limit));

        let mut outcomes = Vec::with_capacity(rows.len());
        for i in rows.clone() {
            let row = &mut buffer[(i - start) * limit..(i - start + 1) * limit];
            let (stats, outcome) = weigh(head, &tables, i, row);
            if !matches!(outcome, Row::Weighted(_)) {
                row.fill(0.0);
            }
            enclosure.rows.push(stats);
            outcomes.push(outcome);
        }

        let shape = (rows.len(), limit, d_v);
        products.iter_mut().for_each(|product| product.resize(rows.len() * d_v, 0.0));
        let [sums, abs_sums, square_sums, weighted_square_sums] = &mut products;
        by.times(sums, &buffer, &head.value[..limit * d_v], shape);
        by.times(abs_sums, &buffer, &tables.values.abs[..limit * d_v], shape);
        by.times(square_sums, &buffer, &tables.values.squares[..limit * d_v], shape);
        buffer.iter_mut().for_each(|e| *e *= *e);
        by.times(weighted_square_sums, &buffer, &tables.values.squares[..limit * d_v], shape);

        for (i, outcome) in rows.zip(&outcomes) {
            let columns = tables.values.columns(i);
            for c in 0..d_v {
                let k = (i - start) * d_v + c;
                let element = match outcome {
                    Row::Empty => empty(head, c),
                    Row::Unknown => Element::unknown(),
                    Row::OneKey(j) => Element::exact(head.value[j * d_v + c]),
                    Row::Weighted(row) => {
                        let sums = Sums {
                            values: sums[k],
                            abs: abs_sums[k],
                            squares: square_sums[k],
                            weighted_squares: weighted_square_sums[k],
                            square_exponent: tables.values.square_exponent,
                        };
                        match head.normalization {
                            Normalization::OverKeys => {
                                let general = element::normalized(row, &sums, columns, c);
                                let exact = enclosure.rows[i].exact.as_ref();
                                exact
                                    .and_then(|exact| exact_radius(exact, c))
                                    .map_or(general, |rad| Element { rad, ..general })
                            }
                            Normalization::None | Normalization::OverQueries => {
                                element::unnormalized(row, &sums, columns, c)
                            }
                        }
                    }
                };
                enclosure.set(i * d_v + c, element);
                enclosure.value_abs_sum[i * d_v + c] = match outcome {
                    Row::Empty => element.abar * head.n_k as f64 * (1.0 + 4.0 * U),
                    Row::Unknown | Row::OneKey(_) | Row::Weighted(_) => columns.abs_sum[c],
                };
            }
        }
    }
}

/// The radius of an exact row: its `f64` sums and quotient are exact, so only the dead keys remain.
fn exact_radius(row: &ExactRow, c: usize) -> Option<f64> {
    if row.sums_exactly(c, f64::MANTISSA_DIGITS, -1022) { row.dead_share(c) } else { None }
}

/// Element of a row without visible keys.
pub(super) fn empty(head: &Head<'_>, c: usize) -> Element {
    match head.empty_row {
        EmptyRow::Nan => Element { mid: f64::NAN, ..Element::exact(0.0) },
        EmptyRow::Mean if head.n_k > 0 => {
            let column = || (0..head.n_k).map(|j| head.value_row(j)[c]);
            let abs_max = column().fold(0.0f64, |max, v| max.max(v.abs()));
            element::mean(head.n_k, column().sum(), column().map(f64::abs).sum(), abs_max)
        }
        EmptyRow::Zero | EmptyRow::Mean => Element::exact(0.0),
    }
}

/// Turns the dot products of row `i` into exponentials and bounds their error. Derivation: `docs/bounds.md#softmax`.
fn weigh(head: &Head<'_>, tables: &Tables<'_>, i: usize, row: &mut [f64]) -> (RowStats, Row) {
    let (sight, keys) = (&tables.sight, &tables.keys);
    let (limit, visible) = (sight.limit(i), sight.count(i));
    row[limit..].fill(0.0);
    if visible == 0 {
        return (RowStats::empty(), Row::Empty);
    }
    let logits = &mut row[..limit];
    let Some(top) = to_logits(head, sight, i, logits) else {
        return (RowStats::unknown(visible), Row::Unknown);
    };
    let over_keys = matches!(head.normalization, Normalization::OverKeys);
    let query = (norm_upper(head.query_row(i)), common_grid(head.query_row(i)));
    let exact = (over_keys && top == 0.0)
        .then(|| Dots::new(query, keys.of_chosen(limit, |j| logits[j] > CUTOFF)))
        .and_then(|dots| exact::scan(head, sight, i, logits, dots.are_exact()));
    let biased_terms = head.bias_row(i).map(|bias| Terms::biased(logits, bias, top));

    let exponentials = exp_row(logits, top);
    let all_kept = exponentials.kept == limit;
    let kept_keys = if all_kept { keys.of_prefix(limit) } else { keys.of_chosen(limit, |j| logits[j] > 0.0) };
    let (key_norm, _) = sight.mask(i).map_or(keys.of_prefix(limit), |mask| keys.of_chosen(limit, |j| mask[j]));
    let dots = Dots::new(query, kept_keys);
    let terms = biased_terms.unwrap_or(Terms::unbiased(top, exponentials.lowest));
    let is_exact = exact.is_some();
    let logit_error = if is_exact { 0.0 } else { logit_error(head, &dots, &terms, query.0 + key_norm) };

    // Without division the rounding of the maximum counts; with it every shift is as good as any other.
    let shift_error = U * exponentials.lowest.abs() + if over_keys { 0.0 } else { logit_error };
    let exp_error = if exponentials.lowest < 0.0 { EXP_ERROR * (1.0 + 8.0 * U) } else { 0.0 };
    let y = logit_error + shift_error + exp_error;
    let tau = (y + y * y) * (1.0 + 8.0 * U);
    let depth = sum_depth(limit);
    let sum_lower = exponentials.sum * (1.0 - 2.0 * tau - 2.0 * gamma(depth, U) - 8.0 * U);

    let dropped = visible - exponentials.kept;
    let scale = head.scale.value.abs();
    let stats = RowStats {
        visible,
        dropped,
        dropped_ratio: match &exact {
            Some(exact) => exact.dead_ratio,
            None if dropped > 0 => 1.01 + (2.0 * scale * query.0 * key_norm + top.abs()) / (-CUTOFF - 1.0),
            None => 0.0,
        },
        logit_max: if is_exact { 0.0 } else { (terms.term_max + 2.0 * logit_error) * (1.0 + 8.0 * U) },
        bias_max: terms.bias_max * (1.0 + head.bias.map_or(0.0, |bias| bias.rel_error)) * (1.0 + 4.0 * U),
        dot_max: if exact.as_ref().is_some_and(|exact| exact.products_vanish) {
            0.0
        } else {
            scale * dots.magnitude * (1.0 + head.scale.rel_error) * (1.0 + 8.0 * U)
        },
        query_norm: query.0,
        key_norm,
        sum_lower: if over_keys { sum_lower.max(1.0) } else { 1.0 },
        weight_norm: exponentials.approx_square_sum.sqrt() / if over_keys { exponentials.sum } else { 1.0 },
        dot_bits: dots.bits,
        dot_grid: dots.grid,
        exact,
    };
    let dropped_is_safe = dropped == 0 || relative_logit_error(head) * stats.dropped_ratio <= MAX_DROPPED_ERROR;
    if visible == 1 {
        let only = (0..limit).find(|j| sight.sees(i, *j)).unwrap_or(0);
        return (stats, Row::OneKey(only));
    }
    if !(tau < 0.5 && dropped_is_safe) {
        return (RowStats { exact: None, ..stats }, Row::Unknown);
    }
    let (sum_depth, product_depth) = (depth, times_depth(limit));
    let has_dropped = dropped > 0;
    (
        stats,
        Row::Weighted(RowWeights { sum: exponentials.sum, tau, sum_depth, product_depth, keys: visible, has_dropped }),
    )
}
