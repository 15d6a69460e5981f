//! Numbers as formulas: what an exact value is printed with.

use qkvet_spec::syntax::{Expr, ExprError, ExprKind, UnaryOp, parse};

use super::Numbers;
use crate::expr::{apply, expr, name};

/// A number as it is printed: a rational as a fraction, a decimal with its last zeros.
fn number(text: &str) -> Expr {
    if let Some(rest) = text.strip_prefix('-') {
        return expr(ExprKind::Unary(UnaryOp::Neg, Box::new(number(rest))));
    }
    if text.contains('.') {
        return name(text);
    }
    parse(text).unwrap_or_else(|_| name(text))
}

fn laid_out(rows: Vec<Vec<Expr>>, scalar: bool) -> Expr {
    // A matrix of one entry is read as a number.
    let is_one = matches!(rows.as_slice(), [row] if row.len() == 1);
    if (scalar || is_one)
        && let Some(one) = rows.first().and_then(|row| row.first())
    {
        return one.clone();
    }
    let args = rows.into_iter().map(|row| expr(ExprKind::Tuple(row))).collect();
    apply("entries", args)
}

/// The printed numbers as a formula.
pub fn decimals(numbers: &Numbers) -> Expr {
    laid_out(
        numbers.rows.iter().map(|row| row.iter().map(|x| number(x)).collect()).collect(),
        numbers.scalar,
    )
}

/// The exact values as a formula; `None` where they are too long to be read.
pub fn formula(numbers: &Numbers) -> Option<Expr> {
    const MAX: usize = 160;
    // What a row of fractions may be wide to stay on a page.
    const WIDEST: usize = 140;
    let mut rows = Vec::new();
    for row in &numbers.exact {
        if row.iter().any(|x| x.len() > MAX) || row.iter().map(|x| width(x)).sum::<usize>() > WIDEST
        {
            return None;
        }
        rows.push(row.iter().map(|x| read(x)).collect::<Result<Vec<_>, _>>().ok()?);
    }
    Some(laid_out(rows, numbers.scalar))
}

/// Signs side by side: of a fraction those of the longer of both sides of its line.
fn width(exact: &str) -> usize {
    exact.split_once("/(").map_or(exact.len(), |(above, below)| above.len().max(below.len()))
}

/// Reads an exact value back.
///
/// # Errors
/// Text that is no formula.
pub fn read(text: &str) -> Result<Expr, ExprError> {
    parse(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_are_too_wide_are_not_shown() {
        let entry = |terms: usize| format!("1/({}1)", "exp(1) + ".repeat(terms));
        let numbers = |terms| {
            let exact = vec![vec![entry(terms); 3]];
            Numbers {
                scalar: false,
                places: Some(3),
                rows: vec![vec!["0.100".to_owned(); 3]],
                exact,
            }
        };
        assert!(formula(&numbers(4)).is_some());
        assert!(formula(&numbers(5)).is_none());
    }
}
