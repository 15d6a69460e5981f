//! One call of attention and what came back: the words between generator, engine and targets.

use serde::{Deserialize, Serialize};

use crate::{CallOption, Dtype, Handling, OptionSet, Quoted, Trouble};

/// A shape as reports print it: `(2, 3)`.
pub fn format_shape(shape: &[usize]) -> String {
    format!("({})", shape.iter().map(usize::to_string).collect::<Vec<_>>().join(", "))
}

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
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    /// What is asked for besides.
    pub options: CallOptions,
    /// Ask for the weights `(b, h_q, n_q, n_k)` too.
    pub return_weights: bool,
    /// Ask for the log-sum-exp `(b, h_q, n_q)` too.
    pub return_lse: bool,
}

/// Options of a call; one that is absent is off.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CallOptions {
    /// Explicit factor on `QKᵀ`; absent means the default.
    pub scale: Option<f64>,
    /// Causal masking.
    pub causal: bool,
    /// Broadcastable to `(b, h_q, n_q, n_k)`, 2 or 4 axes; true attends.
    pub mask: Option<BoolTensor>,
    /// Broadcastable to `(b, h_q, n_q, n_k)`, 2 or 4 axes; added to the scaled scores.
    pub bias: Option<Tensor>,
    /// `c` of `c · tanh(x/c)`, applied to the scaled scores: positive.
    pub softcap: Option<f64>,
    /// How far a query sees.
    pub window: Option<Window>,
    /// `(h_q,)`: a logit for each query head that joins the row sum and has no value.
    pub sinks: Option<Tensor>,
    /// `(h_q,)`: `−slope · |i + n_k − n_q − j|` is added where the bias is, with the extents that
    /// count for the item.
    pub alibi_slopes: Option<Tensor>,
    /// How many keys of each batch item exist; the rest is padding.
    pub key_lengths: Option<Vec<usize>>,
    /// How many queries of each batch item exist; the rest is padding and sees no key.
    pub query_lengths: Option<Vec<usize>>,
    /// Several sequences in one; excludes lengths.
    pub packed: Option<Packed>,
}

/// A sliding window: query `i` sees keys from `left` before its own position to `right` behind it,
/// both included.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Window {
    /// Keys before the query's position; absent: all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left: Option<usize>,
    /// Keys behind it; absent: all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub right: Option<usize>,
}

/// Sequences that lie one behind the other in the rows of query, key and value: a query sees the
/// keys of its own sequence only.
///
/// Both lists ascend from 0 to the number of queries, of keys, and have one entry more than there
/// are sequences.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Packed {
    /// Where the queries of each sequence begin, and where the last ones end.
    pub query_offsets: Vec<usize>,
    /// Where the keys of each sequence begin, and where the last ones end.
    pub key_offsets: Vec<usize>,
}

impl CallOptions {
    /// Whether the bias hides keys: it holds −∞.
    pub fn bias_hides(&self) -> bool {
        self.bias.as_ref().is_some_and(|bias| bias.data.contains(&f64::NEG_INFINITY))
    }

    /// The options that are on.
    pub fn on(&self) -> OptionSet {
        CallOption::ALL.into_iter().filter(|option| self.has(*option)).collect()
    }

    /// Whether the option is on.
    pub fn has(&self, option: CallOption) -> bool {
        match option {
            CallOption::Scale => self.scale.is_some(),
            CallOption::Causal => self.causal,
            CallOption::Mask => self.mask.is_some(),
            CallOption::Bias => self.bias.is_some(),
            CallOption::Softcap => self.softcap.is_some(),
            CallOption::Window => self.window.is_some(),
            CallOption::Sinks => self.sinks.is_some(),
            CallOption::AlibiSlopes => self.alibi_slopes.is_some(),
            CallOption::KeyLengths => self.key_lengths.is_some(),
            CallOption::QueryLengths => self.query_lengths.is_some(),
            CallOption::Packed => self.packed.is_some(),
        }
    }

    /// Turns an option off.
    pub fn clear(&mut self, option: CallOption) {
        match option {
            CallOption::Scale => self.scale = None,
            CallOption::Causal => self.causal = false,
            CallOption::Mask => self.mask = None,
            CallOption::Bias => self.bias = None,
            CallOption::Softcap => self.softcap = None,
            CallOption::Window => self.window = None,
            CallOption::Sinks => self.sinks = None,
            CallOption::AlibiSlopes => self.alibi_slopes = None,
            CallOption::KeyLengths => self.key_lengths = None,
            CallOption::QueryLengths => self.query_lengths = None,
            CallOption::Packed => self.packed = None,
        }
    }
}

