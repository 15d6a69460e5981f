//! Numbers of a law: norms, spreads, exponentials and what is made of them.

use qkvet_spec::shape::DIMENSIONS;
use qkvet_spec::syntax::{BinaryOp, Expr, ExprKind, UnaryOp};
use qkvet_spec::{CheckedLaw, Domain};

use super::{NotUnfolded, Place, Unfolder, domain, unknown};
use crate::number::Monomial;
use crate::tree::Tree;

/// Largest power of two that a decimal number is a fraction of.
const MAX_DENOMINATOR: i64 = 1 << 20;
/// Summands of one number.
const MAX_NUMBERS: usize = 16;

impl Unfolder<'_> {
    /// Whether an expression is a number rather than a matrix.
    pub(super) fn is_scalar(&self, expr: &Expr, place: &Place) -> bool {
        match &expr.kind {
            ExprKind::Number(_) => true,
            ExprKind::Name(name) => match self.abbreviation(name, place) {
                Some((expr, lets)) => {
                    if let Some(known) = self.scalars.borrow().get(&lets) {
                        return *known;
                    }
                    let is_scalar = self.is_scalar(expr, &Place { lets, ..place.clone() });
                    self.scalars.borrow_mut().insert(lets, is_scalar);
                    is_scalar
                }
                None => is_number(self.law, name),
            },
            ExprKind::Unary(UnaryOp::Neg, x) => self.is_scalar(x, place),
            ExprKind::Binary(
                BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div,
                x,
                y,
            ) => self.is_scalar(x, place) && self.is_scalar(y, place),
            ExprKind::Apply { function, .. } => {
                matches!(function.as_str(), "norm_max" | "norm_2" | "spread" | "exp")
            }
            _ => false,
        }
    }

    /// The numbers whose sum an expression is, each a product; `None` for a matrix, and for numbers
    /// made otherwise.
    pub(super) fn numbers(&self, expr: &Expr, place: &Place) -> Option<Vec<Monomial>> {
        let all = match &expr.kind {
            ExprKind::Number(x) => vec![Monomial::parse(&decimal(*x)?)?],
            ExprKind::Unary(UnaryOp::Neg, x) => products(&self.numbers(x, place)?, &[minus_one()])?,
            ExprKind::Binary(BinaryOp::Add, x, y) => {
                [self.numbers(x, place)?, self.numbers(y, place)?].concat()
            }
            ExprKind::Binary(BinaryOp::Sub, x, y) => {
                [self.numbers(x, place)?, products(&self.numbers(y, place)?, &[minus_one()])?]
                    .concat()
            }
            ExprKind::Binary(BinaryOp::Mul, x, y) => {
                products(&self.numbers(x, place)?, &self.numbers(y, place)?)?
            }
            ExprKind::Binary(BinaryOp::Div, x, y) => {
                products(&self.numbers(x, place)?, &[self.inverse(y).ok()?])?
            }
            ExprKind::Name(name) => match self.abbreviation(name, place) {
                Some((expr, lets)) => {
                    if let Some(known) = self.sums.borrow().get(&lets) {
                        return known.clone();
                    }
                    let inner = Place { lets, ..place.clone() };
                    // What is no sum of products stands for itself.
                    let itself =
                        || self.is_scalar(expr, &inner).then(|| vec![Monomial::symbol(name)]);
                    let numbers = self.numbers(expr, &inner).or_else(itself);
                    self.sums.borrow_mut().insert(lets, numbers.clone());
                    return numbers;
                }
                None if is_number(self.law, name) => vec![Monomial::symbol(name)],
                None => return None,
            },
            _ => return None,
        };
        (all.len() <= MAX_NUMBERS).then_some(all)
    }

    /// The number that an expression stands for, if it is one product.
    pub(super) fn number(&self, expr: &Expr, place: &Place) -> Option<Monomial> {
        let mut numbers = self.numbers(expr, place)?;
        if numbers.len() == 1 { numbers.pop() } else { None }
    }

    /// A number as a term.
    pub(super) fn scalar(&mut self, expr: &Expr, place: &Place) -> Result<Tree, NotUnfolded> {
        self.count()?;
        let product = |x: Tree, y: Tree| Tree::new("mul", [x, y]);
        let constant = |text: &str| Tree::new("num", [Tree::leaf(text)]);
        match &expr.kind {
            ExprKind::Number(x) => {
                Ok(constant(&decimal(*x).ok_or_else(|| unknown("number", x.to_string()))?))
            }
            ExprKind::Name(name) => match self.abbreviation(name, place) {
                Some((expr, lets)) => self.scalar(expr, &Place { lets, ..place.clone() }),
                None => Ok(constant(name)),
            },
            ExprKind::Unary(UnaryOp::Neg, x) => Ok(product(constant("-1"), self.scalar(x, place)?)),
            ExprKind::Binary(BinaryOp::Add, x, y) => {
                Ok(Tree::new("+", [self.scalar(x, place)?, self.scalar(y, place)?]))
            }
            ExprKind::Binary(BinaryOp::Sub, x, y) => {
                // `x − 1` keeps its form: it is not negative where `x` is at least 1.
                let less = match self.number(y, place).filter(|y| y.symbols().is_empty()) {
                    Some(number) => constant(
                        &number
                            .times(&minus_one())
                            .ok_or_else(|| unknown("number", "a large one"))?
                            .to_string(),
                    ),
                    None => product(constant("-1"), self.scalar(y, place)?),
                };
                Ok(Tree::new("+", [self.scalar(x, place)?, less]))
            }
            ExprKind::Binary(BinaryOp::Mul, x, y) => {
                Ok(product(self.scalar(x, place)?, self.scalar(y, place)?))
            }
            ExprKind::Binary(BinaryOp::Div, x, y) => {
                let inverse = self.inverse(y)?;
                Ok(product(constant(&inverse.to_string()), self.scalar(x, place)?))
            }
            ExprKind::Apply { function, args, .. } => match function.as_str() {
                "norm_max" => Ok(Tree::new("norm", [self.term(&args[0], place)?])),
                "norm_2" => Ok(Tree::new("norm2", [self.term(&args[0], place)?])),
                "spread" => Ok(Tree::new("spread", [self.term(&args[0], place)?])),
                "exp" => Ok(Tree::new("exp", [self.scalar(&args[0], place)?])),
                other => Err(unknown("function", other)),
            },
            _ => Err(unknown("expression", "something that is no number")),
        }
    }
}

