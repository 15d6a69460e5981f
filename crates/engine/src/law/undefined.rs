//! Why a law has no value on a case: an error in the law or the case, not in the target.

use qkvet_spec::{CallOption, Case, Dims, Dtype};

/// Largest matrix that a law may write down.
pub(super) const MAX_ELEMENTS: usize = 1 << 24;

/// Why a formula has no value on a case.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Undefined {
    /// A part of another kind.
    #[error("{part}: expected {expected}")]
    Kind {
        /// The part, as it is written or called.
        part: String,
        /// The kind.
        expected: &'static str,
    },
    /// A negative extent.
    #[error("extent: expected 0 or more, got {got}")]
    Extent {
        /// The extent.
        got: i64,
    },
    /// A matrix that is absurdly large.
    #[error("matrix: expected at most {MAX_ELEMENTS} elements, got {rows} x {cols}")]
    Elements {
        /// Its rows.
        rows: usize,
        /// Its columns.
        cols: usize,
    },
    /// An index beyond its limit.
    #[error("index `{index}`: expected below {limit}, got {got}")]
    Index {
        /// As it is written.
        index: String,
        /// The number of entries.
        limit: usize,
        /// The index.
        got: usize,
    },
    /// Columns that cannot be split into heads.
    #[error("`split_heads`: expected a multiple of {heads} columns, got {cols}")]
    Columns {
        /// The heads.
        heads: usize,
        /// The columns.
        cols: usize,
    },
    /// Factors that do not fit together.
    #[error("`@`: expected {expected} rows, got {got}")]
    Rows {
        /// Columns of the left one.
        expected: usize,
        /// Rows of the right one.
        got: usize,
    },
    /// Operands of different extents.
    #[error("extents: expected {left:?} on both sides, got {right:?}")]
    Sides {
        /// Rows and columns of the left one.
        left: (usize, usize),
        /// Those of the right one.
        right: (usize, usize),
    },
    /// Operands of different numbers of heads or items.
    #[error("{axis}: expected {left}, got {right}")]
    Leads {
        /// `heads` or `batch`.
        axis: &'static str,
        /// Those of the left one.
        left: usize,
        /// Those of the right one.
        right: usize,
    },
    /// A function without a value.
    #[error("function `{name}`: not evaluated")]
    Function {
        /// Its name.
        name: String,
    },
    /// A name that stands for nothing.
    #[error("name `{name}`: not bound by the case")]
    Name {
        /// The name.
        name: String,
    },
    /// A relation that is not decided.
    #[error("relation `{symbol}`: not decided")]
    Relation {
        /// Its symbol.
        symbol: &'static str,
    },
    /// An operator without a value.
    #[error("`{symbol}`: not a value")]
    Operator {
        /// Its symbol.
        symbol: &'static str,
    },
    /// A cap that is not positive.
    #[error("softcap: expected a positive number, got {cap:e}")]
    Softcap {
        /// The cap.
        cap: f64,
    },
    /// An argument that the format does not hold.
    #[error("{what}: expected numbers that are exact in {dtype}, got {got}")]
    Inexact {
        /// The argument.
        what: String,
        /// The format.
        dtype: Dtype,
        /// A number of it.
        got: f64,
    },
    /// A mask with other numbers.
    #[error("mask: expected 0 or 1, got {got}")]
    Mask {
        /// A number of it.
        got: f64,
    },
    /// A mask or bias of the case that does not fit a call.
    #[error("{option}: expected a shape that broadcasts to {full:?}")]
    Broadcast {
        /// Which.
        option: CallOption,
        /// The shape of the scores.
        full: [usize; 4],
    },
    /// Another option of the case that does not fit a call.
    #[error("{option}: expected one for extents {dims:?}, got the case's")]
    Option {
        /// Which.
        option: CallOption,
        /// The extents of the call.
        dims: Dims,
    },
    /// A law of refusal without what is refused.
    #[error("`observe: refused` without `misfit`")]
    NoMisfit,
    /// A law that says nothing.
    #[error("neither `expect` nor `observe`")]
    NoStatement,
    /// No formula.
    #[error("formula: expected one, got none")]
    NoFormula,
    /// A case without an argument.
    #[error("{name}: expected matrices, got none")]
    NoMatrices {
        /// Its name.
        name: &'static str,
    },
    /// Extents that a misfit does not show on.
    #[error("{extent}: expected {least} at least, got {got}")]
    Least {
        /// Which.
        extent: &'static str,
        /// The least.
        least: usize,
        /// That of the case.
        got: usize,
    },
}

impl Undefined {
    pub(super) fn kind(part: impl Into<String>, expected: &'static str) -> Self {
        Self::Kind { part: part.into(), expected }
    }
}

/// Why a law cannot be run on a case.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum EvaluationError {
    /// A formula of it has no value.
    #[error("law {law} on {}: {cause}", case_line(*dtype, dims))]
    Undefined {
        /// The law.
        law: String,
        /// The format of the case.
        dtype: Dtype,
        /// Its extents.
        dims: Dims,
        /// What has no value.
        cause: Box<Undefined>,
    },
    /// It asks the target nothing.
    #[error("law {law}: expected a call of attention or weights, got none")]
    NoCall {
        /// The law.
        law: String,
    },
}

impl EvaluationError {
    pub(super) fn on(law: &str, case: &Case, cause: Undefined) -> Self {
        Self::Undefined {
            law: law.to_owned(),
            dtype: case.dtype,
            dims: case.dims,
            cause: Box::new(cause),
        }
    }
}

fn case_line(dtype: Dtype, d: &Dims) -> String {
    format!(
        "{dtype} b={} h_q={} h_k={} n_q={} n_k={} d_k={} d_v={}",
        d.b, d.h_q, d.h_k, d.n_q, d.n_k, d.d_k, d.d_v
    )
}
