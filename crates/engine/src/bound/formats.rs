//! What a contract says, as numbers. Derivation: `docs/bounds.md#contract`.

use qkvet_spec::{Contract, Depth, Dtype, Format};

use crate::enclosure::RowStats;
use crate::format::{
    is_representable, max_finite, min_normal, pow2, smallest_subnormal, underflow, unit_roundoff,
};
use crate::gemm::gamma;
use crate::head::Head;

/// Absolute error of a tangent that is made of exponentials, in unit roundoffs:
/// `docs/bounds.md#contract`.
const TANH_ABSOLUTE: f64 = 16.0;

/// By how much a maximum may grow before an online recurrence rescales: FlashAttention-4 waits for
/// a factor of `2^8`.
const STALE: f64 = 256.0;

/// Constants of a contract, and what of the operands of one head they leave as it is.
pub(super) struct Formats {
    pub(super) input: Dtype,
    pub(super) output: Dtype,
    pub(super) lse: Dtype,
    pub(super) dot: Dtype,
    pub(super) softmax: Dtype,
    pub(super) partial: Option<Dtype>,
    /// Unit roundoff of the accumulator, twice that when it is cut off, and its significant bits.
    pub(super) dot_unit: f64,
    pub(super) dot_bits: u32,
    /// Whether operands and accumulator may be cut off.
    pub(super) truncates: bool,
    /// Whether twice the smallest normal number of the softmax format is 0 as a weight.
    pub(super) weights_flush: bool,
    /// Unit roundoff of weights, of operands (0 when they are not rounded, doubled when cut off).
    pub(super) weights_unit: f64,
    pub(super) operand_unit: f64,
    pub(super) operands: Operands,
    depth: Depth,
    /// How much larger than with the maximum of the row so far what is added up may be, while a
    /// recurrence puts off its rescaling.
    pub(super) stale: f64,
    /// Unit roundoff of stored steps of the softmax, 0 when they are not stored.
    pub(super) step_unit: f64,
    /// Whether the row sum may be that of rounded weights; whether weights are never divided.
    pub(super) sum_of_rounded: bool,
    pub(super) divides_last: bool,
    /// Roundings of the elements of query and key in `input`.
    pub(super) input_roundings: f64,
    /// `(1 + u)^r − 1` for those roundings and those of the operands.
    pub(super) input_growth: f64,
    /// Roundings of each score in `input`, those of softcap and ALiBi aside.
    pub(super) score_roundings: u32,
    /// Relative error of one exponential or logarithm, of one hyperbolic tangent.
    pub(super) exp_error: f64,
    pub(super) tanh_error: f64,
    /// Absolute error of a tangent that is made of exponentials.
    pub(super) tanh_absolute: f64,
    /// Whether partial results may be merged by their log-sum-exp.
    pub(super) merges: bool,
    /// Smallest tile of keys.
    pub(super) tile: Option<usize>,
    /// Absolute error of rounding a small number to the format of this name.
    pub(super) input_underflow: f64,
    pub(super) output_underflow: f64,
    pub(super) partial_underflow: f64,
    /// Largest magnitude of a value.
    largest_value: f64,
    pub(super) operand_underflow: f64,
    /// That of the exponentials and of the weights, and of them as operands.
    pub(super) weights_underflow: f64,
    /// That of one operation of the accumulator.
    pub(super) dot_underflow: f64,
    /// Precision and range that sums and outputs share.
    pub(super) sum_bits: u32,
    pub(super) sum_min_exponent: i32,
    /// Smallest exponent that all formats of weights, sums and outputs have.
    pub(super) weight_min_exponent: i32,
}

/// Which of a head's queries, keys and values the rounding of operands leaves as they are.
pub(super) struct Operands {
    format: Option<Format>,
    /// For each query.
    queries: Vec<bool>,
    /// All keys.
    keys: bool,
    /// For each column of the values.
    values: Vec<bool>,
}