/// Every one of the first times every one of the second.
fn products(x: &[Monomial], y: &[Monomial]) -> Option<Vec<Monomial>> {
    if x.len() * y.len() > MAX_NUMBERS {
        return None;
    }
    x.iter().flat_map(|x| y.iter().map(|y| x.times(y))).collect()
}

fn minus_one() -> Monomial {
    Monomial::whole(-1)
}

/// A decimal number as a fraction, where it is one of a power of two.
fn decimal(x: f64) -> Option<String> {
    let mut denominator = 1_i64;
    while denominator <= MAX_DENOMINATOR {
        #[expect(clippy::cast_precision_loss, reason = "a power of two")]
        let scaled = x * denominator as f64;
        if scaled.fract() == 0.0 && scaled.abs() < 1e9 {
            #[expect(clippy::cast_possible_truncation, reason = "a small whole number")]
            return Monomial::fraction(scaled as i64, denominator).map(|number| number.to_string());
        }
        denominator *= 2;
    }
    None
}

/// Whether a variable of the law, or an extent, is a number.
fn is_number(law: &CheckedLaw, name: &str) -> bool {
    match domain(law, name) {
        Some(known) => matches!(
            known,
            Domain::Real { .. } | Domain::Number | Domain::Positive | Domain::Dim { .. }
        ),
        None => DIMENSIONS.contains(&name),
    }
}
