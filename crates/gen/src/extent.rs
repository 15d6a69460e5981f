//! Extents of a case: the seven of the call, those that the law adds, and expressions over them.

use indexmap::IndexMap;
use qkvet_spec::Dims;
use qkvet_spec::shape::DIMENSIONS;
use qkvet_spec::syntax::{BinaryOp, Expr, ExprKind, UnaryOp};

use crate::GenError;

/// Extents by name.
#[derive(Clone, Debug)]
pub(crate) struct Extents(IndexMap<String, i64>);

impl Extents {
    pub(crate) fn new(dims: &Dims) -> Self {
        Self(
            DIMENSIONS
                .iter()
                .zip(as_array(dims))
                .map(|(name, n)| ((*name).to_owned(), size(n)))
                .collect(),
        )
    }

    pub(crate) fn add(&mut self, name: &str, n: usize) {
        self.0.insert(name.to_owned(), size(n));
    }

    /// The value of an extent expression in the variable `place`; at least 1.
    pub(crate) fn eval(&self, expr: &Expr, place: &str) -> Result<usize, GenError> {
        let wrong =
            |got: String| GenError::new("extent", place, "a whole number from 1 to 65536", got);
        let value = self.value(expr).ok_or_else(|| wrong("one without a value".to_owned()))?;
        usize::try_from(value)
            .ok()
            .filter(|n| (1..=1 << 16).contains(n))
            .ok_or_else(|| wrong(value.to_string()))
    }

    fn value(&self, expr: &Expr) -> Option<i64> {
        match &expr.kind {
            ExprKind::Number(x) => Some(*x as i64),
            ExprKind::Name(name) => self.0.get(name).copied(),
            ExprKind::Unary(UnaryOp::Neg, x) => self.value(x)?.checked_neg(),
            ExprKind::Binary(op, x, y) => {
                let (x, y) = (self.value(x)?, self.value(y)?);
                match op {
                    BinaryOp::Add => x.checked_add(y),
                    BinaryOp::Sub => x.checked_sub(y),
                    BinaryOp::Mul => x.checked_mul(y),
                    _ => None,
                }
            }
            _ => None,
        }
    }
}

/// The extents in the order of [`DIMENSIONS`].
pub(crate) fn as_array(dims: &Dims) -> [usize; 7] {
    [dims.b, dims.h_q, dims.h_k, dims.n_q, dims.n_k, dims.d_k, dims.d_v]
}

fn size(n: usize) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}
