//! Names as a mathematician writes them: `n_q` and `K2` carry an index, `beta` is a Greek letter.

use super::piece::{Level, Piece, Printer};
use super::sign::{ONES, greek};

/// Whether the name is one letter, Latin or Greek.
pub(super) fn is_letter(name: &str) -> bool {
    (name.len() == 1 && name.chars().all(|c| c.is_ascii_alphabetic())) || greek(name).is_some()
}

/// Letter and index of `n_q`, `K2`; `None` for a word.
fn split(name: &str) -> Option<(&str, &str)> {
    let at = name.find(|c: char| c == '_' || c.is_ascii_digit())?;
    let (letter, index) = name.split_at(at);
    let index = index.strip_prefix('_').unwrap_or(index);
    (is_letter(letter) && !index.is_empty()).then_some((letter, index))
}

/// Whether the name is printed as a word of several letters.
pub(super) fn is_word(name: &str) -> bool {
    name != "attended" && !is_letter(name) && split(name).is_none()
}

/// A variable, extent or option.
pub(super) fn print(printer: &dyn Printer, name: &str) -> Piece {
    if is_letter(name) {
        return printer.letter(name);
    }
    if name.starts_with(|c: char| c.is_ascii_digit()) {
        // No name of a law begins like this: a decimal whose last zeros say how exact it is.
        return printer.number(name);
    }
    if name == "attended" {
        // A column of ones for the queries that see a key: an indicator.
        return if printer.symbols().is_none() {
            Piece::new("the indicator of attended queries", Level::Factor)
        } else {
            printer.subscript(&printer.symbol(&ONES), &printer.text(name))
        };
    }
    match split(name) {
        Some((letter, index)) => {
            let index = if is_letter(index) {
                printer.letter(index)
            } else if index.chars().all(|c| c.is_ascii_digit()) {
                printer.number(index)
            } else {
                printer.text(index)
            };
            printer.subscript(&printer.letter(letter), &index)
        }
        None => printer.word(name),
    }
}