impl Operands {
    fn new(head: &Head<'_>, format: Option<Format>) -> Self {
        let Some(of) = format else {
            return Self { format, queries: Vec::new(), keys: true, values: Vec::new() };
        };
        let fits = |xs: &[f64]| xs.iter().all(|x| is_representable(*x, of));
        let column = |c: usize| (0..head.n_k).all(|j| is_representable(head.value_row(j)[c], of));
        Self {
            format,
            queries: (0..head.n_q).map(|i| fits(head.query_row(i))).collect(),
            keys: fits(head.key),
            values: (0..head.d_v).map(column).collect(),
        }
    }

    /// Whether query `i` and all keys are operands as they are.
    fn leave_query(&self, i: usize) -> bool {
        self.format.is_none() || (self.keys && self.queries[i])
    }

    /// Whether column `c` of the values consists of operands.
    pub(super) fn leave_column(&self, c: usize) -> bool {
        self.format.is_none() || self.values[c]
    }

    /// Their format, where they are rounded.
    pub(super) fn format(&self) -> Option<Format> {
        self.format
    }
}

impl Formats {
    pub(super) fn new(contract: &Contract, head: &Head<'_>) -> Self {
        let Contract { dot, softmax, weights, operands, truncates, .. } = *contract;
        // A wider format only carries what was rounded to the narrower one.
        let (dtype, dot_bits) = (contract.storage(), contract.dot_precision());
        let output = match contract.storage {
            Some(storage) if storage.precision() < contract.output().precision() => storage,
            _ => contract.output(),
        };
        let partial = contract.partial.filter(|_| contract.merges);
        // Where numbers of this size would fit: nobody puts anything off in float16.
        let is_wide = softmax.min_exponent() < -100 && dot.min_exponent() < -100;
        let stale = if contract.tile.is_some() && is_wide { STALE } else { 1.0 };
        let (step_unit, step_underflow) = match contract.stored_steps {
            true => (unit_roundoff(dtype), underflow(dtype)),
            false => (0.0, 0.0),
        };
        let largest_value = if partial.is_some() || operands.is_some() {
            head.value.iter().fold(0.0, |max: f64, v| max.max(v.abs()))
        } else {
            0.0
        };
        let cut = if truncates { 2.0 } else { 1.0 };
        let operand_unit = operands.map_or(0.0, |format| cut * unit_roundoff(format));
        let operand_underflow = operands.map_or(0.0, |format| cut * underflow(format.container()));
        let sums = [dot, softmax, output];
        let sum_min_exponent = sums.iter().map(|format| format.min_exponent()).max().unwrap_or(0);
        let all_weights = [
            Some(weights.min_exponent()),
            operands.map(Format::min_exponent),
            Some(sum_min_exponent),
        ];
        Self {
            input: dtype,
            output,
            lse: contract.lse(),
            dot,
            softmax,
            partial,
            largest_value,
            dot_unit: cut * pow2(-(dot_bits as i32)),
            dot_bits,
            truncates,
            weights_flush: 2.0 * stale * min_normal(softmax) < smallest_subnormal(weights) / 2.0,
            weights_unit: unit_roundoff(weights),
            operand_unit,
            operands: Operands::new(head, operands),
            depth: contract.depth,
            stale,
            step_unit,
            sum_of_rounded: contract.sum_of_rounded || contract.stored_steps,
            divides_last: contract.divides_last,
            input_roundings: f64::from(contract.input_roundings),
            input_growth: {
                let inputs = growth(contract.input_roundings, unit_roundoff(dtype));
                if operands.is_some() {
                    (1.0 + inputs) * (1.0 + growth(2, operand_unit)) - 1.0
                } else {
                    inputs
                }
            },
            score_roundings: contract.score_roundings,
            exp_error: f64::from(contract.exp_error) * unit_roundoff(softmax),
            tanh_error: f64::from(contract.tanh_error) * unit_roundoff(softmax),
            tanh_absolute: match softmax {
                Dtype::Float32 | Dtype::Float64 => TANH_ABSOLUTE * unit_roundoff(softmax),
                _ => 0.0,
            },
            merges: contract.merges,
            tile: contract.tile,
            input_underflow: underflow(dtype),
            output_underflow: underflow(output),
            partial_underflow: partial.map_or(0.0, underflow),
            operand_underflow,
            weights_underflow: underflow(weights) + operand_underflow + step_underflow,
            dot_underflow: underflow(dot),
            sum_bits: [dot_bits, softmax.precision(), output.precision()]
                .into_iter()
                .min()
                .unwrap_or(0),
            sum_min_exponent,
            weight_min_exponent: all_weights.into_iter().flatten().max().unwrap_or(0),
        }
    }

