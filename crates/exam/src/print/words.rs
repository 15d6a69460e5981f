//! Prose of a question with the numbers of an instance in it.

use qkvet_spec::Formula;
use qkvet_spec::syntax::{BinaryOp, Expr};

use super::document::{Block, Figure, Inline, Marker};
use crate::answer::{Numbers, decimals, formula, of_value};
use crate::expr::{apply, binary, name};
use crate::generate::Instance;
use crate::question::{Paragraph, Piece, Plot, prose};

/// Decimals of values in prose and in steps that are not rational.
pub(crate) const PRINTED_PLACES: usize = 4;

/// `left = right`.
pub(super) fn equation(left: Expr, right: Expr) -> Expr {
    binary(BinaryOp::Eq, left, right)
}

/// `a = b = c`.
pub(super) fn chain(a: Expr, b: Expr, c: Expr) -> Expr {
    binary(BinaryOp::And, equation(a, b.clone()), equation(b, c))
}

/// The value of a formula: its exact form if it can be read, and its decimals if it is not
/// rational.
pub(super) struct Shown {
    pub(super) exact: Option<Expr>,
    pub(super) decimals: Option<Expr>,
}

/// How a value is shown; nothing where it has no numbers, such as several heads at once.
pub(super) fn shown(posed: &Instance<'_>, expr: &Expr, places: usize) -> Shown {
    let none = Shown { exact: None, decimals: None };
    let Ok(value) = posed.worked.value(expr) else { return none };
    if let Ok(numbers) = of_value(&value, None) {
        return Shown { exact: Some(decimals(&numbers)), decimals: None };
    }
    match of_value(&value, Some(places)) {
        Ok(numbers) => of_numbers(&numbers),
        Err(_) => none,
    }
}

/// How numbers that stand in a key are shown.
pub(super) fn of_numbers(numbers: &Numbers) -> Shown {
    match numbers.places {
        None => Shown { exact: Some(decimals(numbers)), decimals: None },
        Some(_) => Shown { exact: formula(numbers), decimals: Some(decimals(numbers)) },
    }
}

/// One formula for a value: rational values exactly, others in decimals.
fn one(posed: &Instance<'_>, expr: &Expr) -> Expr {
    let shown = shown(posed, expr, PRINTED_PLACES);
    shown.decimals.or(shown.exact).unwrap_or_else(|| expr.clone())
}

/// A paragraph as the inlines of one line, and the equations that stand below it.
fn inlines(posed: &Instance<'_>, paragraph: &Paragraph) -> (Vec<Inline>, Vec<Inline>) {
    let (mut line, mut below) = (Vec::new(), Vec::new());
    for piece in &paragraph.pieces {
        match piece {
            Piece::Text(text) => line.push(Inline::text(text)),
            Piece::Code(code) => line.push(Inline::Code(code.clone())),
            Piece::Formula(expr) => line.push(Inline::math(expr.clone())),
            Piece::Value(expr) => line.push(Inline::math(one(posed, expr))),
            Piece::Figure(..) => {}
            Piece::Equations(exprs) => {
                for expr in exprs {
                    if !below.is_empty() {
                        below.push(Inline::text(", "));
                    }
                    below.push(Inline::math(equation(expr.clone(), one(posed, expr))));
                }
            }
        }
    }
    if line.iter().all(|inline| matches!(inline, Inline::Text(text) if text.trim().is_empty())) {
        line.clear();
    }
    (line, below)
}

/// Prose as blocks.
pub(crate) fn blocks(posed: &Instance<'_>, text: &Formula) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    for paragraph in prose(text).unwrap_or_default() {
        let (line, below) = inlines(posed, &paragraph);
        if paragraph.item {
            let entry = [line, below].concat();
            match blocks.last_mut() {
                Some(Block::List(Marker::Dot, items)) => items.push(entry),
                _ => blocks.push(Block::List(Marker::Dot, vec![entry])),
            }
            continue;
        }
        if !line.is_empty() {
            blocks.push(Block::Paragraph(line));
        }
        if !below.is_empty() {
            blocks.push(Block::Display(below));
        }
        blocks.extend(paragraph.pieces.iter().filter_map(|piece| match piece {
            Piece::Figure(plot, expr) => figure(posed, plot, expr),
            _ => None,
        }));
    }
    blocks
}

/// A matrix to be drawn; nothing where it has no numbers.
fn figure(posed: &Instance<'_>, plot: &Plot, expr: &Expr) -> Option<Block> {
    let numbers = posed
        .worked
        .value(expr)
        .ok()
        .and_then(|value| of_value(&value, Some(PRINTED_PLACES)).ok())?;
    Some(Block::Figure(Figure { plot: plot.clone(), of: expr.clone(), numbers }))
}

/// Prose on one line.
pub(crate) fn line(posed: &Instance<'_>, text: &Formula) -> Vec<Inline> {
    let mut all = Vec::new();
    for paragraph in prose(text).unwrap_or_default() {
        let (line, below) = inlines(posed, &paragraph);
        if !all.is_empty() {
            all.push(Inline::text(" "));
        }
        all.extend(line);
        all.extend(below);
    }
    all
}

/// Words in which names with an index, such as `d_k` and `√d_k`, are formulas.
pub(crate) fn with_names(text: &str) -> Vec<Inline> {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let (mut all, mut words) = (Vec::new(), String::new());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let length = rest.find(|c| !is_of_name(c)).unwrap_or(rest.len()).max(c.len_utf8());
        let (piece, after) = rest.split_at(length);
        rest = after;
        let index = piece
            .strip_prefix(|c: char| c.is_ascii_alphabetic())
            .and_then(|rest| rest.strip_prefix('_'));
        if !index.is_some_and(|index| !index.is_empty() && !index.contains('_')) {
            words += piece;
            continue;
        }
        let name = name(piece);
        let formula = match words.pop() {
            Some('√') => apply("sqrt", vec![name]),
            other => {
                words.extend(other);
                name
            }
        };
        if !words.is_empty() {
            all.push(Inline::Text(std::mem::take(&mut words)));
        }
        all.push(Inline::math(formula));
    }
    if !words.is_empty() {
        all.push(Inline::Text(words));
    }
    all
}

/// `a`, `b`, … for the parts of a question.
pub(crate) fn part_letter(at: usize) -> char {
    super::document::letter(at).to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use qkvet_prove::render::{Style, render};

    use super::*;

    #[test]
    fn names_in_words_are_formulas() {
        let shown = |text: &str| -> String {
            let one = |inline: &Inline| match inline {
                Inline::Math(expr) => format!("<{}>", render(expr, Style::Unicode)),
                Inline::Text(text) => text.clone(),
                other => panic!("{other:?}"),
            };
            with_names(text).iter().map(one).collect()
        };
        assert_eq!(
            shown("divided by 1/√d_k, not by d_k: h % h_k"),
            "divided by 1/<√d_k>, not by <d_k>: h % <h_k>"
        );
        for text in ["masked_fill is code", "√2 and nothing", "a_ and _b and a_b_c", ""] {
            assert_eq!(shown(text), text);
        }
    }
}
