//! The fields that a probe recovers and the values that it knows for each. A new value is one line.

use qkvet_spec::{
    Alibi, Anchor, Bias, Causal, DefaultScale, IndexExpr, Meaning, Stage, WindowBounds,
};

use self::Values::{Listed, Own};
use super::hypothesis::Effect::{self, Meaning as Means, Swapped};

/// A choice that implementations make differently.
#[derive(Debug)]
pub(super) struct Field {
    /// Its name; that in `Meaning` where there is one.
    pub(super) id: &'static str,
    /// What it is, in words.
    pub(super) about: &'static str,
    values: Values,
}

/// The values of a field, the standard's first.
#[derive(Debug)]
enum Values {
    /// Values that the field of `Meaning` with the same name takes.
    Own(&'static [&'static str]),
    /// Others, each with its name and effect.
    Listed(&'static [(&'static str, Effect)]),
}

impl Field {
    /// How many values there are.
    pub(super) fn len(&self) -> usize {
        match self.values {
            Own(names) => names.len(),
            Listed(values) => values.len(),
        }
    }

    /// The name of a value, from 0.
    pub(super) fn name(&self, value: usize) -> &'static str {
        match self.values {
            Own(names) => names[value],
            Listed(values) => values[value].0,
        }
    }

    /// What a value changes.
    pub(super) fn effect(&self, value: usize) -> Effect {
        match self.values {
            Own(names) => Effect::Set(self.id, names[value]),
            Listed(values) => values[value].1,
        }
    }
}

const fn own(id: &'static str, about: &'static str, names: &'static [&'static str]) -> Field {
    Field { id, about, values: Own(names) }
}

