//! Words of questions that laws do not have: entries, rows and columns by number, products entry by
//! entry, powers. They are short for formulas of the law language, in which both routes to a value
//! work.

use std::borrow::Cow;

use qkvet_spec::Formula;
use qkvet_spec::syntax::{BinaryOp, Expr, ExprKind};

use crate::expr::{apply, binary, expr, name};

/// Largest exponent of `power`.
const MAX_POWER: usize = 16;
/// Functions whose second argument is a row or a column.
const BY_NUMBER: [&str; 4] = ["row", "col", "drop_row", "scale_row"];

/// A word with its arguments.
enum Word<'a> {
    /// `entry(A, i, j)`.
    Entry([&'a Expr; 3]),
    /// `hadamard(A, B)`, entry by entry.
    Product(&'a Expr, &'a Expr),
    /// `quotient(A, B)`, entry by entry.
    Quotient(&'a Expr, &'a Expr),
    /// `power(A, 3)`, entry by entry.
    Power(&'a Expr, usize),
}

fn word(of: &Expr) -> Option<Word<'_>> {
    let ExprKind::Apply { function, args, .. } = &of.kind else { return None };
    match (function.as_str(), args.as_slice()) {
        ("entry", [matrix, row, column]) => Some(Word::Entry([matrix, row, column])),
        ("hadamard", [x, y]) => Some(Word::Product(x, y)),
        ("quotient", [x, y]) => Some(Word::Quotient(x, y)),
        ("power", [x, n]) => Some(Word::Power(x, number(n).filter(|n| *n <= MAX_POWER)?)),
        _ => None,
    }
}

/// A whole number from 1.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked")]
fn number(of: &Expr) -> Option<usize> {
    match of.kind {
        ExprKind::Number(x) if x.fract() == 0.0 && (1.0..=4096.0).contains(&x) => Some(x as usize),
        _ => None,
    }
}

fn has_word(of: &Expr) -> bool {
    word(of).is_some() || of.parts().into_iter().any(has_word)
}

/// Whether a formula has words that laws do not have.
pub(crate) fn is_taught(of: &Expr) -> bool {
    let by_number = |of: &Expr| match &of.kind {
        ExprKind::Apply { function, args, .. } => {
            BY_NUMBER.contains(&function.as_str()) && args.get(1).and_then(number).is_some()
        }
        _ => false,
    };
    word(of).is_some() || by_number(of) || of.parts().into_iter().any(is_taught)
}

/// The formula in words of laws; rows by number stay.
pub(crate) fn plain(of: &Expr) -> Cow<'_, Expr> {
    if has_word(of) {
        Cow::Owned(rewritten(of, &|of| Some(meant(word(of)?))))
    } else {
        Cow::Borrowed(of)
    }
}

fn meant(word: Word<'_>) -> Expr {
    match word {
        Word::Entry([matrix, row, column]) => {
            let row = apply("row", vec![matrix.clone(), row.clone()]);
            apply("col", vec![row, column.clone()])
        }
        Word::Product(x, y) => binary(BinaryOp::Mul, x.clone(), y.clone()),
        Word::Quotient(x, y) => binary(BinaryOp::Div, x.clone(), y.clone()),
        Word::Power(x, n) => {
            (1..n).fold(x.clone(), |power, _| binary(BinaryOp::Mul, power, x.clone()))
        }
    }
}

/// The formula with the names of rows in the place of their numbers, and these numbers.
pub(crate) fn named_rows(of: &Expr, numbers: &mut Vec<usize>) -> Expr {
    let mut of = of.clone();
    by_number(&mut of, &mut |index, n| {
        numbers.push(n);
        *index = name(&row_name(n));
    });
    of
}

/// The name of row or column `n`, from 1.
pub(crate) fn row_name(n: usize) -> String {
    format!("row_or_column_{n}")
}

fn by_number(of: &mut Expr, with: &mut dyn FnMut(&mut Expr, usize)) {
    if let ExprKind::Apply { function, args, .. } = &mut of.kind
        && BY_NUMBER.contains(&function.as_str())
        && let Some(index) = args.get_mut(1)
        && let Some(n) = number(index)
    {
        with(index, n);
    }
    of.parts_mut().into_iter().for_each(|part| by_number(part, with));
}

/// A formula of the law language of the same type, by which this one is checked, and the rows that
/// it has by number; `None` where it is one itself.
pub(crate) fn stand_in(formula: &Formula, numbers: &mut Vec<usize>) -> Option<Formula> {
    let parsed = formula.parse().ok()?;
    // Types alone are checked: a product entry by entry has that of a sum.
    let typed = |of: &Expr| {
        Some(match word(of)? {
            Word::Product(x, y) | Word::Quotient(x, y) => {
                binary(BinaryOp::Add, x.clone(), y.clone())
            }
            Word::Power(x, _) => apply("sigmoid", vec![x.clone()]),
            entry @ Word::Entry(_) => meant(entry),
        })
    };
    let before = numbers.len();
    let checked = named_rows(&rewritten(&parsed, &typed), numbers);
    let is_other = has_word(&parsed) || numbers.len() > before;
    is_other.then(|| Formula { text: checked.to_string(), offset: formula.offset })
}

/// The formula with other ones in the place of words, from the inside out.
fn rewritten(of: &Expr, other: &dyn Fn(&Expr) -> Option<Expr>) -> Expr {
    let mut new = of.clone();
    new.parts_mut().into_iter().for_each(|part| *part = rewritten(part, other));
    match other(&new) {
        Some(other) => expr(other.kind),
        None => new,
    }
}
