//! Contracts: the number formats and depths that an implementation declares. The engine derives its bound from them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Dtype;

/// What an implementation promises about its arithmetic; one file in `specs/contracts/`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Contract {
    /// The id, equal to the file name.
    pub contract: String,
    /// One line for people.
    pub title: String,
    /// Format of query, key and value.
    pub dtype: Dtype,
    /// Whether an undeclared target of this format is judged by this contract. Exactly one per format: the loosest.
    #[serde(default)]
    pub default: bool,
    /// Accumulator of `QKᵀ` and of `PV`.
    pub dot: Dtype,
    /// Arithmetic of scale, bias, maximum, exponential, row sum and rescaling.
    pub softmax: Dtype,
    /// Roundings in the storage format `dtype` that each element of query and key together may suffer before the dot product
    /// (a scale folded into them, for example).
    #[serde(default)]
    pub input_roundings: u32,
    /// Roundings of each score in the storage format `dtype`, 0 when scores stay in the softmax format.
    #[serde(default)]
    pub score_roundings: u32,
    /// Format to which the weights are rounded before they meet the values.
    pub weights: Dtype,
    /// Relative error of the exponential, in unit roundoffs `2^-p` of the softmax format.
    pub exp_error: u32,
    /// Smallest key tile of the online recurrence; absent for a single pass over the keys.
    #[serde(default)]
    pub tile: Option<usize>,
    /// Whether partial results may be normalized on their own and merged by their log-sum-exp (split keys, log-softmax,
    /// an output kept normalized): exact cases are then allowed a few roundings.
    #[serde(default)]
    pub merges: bool,
    /// Why this contract exists and who follows it.
    pub about: String,
}