const fn listed(
    id: &'static str,
    about: &'static str,
    values: &'static [(&'static str, Effect)],
) -> Field {
    Field { id, about, values: Listed(values) }
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

pub(super) static LAYOUT: Field = listed(
    "layout",
    "order of the axes of query, key, value and output",
    &[("bhnd", AS_GIVEN), ("bnhd", Swapped)],
);
pub(super) static NORMALIZATION: Field =
    own("normalization", "what the softmax divides by", &["over-keys", "over-queries", "none"]);
pub(super) static ZERO_KEYS: Field = own(
    "zero_keys",
    "extra keys of score 0 that are counted",
    &[
        "0",
        "1",
        "(16 - n_k % 16) % 16",
        "(32 - n_k % 32) % 32",
        "(64 - n_k % 64) % 64",
        "(128 - n_k % 128) % 128",
    ],
);
pub(super) static KEYS: Field = own(
    "keys",
    "how many of the keys exist",
    &["n_k", "n_k - 1", "n_k - n_k % 16", "n_k - n_k % 32", "n_k - n_k % 64"],
);
pub(super) static OUTPUT_WIDTH: Field =
    own("output_width", "columns of the output", &["d_v", "d_k"]);
pub(super) static HEAD_MAP: Field = own(
    "head_map",
    "key/value head that query head h reads",
    &["h / (h_q / h_k)", "h % h_k", "h / h_k", "0"],
);
pub(super) static KEY_ITEM: Field =
    own("key_item", "batch item whose keys and values are read", &["item", "0"]);
pub(super) static VALUES: Field =
    own("values", "what is read of the values", &["as-given", "non-negative"]);
pub(super) static QUERY_HEAD: Field =
    own("query_head", "query head that output head h is computed from", &["h", "0"]);
pub(super) static QUERY_INDEX: Field =
    own("query_index", "query that output row i is computed from", &["i", "0"]);
pub(super) static VALUE_INDEX: Field =
    own("value_index", "value that key j weighs", &["j", "(j + 1) % n_k", "n_k - 1 - j"]);
pub(super) static DEFAULT_SCALE: Field = listed(
    "default_scale",
    "scale when none is given",
    &[
        ("1/sqrt(d_k)", Means(|m| scale(m, DefaultScale::InverseSqrt, "d_k"))),
        ("1/d_k", Means(|m| scale(m, DefaultScale::Inverse, "d_k"))),
        ("sqrt(d_k)", Means(|m| scale(m, DefaultScale::Sqrt, "d_k"))),
        ("1/sqrt(d_v)", Means(|m| scale(m, DefaultScale::InverseSqrt, "d_v"))),
        ("1/sqrt(h_q * d_k)", Means(|m| scale(m, DefaultScale::InverseSqrt, "h_q * d_k"))),
        ("1", Means(|m| scale(m, DefaultScale::One, "d_k"))),
    ],
);
pub(super) static EXPLICIT_SCALE: Field = own(
    "explicit_scale",
    "what an explicit scale does",
    &["used", "ignored", "times-default", "inverted", "squared", "absolute"],
);
pub(super) static MASK: Field =
    own("mask", "what true means in a boolean mask", &["true-attends", "true-hides", "ignored"]);
pub(super) static MASK_AXES: Field = listed(
    "mask_axes",
    "how a mask is spread over items, heads and queries",
    &[
        ("broadcast", AS_GIVEN),
        ("first item for all", Means(|m| set(&mut m.mask_item, "0"))),
        ("first head for all", Means(|m| set(&mut m.mask_head, "0"))),
        ("first query for all", Means(|m| set(&mut m.mask_row, "0"))),
        ("heads before items", Means(|m| exchanged(&mut m.mask_item, &mut m.mask_head))),
    ],
);
pub(super) static BIAS: Field = listed(
    "bias",
    "where the bias is added",
    &[
        ("after the scale", AS_GIVEN),
        ("before the scale", Means(|m| first(m, Stage::Bias))),
        ("ignored", Means(|m| m.bias = Bias::Ignored)),
        ("subtracted", Means(|m| m.bias = Bias::Subtracted)),
    ],
);
pub(super) static BIAS_AXES: Field = listed(
    "bias_axes",
    "how a bias is spread over items, heads and queries",
    &[
        ("broadcast", AS_GIVEN),
        ("first item for all", Means(|m| set(&mut m.bias_item, "0"))),
        ("first head for all", Means(|m| set(&mut m.bias_head, "0"))),
        ("first query for all", Means(|m| set(&mut m.bias_row, "0"))),
        ("heads before items", Means(|m| exchanged(&mut m.bias_item, &mut m.bias_head))),
    ],
);
pub(super) static SOFTCAP: Field = listed(
    "softcap",
    "what the softcap limits",
    &[
        ("the scaled scores", AS_GIVEN),
        ("the scores before the scale", Means(|m| first(m, Stage::Softcap))),
        ("ignored", Means(|m| m.stages.retain(|stage| *stage != Stage::Softcap))),
    ],
);
pub(super) static SOFTCAP_ORDER: Field = listed(
    "softcap_order",
    "softcap beside a bias",
    &[("before the bias", AS_GIVEN), ("after the bias", Means(|m| last(m, Stage::Softcap)))],
);
pub(super) static CAUSAL: Field = listed(
    "causal",
    "alignment of the causal diagonal",
    &[
        ("lower-right", Means(|m| causal(m, Causal::LowerRight, 0))),
        ("upper-left", Means(|m| causal(m, Causal::UpperLeft, 0))),
        ("ignored", Means(|m| causal(m, Causal::Ignored, 0))),
        ("lower-right, one key more", Means(|m| causal(m, Causal::LowerRight, 1))),
        ("lower-right, one key less", Means(|m| causal(m, Causal::LowerRight, -1))),
        ("upper-left, one key more", Means(|m| causal(m, Causal::UpperLeft, 1))),
        ("upper-left, one key less", Means(|m| causal(m, Causal::UpperLeft, -1))),
    ],
);
pub(super) static EMPTY_ROW: Field =
    own("empty_row", "output of a query that sees no key", &["zero", "nan", "mean"]);
pub(super) static WINDOW: Field = listed(
    "window",
    "ends of a window and the corner it counts from",
    &[
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
);
pub(super) static SINKS: Field =
    own("sinks", "whether sinks join the row sum", &["used", "ignored"]);
pub(super) static ALIBI: Field = listed(
    "alibi",
    "whether slopes are followed, and the corner distances count from",
    &[
        ("lower-right", Means(|m| alibi(m, Alibi::Used, Anchor::LowerRight))),
        ("upper-left", Means(|m| alibi(m, Alibi::Used, Anchor::UpperLeft))),
        ("ignored", Means(|m| alibi(m, Alibi::Ignored, Anchor::LowerRight))),
        ("lower-right, before the scale", Means(|m| before_scale(m, Anchor::LowerRight))),
        ("upper-left, before the scale", Means(|m| before_scale(m, Anchor::UpperLeft))),
        ("reversed", Means(|m| alibi(m, Alibi::Reversed, Anchor::LowerRight))),
    ],
);
pub(super) static KEY_LENGTHS: Field =
    own("key_lengths", "whether keys beyond their number are hidden", &["used", "ignored"]);
pub(super) static QUERY_LENGTHS: Field =
    own("query_lengths", "whether queries beyond their number see nothing", &["used", "ignored"]);
pub(super) static LENGTH_ANCHOR: Field = own(
    "length_anchor",
    "extents that positions count from when lengths are given",
    &["lengths", "extents"],
);
pub(super) static PACKED: Field =
    own("packed", "whether packed sequences are kept apart", &["used", "ignored"]);
pub(super) static LSE_BASE: Field = own("lse_base", "base of the log-sum-exp", &["natural", "two"]);
pub(super) static EMPTY_LSE: Field =
    own("empty_lse", "log-sum-exp of a query that sees no key", &["negative-infinity", "infinity"]);

/// Read in the order of a tensor with the heads in front: `h · b + item` in place of
/// `item · h_q + h`.
fn exchanged(item: &mut IndexExpr, head: &mut IndexExpr) {
    set(item, "(h * b + item) / h_q");
    set(head, "(h * b + item) % h_q");
}
