//! Prose of a question as plain text.

use qkvet_prove::render::{Style, render};
use qkvet_spec::Formula;
use qkvet_spec::syntax::Expr;

use crate::answer::{Worked, of_value};
use crate::question::{Piece, prose};

/// Decimals of values that are not rational.
const PLACES: usize = 4;

/// The words with the formulas in them and the values of one instance.
pub(crate) fn plain(text: &Formula, worked: &Worked) -> String {
    let value = |expr: &Expr| {
        let value = worked.value(expr).ok()?;
        let numbers = of_value(&value, None).or_else(|_| of_value(&value, Some(PLACES))).ok()?;
        let rows: Vec<String> = numbers.rows.iter().map(|row| row.join(", ")).collect();
        Some(if numbers.scalar { rows.concat() } else { format!("[{}]", rows.join("; ")) })
    };
    let mut words = String::new();
    for paragraph in prose(text).unwrap_or_default() {
        if !words.is_empty() {
            words.push(' ');
        }
        for piece in &paragraph.pieces {
            words += &match piece {
                Piece::Text(text) | Piece::Code(text) => text.clone(),
                Piece::Formula(expr) => render(expr, Style::Unicode),
                Piece::Value(expr) | Piece::Figure(_, expr) => {
                    value(expr).unwrap_or_else(|| render(expr, Style::Unicode))
                }
                Piece::Equations(exprs) => exprs
                    .iter()
                    .map(|expr| render(expr, Style::Unicode))
                    .collect::<Vec<_>>()
                    .join(", "),
            };
        }
    }
    words
}
