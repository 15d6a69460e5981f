//! The fields that a probe recovers and the values that it knows for each. A new value is one line.

use qkvet_spec::{
    Alibi, Anchor, Bias, Causal, DefaultScale, EmptyLse, EmptyRow, ExplicitScale, IndexExpr,
    LengthAnchor, LseBase, Mask, Meaning, Normalization, Obedience, Packing, Sinks, Stage,
    ValueReading, WindowBounds,
};

use super::hypothesis::Effect::{self, Meaning as Means, Swapped};

/// A choice that implementations make differently.
#[derive(Debug)]
pub(super) struct Field {
    /// Its name; that in `Meaning` where there is one.
    pub(super) id: &'static str,
    /// What it is, in words.
    pub(super) about: &'static str,
    /// Name and effect of each value, the standard's first.
    pub(super) values: &'static [(&'static str, Effect)],
}

/// The values stay as they are.
const AS_GIVEN: Effect = Means(|_| {});

/// Sets an index map; the texts below are constants that parse.
fn set(map: &mut IndexExpr, text: &str) {
    if let Ok(parsed) = IndexExpr::new(text) {
        *map = parsed;
    }
}

fn causal(meaning: &mut Meaning, causal: Causal, offset: i64) {
    (meaning.causal, meaning.causal_offset) = (causal, offset);
}

fn scale(meaning: &mut Meaning, scale: DefaultScale, of: &str) {
    meaning.default_scale = scale;
    set(&mut meaning.scale_of, of);
}

fn window(meaning: &mut Meaning, window: WindowBounds, anchor: Anchor) {
    (meaning.window, meaning.window_anchor) = (window, anchor);
}

fn alibi(meaning: &mut Meaning, alibi: Alibi, anchor: Anchor) {
    (meaning.alibi, meaning.alibi_anchor) = (alibi, anchor);
}

fn before_scale(meaning: &mut Meaning, anchor: Anchor) {
    alibi(meaning, Alibi::Used, anchor);
    first(meaning, Stage::Bias);
}

/// Moves a stage to the front.
fn first(meaning: &mut Meaning, stage: Stage) {
    meaning.stages.retain(|one| *one != stage);
    meaning.stages.insert(0, stage);
}

/// Moves a stage to the end.
fn last(meaning: &mut Meaning, stage: Stage) {
    meaning.stages.retain(|one| *one != stage);
    meaning.stages.push(stage);
}

