//! Softmax along the query axis, a fault that people do make: dense, for the sizes of a test.

use super::HeadEnclosure;
use super::RowStats;
use super::element::{self, DROPPED_WEIGHT, Element, INFLATION, UNDERFLOW};
use super::logits::{Dots, Terms, logit_error, relative_logit_error, to_logits};
use super::rows;
use super::sight::Sight;
use super::table::{KeyTable, ValueTable, common_grid, norm_upper};
use crate::exp::{CUTOFF, EXP_ERROR, U, exp_row, sum_depth};
use crate::gemm::{Products, gamma, times_depth};
use crate::head::Head;

/// Fills the enclosure of `O_ic = Σ_j w_ij v_jc` with `w_ij = e^(z_ij) / Σ_i' e^(z_i'j)` over the queries that see key `j`.
///
/// # Error bound
/// Every weight has relative error `τ_w`, so the radius is `(τ_w + γ_κ) · Σ w|v|` and the terms of dropped weights and underflow.
/// Derivation: docs/bounds.md#over-queries.
pub(super) fn enclose(head: &Head<'_>, by: Products, enclosure: &mut HeadEnclosure) {
    let sight = Sight::new(head);
    let keys = KeyTable::new(head);
    let values = ValueTable::new(head, &sight);
    let (n_q, n_k, d_v) = (head.n_q, head.n_k, head.d_v);
    let mut weights = vec![0.0; n_q * n_k];
    by.times_transposed(&mut weights, head.query, head.key, (n_q, head.d_k, n_k));
    let Some(summary) = to_weights(head, &sight, &keys, &mut weights) else {
        fill_unknown(head, &sight, enclosure);
        return;
    };

    let mut sums = [const { Vec::new() }; 3];
    sums.iter_mut().for_each(|product| product.resize(n_q * d_v, 0.0));
    let [mids, abs_sums, square_sums] = &mut sums;
    by.times(mids, &weights, head.value, (n_q, n_k, d_v));
    by.times(abs_sums, &weights, &values.abs, (n_q, n_k, d_v));
    let squared: Vec<f64> = weights.iter().map(|w| w * w).collect();
    by.times(square_sums, &squared, &values.squares, (n_q, n_k, d_v));

    let gamma_product = gamma(times_depth(n_k), U);
    for i in 0..n_q {
        let visible = sight.count(i);
        enclosure.rows.push(if visible == 0 {
            RowStats::empty()
        } else {
            RowStats { visible, ..summary.stats.clone() }
        });
        for c in 0..d_v {
            let index = i * d_v + c;
            enclosure.value_abs_sum[index] = values.columns(i).abs_sum[c];
            if visible == 0 {
                enclosure.set(index, rows::empty(head, c));
                continue;
            }
            let underflow = 8.0 * (n_k as f64 + 4.0) * UNDERFLOW;
            let dropped = 2.0 * DROPPED_WEIGHT * enclosure.value_abs_sum[index];
            let abar_computed = abs_sums[index] * (1.0 + 2.0 * gamma_product + 8.0 * U) + underflow;
            let abar = INFLATION * (1.0 + summary.tau) * abar_computed + dropped;
            let element = Element {
                mid: mids[index],
                rad: INFLATION * (summary.tau + gamma_product) * abar_computed + underflow + dropped,
                abar,
                deviation: abar,
                product_norm: square_sums[index].sqrt() * crate::format::pow2(values.square_exponent),
            };
            enclosure.set(index, element.or_unknown());
        }
    }
}

/// What all rows share.
struct Summary {
    /// Bound of `|w_ij/ŵ_ij − 1|` over the kept weights.
    tau: f64,
    stats: RowStats,
}

