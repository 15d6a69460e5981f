//! Radius and auxiliary bounds of one output element. Derivation: `docs/bounds.md#output`.

use pulp::{Simd, WithSimd};

use super::rows::RowWeights;
use super::sweep;
use super::table::ColumnStats;
use crate::exp::U;
use crate::format::pow2;
use crate::gemm::gamma;

/// Covers the rounding of the bound expressions themselves: some dozens of operations on
/// non-negative numbers.
pub(crate) const INFLATION: f64 = 1.0 + 1.0 / 1024.0;

/// Unit roundoff of `f32`.
const SMALL_U: f64 = f32::EPSILON as f64 / 2.0;

/// Underflow unit; the smallest normal number also covers processes that flush subnormals to zero.
pub(super) const UNDERFLOW: f64 = f64::MIN_POSITIVE;

/// Upper bound of the weight, relative to the largest, of a key beyond the cut-off, logit errors of
/// 1/2 included.
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
        Self {
            mid: 0.0,
            rad: infinity,
            abar: infinity,
            deviation: infinity,
            product_norm: infinity,
        }
    }

    /// Itself, or [`Element::unknown`] if an overflow spoiled a part of it.
    pub(super) fn or_unknown(self) -> Self {
        let all = [self.mid, self.rad, self.abar, self.deviation];
        if all.iter().all(|x| x.is_finite()) { self } else { Self::unknown() }
    }
}

/// What all elements of a row share.
pub(super) struct Factors<'a> {
    row: &'a RowWeights,
    gamma_sum: f64,
    gamma_product: f64,
    underflow: f64,
    spread: f64,
    /// `τ/(1 − τ)`.
    logits: f64,
    /// `(1 + τ)/(1 − τ)`.
    growth: f64,
    /// Relative error of `Σ ê |v| / L̂`, plus 1.
    sizes: f64,
    /// What else `Σ ê |v| / L̂`, or `Σ ê (v·2^−e)² / L̂`, may be off by where a value is not 0.
    lost: (f64, f64),
    /// `2^−e` and `2^e`, `e` the square exponent of the values.
    powers: (f64, f64),
}

impl<'a> Factors<'a> {
    pub(super) fn new(row: &'a RowWeights, square_exponent: i32) -> Self {
        let (gamma_sum, gamma_product) = (gamma(row.sum_depth, U), gamma(row.product_depth, U));
        let in_f64 = 1.0 + 2.0 * gamma_product + 2.0 * gamma_sum + 8.0 * U;
        let powers = (pow2(-square_exponent), pow2(square_exponent));
        let (sizes, lost) = if row.sizes_are_small {
            let keys = row.keys as f64;
            let lost = keys * sweep::SMALL_UNDERFLOW;
            (in_f64 + 2.0 * gamma(sweep::SMALL_DEPTH, SMALL_U), (lost * powers.1, 4.0 * lost))
        } else {
            (in_f64, (0.0, 0.0))
        };
        Self {
            row,
            gamma_sum,
            gamma_product,
            underflow: row.underflow(),
            spread: row.spread(),
            logits: row.tau / (1.0 - row.tau),
            growth: (1.0 + row.tau) / (1.0 - row.tau),
            sizes,
            lost,
            powers,
        }
    }
}

/// A row of attention: its sums divided by the row sum `L̂`.
///
/// # Shapes
/// Everything `(d_v)`.
pub(super) struct Normalized<'a> {
    pub(super) factors: &'a Factors<'a>,
    pub(super) columns: &'a ColumnStats,
    /// Products of one row of computed exponentials `ê` with the columns: `Σ ê v`, `Σ ê |v|`,
    /// `Σ ê (v·2^−e)²`, `Σ ê² (v·2^−e)²`, `e` the square exponent of the values.
    pub(super) sums: [&'a [f64]; 4],
    pub(super) mid: &'a mut [f64],
    pub(super) rad: &'a mut [f64],
    pub(super) abar: &'a mut [f64],
    pub(super) deviation: &'a mut [f64],
    pub(super) product_norm: &'a mut [f64],
}

