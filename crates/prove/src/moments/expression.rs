//! Polynomials and quotients as expressions of the law language, which `render` prints: sums over
//! `t`, entries and powers are functions that no law has.

use std::fmt;

use dashu_ratio::RBig;
use qkvet_spec::syntax::{BinaryOp, Expr, ExprKind, UnaryOp};

use super::poly::{At, Atom, Entry, Monomial, Poly, Ratio};
use crate::render::{Style, render};

/// What can be printed as a formula.
pub(super) trait Expression {
    /// The formula.
    fn expression(&self) -> Expr;
}

impl Expression for Expr {
    fn expression(&self) -> Expr {
        self.clone()
    }
}

impl Expression for At {
    fn expression(&self) -> Expr {
        match self {
            Self::Only => number(&RBig::ONE),
            Self::Index(index) => name(index),
            Self::Row => name("i"),
            Self::Col => name("j"),
            Self::Summed => name("t"),
        }
    }
}

impl Expression for Entry {
    fn expression(&self) -> Expr {
        let Self { matrix, row, col } = self;
        match (row, col) {
            (At::Only, At::Only) => name(matrix),
            (At::Only, at) | (at, At::Only) => apply("entry", vec![name(matrix), at.expression()]),
            _ => apply("entry", vec![name(matrix), row.expression(), col.expression()]),
        }
    }
}

impl Expression for Atom {
    fn expression(&self) -> Expr {
        match self {
            Self::Symbol { name: symbol, .. } => name(symbol),
            Self::Root(radicand) => apply("sqrt", vec![radicand.expression()]),
            Self::Entry(entry) => entry.expression(),
            Self::Sum { extent, entries } => {
                series(extent, product(entries.iter().map(|(entry, n)| power(entry, *n)).collect()))
            }
        }
    }
}

impl Expression for Poly {
    fn expression(&self) -> Expr {
        // Constants last: `d_k − 1`, not `−1 + d_k`.
        let constant = |(monomial, _): &(&Monomial, &RBig)| monomial.is_empty();
        let terms =
            self.0.iter().filter(|term| !constant(term)).chain(self.0.iter().filter(constant));
        let mut total: Option<Expr> = None;
        for (monomial, x) in terms {
            let is_negative = *x < RBig::ZERO;
            let x = if is_negative { -x.clone() } else { x.clone() };
            let mut factors: Vec<Expr> = monomial.iter().map(|(atom, n)| power(atom, *n)).collect();
            if factors.is_empty() || !x.is_one() {
                factors.insert(0, number(&x));
            }
            let term = product(factors);
            total = Some(match (total, is_negative) {
                (None, false) => term,
                (None, true) => new(ExprKind::Unary(UnaryOp::Neg, Box::new(term))),
                (Some(sum), false) => binary(BinaryOp::Add, sum, term),
                (Some(sum), true) => binary(BinaryOp::Sub, sum, term),
            });
        }
        total.unwrap_or_else(|| number(&RBig::ZERO))
    }
}

impl Expression for Ratio {
    fn expression(&self) -> Expr {
        let top = self.top.expression();
        if self.bottom == Poly::one() {
            top
        } else {
            binary(BinaryOp::Div, top, self.bottom.expression())
        }
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&render(&self.expression(), Style::Unicode))
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&render(&self.expression(), Style::Unicode))
    }
}

/// `E[x]`.
pub(super) fn mean_of(x: &impl Expression) -> Expr {
    apply("E", vec![x.expression()])
}

/// `Var[x]`.
pub(super) fn variance_of(x: &impl Expression) -> Expr {
    apply("Var", vec![x.expression()])
}

/// `baseⁿ`.
pub(super) fn power(base: &impl Expression, n: u32) -> Expr {
    let base = base.expression();
    if n == 1 { base } else { apply("power", vec![base, number(&RBig::from(n))]) }
}

/// `Σ_{t < extent} body`.
pub(super) fn series(extent: &Poly, body: Expr) -> Expr {
    apply("series", vec![At::Summed.expression(), extent.expression(), body])
}

/// The product of some factors.
pub(super) fn product(factors: Vec<Expr>) -> Expr {
    let product =
        factors.into_iter().reduce(|product, factor| binary(BinaryOp::Mul, product, factor));
    product.unwrap_or_else(|| number(&RBig::ONE))
}

/// The sum of some terms.
pub(super) fn total(terms: Vec<Expr>) -> Expr {
    let total = terms.into_iter().reduce(|total, term| binary(BinaryOp::Add, total, term));
    total.unwrap_or_else(|| number(&RBig::ZERO))
}

/// `x op y`.
pub(super) fn binary(op: BinaryOp, x: Expr, y: Expr) -> Expr {
    new(ExprKind::Binary(op, Box::new(x), Box::new(y)))
}

fn number(x: &RBig) -> Expr {
    let whole = |digits: String| match digits.parse::<f64>() {
        Ok(x) if x.to_string() == digits && digits.len() <= 15 => new(ExprKind::Number(x)),
        // More digits than a number of the language holds, or than are printed without a power of
        // ten.
        _ => name(&digits),
    };
    let (top, bottom) = x.clone().into_parts();
    if x.is_int() {
        whole(top.to_string())
    } else {
        binary(BinaryOp::Div, whole(top.to_string()), whole(bottom.to_string()))
    }
}

fn name(name: &str) -> Expr {
    new(ExprKind::Name(name.to_owned()))
}

fn apply(function: &str, args: Vec<Expr>) -> Expr {
    new(ExprKind::Apply { function: function.to_owned(), args, named: Vec::new() })
}

fn new(kind: ExprKind) -> Expr {
    Expr { kind, span: 0..0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_every_digit() {
        let shown = |text: &str| {
            let x =
                RBig::from_str_radix(text, 10).unwrap_or_else(|error| panic!("{text}: {error}"));
            render(&number(&x), Style::Unicode)
        };
        for text in
            ["0", "7", "9007199254740991", "9007199254740993", "123456789012345678901234567890"]
        {
            assert_eq!(shown(text), text);
        }
        assert_eq!(shown("1/3"), "1/3");
    }
}
