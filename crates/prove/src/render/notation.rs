//! From an expression to print: which notation an operator has, and where it needs parentheses.
//!
//! Sums and products are chains: `a + (b + c)` and `A (B C)` need no parentheses, because the
//! operation is associative, and a sign in front of a product belongs to the whole of it.

use std::borrow::Cow;

use qkvet_spec::syntax::{BinaryOp, Expr, ExprKind, UnaryOp};

use super::function;
use super::name;
use super::piece::{Fence, Level, Piece, Printer};
use super::sign::{self, Sign};

/// What `/` means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Division {
    /// In laws.
    Real,
    /// In conditions on extents: rounded down.
    Whole,
}

/// How one text is written.
#[derive(Clone, Copy)]
pub(super) struct Notation<'a> {
    pub(super) printer: &'a dyn Printer,
    pub(super) division: Division,
}

impl Notation<'_> {
    /// The expression in print.
    pub(super) fn print(self, expr: &Expr) -> Piece {
        match &expr.kind {
            ExprKind::Number(x) => self.number(*x),
            ExprKind::Name(name) => name::print(self.printer, name),
            ExprKind::Unary(UnaryOp::Neg, x) => self.negative(self.print(x)),
            ExprKind::Unary(UnaryOp::Not, x) => {
                self.printer.prefix(&sign::NOT, &self.operand(x, Level::Not), Level::Not)
            }
            ExprKind::Transpose(x) => self.printer.transpose(&self.operand(x, Level::Subscripted)),
            ExprKind::Tuple(items) => self.printer.fence(Fence::Round, &self.list(items)),
            ExprKind::Interval(low, high) => {
                let ends = [(&sign::COMMA, self.print(high))];
                self.printer
                    .fence(Fence::Square, &self.printer.infix(&self.print(low), &ends, Level::Open))
            }
            ExprKind::Apply { function, args, named } => {
                function::print(self, function, args, named)
            }
            ExprKind::Binary(op, x, y) => self.binary(expr, *op, x, y),
        }
    }

    /// A number, exactly: the shortest decimal that is read as the same `f64`.
    pub(super) fn number(self, x: f64) -> Piece {
        if x.is_sign_negative() && !x.is_nan() {
            return self.negative(self.number(-x));
        }
        if x.is_infinite() {
            return self.printer.symbol(&sign::INFINITY);
        }
        let scientific = format!("{x:e}");
        match scientific.split_once('e') {
            // Long rows of zeros are read by nobody.
            Some((digits, exponent)) if x != 0.0 && !(1e-6..1e15).contains(&x) => {
                let exponent = match exponent.strip_prefix('-') {
                    Some(exponent) => self.negative(self.printer.number(exponent)),
                    None => self.printer.number(exponent),
                };
                let power = self.printer.superscript(&self.printer.number("10"), &exponent);
                self.printer.infix(
                    &self.printer.number(digits),
                    &[(&sign::DOT, power)],
                    Level::Product,
                )
            }
            _ => self.printer.number(&x.to_string()),
        }
    }

    /// `x, y, ...`.
    pub(super) fn list(self, items: &[Expr]) -> Piece {
        let Some((first, rest)) = items.split_first() else { return Piece::atom("") };
        let rest: Vec<_> = rest.iter().map(|item| (&sign::COMMA, self.print(item))).collect();
        self.printer.infix(&self.print(first), &rest, Level::Open)
    }

    pub(super) fn operand(self, expr: &Expr, level: Level) -> Piece {
        self.printer.at_least(self.print(expr), level)
    }

    fn negative(self, operand: Piece) -> Piece {
        let operand = self.printer.at_least(operand, Level::Quotient);
        self.printer.prefix(&sign::NEGATIVE, &operand, Level::Signed)
    }

    fn binary(self, whole: &Expr, op: BinaryOp, x: &Expr, y: &Expr) -> Piece {
        match op {
            BinaryOp::Or => self.joined(x, &sign::OR, y, Level::Or),
            BinaryOp::And => {
                self.chain(x, y).unwrap_or_else(|| self.joined(x, &sign::AND, y, Level::And))
            }
            BinaryOp::Add | BinaryOp::Sub => self.sum(whole),
            BinaryOp::Mul | BinaryOp::MatMul => self.product(whole),
            BinaryOp::Div => self.quotient(x, y),
            BinaryOp::Rem => {
                let divisor = [(&sign::MOD, self.operand(y, Level::Factor))];
                self.printer.infix(&self.operand(x, Level::Factor), &divisor, Level::Open)
            }
            BinaryOp::In => match between(y) {
                Some((low, high)) => {
                    let rest = [
                        (&sign::LE, self.operand(x, Level::Open)),
                        (&sign::LE, self.operand(high, Level::Open)),
                    ];
                    self.printer.infix(&self.operand(low, Level::Open), &rest, Level::Relation)
                }
                None => self.relation(x, &sign::IN, y),
            },
            BinaryOp::Eq => self.relation(x, &sign::EQ, y),
            BinaryOp::Ne => self.relation(x, &sign::NE, y),
            BinaryOp::Le => self.relation(x, &sign::LE, y),
            BinaryOp::Lt => self.relation(x, &sign::LT, y),
            BinaryOp::Ge => self.relation(x, &sign::GE, y),
            BinaryOp::Gt => self.relation(x, &sign::GT, y),
            BinaryOp::SameBits => self.relation(x, &sign::SAME_BITS, y),
        }
    }

    fn joined(self, x: &Expr, sign: &Sign, y: &Expr, level: Level) -> Piece {
        self.printer.infix(&self.operand(x, level), &[(sign, self.operand(y, level))], level)
    }

    fn relation(self, x: &Expr, sign: &Sign, y: &Expr) -> Piece {
        self.printer.infix(
            &self.operand(x, Level::Open),
            &[(sign, self.operand(y, Level::Open))],
            Level::Relation,
        )
    }

    /// `a < b and b < c` as `a < b < c`, if it was written like that.
    fn chain(self, x: &Expr, y: &Expr) -> Option<Piece> {
        let (ExprKind::Binary(first, low, middle), ExprKind::Binary(second, same, high)) =
            (&x.kind, &y.kind)
        else {
            return None;
        };
        let ordered = |op| match op {
            BinaryOp::Le => Some(&sign::LE),
            BinaryOp::Lt => Some(&sign::LT),
            BinaryOp::Ge => Some(&sign::GE),
            BinaryOp::Gt => Some(&sign::GT),
            BinaryOp::Eq => Some(&sign::EQ),
            _ => None,
        };
        let signs = (ordered(*first)?, ordered(*second)?);
        if middle != same {
            return None;
        }
        let rest = [
            (signs.0, self.operand(middle, Level::Open)),
            (signs.1, self.operand(high, Level::Open)),
        ];
        Some(self.printer.infix(&self.operand(low, Level::Open), &rest, Level::Relation))
    }

    fn sum(self, whole: &Expr) -> Piece {
        let mut rest = Vec::new();
        let mut first = whole;
        // Down the left side, where terms stand in the order of print.
        while let ExprKind::Binary(op @ (BinaryOp::Add | BinaryOp::Sub), left, right) = &first.kind
        {
            if *op == BinaryOp::Add {
                let start = rest.len();
                added(right, &mut |term| {
                    rest.push((&sign::PLUS, self.operand(term, Level::Quotient)))
                });
                rest[start..].reverse();
            } else {
                rest.push((&sign::MINUS, self.operand(right, Level::Quotient)));
            }
            first = left;
        }
        rest.reverse();
        self.printer.infix(&self.operand(first, Level::Sum), &rest, Level::Sum)
    }

    fn product(self, whole: &Expr) -> Piece {
        let (negative, factors) = unsigned(whole);
        let product = self.times(&factors);
        if negative { self.negative(product) } else { product }
    }

    /// `(−a)/b` is `−a/b`: the sign goes in front of the bar.
    fn quotient(self, x: &Expr, y: &Expr) -> Piece {
        if self.division == Division::Whole {
            return self
                .printer
                .fence(Fence::Floor, &self.printer.fraction(self.print(x), self.print(y)));
        }
        let (negative, top) = unsigned(x);
        let quotient = self.printer.fraction(self.times(&top), self.print(y));
        if negative { self.negative(quotient) } else { quotient }
    }

    fn times(self, factors: &[Factor<'_>]) -> Piece {
        let factors = self.powers(factors);
        let [first, rest @ ..] = factors.as_slice() else { return self.number(1.0) };
        if rest.is_empty() {
            return self.print(first);
        }
        let rest: Vec<_> = rest
            .iter()
            .zip(&factors)
            .map(|(factor, before)| {
                let sign = if needs_dot(before, factor) { &sign::DOT } else { &sign::TIMES };
                (sign, self.operand(factor, Level::Factor))
            })
            .collect();
        self.printer.infix(&self.operand(first, Level::Factor), &rest, Level::Product)
    }

    /// `x · x` as a power: names, and sums in parentheses, that stand beside each other in a
    /// product of numbers.
    fn powers<'a>(self, factors: &'a [Factor<'_>]) -> Vec<Cow<'a, Expr>> {
        let mut runs: Vec<(&'a Expr, u32)> = Vec::new();
        for factor in factors {
            match runs.last_mut() {
                Some((base, n))
                    if factor.is_scaled && is_base(base) && self.is_alike(base, &factor.expr) =>
                {
                    *n += 1
                }
                _ => runs.push((&factor.expr, 1)),
            }
        }
        let power = |(base, n): (&'a Expr, u32)| {
            if n == 1 {
                return Cow::Borrowed(base);
            }
            let exponent = Expr { kind: ExprKind::Number(f64::from(n)), span: base.span.clone() };
            let args = vec![base.clone(), exponent];
            let kind = ExprKind::Apply { function: "power".to_owned(), args, named: Vec::new() };
            Cow::Owned(Expr { kind, span: base.span.clone() })
        };
        runs.into_iter().map(power).collect()
    }

    /// Whether both are printed alike, wherever they stand.
    fn is_alike(self, x: &Expr, y: &Expr) -> bool {
        is_base(y) && self.print(x).text == self.print(y).text
    }
}

/// A factor of a product.
#[derive(Clone)]
struct Factor<'a> {
    expr: Cow<'a, Expr>,
    /// Whether `*` alone stands between it and the factor before it, and neither belongs to a
    /// product of matrices.
    is_scaled: bool,
}

/// Whether powers of it are written as such.
fn is_base(expr: &Expr) -> bool {
    matches!(&expr.kind, ExprKind::Name(_) | ExprKind::Binary(BinaryOp::Add | BinaryOp::Sub, ..))
}

/// The terms of `x + (y + z)`, in order.
fn added<'a>(expr: &'a Expr, each: &mut dyn FnMut(&'a Expr)) {
    match &expr.kind {
        ExprKind::Binary(BinaryOp::Add, x, y) => {
            added(x, each);
            added(y, each);
        }
        _ => each(expr),
    }
}

/// The factors of a product, however it is nested, in order.
fn factors(expr: &Expr) -> Vec<Factor<'_>> {
    match &expr.kind {
        ExprKind::Binary(op @ (BinaryOp::Mul | BinaryOp::MatMul), x, y) => {
            let (mut all, mut rest) = (factors(x), factors(y));
            rest[0].is_scaled =
                *op == BinaryOp::Mul && !ends_in_matrices(x) && !begins_with_matrices(y);
            all.append(&mut rest);
            all
        }
        _ => vec![Factor { expr: Cow::Borrowed(expr), is_scaled: false }],
    }
}