/// Turns the dot products into weights, column by column; `None` if a visible logit is not finite or their error is too large.
fn to_weights(head: &Head<'_>, sight: &Sight<'_>, keys: &KeyTable, weights: &mut [f64]) -> Option<Summary> {
    let (n_q, n_k) = (head.n_q, head.n_k);
    for (i, row) in weights.chunks_exact_mut(n_k.max(1)).enumerate() {
        let limit = sight.limit(i);
        row[limit..].fill(f64::NEG_INFINITY);
        to_logits(head, sight, i, &mut row[..limit])?;
    }
    let mut terms = Terms { term_max: 0.0, bias_max: 0.0 };
    let (mut lowest, mut top_max, mut has_dropped) = (0.0f64, 0.0f64, false);
    let mut approx_norm = 0.0f64;
    for j in 0..n_k {
        let mut column: Vec<f64> = (0..n_q).map(|i| weights[i * n_k + j]).collect();
        let visible = column.iter().filter(|z| **z > f64::NEG_INFINITY).count();
        if visible == 0 {
            (0..n_q).for_each(|i| weights[i * n_k + j] = 0.0);
            continue;
        }
        let top = column.iter().fold(f64::NEG_INFINITY, |max, z| max.max(*z));
        let biases: Option<Vec<f64>> = head.bias.map(|bias| (0..n_q).map(|i| bias.values[i * n_k + j]).collect());
        let biased = biases.map(|biases| Terms::biased(&column, &biases, top));
        let exponentials = exp_row(&mut column, top);
        let of_column = biased.unwrap_or(Terms::unbiased(top, exponentials.lowest));
        terms.term_max = terms.term_max.max(of_column.term_max);
        terms.bias_max = terms.bias_max.max(of_column.bias_max);
        lowest = lowest.min(exponentials.lowest);
        top_max = top_max.max(top.abs());
        has_dropped |= exponentials.kept < visible;
        approx_norm += exponentials.approx_square_sum / (exponentials.sum * exponentials.sum);
        (0..n_q).for_each(|i| weights[i * n_k + j] = column[i] / exponentials.sum);
    }

    let query_norm = (0..n_q).fold(0.0f64, |max, i| max.max(norm_upper(head.query_row(i))));
    let seen = sight.seen_keys(n_q);
    let (key_norm, key_grid) = keys.of_chosen(n_k, |j| seen[j]);
    let dots = Dots::new((query_norm, common_grid(head.query)), (key_norm, key_grid));
    let logit_error = logit_error(head, &dots, &terms, query_norm + key_norm);
    let y = logit_error + U * lowest.abs() + EXP_ERROR * (1.0 + 8.0 * U);
    let tau = (y + y * y) * (1.0 + 8.0 * U);
    let scale = head.scale.value.abs();
    let dropped_ratio =
        if has_dropped { 1.01 + (2.0 * scale * dots.magnitude + top_max) / (-CUTOFF - 1.0) } else { 0.0 };
    if !(tau < 0.25 && relative_logit_error(head) * dropped_ratio <= 1.0 / 1_048_576.0) {
        return None;
    }
    let growth = (1.0 + tau) / (1.0 - tau) * (1.0 + 2.0 * gamma(sum_depth(n_q) + 2, U)) - 1.0;
    let stats = RowStats {
        visible: 0,
        dropped: usize::from(has_dropped),
        dropped_ratio,
        logit_max: (terms.term_max + 2.0 * logit_error) * (1.0 + 8.0 * U),
        bias_max: terms.bias_max * (1.0 + head.bias.map_or(0.0, |bias| bias.rel_error)) * (1.0 + 4.0 * U),
        dot_max: scale * dots.magnitude * (1.0 + head.scale.rel_error) * (1.0 + 8.0 * U),
        query_norm,
        key_norm,
        sum_lower: 1.0,
        weight_norm: approx_norm.sqrt(),
        dot_bits: dots.bits,
        dot_grid: dots.grid,
        exact: None,
    };
    Some(Summary { tau: growth * (1.0 + 16.0 * U), stats })
}

fn fill_unknown(head: &Head<'_>, sight: &Sight<'_>, enclosure: &mut HeadEnclosure) {
    for i in 0..head.n_q {
        let visible = sight.count(i);
        enclosure.rows.push(if visible == 0 { RowStats::empty() } else { RowStats::unknown(visible) });
        for c in 0..head.d_v {
            let element = if visible == 0 { rows::empty(head, c) } else { element::Element::unknown() };
            enclosure.set(i * head.d_v + c, element);
        }
    }
}
