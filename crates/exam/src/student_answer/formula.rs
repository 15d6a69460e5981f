//! Formulas in the letters of a question.

use std::ops::Range;

use qkvet_spec::syntax::{BinaryOp, Expr, ExprKind};

use super::lexer::{Lexed, Token, lex};
use super::parser::{Parser, tree};
use super::reading::members;
use super::{Notation, ReadError};

/// Longest formula.
const MAX_TEXT: usize = 512;
/// Factors that a power is written out to.
const MAX_POWER: f64 = 16.0;

/// Functions of the law language, and how many arguments each has.
const FUNCTIONS: [(&str, usize, usize); 16] = [
    ("exp", 1, 1),
    ("log", 1, 1),
    ("sqrt", 1, 1),
    ("sigmoid", 1, 1),
    ("softmax_rows", 1, 1),
    ("attention", 3, 3),
    ("weights", 2, 3),
    ("row", 2, 2),
    ("col", 2, 2),
    ("hcat", 2, 2),
    ("vcat", 2, 2),
    ("eye", 1, 1),
    ("ones", 1, 2),
    ("zeros", 1, 2),
    ("outer", 2, 2),
    ("norm_max", 1, 1),
];

/// Reads a formula in which only `names` have values: the last of several that are set equal. Names
/// side by side are multiplied.
///
/// # Errors
/// What is no formula.
pub fn read_formula(text: &str, names: &[&str]) -> Result<Expr, ReadError> {
    if text.len() > MAX_TEXT {
        return Err(ReadError::TooMany { most: MAX_TEXT, what: "characters", got: text.len() });
    }
    let (tokens, _) = lex(text, Notation::default())?;
    of_tokens(members(&tokens).pop().unwrap_or_default(), names)
}

/// Reads the tokens of a formula.
///
/// # Errors
/// What is no formula.
pub(super) fn of_tokens(tokens: &[Lexed], names: &[&str]) -> Result<Expr, ReadError> {
    powers(Parser::new(tokens, Some(names)).all()?)
}

/// A formula with its whole powers written out.
fn powers(mut formula: Expr) -> Result<Expr, ReadError> {
    for part in formula.parts_mut() {
        *part = powers(part.clone())?;
    }
    let ExprKind::Apply { function, args, .. } = &formula.kind else { return Ok(formula) };
    match (function.as_str(), args.as_slice()) {
        ("pow", [base, Expr { kind: ExprKind::Number(n), .. }])
            if n.fract() == 0.0 && (1.0..=MAX_POWER).contains(n) =>
        {
            let mut power = base.clone();
            let mut left = *n;
            while left > 1.0 {
                power = binary(BinaryOp::Mul, power, base.clone());
                left -= 1.0;
            }
            Ok(power)
        }
        ("pow", [base, Expr { kind: ExprKind::Binary(BinaryOp::Div, x, y), span }])
            if matches!((&x.kind, &y.kind), (ExprKind::Number(1.0), ExprKind::Number(2.0))) =>
        {
            function_of("sqrt", vec![base.clone()], span.clone())
        }
        ("pow" | "percent", _) => Err(ReadError::NoExponent { got: "another power".to_owned() }),
        _ => Ok(formula),
    }
}

fn binary(op: BinaryOp, left: Expr, right: Expr) -> Expr {
    let span = left.span.start..right.span.end;
    tree(ExprKind::Binary(op, Box::new(left), Box::new(right)), span)
}

/// A function of programs or of the law language.
pub(super) fn function(
    name: &str,
    mut args: Vec<Expr>,
    span: Range<usize>,
) -> Result<Expr, ReadError> {
    let unknown = || ReadError::NoNumber { got: Token::Name(name.to_owned()) };
    match (name, args.len()) {
        ("dot" | "matmul" | "mm" | "bmm", 2) => {
            let right = args.remove(1);
            Ok(binary(BinaryOp::MatMul, args.remove(0), right))
        }
        ("transpose", 1) => Ok(tree(ExprKind::Transpose(Box::new(args.remove(0))), span)),
        ("softmax", 1) => function_of("softmax_rows", args, span),
        ("einsum", 3) => {
            let (right, left, pattern) = (args.remove(2), args.remove(1), args.remove(0));
            einsum(&pattern, left, right).ok_or_else(unknown)
        }
        _ => function_of(name, args, span),
    }
}

fn function_of(name: &str, args: Vec<Expr>, span: Range<usize>) -> Result<Expr, ReadError> {
    let is_known = |(known, least, most): &(&str, usize, usize)| {
        *known == name && (*least..=*most).contains(&args.len())
    };
    if !FUNCTIONS.iter().any(is_known) {
        return Err(ReadError::NoNumber { got: Token::Name(name.to_owned()) });
    }
    let function = name.to_owned();
    Ok(tree(ExprKind::Apply { function, args, named: Vec::new() }, span))
}

/// `ij,jk->ik`, with either factor transposed or not.
fn einsum(pattern: &Expr, left: Expr, right: Expr) -> Option<Expr> {
    let ExprKind::Name(pattern) = &pattern.kind else { return None };
    let pattern: String = pattern.chars().filter(|c| !c.is_whitespace()).collect();
    let (inputs, output) = pattern.split_once("->")?;
    let (first, second) = inputs.split_once(',')?;
    let pair = |text: &str| -> Option<(char, char)> {
        let mut letters = text.chars();
        let pair = (letters.next()?, letters.next()?);
        (letters.next().is_none() && pair.0 != pair.1).then_some(pair)
    };
    let (first, second, output) = (pair(first)?, pair(second)?, pair(output)?);
    let turned =
        |pair: (char, char), is_turned: bool| if is_turned { (pair.1, pair.0) } else { pair };
    let with = |x: Expr, is_turned: bool| {
        let span = x.span.clone();
        if is_turned { tree(ExprKind::Transpose(Box::new(x)), span) } else { x }
    };
    [(false, false), (false, true), (true, false), (true, true)].into_iter().find_map(|(x, y)| {
        let (a, b) = (turned(first, x), turned(second, y));
        (a.1 == b.0 && (a.0, b.1) == output)
            .then(|| binary(BinaryOp::MatMul, with(left.clone(), x), with(right.clone(), y)))
    })
}

/// The formula with each product of the kind that fits: `@` between matrices, `*` where a factor is
/// a number.
pub fn fitted(expr: &Expr, is_matrix: &dyn Fn(&Expr) -> bool) -> Expr {
    let mut fitted = expr.clone();
    fit(&mut fitted, is_matrix);
    fitted
}

fn fit(expr: &mut Expr, is_matrix: &dyn Fn(&Expr) -> bool) {
    for part in expr.parts_mut() {
        fit(part, is_matrix);
    }
    if let ExprKind::Binary(op @ (BinaryOp::Mul | BinaryOp::MatMul), left, right) = &mut expr.kind {
        *op = if is_matrix(left) && is_matrix(right) { BinaryOp::MatMul } else { BinaryOp::Mul };
    }
}
