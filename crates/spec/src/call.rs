//! One call of attention and what came back: the words between generator, engine and targets.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{CallOption, Dtype};

/// A dense row-major tensor; every element is a number of its format, held as `f64`.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    /// Element format.
    pub dtype: Dtype,
    /// Extents, outermost first.
    pub shape: Vec<usize>,
    /// Elements, row-major.
    pub data: Vec<f64>,
}

/// A dense row-major boolean tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoolTensor {
    /// Extents, outermost first.
    pub shape: Vec<usize>,
    /// Elements, row-major.
    pub data: Vec<bool>,
}

/// Extents of one attention problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Dims {
    /// Batch size.
    pub b: usize,
    /// Query heads.
    pub h_q: usize,
    /// Key/value heads; divides `h_q`.
    pub h_k: usize,
    /// Queries.
    pub n_q: usize,
    /// Keys.
    pub n_k: usize,
    /// Width of a query and of a key.
    pub d_k: usize,
    /// Width of a value.
    pub d_v: usize,
}

/// One call of the attention function under test.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// `(b, h_q, n_q, d_k)`.
    pub query: Tensor,
    /// `(b, h_k, n_k, d_k)`.
    pub key: Tensor,
    /// `(b, h_k, n_k, d_v)`.
    pub value: Tensor,
    /// Explicit factor on `QKᵀ`; absent means the default.
    pub scale: Option<f64>,
    /// Causal masking asked for.
    pub causal: bool,
    /// Broadcastable to `(b, h_q, n_q, n_k)`; true attends.
    pub mask: Option<BoolTensor>,
    /// Broadcastable to `(b, h_q, n_q, n_k)`; added to the scaled scores.
    pub bias: Option<Tensor>,
    /// Ask for the weights `(b, h_q, n_q, n_k)` too.
    pub return_weights: bool,
}

impl Call {
    /// Extents read off the three tensors, which have four axes each.
    pub fn dims(&self) -> Dims {
        let (q, k, v) = (&self.query.shape, &self.key.shape, &self.value.shape);
        Dims { b: q[0], h_q: q[1], h_k: k[1], n_q: q[2], n_k: k[2], d_k: q[3], d_v: v[3] }
    }

    /// Whether the option is on.
    pub fn has(&self, option: CallOption) -> bool {
        match option {
            CallOption::Scale => self.scale.is_some(),
            CallOption::Causal => self.causal,
            CallOption::Mask => self.mask.is_some(),
            CallOption::Bias => self.bias.is_some(),
        }
    }

    /// Format of the three tensors.
    pub fn dtype(&self) -> Dtype {
        self.query.dtype
    }
}

/// What a target gave back for a [`Call`].
#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    /// As returned: shape and format are the target's claim and may be wrong.
    pub output: Tensor,
    /// Weights, when asked for.
    pub weights: Option<Tensor>,
    /// Whether query, key, value, mask and bias had the same bits after the call.
    pub inputs_unchanged: bool,
}

/// How a call ended. Kinds of not passing never share a word.
#[derive(Clone, Debug, PartialEq)]
pub enum Response {
    /// The target returned.
    Output(Box<Output>),
    /// The target does not offer this option, format or size.
    Unsupported(String),
    /// The target refused a valid input (`ValueError`, `TypeError`).
    Refused(String),
    /// The target raised something else.
    Error(String),
    /// The target returned something that is not a tensor of numbers.
    Malformed(String),
    /// The target's process died.
    Crash(Trouble),
    /// The target did not answer in time.
    Timeout(Trouble),
    /// The target's process answered what is not of the protocol.
    Broken(Trouble),
    /// The call was not made, and why: it says nothing of the target.
    NotAsked(String),
}

/// What went wrong with a target's process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trouble {
    /// What happened: `exited with code 3`.
    pub what: String,
    /// The end of its standard error, if it said something.
    pub stderr: Option<String>,
}

impl From<String> for Trouble {
    fn from(what: String) -> Self {
        Self { what, stderr: None }
    }
}

/// An implementation of attention under test.
pub trait Target {
    /// Answers one call. Never panics: a failing target is a [`Response`].
    fn call(&mut self, call: &Call) -> Response;

    /// Says which case the next calls belong to, for the target's own logs.
    fn begin(&mut self, _case: &str) {}

    /// Whether a call since the last time cost the target its process. What runs in ours never does.
    fn take_ended(&mut self) -> bool {
        false
    }
}
