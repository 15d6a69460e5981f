//! The shape checker: every law is checked against type and shape before anything runs.
//!
//! A matrix has two inner extents and, unless it is one matrix for all, a batch and a head extent
//! in front of them. Key/value heads meet query heads by the head map: a value of `h_k` heads is
//! read once for every query head.

mod check;
mod dim;
mod domain;
mod function;
mod vocabulary;
mod word;

use indexmap::IndexMap;

pub use check::{CheckedLaw, LawError, check_law};
pub use dim::Dim;
pub use domain::{Domain, Variables};
pub use word::{Word, WordKind};

use crate::nearest::unknown_in;
use crate::syntax::{Expr, ExprError, ExprKind, Span};

/// Extents of the case, known in every law.
pub const DIMENSIONS: [&str; 7] = ["b", "h_q", "h_k", "n_q", "n_k", "d_k", "d_v"];

/// The type of an expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Type {
    /// A real number.
    Scalar,
    /// A whole number known as an extent.
    Integer(Dim),
    /// A row or column number.
    Index,
    /// A set of row numbers and how many they are.
    Indices(Dim),
    /// Matrices.
    Matrix {
        /// Batch extent; absent: one for all items.
        batch: Option<Dim>,
        /// Head extent; absent: one for all heads.
        heads: Option<Dim>,
        /// Rows.
        rows: Dim,
        /// Columns.
        cols: Dim,
    },
    /// A tuple of extents.
    Shape(usize),
    /// A statement.
    Truth,
}

impl Type {
    /// One matrix for all items and heads.
    pub(crate) fn plain(rows: Dim, cols: Dim) -> Self {
        Self::Matrix { batch: None, heads: None, rows, cols }
    }

    /// The type in words.
    pub fn describe(&self) -> String {
        match self {
            Self::Scalar => "a number".to_owned(),
            Self::Integer(dim) => format!("the whole number {dim}"),
            Self::Index => "an index".to_owned(),
            Self::Indices(dim) => format!("{dim} indices"),
            Self::Matrix { batch, heads, rows, cols } => {
                let lead: String =
                    [batch, heads].into_iter().flatten().map(|dim| format!("{dim}, ")).collect();
                format!("a matrix ({lead}{rows}, {cols})")
            }
            Self::Shape(n) => format!("a tuple of {n} extents"),
            Self::Truth => "a statement".to_owned(),
        }
    }
}

/// Names and their types while a law is checked.
#[derive(Clone, Debug)]
pub(crate) struct Scope {
    names: IndexMap<String, Type>,
}

impl Scope {
    fn new() -> Self {
        let d = Dim::symbol;
        let four = |heads: &str, rows: &str, cols: &str| Type::Matrix {
            batch: Some(d("b")),
            heads: Some(d(heads)),
            rows: d(rows),
            cols: d(cols),
        };
        let mut names: IndexMap<String, Type> = DIMENSIONS
            .iter()
            .map(|name| ((*name).to_owned(), Type::Integer(Dim::symbol(name))))
            .collect();
        names.insert("Q".to_owned(), four("h_q", "n_q", "d_k"));
        names.insert("K".to_owned(), four("h_k", "n_k", "d_k"));
        names.insert("V".to_owned(), four("h_k", "n_k", "d_v"));
        names.insert(
            "attended".to_owned(),
            Type::Matrix {
                batch: Some(d("b")),
                heads: Some(d("h_q")),
                rows: d("n_q"),
                cols: Dim::constant(1),
            },
        );
        names.insert("visible".to_owned(), four("h_q", "n_q", "n_k"));
        names.insert("alibi".to_owned(), four("h_q", "n_q", "n_k"));
        let one = Dim::constant(1);
        names.insert(
            "sinks".to_owned(),
            Type::Matrix { batch: None, heads: Some(d("h_q")), rows: one.clone(), cols: one },
        );
        Self { names }
    }

    fn get(&self, name: &str) -> Option<&Type> {
        self.names.get(name)
    }

    /// The type of `Q` or `K` before any `given` touches it.
    fn standard(&self, name: &str) -> Type {
        Self::new().names.swap_remove(name).unwrap_or(Type::Scalar)
    }

    fn declare(&mut self, name: &str, ty: Type, span: Span) -> Result<(), ExprError> {
        let replaceable =
            matches!(name, "Q" | "K" | "V") && self.get(name) == Some(&self.standard(name));
        if self.names.contains_key(name) && !replaceable {
            return Err(ExprError::new(
                span,
                format!("variable `{name}`: expected a new name, got one that is taken"),
            ));
        }
        self.names.insert(name.to_owned(), ty);
        Ok(())
    }

    fn dim(&self, expr: &Expr) -> Result<Dim, ExprError> {
        if let ExprKind::Name(name) = &expr.kind
            && self.get(name).is_none()
        {
            return Err(self.unknown(name, expr.span.clone()));
        }
        Dim::from_expr(expr, &|name| matches!(self.get(name), Some(Type::Integer(_))))
    }

    fn unknown(&self, name: &str, span: Span) -> ExprError {
        unknown_in("name", name, span, self.names.keys().map(String::as_str))
    }
}
