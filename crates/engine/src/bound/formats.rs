//! What a contract says, as numbers.

use qkvet_spec::{Contract, Dtype};

use crate::enclosure::RowStats;
use crate::format::{min_normal, smallest_subnormal, unit_roundoff};
use crate::gemm::gamma;

/// Constants of a contract.
pub(super) struct Formats {
    pub(super) dtype: Dtype,
    pub(super) dot: Dtype,
    pub(super) softmax: Dtype,
    pub(super) weights: Dtype,
    /// Roundings of the elements of query and key in `dtype`.
    pub(super) input_roundings: f64,
    /// `(1 + u)^r − 1` for those roundings.
    pub(super) input_growth: f64,
    /// Roundings of each score in `dtype`.
    pub(super) score_roundings: f64,
    /// `(1 + u)^r − 1` for those roundings.
    pub(super) score_growth: f64,
    /// Relative error of one exponential.
    pub(super) exp_error: f64,
    /// Whether partial results may be merged by their log-sum-exp.
    pub(super) merges: bool,
    /// Smallest tile of keys.
    pub(super) tile: Option<usize>,
    /// Absolute error of rounding a small number to `dtype`, to `weights`.
    pub(super) dtype_underflow: f64,
    pub(super) weights_underflow: f64,
    /// Precision and range that all formats share.
    pub(super) fewest_bits: u32,
    pub(super) highest_min_exponent: i32,
}

impl Formats {
    pub(super) fn new(contract: &Contract) -> Self {
        let Contract { dtype, dot, softmax, weights, .. } = *contract;
        let all = [dtype, dot, softmax, weights];
        Self {
            dtype,
            dot,
            softmax,
            weights,
            input_roundings: f64::from(contract.input_roundings),
            input_growth: growth(contract.input_roundings, unit_roundoff(dtype)),
            score_roundings: f64::from(contract.score_roundings),
            score_growth: growth(contract.score_roundings, unit_roundoff(dtype)),
            exp_error: f64::from(contract.exp_error) * unit_roundoff(softmax),
            merges: contract.merges,
            tile: contract.tile,
            dtype_underflow: underflow(dtype),
            weights_underflow: underflow(weights),
            fewest_bits: all.iter().map(|format| format.precision()).min().unwrap_or(0),
            highest_min_exponent: all.iter().map(|format| format.min_exponent()).max().unwrap_or(0),
        }
    }

    /// Whether the dot products of the kept keys are exact in the accumulator, in any order.
    pub(super) fn dot_is_exact(&self, row: &RowStats) -> bool {
        self.input_roundings == 0.0
            && row.dot_bits <= self.dot.precision() as i32
            && row.dot_grid >= self.dot.min_exponent()
    }

    /// Relative error of a dot product of `d_k` terms with respect to the sum of their magnitudes.
    pub(super) fn dot_growth(&self, d_k: usize, is_exact: bool) -> f64 {
        let sums = if is_exact { 0.0 } else { gamma(d_k, unit_roundoff(self.dot)) };
        (1.0 + sums) * (1.0 + self.input_growth) - 1.0
    }

    /// Rescalings of the online recurrence over `n` keys that a weight suffers at most, when `kept` weights matter.
    pub(super) fn rescalings(&self, n: usize, kept: usize) -> usize {
        self.tile.map_or(0, |tile| n.div_ceil(tile.max(1)).min(kept.saturating_sub(1)))
    }
}

/// `(1 + u)^count − 1`, rounded up.
fn growth(count: u32, u: f64) -> f64 {
    (0..count).fold(1.0, |product, _| product * (1.0 + u)) * (1.0 + f64::EPSILON * f64::from(count)) - 1.0
}

/// Absolute error of rounding below the normal range: half a spacing, or for formats whose subnormals are often flushed to zero the
/// smallest normal number.
fn underflow(dtype: Dtype) -> f64 {
    match dtype {
        Dtype::Float16 | Dtype::Float8E4m3fn | Dtype::Float8E5m2 => smallest_subnormal(dtype) / 2.0,
        Dtype::Float64 | Dtype::Float32 | Dtype::Bfloat16 => min_normal(dtype),
    }
}
