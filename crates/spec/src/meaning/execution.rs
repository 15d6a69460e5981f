//! `Execution`: how the function is computed, as data.

use serde::{Deserialize, Serialize};

use super::patchable;
use crate::Dtype;

patchable! {
    /// How the function is computed: formats, tiles and habits that do not change the exact
    /// function.
    Execution,
    /// The fields of an [`Execution`] that a fault changes.
    ExecutionPatch {
        /// Format of every sum, product and exponential; absent formats follow the call: float64
        /// for float64, else float32.
        arithmetic: Arithmetic,
        /// Format in which products of query and key are summed.
        dots: Arithmetic,
        /// Format in which exponentials are summed.
        sums: Arithmetic,
        /// Format in which weighted values are summed.
        outputs: Arithmetic,
        /// Format to which each exponential is rounded.
        exponentials: Arithmetic,
        /// What is subtracted from the scores of a row.
        row_max: RowMax,
        /// Format to which the scaled query is rounded, where the scale meets the query instead of
        /// the score.
        scaled_query: Store,
        /// Format to which scores are rounded when stored: the arithmetic's own, or the call's.
        store_scores: Store,
        /// Format to which weights are rounded before they meet the values.
        store_weights: Store,
        /// How the hyperbolic tangent of the softcap is computed.
        tanh: Tanh,
        /// Added to the row sum before the division.
        epsilon: f64,
        /// What the softmax runs over.
        softmax_over: SoftmaxOver,
        /// Keys that are taken at a time; 0: all of them.
        tile: usize,
        /// What becomes of the partial sums when a later tile brings a larger maximum.
        rescale: Rescale,
        /// Parts that the keys are split into, each with a softmax of its own; 0: one part.
        splits: usize,
        /// How the results of the parts are joined.
        merge: Merge,
    }
}

/// Format of the inner arithmetic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Arithmetic {
    /// float64 for float64 calls, float32 for all others.
    Ordinary,
    /// float64 whatever the call.
    Float64,
    /// float32 whatever the call.
    Float32,
    /// bfloat16 whatever the call.
    Bfloat16,
    /// float16 whatever the call.
    Float16,
}

impl Arithmetic {
    /// The format for calls in `dtype`.
    pub fn format(self, dtype: Dtype) -> Dtype {
        match self {
            Self::Ordinary if dtype == Dtype::Float64 => Dtype::Float64,
            Self::Ordinary | Self::Float32 => Dtype::Float32,
            Self::Float64 => Dtype::Float64,
            Self::Bfloat16 => Dtype::Bfloat16,
            Self::Float16 => Dtype::Float16,
        }
    }
}

/// Where an intermediate value is rounded to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Store {
    /// Kept in the format of the arithmetic.
    Arithmetic,
    /// Rounded to the format of the call.
    Call,
}

/// What is subtracted from the scores of a row before the exponential.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum RowMax {
    /// Their maximum.
    Found,
    /// The larger of their maximum and this finite number, with which the search begins.
    AtLeast(f64),
    /// This number, whatever the scores are.
    Constant(f64),
    /// The first score of the row.
    First,
}

/// How `tanh(x)` is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Tanh {
    /// As a library does.
    Library,
    /// `(e^2x − 1)/(e^2x + 1)`, which overflows.
    Quotient,
}

/// What a softmax is normalized over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum SoftmaxOver {
    /// The keys of a query: attention.
    Keys,
    /// The heads of a batch item.
    Heads,
    /// The batch items.
    Items,
    /// All queries and keys of a head.
    Scores,
}

/// What becomes of the partial sums of a row when a later tile brings a larger maximum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Rescale {
    /// Both are multiplied by `e^(old − new)`.
    Both,
    /// Neither is.
    Neither,
    /// Only the row sum is.
    SumOnly,
    /// Only the weighted values are.
    ValuesOnly,
    /// The weighted values are divided by the row sum after every tile.
    DividedEachTile,
    /// Both are multiplied by `e^(old − new)`, which is NaN where no key has been seen yet.
    NanWhenEmpty,
}

/// How the results of the parts of a row are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Merge {
    /// Each is weighted by its part of the row sum.
    ByLse,
    /// Their mean is taken.
    Mean,
    /// Each is weighted by its own row sum, as if all maxima were the same.
    ByOwnSum,
    /// The log-sum-exp is taken for one of base 2.
    LseBaseTwo,
    /// The last part is left out.
    LastDropped,
    /// A part that sees no key makes the row NaN.
    NanWhenEmpty,
    /// The sink joins the row sum of every part.
    SinkInEach,
}

impl Execution {
    /// A plain unfused computation with wide intermediates.
    pub fn standard() -> Self {
        Self {
            arithmetic: Arithmetic::Ordinary,
            dots: Arithmetic::Ordinary,
            sums: Arithmetic::Ordinary,
            outputs: Arithmetic::Ordinary,
            exponentials: Arithmetic::Ordinary,
            row_max: RowMax::Found,
            scaled_query: Store::Arithmetic,
            store_scores: Store::Arithmetic,
            store_weights: Store::Arithmetic,
            tanh: Tanh::Library,
            epsilon: 0.0,
            softmax_over: SoftmaxOver::Keys,
            tile: 0,
            rescale: Rescale::Both,
            splits: 0,
            merge: Merge::ByLse,
        }
    }
}