fn ends_in_matrices(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Binary(BinaryOp::Mul, _, y) => ends_in_matrices(y),
        kind => matches!(kind, ExprKind::Binary(BinaryOp::MatMul, ..)),
    }
}

fn begins_with_matrices(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Binary(BinaryOp::Mul, x, _) => begins_with_matrices(x),
        kind => matches!(kind, ExprKind::Binary(BinaryOp::MatMul, ..)),
    }
}

/// Whether a product has a sign in front, and its factors without it.
fn unsigned(expr: &Expr) -> (bool, Vec<Factor<'_>>) {
    let all = factors(expr);
    let leading = match &all[0].expr {
        Cow::Borrowed(first) => negated(first),
        Cow::Owned(_) => None,
    };
    match leading {
        Some(mut inner) => {
            inner.extend_from_slice(&all[1..]);
            (true, inner)
        }
        None => (false, all),
    }
}

/// The factors of `x` in `−x`; `None` if there is no sign, or a second one.
fn negated(expr: &Expr) -> Option<Vec<Factor<'_>>> {
    match &expr.kind {
        ExprKind::Number(x) if x.is_sign_negative() => {
            let size = Expr { kind: ExprKind::Number(-x), span: expr.span.clone() };
            Some(vec![Factor { expr: Cow::Owned(size), is_scaled: false }])
        }
        ExprKind::Unary(UnaryOp::Neg, x) => Some(factors(x)).filter(|inner| match &inner[0].expr {
            Cow::Borrowed(first) => negated(first).is_none(),
            Cow::Owned(_) => true,
        }),
        _ => None,
    }
}

/// Whether it is printed as a digit of its own: a matrix of ones or zeros.
fn is_digit(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Apply { function, .. } => function == "ones" || function == "zeros",
        ExprKind::Name(name) => name == "attended",
        _ => false,
    }
}

/// Whether two factors would be read as one number or one word without a dot between them.
fn needs_dot(left: &Expr, right: &Expr) -> bool {
    let word = |expr: &Expr| matches!(&expr.kind, ExprKind::Name(name) if name::is_word(name));
    let number = |expr: &Expr| matches!(expr.kind, ExprKind::Number(_));
    let quotient = matches!(right.kind, ExprKind::Binary(BinaryOp::Div, ..));
    number(right) || (number(left) && (quotient || is_digit(right))) || word(left) || word(right)
}

fn between(expr: &Expr) -> Option<(&Expr, &Expr)> {
    match &expr.kind {
        ExprKind::Apply { function, args, named } if function == "between" && named.is_empty() => {
            match &args[..] {
                [low, high] => Some((low, high)),
                _ => None,
            }
        }
        ExprKind::Interval(low, high) => Some((low, high)),
        _ => None,
    }
}
