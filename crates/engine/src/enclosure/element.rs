//! Radius and auxiliary bounds of one output element. Derivation: `docs/bounds.md#output`.

use super::rows::RowWeights;
use super::table::ColumnStats;
use crate::exp::U;
use crate::format::pow2;
use crate::gemm::gamma;

/// Covers the rounding of the bound expressions themselves: at most 40 operations on non-negative numbers.
pub(super) const INFLATION: f64 = 1.0 + 1.0 / 1024.0;

/// Underflow unit; the smallest normal number also covers processes that flush subnormals to zero.
pub(super) const UNDERFLOW: f64 = f64::MIN_POSITIVE;

/// Upper bound of the weight, relative to the largest, of a key beyond the cut-off, logit errors of 1/2 included.
pub(super) const DROPPED_WEIGHT: f64 = 5e-261;

/// What is stored for one output element.
#[derive(Clone, Copy)]
pub(super) struct Element {
    pub(super) mid: f64,
    pub(super) rad: f64,
    pub(super) abar: f64,
    pub(super) deviation: f64,
    pub(super) product_norm: f64,
}

impl Element {
    /// A value known exactly, of which the auxiliary quantities are trivial.
    pub(super) fn exact(mid: f64) -> Self {
        Self { mid, rad: 0.0, abar: mid.abs(), deviation: 0.0, product_norm: mid.abs() }
    }

    /// Nothing is known.
    pub(super) fn unknown() -> Self {
        let infinity = f64::INFINITY;
        Self { mid: 0.0, rad: infinity, abar: infinity, deviation: infinity, product_norm: infinity }
    }

    /// Itself, or [`Element::unknown`] if an overflow spoiled a part of it.
    pub(super) fn or_unknown(self) -> Self {
        let all = [self.mid, self.rad, self.abar, self.deviation];
        if all.iter().all(|x| x.is_finite()) { self } else { Self::unknown() }
    }
}

/// Products of one row of computed exponentials `ê` with one column.
pub(super) struct Sums {
    /// `Σ ê v`.
    pub(super) values: f64,
    /// `Σ ê |v|`.
    pub(super) abs: f64,
    /// `Σ ê (v·2^−e)²`.
    pub(super) squares: f64,
    /// `Σ ê² (v·2^−e)²`.
    pub(super) weighted_squares: f64,
    /// The `e` above.
    pub(super) square_exponent: i32,
}

/// Element of attention: the sums divided by the row sum `L̂`.
pub(super) fn normalized(row: &RowWeights, sums: &Sums, columns: &ColumnStats, c: usize) -> Element {
    let (gamma_sum, gamma_product) = (gamma(row.sum_depth, U), gamma(row.product_depth, U));
    let (l, tau) = (row.sum, row.tau);
    let underflow = 8.0 * (row.keys as f64 + 4.0) * UNDERFLOW;
    let relative = 1.0 + 2.0 * gamma_product + 2.0 * gamma_sum + 8.0 * U;

    let mid = sums.values / l;
    let abar_computed = sums.abs / l * relative + underflow;
    let summation = gamma_product * abar_computed + (gamma_sum + 2.0 * U) * mid.abs() + underflow;

    let deviation_computed = {
        let by_triangle = abar_computed + mid.abs() + summation;
        let range = (columns.high[c] - columns.low[c]) * (1.0 + 2.0 * U);
        let rest = l * (1.0 + 2.0 * gamma_sum + 4.0 * U) - 1.0;
        let by_range = range * 0.5f64.min(2.0 * rest);
        let mean = ((mid.abs() - summation) * pow2(-sums.square_exponent)).max(0.0) * (1.0 - 4.0 * U);
        let second_moment = sums.squares / l * (relative + 8.0 * U) + underflow;
        let variance = second_moment - mean * mean * (1.0 - 4.0 * U) + 4.0 * U * second_moment;
        let by_variance = variance.max(0.0).sqrt() * pow2(sums.square_exponent);
        // An overflow makes one of them infinite or NaN; `min` then takes the others.
        by_triangle.min(by_range).min(by_variance) * (1.0 + 16.0 * U)
    };

    let dropped = if row.has_dropped { 4.0 * row.keys as f64 * DROPPED_WEIGHT * columns.abs_sum[c] } else { 0.0 };
    let logits = tau / (1.0 - tau) * deviation_computed;
    let rad = INFLATION * (logits + summation) + dropped;
    let growth = (1.0 + tau) / (1.0 - tau);
    Element {
        mid,
        rad,
        abar: INFLATION * growth * abar_computed + dropped,
        deviation: INFLATION * (growth * deviation_computed + logits) + 2.0 * dropped,
        product_norm: sums.weighted_squares.sqrt() / l * pow2(sums.square_exponent),
    }
    .or_unknown()
}

/// Element of `Σ_j e^(z_j − z_max) v_j`: nothing is divided, and every relative error counts in full.
pub(super) fn unnormalized(row: &RowWeights, sums: &Sums, columns: &ColumnStats, c: usize) -> Element {
    let gamma_product = gamma(row.product_depth, U);
    let underflow = 8.0 * (row.keys as f64 + 4.0) * UNDERFLOW;
    let abar_computed = sums.abs * (1.0 + 2.0 * gamma_product + 8.0 * U) + underflow;
    let dropped = if row.has_dropped { 4.0 * row.keys as f64 * DROPPED_WEIGHT * columns.abs_sum[c] } else { 0.0 };
    let abar = INFLATION * (1.0 + row.tau) * abar_computed + dropped;
    Element {
        mid: sums.values,
        rad: INFLATION * (row.tau + gamma_product) * abar_computed + underflow + dropped,
        abar,
        deviation: abar,
        product_norm: sums.weighted_squares.sqrt() * pow2(sums.square_exponent),
    }
    .or_unknown()
}

/// Mean of all values of a column, of which `Σ v` and `Σ |v|` are given as plain sums.
pub(super) fn mean(n_k: usize, sum: f64, abs_sum: f64, abs_max: f64) -> Element {
    let n = n_k as f64;
    let gamma_sum = gamma(n_k + 2, U);
    let mid = sum / n;
    let abar = abs_sum / n * (1.0 + 2.0 * gamma_sum);
    let rad = INFLATION * gamma_sum * abar + UNDERFLOW;
    Element { mid, rad, abar, deviation: abar + mid.abs() + rad, product_norm: abs_max / n.sqrt() }.or_unknown()
}
