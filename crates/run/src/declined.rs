//! Why a target is not asked a call: what the call needs, and what the target has instead.

use qkvet_gen::GenError;
use qkvet_spec::{CallOption, Dtype, format_shape};

/// Why a call cannot be put to a target, as qkvet finds before the target's code runs.
#[derive(Debug, thiserror::Error)]
pub enum Declined {
    /// A program or model takes other formats.
    #[error("{dtype}: the model takes {takes}")]
    Format {
        /// That of the call.
        dtype: Dtype,
        /// That of the model.
        takes: &'static str,
    },
    /// A model without an input for queries.
    #[error("the model takes no query")]
    NoQuery,
    /// An input of a model has other extents.
    #[error("{what} of shape {}: the model takes {takes}", format_shape(shape))]
    Shape {
        /// What goes in.
        what: &'static str,
        /// Its shape.
        shape: Vec<usize>,
        /// The shape of the input, `*` for an extent that is free.
        takes: String,
    },
    /// A mask that a model has no room for.
    #[error(
        "mask of shape {} that differs from {across}: the model takes {takes}",
        format_shape(shape)
    )]
    MaskDiffers {
        /// Its shape.
        shape: Vec<usize>,
        /// Where the model takes one for all.
        across: &'static str,
        /// The shape of the input.
        takes: String,
    },
    /// A scale, where the model has its own.
    #[error("scale {scale}: the model has no input for it, and its own is the default")]
    ExplicitScale {
        /// That of the call.
        scale: f64,
    },
    /// The default scale, where the model has a constant.
    #[error(
        "the default scale for d_k = {d_k}: that of the model is a constant, {own}, whatever the width"
    )]
    DefaultScale {
        /// The width.
        d_k: usize,
        /// That of the model.
        own: f64,
    },
    /// A number that is a constant of the model, or that it does not have.
    #[error("{}", constant(option, *asked, *own))]
    Constant {
        /// Which.
        option: &'static str,
        /// That of the call.
        asked: Option<f64>,
        /// That of the model.
        own: Option<f64>,
    },
    /// Causal masking, or none, where the model always does the other.
    #[error("{}", if *asked { "causal: the model is not" } else { "without causal: the model always is" })]
    Causal {
        /// Whether the call is causal.
        asked: bool,
    },
    /// A window, or none, where the model has another.
    #[error("{} window: the model has {} one", another(*asked), another(*own))]
    Window {
        /// Whether the call has one.
        asked: bool,
        /// Whether the model has one.
        own: bool,
    },
    /// An option that a model has no input for.
    #[error("{option}: the model has no input for it")]
    NoInput {
        /// Which.
        option: CallOption,
    },
    /// An option that the call lacks.
    #[error("without {option}: the model takes it in every call")]
    AlwaysTaken {
        /// Which.
        option: &'static str,
    },
    /// A result that a model does not give.
    #[error("{result}: the model has no output for {}", if *result == "lse" { "it" } else { "them" })]
    NoOutput {
        /// Which.
        result: &'static str,
    },
    /// Tensors that do not fit together, where they go into one.
    #[error("tensors that do not fit together: the model takes {takes}")]
    Misfit {
        /// What the model takes.
        takes: &'static str,
    },
    /// Other numbers of heads.
    #[error("{h_q} and {h_k} heads: the model has {} query heads and {} key heads", own.0, own.1)]
    Heads {
        /// Query heads of the call.
        h_q: usize,
        /// Key heads of the call.
        h_k: usize,
        /// Those of the model.
        own: (usize, usize),
    },
    /// Keys of a past, which a model does not have.
    #[error("another number of keys than of queries: the model has no past")]
    NoPast,
    /// More queries than keys, for a model with a past.
    #[error("causal with more queries than keys: the model has a past")]
    NegativePast,
    /// Lengths without a past.
    #[error("key_lengths: the operator takes them with a past only")]
    LengthsWithoutPast,
    /// A number for an input that takes none.
    #[error("input {input}: expected a floating-point number, got {element}")]
    NoNumber {
        /// Its name.
        input: String,
        /// Its elements.
        element: &'static str,
    },
    /// A case that is no call of the operator.
    #[error(transparent)]
    Case(#[from] GenError),
    /// Tensors that do not fit together, which no model can be written for.
    #[error("tensors that do not fit together have no model")]
    NoModel,
    /// An option that the operator Attention does not have.
    #[error("{option}: the operator Attention has {has}")]
    NotOfOperator {
        /// Which.
        option: CallOption,
        /// What it has instead.
        has: &'static str,
    },
    /// A result beside the output.
    #[error("{result}: only the output of the operator Attention is asked for")]
    OnlyOutput {
        /// Which.
        result: &'static str,
    },
    /// Lengths, in a version without them.
    #[error("key_lengths: the operator Attention has nonpad_kv_seqlen from version 24 on")]
    NoLengths,
    /// Causal masking with lengths.
    #[error("causal with key_lengths: the text of the operator leaves its alignment open")]
    CausalLengths,
    /// Causal masking of more queries than keys.
    #[error("causal with more queries than keys: the operator aligns it upper-left")]
    UpperLeft,
    /// A number that no attribute holds.
    #[error("{option}: an attribute is a float32, which {number} is not")]
    NotFloat32 {
        /// Which.
        option: &'static str,
        /// The number.
        number: f64,
    },
    /// A number without a square root.
    #[error("{option}: the operator is defined with its square root, and {number} is negative")]
    Negative {
        /// Which.
        option: &'static str,
        /// The number.
        number: f64,
    },
    /// A program that lists what it offers, and not this.
    #[error("{name} is not among its {list}")]
    NotListed {
        /// A format, an option or a result.
        name: &'static str,
        /// The list.
        list: &'static str,
    },
    /// A program that does not list what it offers.
    #[error("{name} is asked only of programs that list it in supports.{list}")]
    NoList {
        /// An option or a result.
        name: &'static str,
        /// The list.
        list: &'static str,
    },
}

fn constant(option: &str, asked: Option<f64>, own: Option<f64>) -> String {
    match (asked, own) {
        (Some(asked), Some(own)) => {
            format!("{option} {asked}: that of the model is a constant, {own}")
        }
        (Some(asked), None) => format!("{option} {asked}: the model has none"),
        (None, Some(own)) => format!("without {option}: the model has one, {own}"),
        (None, None) => format!("{option}: none"),
    }
}

fn another(has: bool) -> &'static str {
    if has { "another" } else { "no" }
}