pub(super) static LAYOUT: Field = Field {
    id: "layout",
    about: "order of the axes of query, key, value and output",
    values: &[("bhnd", AS_GIVEN), ("bnhd", Swapped)],
};
pub(super) static NORMALIZATION: Field = Field {
    id: "normalization",
    about: "what the softmax divides by",
    values: &[
        ("over-keys", Means(|m| m.normalization = Normalization::OverKeys)),
        ("over-queries", Means(|m| m.normalization = Normalization::OverQueries)),
        ("none", Means(|m| m.normalization = Normalization::None)),
    ],
};
pub(super) static ZERO_KEYS: Field = Field {
    id: "zero_keys",
    about: "extra keys of score 0 that are counted",
    values: &[
        ("0", Means(|m| set(&mut m.zero_keys, "0"))),
        ("1", Means(|m| set(&mut m.zero_keys, "1"))),
        ("(16 - n_k % 16) % 16", Means(|m| set(&mut m.zero_keys, "(16 - n_k % 16) % 16"))),
        ("(32 - n_k % 32) % 32", Means(|m| set(&mut m.zero_keys, "(32 - n_k % 32) % 32"))),
        ("(64 - n_k % 64) % 64", Means(|m| set(&mut m.zero_keys, "(64 - n_k % 64) % 64"))),
        ("(128 - n_k % 128) % 128", Means(|m| set(&mut m.zero_keys, "(128 - n_k % 128) % 128"))),
    ],
};
pub(super) static KEYS: Field = Field {
    id: "keys",
    about: "how many of the keys exist",
    values: &[
        ("n_k", Means(|m| set(&mut m.keys, "n_k"))),
        ("n_k - 1", Means(|m| set(&mut m.keys, "n_k - 1"))),
        ("n_k - n_k % 16", Means(|m| set(&mut m.keys, "n_k - n_k % 16"))),
        ("n_k - n_k % 32", Means(|m| set(&mut m.keys, "n_k - n_k % 32"))),
        ("n_k - n_k % 64", Means(|m| set(&mut m.keys, "n_k - n_k % 64"))),
    ],
};
pub(super) static OUTPUT_WIDTH: Field = Field {
    id: "output_width",
    about: "columns of the output",
    values: &[
        ("d_v", Means(|m| set(&mut m.output_width, "d_v"))),
        ("d_k", Means(|m| set(&mut m.output_width, "d_k"))),
    ],
};
pub(super) static HEAD_MAP: Field = Field {
    id: "head_map",
    about: "key/value head that query head h reads",
    values: &[
        ("h / (h_q / h_k)", Means(|m| set(&mut m.head_map, "h / (h_q / h_k)"))),
        ("h % h_k", Means(|m| set(&mut m.head_map, "h % h_k"))),
        ("h / h_k", Means(|m| set(&mut m.head_map, "h / h_k"))),
        ("0", Means(|m| set(&mut m.head_map, "0"))),
    ],
};
pub(super) static KEY_ITEM: Field = Field {
    id: "key_item",
    about: "batch item whose keys and values are read",
    values: &[
        ("item", Means(|m| set(&mut m.key_item, "item"))),
        ("0", Means(|m| set(&mut m.key_item, "0"))),
    ],
};
pub(super) static VALUES: Field = Field {
    id: "values",
    about: "what is read of the values",
    values: &[
        ("as-given", Means(|m| m.values = ValueReading::AsGiven)),
        ("non-negative", Means(|m| m.values = ValueReading::NonNegative)),
    ],
};
pub(super) static QUERY_HEAD: Field = Field {
    id: "query_head",
    about: "query head that output head h is computed from",
    values: &[
        ("h", Means(|m| set(&mut m.query_head, "h"))),
        ("0", Means(|m| set(&mut m.query_head, "0"))),
    ],
};
pub(super) static QUERY_INDEX: Field = Field {
    id: "query_index",
    about: "query that output row i is computed from",
    values: &[
        ("i", Means(|m| set(&mut m.query_index, "i"))),
        ("0", Means(|m| set(&mut m.query_index, "0"))),
    ],
};
pub(super) static VALUE_INDEX: Field = Field {
    id: "value_index",
    about: "value that key j weighs",
    values: &[
        ("j", Means(|m| set(&mut m.value_index, "j"))),
        ("(j + 1) % n_k", Means(|m| set(&mut m.value_index, "(j + 1) % n_k"))),
        ("n_k - 1 - j", Means(|m| set(&mut m.value_index, "n_k - 1 - j"))),
    ],
};
pub(super) static DEFAULT_SCALE: Field = Field {
    id: "default_scale",
    about: "scale when none is given",
    values: &[
        ("1/sqrt(d_k)", Means(|m| scale(m, DefaultScale::InverseSqrt, "d_k"))),
        ("1/d_k", Means(|m| scale(m, DefaultScale::Inverse, "d_k"))),
        ("sqrt(d_k)", Means(|m| scale(m, DefaultScale::Sqrt, "d_k"))),
        ("1/sqrt(d_v)", Means(|m| scale(m, DefaultScale::InverseSqrt, "d_v"))),
        ("1/sqrt(h_q * d_k)", Means(|m| scale(m, DefaultScale::InverseSqrt, "h_q * d_k"))),
        ("1", Means(|m| scale(m, DefaultScale::One, "d_k"))),
    ],
};
pub(super) static EXPLICIT_SCALE: Field = Field {
    id: "explicit_scale",
    about: "what an explicit scale does",
    values: &[
        ("used", Means(|m| m.explicit_scale = ExplicitScale::Used)),
        ("ignored", Means(|m| m.explicit_scale = ExplicitScale::Ignored)),
        ("times-default", Means(|m| m.explicit_scale = ExplicitScale::TimesDefault)),
        ("inverted", Means(|m| m.explicit_scale = ExplicitScale::Inverted)),
        ("squared", Means(|m| m.explicit_scale = ExplicitScale::Squared)),
        ("absolute", Means(|m| m.explicit_scale = ExplicitScale::Absolute)),
    ],
};
pub(super) static MASK: Field = Field {
    id: "mask",
    about: "what true means in a boolean mask",
    values: &[
        ("true-attends", Means(|m| m.mask = Mask::TrueAttends)),
        ("true-hides", Means(|m| m.mask = Mask::TrueHides)),
        ("ignored", Means(|m| m.mask = Mask::Ignored)),
    ],
};
pub(super) static MASK_AXES: Field = Field {
    id: "mask_axes",
    about: "how a mask is spread over items, heads and queries",
    values: &[
        ("broadcast", AS_GIVEN),
        ("first item for all", Means(|m| set(&mut m.mask_item, "0"))),
        ("first head for all", Means(|m| set(&mut m.mask_head, "0"))),
        ("first query for all", Means(|m| set(&mut m.mask_row, "0"))),
        ("heads before items", Means(|m| exchanged(&mut m.mask_item, &mut m.mask_head))),
    ],
};
pub(super) static BIAS: Field = Field {
    id: "bias",
    about: "where the bias is added",
    values: &[
        ("after the scale", AS_GIVEN),
        ("before the scale", Means(|m| first(m, Stage::Bias))),
        ("ignored", Means(|m| m.bias = Bias::Ignored)),
        ("subtracted", Means(|m| m.bias = Bias::Subtracted)),
    ],
};
pub(super) static BIAS_AXES: Field = Field {
    id: "bias_axes",
    about: "how a bias is spread over items, heads and queries",
    values: &[
        ("broadcast", AS_GIVEN),
        ("first item for all", Means(|m| set(&mut m.bias_item, "0"))),
        ("first head for all", Means(|m| set(&mut m.bias_head, "0"))),
        ("first query for all", Means(|m| set(&mut m.bias_row, "0"))),
        ("heads before items", Means(|m| exchanged(&mut m.bias_item, &mut m.bias_head))),
    ],
};
pub(super) static SOFTCAP: Field = Field {
    id: "softcap",
    about: "what the softcap limits",
    values: &[
        ("the scaled scores", AS_GIVEN),
        ("the scores before the scale", Means(|m| first(m, Stage::Softcap))),
        ("ignored", Means(|m| m.stages.retain(|stage| *stage != Stage::Softcap))),
    ],
};
pub(super) static SOFTCAP_ORDER: Field = Field {
    id: "softcap_order",
    about: "softcap beside a bias",
    values: &[
        ("before the bias", AS_GIVEN),
        ("after the bias", Means(|m| last(m, Stage::Softcap))),
    ],
};
pub(super) static CAUSAL: Field = Field {
    id: "causal",
    about: "alignment of the causal diagonal",
    values: &[
        ("lower-right", Means(|m| causal(m, Causal::LowerRight, 0))),
        ("upper-left", Means(|m| causal(m, Causal::UpperLeft, 0))),
        ("ignored", Means(|m| causal(m, Causal::Ignored, 0))),
        ("lower-right, one key more", Means(|m| causal(m, Causal::LowerRight, 1))),
        ("lower-right, one key less", Means(|m| causal(m, Causal::LowerRight, -1))),
        ("upper-left, one key more", Means(|m| causal(m, Causal::UpperLeft, 1))),
        ("upper-left, one key less", Means(|m| causal(m, Causal::UpperLeft, -1))),
    ],
};
pub(super) static EMPTY_ROW: Field = Field {
    id: "empty_row",
    about: "output of a query that sees no key",
    values: &[
        ("zero", Means(|m| m.empty_row = EmptyRow::Zero)),
        ("nan", Means(|m| m.empty_row = EmptyRow::Nan)),
        ("mean", Means(|m| m.empty_row = EmptyRow::Mean)),
    ],
};
pub(super) static WINDOW: Field = Field {
    id: "window",
    about: "ends of a window and the corner it counts from",
    values: &[
        (
            "inclusive, lower-right",
            Means(|m| window(m, WindowBounds::Inclusive, Anchor::LowerRight)),
        ),
        ("inclusive, upper-left", Means(|m| window(m, WindowBounds::Inclusive, Anchor::UpperLeft))),
        (
            "exclusive, lower-right",
            Means(|m| window(m, WindowBounds::Exclusive, Anchor::LowerRight)),
        ),
        ("exclusive, upper-left", Means(|m| window(m, WindowBounds::Exclusive, Anchor::UpperLeft))),
        ("ignored", Means(|m| window(m, WindowBounds::Ignored, Anchor::LowerRight))),
    ],
};
pub(super) static SINKS: Field = Field {
    id: "sinks",
    about: "whether sinks join the row sum",
    values: &[
        ("used", Means(|m| m.sinks = Sinks::Used)),
        ("ignored", Means(|m| m.sinks = Sinks::Ignored)),
    ],
};
pub(super) static ALIBI: Field = Field {
    id: "alibi",
    about: "whether slopes are followed, and the corner distances count from",
    values: &[
        ("lower-right", Means(|m| alibi(m, Alibi::Used, Anchor::LowerRight))),
        ("upper-left", Means(|m| alibi(m, Alibi::Used, Anchor::UpperLeft))),
        ("ignored", Means(|m| alibi(m, Alibi::Ignored, Anchor::LowerRight))),
        ("lower-right, before the scale", Means(|m| before_scale(m, Anchor::LowerRight))),
        ("upper-left, before the scale", Means(|m| before_scale(m, Anchor::UpperLeft))),
        ("reversed", Means(|m| alibi(m, Alibi::Reversed, Anchor::LowerRight))),
    ],
};
pub(super) static KEY_LENGTHS: Field = Field {
    id: "key_lengths",
    about: "whether keys beyond their number are hidden",
    values: &[
        ("used", Means(|m| m.key_lengths = Obedience::Used)),
        ("ignored", Means(|m| m.key_lengths = Obedience::Ignored)),
    ],
};
pub(super) static QUERY_LENGTHS: Field = Field {
    id: "query_lengths",
    about: "whether queries beyond their number see nothing",
    values: &[
        ("used", Means(|m| m.query_lengths = Obedience::Used)),
        ("ignored", Means(|m| m.query_lengths = Obedience::Ignored)),
    ],
};
pub(super) static LENGTH_ANCHOR: Field = Field {
    id: "length_anchor",
    about: "extents that positions count from when lengths are given",
    values: &[
        ("lengths", Means(|m| m.length_anchor = LengthAnchor::Lengths)),
        ("extents", Means(|m| m.length_anchor = LengthAnchor::Extents)),
    ],
};
pub(super) static PACKED: Field = Field {
    id: "packed",
    about: "whether packed sequences are kept apart",
    values: &[
        ("used", Means(|m| m.packed = Packing::Used)),
        ("ignored", Means(|m| m.packed = Packing::Ignored)),
    ],
};
pub(super) static LSE_BASE: Field = Field {
    id: "lse_base",
    about: "base of the log-sum-exp",
    values: &[
        ("natural", Means(|m| m.lse_base = LseBase::Natural)),
        ("two", Means(|m| m.lse_base = LseBase::Two)),
    ],
};
pub(super) static EMPTY_LSE: Field = Field {
    id: "empty_lse",
    about: "log-sum-exp of a query that sees no key",
    values: &[
        ("negative-infinity", Means(|m| m.empty_lse = EmptyLse::NegativeInfinity)),
        ("infinity", Means(|m| m.empty_lse = EmptyLse::Infinity)),
    ],
};

/// Read in the order of a tensor with the heads in front: `h · b + item` in place of
/// `item · h_q + h`.
fn exchanged(item: &mut IndexExpr, head: &mut IndexExpr) {
    set(item, "(h * b + item) / h_q");
    set(head, "(h * b + item) % h_q");
}