impl Call {
    /// The tensors of numbers that are there, by the names that they have in requests and files.
    pub fn numbers(&self) -> impl Iterator<Item = (&'static str, &Tensor)> {
        let options = &self.options;
        [
            ("query", Some(&self.query)),
            ("key", Some(&self.key)),
            ("value", Some(&self.value)),
            ("bias", options.bias.as_ref()),
            ("sinks", options.sinks.as_ref()),
            ("alibi_slopes", options.alibi_slopes.as_ref()),
        ]
        .into_iter()
        .filter_map(|(name, tensor)| Some((name, tensor?)))
    }

    /// The lengths and offsets that are there, by the same names.
    pub fn whole_numbers(&self) -> impl Iterator<Item = (&'static str, &[usize])> {
        let options = &self.options;
        let offsets = |of: fn(&Packed) -> &Vec<usize>| options.packed.as_ref().map(of);
        [
            ("key_lengths", options.key_lengths.as_ref()),
            ("query_lengths", options.query_lengths.as_ref()),
            ("query_offsets", offsets(|packed| &packed.query_offsets)),
            ("key_offsets", offsets(|packed| &packed.key_offsets)),
        ]
        .into_iter()
        .filter_map(|(name, numbers)| Some((name, numbers?.as_slice())))
    }

    /// Extents read off the three tensors, which have four axes each.
    pub fn dims(&self) -> Dims {
        let (q, k, v) = (&self.query.shape, &self.key.shape, &self.value.shape);
        Dims { b: q[0], h_q: q[1], h_k: k[1], n_q: q[2], n_k: k[2], d_k: q[3], d_v: v[3] }
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
    /// Log-sum-exp, when asked for.
    pub lse: Option<Tensor>,
    /// Whether query, key, value, mask and bias had the same bits after the call.
    pub inputs_unchanged: bool,
    /// How it was called and answered.
    pub handling: Handling,
}

impl Output {
    /// A result and nothing beside it: neither weights nor log-sum-exp, the inputs as they were.
    pub fn of(output: Tensor) -> Self {
        Self {
            output,
            weights: None,
            lse: None,
            inputs_unchanged: true,
            handling: Handling::default(),
        }
    }
}

/// How a call ended. Kinds of not passing never share a word.
#[derive(Clone, Debug, PartialEq)]
pub enum Response {
    /// The target returned.
    Output(Box<Output>),
    /// The target does not offer this option, format or size.
    Unsupported(Quoted),
    /// The target refused a valid input (`ValueError`, `TypeError`).
    Refused(Quoted),
    /// The target raised something else.
    Error(Quoted),
    /// The target returned something that is not a tensor of numbers.
    Malformed(Quoted),
    /// The target's process died.
    Crash(Trouble),
    /// The target did not answer in time.
    Timeout(Trouble),
    /// The target's process answered what is not of the protocol.
    Broken(Trouble),
    /// The call was not made, and why: it says nothing of the target.
    NotAsked(Quoted),
}

/// The number of threads on which OpenMP, OpenBLAS, MKL and torch compute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Threads {
    /// One: more take longer to start than a small call takes.
    #[default]
    One,
    /// As many as the library chooses: one thread hides races.
    Library,
}

/// An implementation of attention under test.
pub trait Target {
    /// Answers one call. Never panics: a failing target is a [`Response`].
    fn call(&mut self, call: &Call) -> Response;

    /// Answers one call. A target that computes in another process does `work`, at most once, while
    /// it waits.
    fn call_meanwhile(&mut self, call: &Call, _work: &mut dyn FnMut()) -> Response {
        self.call(call)
    }

    /// Answers one call whose inputs are contiguous in memory, where [`Target::call`] may hand on
    /// views of the same numbers.
    fn call_contiguous(&mut self, call: &Call) -> Response {
        self.call(call)
    }

    /// Answers one call whose inputs are views of which heads and positions lie exchanged in
    /// memory; `None` where none are handed on.
    fn call_transposed(&mut self, _call: &Call) -> Option<Response> {
        None
    }

    /// Whether [`Target::call`] hands on views for this call at first: known without asking, also
    /// of a call that came to nothing.
    fn puts_views(&self, _call: &Call) -> bool {
        false
    }

    /// The target to which calls go in another form, if there is one: it is told what this one is.
    fn inner(&mut self) -> Option<&mut dyn Target> {
        None
    }

    /// Says which case the next calls belong to, for the target's own logs.
    fn begin(&mut self, case: &str) {
        if let Some(inner) = self.inner() {
            inner.begin(case);
        }
    }

    /// Says on how many threads the next calls compute. Only a process of the target's own is told.
    fn set_threads(&mut self, threads: Threads) {
        if let Some(inner) = self.inner() {
            inner.set_threads(threads);
        }
    }

    /// Whether a call since the last time cost the target its process. What runs in ours never
    /// does.
    fn take_ended(&mut self) -> bool {
        self.inner().is_some_and(Target::take_ended)
    }
}