impl WithSimd for Normalized<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) {
        let Self { factors, columns, sums, mid, rad, abar, deviation, product_norm } = self;
        let inputs = [sums[0], sums[1], sums[2], sums[3], &columns.low, &columns.high];
        let mut outputs = [mid, rad, abar, deviation, product_norm];
        let n = outputs[0].len();
        for first in (0..n).step_by(WIDTH) {
            let len = WIDTH.min(n - first);
            // Copies: of so many slices it would not be known that none is another, and one number
            // would be computed after the other.
            let mut of_columns = [[0.0; WIDTH]; 7];
            for (to, from) in of_columns.iter_mut().zip(inputs) {
                match from[first..].first_chunk() {
                    Some(whole) => *to = *whole,
                    None => to[..len].copy_from_slice(&from[first..]),
                }
            }
            if factors.row.has_dropped {
                for (c, abs_sum) in of_columns[6].iter_mut().enumerate().take(len) {
                    *abs_sum = columns.abs_sum(first + c);
                }
            }
            let of_elements = if factors.row.sizes_are_small {
                factors.elements::<true>(&of_columns)
            } else {
                factors.elements::<false>(&of_columns)
            };
            for (to, from) in outputs.iter_mut().zip(&of_elements) {
                match to[first..].first_chunk_mut() {
                    Some(whole) => *whole = *from,
                    None => to[first..].copy_from_slice(&from[..len]),
                }
            }
        }
    }
}

/// Columns of [`Normalized`] that are worked on together.
const WIDTH: usize = 32;

impl Factors<'_> {
    /// Midpoints, radii, `Ā`, `D` and `√(Σ w² v²)` from sums of each kind, lowest and highest value
    /// and sum of sizes; the last is read only where keys were dropped. Where sizes are `SMALL` they
    /// are multiplied by `1/L̂`: one rounding more.
    #[inline(always)]
    fn elements<const SMALL: bool>(
        &self,
        [values, abs, squares, weighted_squares, low, high, abs_sum]: &[[f64; WIDTH]; 7],
    ) -> [[f64; WIDTH]; 5] {
        let Self { row, gamma_sum, gamma_product, underflow, growth, .. } = *self;
        let Self { spread, logits: of_logits, sizes, lost, powers: (down, up), .. } = *self;
        let l = row.sum;
        // The value of a sink is 0.
        let reaches = if row.has_sink { (0.0, 0.0) } else { (f64::INFINITY, f64::NEG_INFINITY) };
        let of_dropped = 4.0 * row.keys as f64 * DROPPED_WEIGHT;
        let inverse = 1.0 / l;
        let over_l = |x: f64| if SMALL { x * inverse } else { x / l };
        let mut mids = [0.0; WIDTH];
        let [mut rads, mut abars, mut deviations, mut product_norms] = [mids; 4];
        for c in 0..WIDTH {
            let mid = values[c] / l;
            let has_values = (low[c] < 0.0) | (high[c] > 0.0);
            let (lost, lost_of_squares) = if has_values { lost } else { (0.0, 0.0) };
            let abar_computed = over_l(abs[c]) * sizes + underflow + lost;
            let summation =
                gamma_product * abar_computed + (gamma_sum + 2.0 * U) * mid.abs() + underflow;

            let by_triangle = abar_computed + mid.abs() + summation;
            let low = if reaches.0 < low[c] { reaches.0 } else { low[c] };
            let high = if reaches.1 > high[c] { reaches.1 } else { high[c] };
            let range = (high - low) * (1.0 + 2.0 * U);
            let by_range = range * spread;
            let mean = ((mid.abs() - summation) * down).max(0.0) * (1.0 - 4.0 * U);
            let second_moment =
                over_l(squares[c]) * (sizes + 8.0 * U) + underflow + lost_of_squares;
            let variance = second_moment - mean * mean * (1.0 - 4.0 * U) + 4.0 * U * second_moment;
            let by_variance = variance.max(0.0).sqrt() * up;
            // An overflow makes one of them infinite or NaN; `min` then takes the others.
            let deviation_computed = by_triangle.min(by_range).min(by_variance) * (1.0 + 16.0 * U);

            let dropped = if row.has_dropped { of_dropped * abs_sum[c] } else { 0.0 };
            let logits = of_logits * deviation_computed;
            let rad = INFLATION * (logits + summation) + dropped;
            let abar = INFLATION * growth * abar_computed + dropped;
            let deviation = INFLATION * (growth * deviation_computed + logits) + 2.0 * dropped;
            let product_norm = over_l(weighted_squares[c].sqrt()) * up;
            // As `Element::or_unknown`: 0 times a number is 0 of finite ones alone.
            let is_known = mid * 0.0 + rad * 0.0 + abar * 0.0 + deviation * 0.0 == 0.0;
            let known = |x: f64| if is_known { x } else { f64::INFINITY };
            mids[c] = if is_known { mid } else { 0.0 };
            // Values that are all 0 add up to 0.
            rads[c] = if has_values { known(rad) } else { 0.0 };
            abars[c] = known(abar);
            deviations[c] = known(deviation);
            product_norms[c] = known(product_norm);
        }
        [mids, rads, abars, deviations, product_norms]
    }
}

