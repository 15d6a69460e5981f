//! `Meaning`: the exact real function an attention call stands for, as data. A patch changes some
//! of its fields.

mod choice;
mod execution;

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

pub use self::choice::{
    Alibi, Anchor, Bias, Causal, DefaultScale, EmptyLse, EmptyRow, ExplicitScale, HiddenKeys,
    LengthAnchor, LseBase, Mask, Normalization, Obedience, Packing, Sinks, Stage, ValueReading,
    WindowBounds, WindowSide,
};
pub use self::execution::{
    Arithmetic, Execution, ExecutionPatch, Merge, Rescale, RowMax, SoftmaxOver, Store, Tanh,
};
use crate::IndexExpr;

/// Declares a struct, its patch (every field optional) and the laying of one over the other.
macro_rules! patchable {
    ($(#[$meta:meta])* $name:ident, $(#[$patch_meta:meta])* $patch:ident { $($(#[$field_meta:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(deny_unknown_fields)]
        pub struct $name { $($(#[$field_meta])* pub $field: $type,)* }

        $(#[$patch_meta])*
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(deny_unknown_fields)]
        pub struct $patch { $($(#[$field_meta])* #[serde(default, skip_serializing_if = "Option::is_none")] pub $field: Option<$type>,)* }

        impl $patch {
            /// Lays the patch over `base`.
            pub fn apply(&self, base: &$name) -> $name {
                $name { $($field: self.$field.clone().unwrap_or_else(|| base.$field.clone()),)* }
            }

            /// Both patches as one; `None` where they change the same field.
            pub fn joined(x: &Self, y: &Self) -> Option<Self> {
                let is_apart = true $(&& (x.$field.is_none() || y.$field.is_none()))*;
                is_apart.then(|| Self { $($field: x.$field.clone().or_else(|| y.$field.clone()),)* })
            }

            /// Whether the patch changes nothing.
            pub fn is_empty(&self) -> bool {
                true $(&& self.$field.is_none())*
            }
        }
    };
}

pub(crate) use patchable;

patchable! {
    /// The exact real function: `softmax(stages(Q Kᵀ), over the visible keys) · V`, with every
    /// choice as a field.
    Meaning,
    /// The fields of a [`Meaning`] that a convention or a fault changes.
    MeaningPatch {
        /// Order of the stages between `QKᵀ` and the mask.
        stages: Vec<Stage>,
        /// The scale when none is given.
        default_scale: DefaultScale,
        /// The whole number that the default scale is made of.
        scale_of: IndexExpr,
        /// What an explicit scale does.
        explicit_scale: ExplicitScale,
        /// Alignment of the causal diagonal.
        causal: Causal,
        /// Keys that the causal diagonal lets through beyond its own (negative: fewer).
        causal_offset: i64,
        /// The row whose causal bound row `i` has.
        causal_row: IndexExpr,
        /// Polarity of the boolean mask.
        mask: Mask,
        /// Batch item of the mask that is read for `item`.
        mask_item: IndexExpr,
        /// Head of the mask that is read for query head `h`.
        mask_head: IndexExpr,
        /// Row of the mask that is read for query `i`.
        mask_row: IndexExpr,
        /// Column of the mask that is read for key `j`.
        mask_key: IndexExpr,
        /// What becomes of a key that a query does not see.
        hidden: HiddenKeys,
        /// The score of such a key where it has one.
        hidden_score: f64,
        /// What a bias does.
        bias: Bias,
        /// Batch item of the bias that is read for `item`.
        bias_item: IndexExpr,
        /// Head of the bias that is read for query head `h`.
        bias_head: IndexExpr,
        /// Row of the bias that is read for query `i`.
        bias_row: IndexExpr,
        /// Column of the bias that is read for key `j`.
        bias_key: IndexExpr,
        /// Which keys at the ends of a window belong to it.
        window: WindowBounds,
        /// How far a window reaches before the query's position.
        window_left: WindowSide,
        /// How far a window reaches behind it.
        window_right: WindowSide,
        /// Where the window counts from.
        window_anchor: Anchor,
        /// Whether and how sinks join the row sum.
        sinks: Sinks,
        /// Head of the sink that query head `h` meets.
        sink_head: IndexExpr,
        /// What the slopes of ALiBi do.
        alibi: Alibi,
        /// Head of the slope that query head `h` meets.
        alibi_head: IndexExpr,
        /// Where the distances of ALiBi count from.
        alibi_anchor: Anchor,
        /// Whether keys beyond their number are hidden.
        key_lengths: Obedience,
        /// Whether queries beyond their number see nothing.
        query_lengths: Obedience,
        /// Batch item whose lengths count for `item`.
        length_item: IndexExpr,
        /// Keys that exist beyond their number (negative: fewer).
        key_length_offset: i64,
        /// Which extents positions are reckoned from when lengths are given.
        length_anchor: LengthAnchor,
        /// Whether packed sequences are kept apart.
        packed: Packing,
        /// What the softmax divides by.
        normalization: Normalization,
        /// The output of a query that sees no key.
        empty_row: EmptyRow,
        /// Base of the log-sum-exp.
        lse_base: LseBase,
        /// The log-sum-exp of a query that sees no key and no sink.
        empty_lse: EmptyLse,
        /// Whether sinks belong to the log-sum-exp.
        lse_sinks: Obedience,
        /// Key/value head that query head `h` reads.
        head_map: IndexExpr,
        /// Query head that row `i` of output head `h` is computed from.
        query_head: IndexExpr,
        /// Row of the query that output row `i` is computed from.
        query_index: IndexExpr,
        /// Column of the query that meets column `c` of the key.
        query_column: IndexExpr,
        /// Batch item of the query that `item` is computed from.
        query_item: IndexExpr,
        /// Batch item of key and value that is read for key `j` of batch item `item`.
        key_item: IndexExpr,
        /// Head of the key tensor that is read for key `j` of key/value head `h`.
        key_head: IndexExpr,
        /// Row of the key tensor that is read for key `j` of key/value head `h`.
        key_index: IndexExpr,
        /// Head of the value tensor that is read for key `j` of key/value head `h`.
        value_head: IndexExpr,
        /// Row of the value that key `j` of key/value head `h` weighs.
        value_index: IndexExpr,
        /// Columns of query and key that a score is made of: the first ones.
        score_width: IndexExpr,
        /// What is read of the values.
        values: ValueReading,
        /// How many of the keys exist: those with `j` below this.
        keys: IndexExpr,
        /// Keys `j` that query `i` does not see, whatever shows them: where this is not 0.
        unseen: IndexExpr,
        /// Keys `j` that query `i` sees, whatever hides them: where this is not 0.
        shown: IndexExpr,
        /// How many keys behind the last join the softmax of query `i`: those that the maps of
        /// keys and values lead to, and zeros beyond the tensors.
        zero_keys: IndexExpr,
        /// Columns of the output: the first ones of the true output, zeros beyond.
        output_width: IndexExpr,
        /// Column of the true output that column `c` shows.
        output_column: IndexExpr,
        /// Batch item of the true output that row `i` of head `h` of batch item `item` shows.
        output_item: IndexExpr,
        /// Head of the true output that row `i` of head `h` shows.
        output_head: IndexExpr,
        /// Row of the true output that row `i` of head `h` shows.
        output_row: IndexExpr,
    }
}

impl MeaningPatch {
    /// The fields that it changes, by name, as they are written in a file.
    pub fn fields(&self) -> Vec<(String, String)> {
        let Ok(serde_json::Value::Object(fields)) = serde_json::to_value(self) else {
            return Vec::new();
        };
        let text = |value: serde_json::Value| match value {
            serde_json::Value::String(text) => text,
            other => other.to_string(),
        };
        fields.into_iter().map(|(field, value)| (field, text(value))).collect()
    }
}

impl Meaning {
    /// The reference of this project.
    ///
    /// # Panics
    /// Never: the index maps are constants that parse.
    pub fn standard() -> Self {
        static STANDARD: LazyLock<Meaning> = LazyLock::new(Meaning::new_standard);
        STANDARD.clone()
    }

    #[expect(clippy::expect_used, reason = "constants, covered by a test")]
    fn new_standard() -> Self {
        let map = |text: &str| IndexExpr::new(text).expect("a constant index map");
        Self {
            stages: vec![Stage::Scale, Stage::Softcap, Stage::Bias],
            default_scale: DefaultScale::InverseSqrt,
            scale_of: map("d_k"),
            explicit_scale: ExplicitScale::Used,
            causal: Causal::LowerRight,
            causal_offset: 0,
            causal_row: map("i"),
            mask: Mask::TrueAttends,
            mask_item: map("item"),
            mask_head: map("h"),
            mask_row: map("i"),
            mask_key: map("j"),
            hidden: HiddenKeys::Absent,
            hidden_score: 0.0,
            bias: Bias::Added,
            bias_item: map("item"),
            bias_head: map("h"),
            bias_row: map("i"),
            bias_key: map("j"),
            window: WindowBounds::Inclusive,
            window_left: WindowSide::Used,
            window_right: WindowSide::Used,
            window_anchor: Anchor::LowerRight,
            sinks: Sinks::Used,
            sink_head: map("h"),
            alibi: Alibi::Used,
            alibi_head: map("h"),
            alibi_anchor: Anchor::LowerRight,
            key_lengths: Obedience::Used,
            query_lengths: Obedience::Used,
            length_item: map("item"),
            key_length_offset: 0,
            length_anchor: LengthAnchor::Lengths,
            packed: Packing::Used,
            normalization: Normalization::OverKeys,
            empty_row: EmptyRow::Zero,
            lse_base: LseBase::Natural,
            empty_lse: EmptyLse::NegativeInfinity,
            lse_sinks: Obedience::Used,
            head_map: map("h / (h_q / h_k)"),
            query_head: map("h"),
            query_index: map("i"),
            query_column: map("c"),
            query_item: map("item"),
            key_item: map("item"),
            key_head: map("h"),
            key_index: map("j"),
            value_head: map("h"),
            value_index: map("j"),
            score_width: map("d_k"),
            values: ValueReading::AsGiven,
            keys: map("n_k"),
            unseen: map("0"),
            shown: map("0"),
            zero_keys: map("0"),
            output_width: map("d_v"),
            output_column: map("c"),
            output_item: map("item"),
            output_head: map("h"),
            output_row: map("i"),
        }
    }
}
