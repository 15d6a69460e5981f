//! `Meaning`: the exact real function an attention call stands for, as data. A patch changes some of its fields.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Dtype, IndexExpr};

/// Declares a struct, its patch (every field optional) and the laying of one over the other.
macro_rules! patchable {
    ($(#[$meta:meta])* $name:ident, $(#[$patch_meta:meta])* $patch:ident { $($(#[$field_meta:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $name { $($(#[$field_meta])* pub $field: $type,)* }

        $(#[$patch_meta])*
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $patch { $($(#[$field_meta])* #[serde(default, skip_serializing_if = "Option::is_none")] pub $field: Option<$type>,)* }

        impl $patch {
            /// Lays the patch over `base`.
            pub fn apply(&self, base: &$name) -> $name {
                $name { $($field: self.$field.clone().unwrap_or_else(|| base.$field.clone()),)* }
            }

            /// Whether the patch changes nothing.
            pub fn is_empty(&self) -> bool {
                true $(&& self.$field.is_none())*
            }
        }
    };
}

/// A stage between `QKᵀ` and the softmax.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// Multiply by the scale.
    Scale,
    /// Limit by the softcap: `c · tanh(x/c)`.
    Softcap,
    /// Add the bias and ALiBi.
    Bias,
}

/// The scale used when none is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DefaultScale {
    /// `1/√d_k`.
    InverseSqrtDk,
    /// `1/d_k`.
    InverseDk,
    /// `1/√d_v`.
    InverseSqrtDv,
    /// `1`.
    One,
}

/// What an explicit scale does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ExplicitScale {
    /// It replaces the default.
    Used,
    /// It is ignored: the default is used.
    Ignored,
    /// It multiplies the default.
    TimesDefault,
}

/// Which corner of the score matrix the causal diagonal ends in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Causal {
    /// Query `i` sees keys `j ≤ i + n_k − n_q`.
    LowerRight,
    /// Query `i` sees keys `j ≤ i`.
    UpperLeft,
    /// Causal masking is accepted and ignored.
    Ignored,
}

/// What `true` means in a boolean mask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Mask {
    /// The query attends to the key.
    TrueAttends,
    /// The key is hidden from the query.
    TrueHides,
    /// The mask is accepted and ignored.
    Ignored,
}

/// Whether an option is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Obedience {
    /// It does what it says.
    Used,
    /// It is accepted and ignored.
    Ignored,
}

/// Where query 0 stands among the keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Anchor {
    /// At key `n_k − n_q`: the last query stands at the last key.
    LowerRight,
    /// At key 0.
    UpperLeft,
}

/// Which keys at the ends of a window belong to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LengthAnchor {
    /// The lengths: the last query that exists stands at the last key that exists, as with a cache of keys.
    Lengths,
    /// The extents of the tensors, padding included.
    Extents,
}

/// Base of the log-sum-exp.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LseBase {
    /// `ln Σ e^z`.
    Natural,
    /// `log₂ Σ e^z`.
    Two,
}

/// The log-sum-exp of a query that sees no key and no sink.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EmptyLse {
    /// −∞.
    NegativeInfinity,
    /// +∞.
    Infinity,
}

/// What the softmax divides by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EmptyRow {
    /// Zeros.
    Zero,
    /// NaN.
    Nan,
    /// The mean of all values.
    Mean,
}

/// What is read of the values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ValueReading {
    /// All of them.
    AsGiven,
    /// `max(v, 0)`.
    NonNegative,
}

