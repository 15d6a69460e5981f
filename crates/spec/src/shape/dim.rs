//! Symbolic extents: integer polynomials in the names of dimensions, equal iff their canonical
//! forms are.

use std::collections::BTreeMap;
use std::fmt;

use crate::syntax::{BinaryOp, Expr, ExprError, ExprKind, UnaryOp};

/// A polynomial with integer coefficients: sorted factors → coefficient, no zero coefficients.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Dim(BTreeMap<Vec<String>, i64>);

impl Dim {
    /// The constant `n`.
    pub fn constant(n: i64) -> Self {
        Self(if n == 0 { BTreeMap::new() } else { BTreeMap::from([(Vec::new(), n)]) })
    }

    /// The symbol `name`.
    pub fn symbol(name: &str) -> Self {
        Self(BTreeMap::from([(vec![name.to_owned()], 1)]))
    }

    /// Whether it is the constant 1.
    pub fn is_one(&self) -> bool {
        *self == Self::constant(1)
    }

    /// `self + factor · other`.
    fn add(mut self, other: &Self, factor: i64) -> Self {
        for (term, coefficient) in &other.0 {
            let sum = self.0.entry(term.clone()).or_insert(0);
            *sum = sum.saturating_add(factor.saturating_mul(*coefficient));
            if *sum == 0 {
                self.0.remove(term);
            }
        }
        self
    }

    /// `self + other`.
    pub fn plus(self, other: &Self) -> Self {
        self.add(other, 1)
    }

    /// `self − other`.
    pub fn minus(self, other: &Self) -> Self {
        self.add(other, -1)
    }

    /// `self · other`.
    pub fn times(&self, other: &Self) -> Self {
        self.0.iter().fold(Self::constant(0), |sum, (left, x)| {
            other.0.iter().fold(sum, |sum, (right, y)| {
                let mut term = [left.as_slice(), right.as_slice()].concat();
                term.sort();
                sum.add(&Self(BTreeMap::from([(term, 1)])), x.saturating_mul(*y))
            })
        })
    }

    /// `self / divisor` for a divisor of one term; `None` where a term is no multiple of it.
    ///
    /// A quotient of extents that are equal for all values of their names is a polynomial, so
    /// nothing else is one.
    pub fn over(&self, divisor: &Self) -> Option<Self> {
        let mut terms = divisor.0.iter();
        let ((factors, by), None) = (terms.next()?, terms.next()) else { return None };
        let quotient = self.0.iter().map(|(term, coefficient)| {
            let mut rest = term.clone();
            for factor in factors {
                rest.remove(rest.iter().position(|name| name == factor)?);
            }
            (coefficient.checked_rem(*by)? == 0).then(|| (rest, coefficient / by))
        });
        quotient.collect::<Option<_>>().map(Self)
    }

    /// The extent that an expression stands for; `known` says which names are dimensions.
    ///
    /// # Errors
    /// Anything but whole numbers, dimensions, `+`, `-` and `*`.
    pub fn from_expr(expr: &Expr, known: &dyn Fn(&str) -> bool) -> Result<Self, ExprError> {
        match &expr.kind {
            #[expect(
                clippy::cast_possible_truncation,
                reason = "checked to be a small whole number"
            )]
            ExprKind::Number(x) if x.fract() == 0.0 && x.abs() < 1e9 => {
                Ok(Self::constant(*x as i64))
            }
            ExprKind::Name(name) if known(name) => Ok(Self::symbol(name)),
            ExprKind::Unary(UnaryOp::Neg, x) => {
                Ok(Self::constant(0).minus(&Self::from_expr(x, known)?))
            }
            ExprKind::Binary(op @ (BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul), x, y) => {
                let (x, y) = (Self::from_expr(x, known)?, Self::from_expr(y, known)?);
                Ok(match op {
                    BinaryOp::Add => x.plus(&y),
                    BinaryOp::Sub => x.minus(&y),
                    _ => x.times(&y),
                })
            }
            _ => Err(ExprError::new(
                expr.span.clone(),
                "extent: expected a whole number or an expression in b h_q h_k n_q n_k d_k d_v",
            )),
        }
    }
}

impl fmt::Display for Dim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("0");
        }
        // Constants last: `n_k - 1`, not `-1 + n_k`.
        let terms = self
            .0
            .iter()
            .filter(|(term, _)| !term.is_empty())
            .chain(self.0.iter().filter(|(term, _)| term.is_empty()));
        for (at, (term, coefficient)) in terms.enumerate() {
            match (at, *coefficient < 0) {
                (0, true) => f.write_str("-")?,
                (0, false) => {}
                (_, true) => f.write_str(" - ")?,
                (_, false) => f.write_str(" + ")?,
            }
            match (term.is_empty(), coefficient.unsigned_abs()) {
                (true, n) => write!(f, "{n}")?,
                (false, 1) => f.write_str(&term.join("*"))?,
                (false, n) => write!(f, "{n}*{}", term.join("*"))?,
            }
        }
        Ok(())
    }
}
