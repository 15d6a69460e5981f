//! Softmax along the query axis, a fault that people do make: dense, for the sizes of a test.

use super::blocks::ValueSums;
use super::element::{self, DROPPED_WEIGHT, Element, INFLATION, UNDERFLOW};
use super::logits::{Dots, Facts};
use super::lse::Lse;
use super::rows;
use super::stages::{Line, Stages};
use super::table::{Columns, KeyTable, ValueTable, common_grid};
use super::visibility::VisibleKeys;
use super::{Detail, HeadEnclosure, RowStats, SinkWeight};
use crate::exp::{EXP_ERROR, U, exp_row, sum_depth};
use crate::gemm::{KEY_BLOCK, Products, gamma, times_depth};
use crate::head::Head;

/// Fills the enclosure of `O_ic = Σ_j w_ij v_jc` with `w_ij = e^(z_ij) / Σ_i' e^(z_i'j)` over the
/// queries that see key `j`.
///
/// # Error bound
/// Every weight has relative error `τ_w`, so the radius is `(τ_w + γ_κ) · Σ w|v|` and the terms of
/// dropped weights and underflow. Derivation: docs/bounds.md#over-queries.
pub(super) fn enclose(head: &Head<'_>, by: Products, enclosure: &mut HeadEnclosure) {
    let visibility = VisibleKeys::new(head);
    let keys = KeyTable::new(head);
    let values = ValueTable::new(head, &visibility);
    let (n_q, n_k, d_v) = (head.n_q, head.n_k, head.d_v);
    let mut weights = vec![0.0; n_q * n_k];
    by.times_transposed(&mut weights, head.query, head.key, (n_q, head.d_k, n_k));
    let summary =
        if head.sink.is_some() { None } else { to_weights(head, &visibility, &keys, &mut weights) };
    let Some(summary) = summary else {
        fill_unknown(head, &visibility, enclosure);
        return;
    };

    let mut sums = ValueSums::default();
    sums.clear(n_q * d_v, Detail::Full);
    for start in (0..n_k).step_by(KEY_BLOCK) {
        let keys = start..n_k.min(start + KEY_BLOCK);
        sums.add(&values, by, &mut weights[start..], n_k, (n_q, keys), Detail::Full);
    }
    let mut columns = Columns::new(&values, &visibility);

    let gamma_product = gamma(times_depth(n_k), U);
    for i in 0..n_q {
        let visible = visibility.count(i);
        enclosure.rows[i] = if visible == 0 {
            RowStats::empty(None)
        } else {
            RowStats { visible, ..summary.stats.clone() }
        };
        let columns = columns.of_row(i);
        for c in 0..d_v {
            let index = i * d_v + c;
            enclosure.value_abs_sum[index] = columns.abs_sum(c);
            if visible == 0 {
                enclosure.set(index, rows::empty(head, c));
                continue;
            }
            let underflow = 8.0 * (n_k as f64 + 4.0) * UNDERFLOW;
            let dropped = 2.0 * DROPPED_WEIGHT * enclosure.value_abs_sum[index];
            let abar_computed = sums.abs[index] * (1.0 + 2.0 * gamma_product + 8.0 * U) + underflow;
            let abar = INFLATION * (1.0 + summary.tau) * abar_computed + dropped;
            let element = Element {
                mid: sums.values[index],
                rad: INFLATION * (summary.tau + gamma_product) * abar_computed
                    + underflow
                    + dropped,
                abar,
                deviation: abar,
                product_norm: sums.weighted_squares[index].sqrt()
                    * crate::format::pow2(values.square_exponent),
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

/// Turns the dot products into weights, column by column; `None` if a visible logit is not finite
/// or their error is too large.
fn to_weights(
    head: &Head<'_>,
    visibility: &VisibleKeys<'_>,
    keys: &KeyTable,
    weights: &mut [f64],
) -> Option<Summary> {
    let (n_q, n_k) = (head.n_q, head.n_k);
    let (mut stages, mut all) = (Stages::default(), Stages::default());
    let mut query = (0.0f64, common_grid(head.query));
    for (i, row) in weights.chunks_exact_mut(n_k.max(1)).enumerate() {
        let mask: Vec<bool> = (0..n_k).map(|j| visibility.sees(i, j)).collect();
        let size = rows::query_size(head, i);
        query.0 = query.0.max(size.0);
        stages.run(head, keys, &Line { i, start: 0, mask: Some(&mask), query: size }, row)?;
        all.append(&stages);
    }
    let mut facts =
        Facts { error: 0.0, term_max: 0.0, bias_max: 0.0, dropped_ratio: 0.0, gap: f64::INFINITY };
    let (mut lowest, mut final_max, mut has_dropped) = (0.0f64, 0.0f64, false);
    let mut approx_norm = 0.0f64;
    for j in 0..n_k {
        let mut column: Vec<f64> = (0..n_q).map(|i| weights[i * n_k + j]).collect();
        let visible = column.iter().filter(|z| **z > f64::NEG_INFINITY).count();
        if visible == 0 {
            (0..n_q).for_each(|i| weights[i * n_k + j] = 0.0);
            continue;
        }
        let top = column.iter().fold(f64::NEG_INFINITY, |max, z| max.max(*z));
        facts = facts.max(&all.facts((0..n_q).map(|i| (i * n_k + j, weights[i * n_k + j])), top));
        let exponentials = exp_row(&mut column, top);
        lowest = lowest.min(exponentials.lowest);
        final_max = final_max.max(top.abs()).max((top + exponentials.lowest).abs());
        has_dropped |= exponentials.kept < visible;
        approx_norm += exponentials.approx_square_sum / (exponentials.sum * exponentials.sum);
        (0..n_q).for_each(|i| weights[i * n_k + j] = column[i] / exponentials.sum);
    }

    let seen = visibility.seen_keys(n_q);
    let (key_norm, key_grid) = keys.of_keys((0..n_k).filter(|j| seen[*j]));
    let dots = Dots::new(query, (key_norm, key_grid));
    let y = facts.error + U * lowest.abs() + EXP_ERROR * (1.0 + 8.0 * U);
    let tau = (y + y * y) * (1.0 + 8.0 * U);
    let factor = head.factor();
    if !(tau < 0.25 && facts.dropped_is_safe()) {
        return None;
    }
    let growth = (1.0 + tau) / (1.0 - tau) * (1.0 + 2.0 * gamma(sum_depth(n_q) + 2, U)) - 1.0;
    let stats = RowStats {
        visible: 0,
        dropped: usize::from(has_dropped),
        sink: SinkWeight::Absent,
        dropped_ratio: facts.dropped_ratio,
        logit_max: (facts.term_max + 2.0 * facts.error) * (1.0 + 8.0 * U),
        final_max: final_max * (1.0 + 8.0 * U) + 2.0 * facts.error,
        bias_max: facts.bias_max * (1.0 + 4.0 * U),
        dot_max: factor.value.abs() * dots.magnitude * (1.0 + factor.rel_error) * (1.0 + 8.0 * U),
        query_norm: query.0,
        key_norm,
        sum_lower: 1.0,
        weight_norm: approx_norm.sqrt(),
        dot_bits: dots.bits,
        dot_grid: dots.grid,
        exact: None,
        lse: Lse::unknown(),
    };
    Some(Summary { tau: growth * (1.0 + 16.0 * U), stats })
}

fn fill_unknown(head: &Head<'_>, visibility: &VisibleKeys<'_>, enclosure: &mut HeadEnclosure) {
    for i in 0..head.n_q {
        let visible = visibility.count(i);
        enclosure.rows[i] = if visible == 0 {
            RowStats::empty(head.sink)
        } else {
            RowStats::unknown(head, visible)
        };
        for c in 0..head.d_v {
            let element =
                if visible == 0 { rows::empty(head, c) } else { element::Element::unknown() };
            enclosure.set(i * head.d_v + c, element);
        }
    }
}