patchable! {
    /// The exact real function: `softmax(stages(Q Kᵀ), over the visible keys) · V`, with every choice as a field.
    Meaning,
    /// The fields of a [`Meaning`] that a convention or a fault changes.
    MeaningPatch {
        /// Order of the stages between `QKᵀ` and the mask.
        stages: Vec<Stage>,
        /// The scale when none is given.
        default_scale: DefaultScale,
        /// What an explicit scale does.
        explicit_scale: ExplicitScale,
        /// Alignment of the causal diagonal.
        causal: Causal,
        /// Keys that the causal diagonal lets through beyond its own (negative: fewer).
        causal_offset: i64,
        /// Polarity of the boolean mask.
        mask: Mask,
        /// Which keys at the ends of a window belong to it.
        window: WindowBounds,
        /// Where the window counts from.
        window_anchor: Anchor,
        /// Whether sinks join the row sum.
        sinks: Obedience,
        /// Whether the slopes of ALiBi are followed.
        alibi: Obedience,
        /// Where the distances of ALiBi count from.
        alibi_anchor: Anchor,
        /// Whether keys beyond their number are hidden.
        key_lengths: Obedience,
        /// Whether queries beyond their number see nothing.
        query_lengths: Obedience,
        /// Which extents positions are reckoned from when lengths are given.
        length_anchor: LengthAnchor,
        /// Whether packed sequences are kept apart.
        packed: Obedience,
        /// What the softmax divides by.
        normalization: Normalization,
        /// The output of a query that sees no key.
        empty_row: EmptyRow,
        /// Base of the log-sum-exp.
        lse_base: LseBase,
        /// The log-sum-exp of a query that sees no key and no sink.
        empty_lse: EmptyLse,
        /// Key/value head that query head `h` reads.
        head_map: IndexExpr,
        /// Query head that output head `h` is computed from.
        query_head: IndexExpr,
        /// Row of the query that output row `i` is computed from.
        query_index: IndexExpr,
        /// Batch item of key and value that batch item `item` reads.
        key_item: IndexExpr,
        /// Row of the value that key `j` weighs.
        value_index: IndexExpr,
        /// What is read of the values.
        values: ValueReading,
        /// How many of the keys exist: those with `j` below this.
        keys: IndexExpr,
        /// Extra keys of score 0 and value 0 that join the softmax.
        zero_keys: IndexExpr,
        /// Columns of the output: the first ones of the true output, zeros beyond.
        output_width: IndexExpr,
    }
}

impl Meaning {
    /// The reference of this project.
    ///
    /// # Panics
    /// Never: the index maps are constants that parse.
    #[expect(clippy::expect_used, reason = "constants, covered by a test")]
    pub fn standard() -> Self {
        let map = |text: &str| IndexExpr::new(text).expect("a constant index map");
        Self {
            stages: vec![Stage::Scale, Stage::Softcap, Stage::Bias],
            default_scale: DefaultScale::InverseSqrtDk,
            explicit_scale: ExplicitScale::Used,
            causal: Causal::LowerRight,
            causal_offset: 0,
            mask: Mask::TrueAttends,
            window: WindowBounds::Inclusive,
            window_anchor: Anchor::LowerRight,
            sinks: Obedience::Used,
            alibi: Obedience::Used,
            alibi_anchor: Anchor::LowerRight,
            key_lengths: Obedience::Used,
            query_lengths: Obedience::Used,
            length_anchor: LengthAnchor::Lengths,
            packed: Obedience::Used,
            normalization: Normalization::OverKeys,
            empty_row: EmptyRow::Zero,
            lse_base: LseBase::Natural,
            empty_lse: EmptyLse::NegativeInfinity,
            head_map: map("h / (h_q / h_k)"),
            query_head: map("h"),
            query_index: map("i"),
            key_item: map("item"),
            value_index: map("j"),
            values: ValueReading::AsGiven,
            keys: map("n_k"),
            zero_keys: map("0"),
            output_width: map("d_v"),
        }
    }
}

patchable! {
    /// How the function is computed: formats, tiles and habits that do not change the exact function.
    Execution,
    /// The fields of an [`Execution`] that a fault changes.
    ExecutionPatch {
        /// Format of every sum, product and exponential; absent formats follow the call: float64 for float64, else float32.
        arithmetic: Arithmetic,
        /// Whether the row maximum is subtracted before the exponential.
        subtract_max: bool,
        /// Format to which scores are rounded when stored: the arithmetic's own, or the call's.
        store_scores: Store,
        /// Format to which weights are rounded before they meet the values.
        store_weights: Store,
    }
}

/// Format of the inner arithmetic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Store {
    /// Kept in the format of the arithmetic.
    Arithmetic,
    /// Rounded to the format of the call.
    Call,
}

impl Execution {
    /// A plain unfused computation with wide intermediates.
    pub fn standard() -> Self {
        Self {
            arithmetic: Arithmetic::Ordinary,
            subtract_max: true,
            store_scores: Store::Arithmetic,
            store_weights: Store::Arithmetic,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn standard_is_made_of_constants_that_parse() {
        let standard = Meaning::standard();
        assert_eq!(MeaningPatch::default().apply(&standard), standard);
        assert!(MeaningPatch::default().is_empty());
    }

    #[test]
    fn a_patch_changes_only_its_fields() {
        let patch = MeaningPatch { causal: Some(Causal::UpperLeft), ..MeaningPatch::default() };
        let patched = patch.apply(&Meaning::standard());
        assert_eq!(patched, Meaning { causal: Causal::UpperLeft, ..Meaning::standard() });
    }
}
