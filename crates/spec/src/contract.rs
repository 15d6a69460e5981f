//! Contracts: the number formats and depths that an implementation declares. The engine derives its
//! bound from them.

use serde::{Deserialize, Serialize};

use crate::{Dtype, Format};

/// What an implementation promises about its arithmetic: a file in `specs/contracts/`, or such a
/// file and modifiers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Contract {
    /// The id, equal to the file name; `base+modifier+modifier` for one that is composed.
    pub contract: String,
    /// One line for people.
    pub title: String,
    /// Format of query, key and value.
    pub dtype: Dtype,
    /// Format of the output; absent: that of the inputs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Dtype>,
    /// Whether the output may come back in a wider format, as it is there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub wider_output: bool,
    /// Format of the log-sum-exp, where it is returned; absent: the softmax format.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lse: Option<Dtype>,
    /// Whether an undeclared target of this format is judged by this contract. Exactly one per
    /// format: the loosest of those that multiply in it.
    #[serde(default)]
    pub default: bool,
    /// Whether certified answers that are kept as files state its bounds.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub frozen: bool,
    /// Narrower format to which results on the way and the output itself are rounded, in place of
    /// `dtype`, which only carries them; absent: `dtype`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage: Option<Dtype>,
    /// Format to which query, key, weights and values are rounded before they are multiplied;
    /// absent: they are multiplied as they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operands: Option<Format>,
    /// Accumulator of `QKᵀ` and of `PV`.
    pub dot: Dtype,
    /// Significant bits that the accumulator keeps; absent: those of its format.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dot_bits: Option<u32>,
    /// Whether operands and accumulator may be cut off where others round, and neighboring products
    /// (two or more) be aligned to the largest and added at once.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncates: bool,
    /// How many roundings an addend of the two sums passes through at most, in whatever order they
    /// are added.
    #[serde(default, skip_serializing_if = "Depth::is_undeclared")]
    pub depth: Depth,
    /// Arithmetic of scale, softcap, bias, maximum, exponential, row sum and rescaling.
    pub softmax: Dtype,
    /// Roundings in the storage format `dtype` that each element of query and key together may
    /// suffer before the dot product (a scale folded into them, for example).
    #[serde(default)]
    pub input_roundings: u32,
    /// Roundings of each score in the storage format `dtype` (raw, scaled, biased), 0 when scores
    /// stay in the softmax format. Where there are any, a softcap has three more (quotient,
    /// tangent, product) and ALiBi two (what is added, its sum).
    #[serde(default)]
    pub score_roundings: u32,
    /// Format to which the weights are rounded before they meet the values.
    pub weights: Dtype,
    /// Whether each step of the softmax (shifted score, exponential, row sum, quotient) may be
    /// stored in the storage format `dtype`; the row sum is added up in the softmax format. Partial
    /// results are not merged then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stored_steps: bool,
    /// Whether the row sum may be that of the rounded weights.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sum_of_rounded: bool,
    /// Whether weights meet the values undivided: sums are divided at the end.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub divides_last: bool,
    /// Relative error of the exponential, and of the logarithm in a log-sum-exp, in unit roundoffs
    /// `2^-p` of the softmax format.
    pub exp_error: u32,
    /// Relative error of the hyperbolic tangent of a softcap, in the same units. In float32 and
    /// wider a tangent may be made of exponentials as well, with an absolute error of 16 units.
    #[serde(default = "eight")]
    pub tanh_error: u32,
    /// Smallest key tile of the online recurrence; absent for a single pass over the keys.
    #[serde(default)]
    pub tile: Option<usize>,
    /// Whether partial results may be normalized on their own and merged by their log-sum-exp
    /// (split keys, log-softmax, an output kept normalized): exact cases are then allowed a few
    /// roundings.
    #[serde(default)]
    pub merges: bool,
    /// Format to which such partial outputs are rounded once before they are merged; absent: they
    /// stay in the softmax format.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partial: Option<Dtype>,
    /// Why this contract exists and who follows it.
    pub about: String,
}

/// Declared depths; an absent one is the number of addends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Depth {
    /// Of a dot product of query and key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scores: Option<usize>,
    /// Of the sum of weighted values and of the row sum, rescalings not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub values: Option<usize>,
}

impl Depth {
    fn is_undeclared(&self) -> bool {
        *self == Self::default()
    }
}

impl Contract {
    /// Format of the output.
    pub fn output(&self) -> Dtype {
        self.output.unwrap_or(self.dtype)
    }

    /// Format to which results on the way are rounded where a field speaks of the storage format.
    pub fn storage(&self) -> Dtype {
        self.storage.unwrap_or(self.dtype)
    }

    /// Format of the log-sum-exp.
    pub fn lse(&self) -> Dtype {
        self.lse.unwrap_or(self.softmax)
    }

    /// Significant bits of the accumulator.
    pub fn dot_precision(&self) -> u32 {
        self.dot_bits.unwrap_or(self.dot.precision()).min(self.dot.precision())
    }
}

fn eight() -> u32 {
    8
}
