//! One concrete input of a law, in exact numbers.

use indexmap::IndexMap;
use qkvet_spec::{CallOption, Packed, Window};
use thiserror::Error;

use super::matrices::ExactMatrices;
use super::number::{Exact, NotExact};
use super::real::Real;

/// The value of a formula or of a variable.
#[derive(Clone, Debug)]
pub enum Value {
    /// A number; extents too.
    Number(Real),
    /// A row or column number.
    Index(usize),
    /// Row numbers, ascending.
    Indices(Vec<usize>),
    /// Matrices.
    Matrices(ExactMatrices),
    /// Extents.
    Shape(Vec<usize>),
}

/// Options of every call that does not name them. A soft cap is always off: `tanh` has no exact
/// values here.
#[derive(Clone, Debug, Default)]
pub struct ExactOptions {
    /// Factor on the scores; absent: `1/√d_k`.
    pub scale: Option<Exact>,
    /// Whether query `i` sees only the keys up to the position of the window.
    pub causal: bool,
    /// `(b, h_q, n_q, n_k)`, 1 where a query sees a key, else 0.
    pub mask: Option<ExactMatrices>,
    /// `(b, h_q, n_q, n_k)`.
    pub bias: Option<ExactMatrices>,
    /// A sliding window around position `i + n_k − n_q`, with the extents that count for the item
    /// or the packed sequence.
    pub window: Option<Window>,
    /// A logit without a value for every head.
    pub sinks: Option<Vec<Exact>>,
    /// Factors on the distance, one for every head.
    pub alibi_slopes: Option<Vec<Exact>>,
    /// How many keys of each batch item exist.
    pub key_lengths: Option<Vec<usize>>,
    /// How many queries of each batch item exist; the others see no key.
    pub query_lengths: Option<Vec<usize>>,
    /// Several sequences in one; excludes lengths.
    pub packed: Option<Packed>,
}

/// Extents, variables and options of a law.
#[derive(Clone, Debug, Default)]
pub struct Instance {
    /// Extents of the case (`b`, `h_q`, `h_k`, `n_q`, `n_k`, `d_k`, `d_v`) and of the law's own, by
    /// name.
    pub extents: IndexMap<String, usize>,
    /// `Q`, `K`, `V` and the law's variables, by name. Masks and biases are options; their
    /// variables read those.
    pub values: IndexMap<String, Value>,
    /// Options of the calls.
    pub options: ExactOptions,
}

/// Why a formula has no value here.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum NoValue {
    /// A number without an exact form.
    #[error(transparent)]
    Number(#[from] NotExact),
    /// What this evaluation does not know.
    #[error("{0}")]
    Unknown(String),
    /// Values that do not fit the formula.
    #[error("{what}: expected {expected}, got {got}")]
    Unfit {
        /// Where.
        what: String,
        /// What fits.
        expected: String,
        /// What came.
        got: String,
    },
}

impl NoValue {
    pub(super) fn unfit(
        what: impl Into<String>,
        expected: impl ToString,
        got: impl ToString,
    ) -> Self {
        Self::Unfit { what: what.into(), expected: expected.to_string(), got: got.to_string() }
    }
}

impl Instance {
    /// An extent of the case or of the law.
    ///
    /// # Errors
    /// One that the instance does not give.
    pub fn extent(&self, name: &str) -> Result<usize, NoValue> {
        self.extents
            .get(name)
            .copied()
            .ok_or_else(|| NoValue::unfit("extent", name, "an instance without it"))
    }
}

impl ExactOptions {
    /// Whether an option can be set here.
    pub fn knows(option: CallOption) -> bool {
        option != CallOption::Softcap
    }
}