    /// Whether the dot products of query `i` with the kept keys are exact in the accumulator, in
    /// any order and in any blocks.
    pub(super) fn dot_is_exact(&self, i: usize, row: &RowStats) -> bool {
        self.input_roundings == 0.0
            && self.operands.leave_query(i)
            && row.dot_bits <= self.dot_bits as i32
            && row.dot_grid >= self.dot.min_exponent()
    }

    /// Roundings of the accumulator that a product of query and key passes through.
    pub(super) fn score_depth(&self, d_k: usize) -> usize {
        let addends = if self.truncates { 2 * d_k } else { d_k };
        self.depth.scores.map_or(addends, |depth| depth.min(addends))
    }

    /// Relative error of a dot product of `d_k` terms with respect to the sum of their magnitudes.
    pub(super) fn dot_growth(&self, d_k: usize, is_exact: bool) -> f64 {
        let sums = if is_exact { 0.0 } else { gamma(self.score_depth(d_k), self.dot_unit) };
        (1.0 + sums) * (1.0 + self.input_growth) - 1.0
    }

    /// Roundings of the accumulator that a weighted value passes through, rescalings aside: `kept`
    /// of `visible` of `n` keys matter.
    pub(super) fn value_depth(&self, n: usize, visible: usize, kept: usize) -> usize {
        let addends = if self.truncates {
            let tiles = self.tile.map_or(1, |tile| n.div_ceil(tile.max(1)) + 1);
            visible + 2 * visible.min(n.div_ceil(2) + tiles)
        } else {
            kept
        };
        self.sum_depth(addends)
    }

    /// Roundings that an addend of a row sum passes through, rescalings aside.
    pub(super) fn sum_depth(&self, addends: usize) -> usize {
        self.depth.values.map_or(addends, |depth| depth.min(addends))
    }

    /// Rescalings of the online recurrence over `n` keys that a weight suffers at most, when `kept`
    /// weights matter. A sink may come on its own.
    pub(super) fn rescalings(&self, n: usize, kept: usize, has_sink: bool) -> usize {
        let tiles = self.tile.map_or(0, |tile| n.div_ceil(tile.max(1)) + usize::from(has_sink));
        tiles.min(kept.saturating_sub(1))
    }

    /// Absolute error of rounding small outputs and small partial outputs.
    pub(super) fn storing_underflow(&self) -> f64 {
        self.output_underflow + self.partial_underflow
    }

    /// Whether values do not overflow as operands, nor partial outputs, averages of them, where they
    /// are stored; `sum` bounds `Σ|v|`.
    pub(super) fn partials_fit(&self, sum: f64) -> bool {
        self.partial
            .is_none_or(|partial| sum.min(2.0 * self.largest_value) <= max_finite(partial) / 2.0)
            && self
                .operands
                .format
                .is_none_or(|format| self.largest_value <= max_finite(format) / 2.0)
    }

    /// Unit roundoff of the softmax format.
    pub(super) fn softmax_unit(&self) -> f64 {
        unit_roundoff(self.softmax)
    }
}

/// `(1 + u)^count − 1`, rounded up.
pub(super) fn growth(count: u32, u: f64) -> f64 {
    (0..count).fold(1.0, |product, _| product * (1.0 + u)) * (1.0 + f64::EPSILON * f64::from(count))
        - 1.0
}
