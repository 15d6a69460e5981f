//! The choices that people make differently, each a field of a `Meaning`.

use serde::{Deserialize, Serialize};

/// A stage between `QKᵀ` and the softmax.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// Multiply by the scale.
    Scale,
    /// Limit by the softcap: `c · tanh(x/c)`.
    Softcap,
    /// Add the bias and ALiBi.
    Bias,
}

/// The scale used when none is given, of a whole number `m`: the `scale_of` of the meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum DefaultScale {
    /// `1/√m`.
    InverseSqrt,
    /// `1/m`.
    Inverse,
    /// `1/⌊√m⌋`.
    InverseFloorSqrt,
    /// `√m`.
    Sqrt,
    /// `1`.
    One,
}

/// What an explicit scale does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ExplicitScale {
    /// It replaces the default.
    Used,
    /// It is ignored: the default is used.
    Ignored,
    /// It multiplies the default.
    TimesDefault,
    /// Its inverse is used.
    Inverted,
    /// Its square is used.
    Squared,
    /// Its absolute value is used.
    Absolute,
    /// It replaces the default unless it is 1.
    OneMeansDefault,
}

/// Which corner of the score matrix the causal diagonal ends in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Causal {
    /// Query `i` sees keys `j ≤ i + n_k − n_q`.
    LowerRight,
    /// Query `i` sees keys `j ≤ i`.
    UpperLeft,
    /// Causal masking is accepted and ignored.
    Ignored,
    /// Every call is causal, asked for or not: query `i` sees keys `j ≤ i + n_k − n_q`.
    Always,
}

/// What `true` means in a boolean mask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Mask {
    /// The query attends to the key.
    TrueAttends,
    /// The key is hidden from the query.
    TrueHides,
    /// The mask is accepted and ignored.
    Ignored,
    /// It hides nothing; 1 is added to the score where it is true.
    Added,
}

/// Whether an option is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Obedience {
    /// It does what it says.
    Used,
    /// It is accepted and ignored.
    Ignored,
}

/// What becomes of a key that a query does not see, whatever hides it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum HiddenKeys {
    /// It has no weight.
    Absent,
    /// Its score is replaced by the finite `hidden_score`.
    ScoreReplaced,
    /// The finite `hidden_score` is added to its score.
    ScoreAdded,
    /// It keeps its part in the row sum, and its weight is set to 0 after the softmax.
    WeightZeroed,
}

/// What a bias does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Bias {
    /// It is added to the score.
    Added,
    /// It is accepted and ignored.
    Ignored,
    /// It is subtracted from the score.
    Subtracted,
    /// It is taken for a boolean mask: what is not 0 hides its key.
    NonzeroHides,
}

/// What the slopes of ALiBi do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Alibi {
    /// `−slope · distance` is added to the score.
    Used,
    /// They are accepted and ignored.
    Ignored,
    /// `+slope · distance` is added to the score.
    Reversed,
}

/// What sinks do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Sinks {
    /// Each joins the row sum of its head once.
    Used,
    /// They are accepted and ignored.
    Ignored,
    /// Each joins the row sum twice.
    Twice,
    /// Each is multiplied by the scale first.
    Scaled,
}

/// How far one side of a window reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum WindowSide {
    /// As far as it says.
    Used,
    /// As if it were not given.
    Ignored,
    /// One key farther.
    OneMore,
    /// One key less far.
    OneFewer,
    /// As far as the other side says.
    OfOtherSide,
    /// As far as it says, and without limit where it says 0.
    ZeroMeansAll,
}

/// Where query 0 stands among the keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Anchor {
    /// At key `n_k − n_q`: the last query stands at the last key.
    LowerRight,
    /// At key 0.
    UpperLeft,
}

/// Which keys at the ends of a window belong to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum WindowBounds {
    /// From `left` before the query's position to `right` behind it, both included.
    Inclusive,
    /// Both ends left out.
    Exclusive,
    /// The window is accepted and ignored.
    Ignored,
}

/// Which extents positions are reckoned from when lengths are given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum LengthAnchor {
    /// The lengths: the last query that exists stands at the last key that exists, as with a cache
    /// of keys.
    Lengths,
    /// The extents of the tensors, padding included.
    Extents,
}

/// What the offsets of packed sequences do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Packing {
    /// They keep the sequences apart.
    Used,
    /// They are accepted and ignored.
    Ignored,
    /// Only the first sequence is kept apart from the others.
    FirstBoundary,
}

/// Base of the log-sum-exp.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum LseBase {
    /// `ln Σ e^z`.
    Natural,
    /// `log₂ Σ e^z`.
    Two,
    /// `ln 2 · ln Σ e^z`: a natural logarithm taken for one of base 2 and converted again.
    NaturalTimesLn2,
}

/// The log-sum-exp of a query that sees no key and no sink.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum EmptyLse {
    /// −∞.
    NegativeInfinity,
    /// +∞.
    Infinity,
    /// 0.
    Zero,
}

/// What the softmax divides by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Normalization {
    /// The sum over the keys of a query: attention.
    OverKeys,
    /// The sum over the queries of a key.
    OverQueries,
    /// Nothing: `Σ_j e^(z_ij − max_j z_ij) v_j`.
    None,
}

/// The output of a query that sees no key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum EmptyRow {
    /// Zeros.
    Zero,
    /// NaN.
    Nan,
    /// The mean of all values.
    Mean,
    /// The first value.
    First,
}

/// What is read of the values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ValueReading {
    /// All of them.
    AsGiven,
    /// `max(v, 0)`.
    NonNegative,
}
