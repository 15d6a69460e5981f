//! How an answer is understood by whoever does not know what is asked.

use super::reading::entries;
use super::{
    Notation, ParsedNumber, Picks, ReadError, RequestedShape, is_missing, picks, read_numbers,
};

/// What an answer is read as.
#[derive(Clone, Debug)]
pub enum Understood {
    /// There is none.
    Missing,
    /// One number.
    Number(Box<ParsedNumber>),
    /// Numbers in rows.
    Matrix(Vec<Vec<ParsedNumber>>),
    /// What was picked: options, lines, true or false.
    Picks(Vec<String>),
    /// Values behind names.
    Named(Vec<(String, Self)>),
    /// Words, a formula, or what only a person reads.
    Words,
}

/// How an answer is understood, whatever is asked.
pub fn understood(text: &str, comma: bool) -> Understood {
    if is_missing(text) {
        return Understood::Missing;
    }
    let one = RequestedShape { rows: 1, cols: 1, comma, ..RequestedShape::default() };
    match read_numbers(text, &one) {
        Ok(mut rows) if rows.len() == 1 && rows[0].len() == 1 => {
            return Understood::Number(Box::new(rows.remove(0).remove(0)));
        }
        Ok(_)
        | Err(
            ReadError::Several { .. }
            | ReadError::Ragged
            | ReadError::NoLabel { .. }
            | ReadError::Depth
            | ReadError::NoNumber { .. }
            | ReadError::NotTheEnd { .. },
        ) => {}
        // With `or`, or two numbers that are set equal, it is no list either.
        Err(_) => return Understood::Words,
    }
    if let Ok(all) = entries(text, Notation { comma, grouped: false }) {
        let named = all.iter().map(|entry| {
            let rows = entry.rows().ok()?;
            let name = entry.name.as_ref().map(super::Label::name);
            Some((name, laid_out(rows)))
        });
        let named: Option<Vec<(Option<String>, Understood)>> = named.collect();
        match named.as_deref() {
            Some([(_, one)]) => return one.clone(),
            Some(many) if many.iter().all(|(name, _)| name.is_some()) => {
                let all =
                    many.iter().map(|(name, one)| (name.clone().unwrap_or_default(), one.clone()));
                return Understood::Named(all.collect());
            }
            _ => {}
        }
    }
    let is_letter = |word: &String| word.len() == 1;
    for kind in [Picks::Truths(usize::MAX), Picks::Lines(26)] {
        let words = picks(text, kind);
        let is_one = words.len() < 2 && !text.trim().chars().all(char::is_uppercase);
        if is_one || text.contains(|c: char| c.is_ascii_digit()) {
            continue;
        }
        let are_truths =
            kind != Picks::Lines(26) && words.iter().all(|word| word == "true" || word == "false");
        if are_truths || kind == Picks::Lines(26) && words.iter().all(is_letter) {
            return Understood::Picks(words);
        }
    }
    Understood::Words
}

fn laid_out(mut rows: Vec<Vec<ParsedNumber>>) -> Understood {
    match rows.as_slice() {
        [row] if row.len() == 1 => Understood::Number(Box::new(rows.remove(0).remove(0))),
        _ => Understood::Matrix(rows),
    }
}
