//! A case: one concrete input for one law. Everything the law's variables stand for, as data.

use indexmap::IndexMap;

use crate::{CallOptions, Dims, Dtype};

/// Matrices as the law language sees them: `(batch?, heads?, rows, cols)`, row-major.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrices {
    /// Batch extent; absent: one for all items.
    pub batch: Option<usize>,
    /// Head extent; absent: one for all heads.
    pub heads: Option<usize>,
    /// Rows.
    pub rows: usize,
    /// Columns.
    pub cols: usize,
    /// `batch · heads · rows · cols` elements.
    pub data: Vec<f64>,
}

/// The value of a law's variable.
#[derive(Clone, Debug, PartialEq)]
pub enum Binding {
    /// An extent.
    Dim(usize),
    /// A row or column number.
    Index(usize),
    /// Distinct row numbers, ascending.
    Indices(Vec<usize>),
    /// A real number, exact in the case's format.
    Real(f64),
    /// Matrices, every element exact in the case's format.
    Matrices(Matrices),
}

/// One concrete input for one law.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// Law id.
    pub law: String,
    /// Format of every tensor.
    pub dtype: Dtype,
    /// Extents of `Q`, `K`, `V`.
    pub dims: Dims,
    /// Options of its calls; those a law does not range over are off.
    pub options: CallOptions,
    /// `Q`, `K`, `V` and the law's variables by name; mask and bias variables are read from the
    /// options.
    pub bindings: IndexMap<String, Binding>,
}

impl Case {
    /// The name of the binding that says which query rows of a call are looked at, in a law that has
    /// no variables of its own; without it, all.
    pub const ROWS: &str = "rows";

    /// The query rows that are looked at, ascending, if not all.
    pub fn rows(&self) -> Option<&[usize]> {
        match self.bindings.get(Self::ROWS) {
            Some(Binding::Indices(rows)) => Some(rows),
            _ => None,
        }
    }
}