/// Midpoints and radii of a row of attention from `Σ ê v` and the range of each column, without
/// `Σ ê |v|`.
///
/// # Shapes
/// `sums: (d_v)` → `mid: (d_v)`, `rad: (d_v)`.
///
/// # Error bound
/// That of [`Normalized`] with `Ã ≤ max|v_c|`, and `D̂` the least of `Ã + |Õ|` and the bound by the
/// range.
pub(super) struct RadiiByRange<'a> {
    pub(super) row: &'a RowWeights,
    pub(super) columns: &'a ColumnStats,
    pub(super) sums: &'a [f64],
    pub(super) mid: &'a mut [f64],
    pub(super) rad: &'a mut [f64],
}

impl WithSimd for RadiiByRange<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) {
        let row = self.row;
        let (gamma_sum, gamma_product) = (gamma(row.sum_depth, U), gamma(row.product_depth, U));
        let (underflow, spread) = (row.underflow(), row.spread());
        let logits = INFLATION * row.tau / (1.0 - row.tau);
        let of_mid = gamma_sum + 2.0 * U;
        let dropped = if row.has_dropped {
            4.0 * row.keys as f64 * DROPPED_WEIGHT * row.keys as f64
        } else {
            0.0
        };
        // The value of a sink is 0.
        let reaches = if row.has_sink { (0.0, 0.0) } else { (f64::INFINITY, f64::NEG_INFINITY) };
        let columns = self.columns.low.iter().zip(&self.columns.high).zip(self.sums);
        for (((low, high), sum), (mid, rad)) in columns.zip(self.mid.iter_mut().zip(self.rad)) {
            let quotient = sum / row.sum;
            let low = if *low < reaches.0 { *low } else { reaches.0 };
            let high = if *high > reaches.1 { *high } else { reaches.1 };
            let (low_size, high_size) = (low.abs(), high.abs());
            let abs_max = if low_size > high_size { low_size } else { high_size };
            let summation = gamma_product * abs_max + of_mid * quotient.abs() + underflow;
            let by_triangle = abs_max + quotient.abs() + summation;
            let by_range = (high - low) * (1.0 + 2.0 * U) * spread;
            let deviation = if by_range < by_triangle { by_range } else { by_triangle };
            let radius = logits * deviation + INFLATION * summation + dropped * abs_max;
            let is_known = radius < f64::INFINITY;
            *mid = if is_known { quotient } else { 0.0 };
            // Values that are all 0 add up to 0.
            let radius = if abs_max > 0.0 || quotient != 0.0 { radius } else { 0.0 };
            *rad = if is_known { radius } else { f64::INFINITY };
        }
    }
}

/// Element of `Σ_j e^(z_j − z_max) v_j`: nothing is divided, and every relative error counts in
/// full.
pub(super) fn unnormalized(
    factors: &Factors<'_>,
    [values, abs, weighted_squares]: [f64; 3],
    columns: &ColumnStats,
    c: usize,
) -> Element {
    let row = factors.row;
    let gamma_product = gamma(row.product_depth, U);
    let underflow = 8.0 * (row.keys as f64 + 4.0) * UNDERFLOW;
    let abar_computed = abs * (1.0 + 2.0 * gamma_product + 8.0 * U) + underflow;
    let dropped = if row.has_dropped {
        4.0 * row.keys as f64 * DROPPED_WEIGHT * columns.abs_sum(c)
    } else {
        0.0
    };
    let abar = INFLATION * (1.0 + row.tau) * abar_computed + dropped;
    Element {
        mid: values,
        rad: INFLATION * (row.tau + gamma_product) * abar_computed + underflow + dropped,
        abar,
        deviation: abar,
        product_norm: weighted_squares.sqrt() * factors.powers.1,
    }
    .or_unknown()
}

/// [`unnormalized`] from `Σ ê v` and the range of the column, without `Σ ê |v|`: midpoint and
/// radius.
pub(super) fn unnormalized_by_range(
    factors: &Factors<'_>,
    sum: f64,
    columns: &ColumnStats,
    c: usize,
) -> Element {
    let row = factors.row;
    let abs_max = columns.low[c].abs().max(columns.high[c].abs());
    let row_sum = row.sum * (1.0 + 2.0 * gamma(row.sum_depth, U));
    unnormalized(factors, [sum, row_sum * abs_max, 0.0], columns, c)
}

/// Mean of all values of a column, of which `Σ v` and `Σ |v|` are given as plain sums.
pub(super) fn mean(n_k: usize, sum: f64, abs_sum: f64, abs_max: f64) -> Element {
    let n = n_k as f64;
    let gamma_sum = gamma(n_k + 2, U);
    let mid = sum / n;
    let abar = abs_sum / n * (1.0 + 2.0 * gamma_sum) + UNDERFLOW;
    let rad = INFLATION * gamma_sum * abar + UNDERFLOW;
    Element { mid, rad, abar, deviation: abar + mid.abs() + rad, product_norm: abs_max / n.sqrt() }
        .or_unknown()
}
