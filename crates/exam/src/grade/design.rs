//! Formulas, and things with a property.

use indexmap::IndexMap;
use qkvet_prove::exact::{ExactMatrices, NoValue, Real, Value};
use qkvet_spec::CheckedLaw;
use qkvet_spec::syntax::{BinaryOp, Expr, ExprKind};

use super::formula::{self, known, owned};
use super::numbers::{RequestedShape, stated};
use super::part::{Marked, WorkedQuestion};
use super::property::{Decided, decide};
use super::{Extents, Feedback, NoDesign, NoFormula, TurnedVector, Undecided, Unread};
use crate::answer::work;
use crate::expr::{self, binary};
use crate::generate::{draw, nothing};
use crate::question::{CheckedPart, Expression, Property};
use crate::student_answer::{Layout, Node, ParsedNumber, layout};

/// Other numbers on which a formula is tried.
const TRIES: usize = 8;

fn equal(left: &Expr, right: &Expr) -> Expr {
    binary(BinaryOp::Eq, left.clone(), right.clone())
}

/// A formula in the question's own letters: equal to what is asked on the sheet's numbers and on
/// others, exactly.
pub(super) fn expression(
    asked: &WorkedQuestion<'_>,
    expression: &Expression,
    checked: &CheckedPart,
    given: &Node,
) -> Result<Marked, Unread> {
    let unread = |reason| Err(Unread::Formula(reason));
    let text = match given {
        Node::Text(text) => text.trim(),
        _ => return unread(NoFormula::None),
    };
    if text.len() > crate::student_answer::MAX_TEXT {
        return unread(NoFormula::Long);
    }
    let law = &asked.question.law;
    let steps = law.lets.iter().map(|(name, _)| name.as_str());
    let names: Vec<&str> =
        asked.question.question.draw.keys().map(String::as_str).chain(steps).collect();
    let sizes = asked.question.sizes.iter().map(|(name, _)| name.as_str());
    let names: Vec<&str> = names.into_iter().chain(sizes).collect();
    let formula = formula::read(text, &names).map_err(Unread::Formula)?;
    let (Some(equals), Some(right)) = (&checked.of, &checked.beside) else {
        return Err(Unread::Key);
    };
    let is_matrix = |expr: &Expr| matches!(asked.worked.value(expr), Ok(Value::Matrices(_)));
    let fitted = formula::fitted(&formula, &is_matrix);
    // A product that was written as such may be meant entry by entry.
    let is_fitted = asked.worked.holds(&equal(right, &fitted)) == Ok(true)
        || asked.worked.value(&formula).is_err() && asked.worked.value(&fitted).is_ok();
    let formula = if is_fitted { fitted } else { formula };
    let mut others = Vec::new();
    for number in 0..TRIES {
        let label = number.to_string();
        let drawn = draw(asked.question, 0, &["grade", &label]);
        others.extend(drawn.ok().and_then(|drawn| work(law, &drawn, &nothing()).ok()));
    }
    if others.is_empty() {
        return Ok(Marked::by_hand(Feedback::Undecided(Undecided::NoNumbers)));
    }
    let same_everywhere = |same: &Expr| others.iter().all(|worked| worked.holds(same) != Ok(false));
    if let Some(name) = asked_again(law, equals, right, &formula, &|name| {
        let same = equal(name, equals);
        asked.worked.holds(&same) == Ok(true) && same_everywhere(&same)
    }) {
        let given = asked.question.question.draw.keys().cloned().collect();
        return Ok(Marked::wrong(Feedback::AskedAgain { name, given }));
    }
    let same = equal(right, &formula);
    match asked.worked.holds(&same) {
        Ok(true) => {}
        Ok(false) => return Ok(Marked::wrong(Feedback::OtherValue)),
        Err(_) if let Err(reason) = asked.worked.value(&formula) => {
            return match reason {
                // Such as factors that do not fit each other.
                NoValue::Unfit { .. } => Ok(Marked::wrong(Feedback::NoValue(reason))),
                reason => unread(NoFormula::NoValue(reason)),
            };
        }
        // Such as matrices of different extents.
        Err(reason) => return Ok(Marked::wrong(Feedback::NotAsked(reason))),
    }
    // Numbers alone may agree by chance: others are drawn.
    if !same_everywhere(&same) {
        return Ok(Marked::wrong(Feedback::EqualByChance));
    }
    let is_tried = expression.law.is_some();
    Ok(Marked::right(if is_tried { Feedback::EqualWhereTried } else { Feedback::Nothing }))
}

/// The first step in a formula that is what is asked, or is made from it. Steps in the question's
/// own answer are none.
fn asked_again(
    law: &CheckedLaw,
    equals: &Expr,
    right: &Expr,
    formula: &Expr,
    is_asked: &dyn Fn(&Expr) -> bool,
) -> Option<String> {
    let mut taken: Vec<&str> = Vec::new();
    for (name, expr) in &law.lets {
        let step = expr::name(name);
        let is_made = |expr: &Expr| taken.iter().any(|taken| expr.mentions(taken));
        let is_it = matches!(&equals.kind, ExprKind::Name(asked) if asked == name)
            || is_made(expr)
            || is_asked(&step);
        if is_it && !right.mentions(name) {
            taken.push(name);
        }
    }
    taken.into_iter().find(|name| formula.mentions(name)).map(str::to_owned)
}

/// Something with a property: it is put where the example stood, and the property is decided
/// exactly.
pub(super) fn design(
    asked: &WorkedQuestion<'_>,
    property: &Property,
    checked: &CheckedPart,
    given: &Node,
) -> Result<Marked, Unread> {
    let names: Vec<&str> = property.example.iter().map(String::as_str).collect();
    let extents: Vec<_> = names.iter().map(|name| asked.worked.extents_of(name)).collect();
    let unread = |reason| Unread::Design {
        reason,
        asked: owned(&names).into_iter().zip(extents.iter().copied()).collect(),
    };
    let (Some(distance), Some(most)) = (&checked.of, &checked.beside) else {
        return Err(Unread::Key);
    };
    // A vector of the sheet by its name, such as `10 (k_3 + k_5)`: a person reads it.
    let left = |unread: Unread| match indexed(given, &names) {
        Some(name) => Ok(Marked::by_hand(Feedback::Undecided(Undecided::Named(name)))),
        None => Err(unread),
    };
    let entries = match named(given, &names) {
        Ok(entries) => entries,
        Err(reason) => return left(unread(reason)),
    };
    let mut own: IndexMap<String, Value> = IndexMap::new();
    let mut turned = Vec::new();
    for (name, node) in entries {
        let wanted = names
            .iter()
            .zip(&extents)
            .find(|(known, _)| **known == name)
            .and_then(|(_, extents)| *extents);
        let is_number = wanted.is_none();
        let (rows, cols) = wanted.unwrap_or((1, 1));
        let mut read =
            match stated(&node, RequestedShape { rows, cols, in_percent: false, turns: false }) {
                Ok(read) => read,
                Err(reason) => return left(Unread::Named { name, reason: Box::new(reason) }),
            };
        // A column where a row is asked, or a row where a column is.
        if rows.min(cols) == 1 && rows != cols && has_extents(&read, cols, rows) {
            read = if cols > 1 {
                vec![read.concat()]
            } else {
                read.concat().into_iter().map(|x| vec![x]).collect()
            };
            let taken_as = if cols > 1 { "row" } else { "column" };
            turned.push(TurnedVector { name: name.clone(), taken_as });
        }
        if !has_extents(&read, rows, cols) {
            let got = Extents::of(&read);
            return Err(unread(NoDesign::Extents { name, rows, cols, got }));
        }
        let data: Vec<Real> = read.into_iter().flatten().map(|x| x.value).collect();
        let value = match (is_number, data.first()) {
            (true, Some(x)) => Value::Number(x.clone()),
            _ => Value::Matrices(ExactMatrices { batch: None, heads: None, rows, cols, data }),
        };
        own.insert(name, value);
    }
    let property = |fails| Feedback::Property { fails, turned };
    Ok(match decide(asked, &own, distance, most) {
        Decided::Has => Marked::right(property(Vec::new())),
        Decided::Lacks(fails) => Marked::wrong(property(fails)),
        Decided::Undecided(reason) => {
            Marked::by_hand(Feedback::Undecided(Undecided::NoValue(reason)))
        }
    })
}

/// The first word of a letter, `_` and digits in an answer that names none of the things asked for.
fn indexed(given: &Node, names: &[&str]) -> Option<String> {
    let of_text = |text: &str| {
        let words = text.split(|c: char| !(c.is_alphanumeric() || c == '_'));
        let is_indexed = |word: &str| {
            let digits = word
                .strip_prefix(|c: char| c.is_ascii_alphabetic())
                .map(|rest| rest.strip_prefix('_').unwrap_or(rest));
            digits.is_some_and(|digits| {
                !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit())
            })
        };
        // `10k_3` is one word of a number and a name, `1e3` is a number.
        let is_power = |word: &&str| {
            word.starts_with(|c: char| c.is_ascii_digit()) && ParsedNumber::read(word).is_ok()
        };
        let mut bare = words
            .filter(|word| !is_power(word))
            .map(|word| word.trim_start_matches(|c: char| c.is_ascii_digit()));
        bare.find(|word| is_indexed(word) && !names.contains(word)).map(str::to_owned)
    };
    match given {
        Node::Text(text) => of_text(text),
        Node::Named(entries) => entries.iter().find_map(|(_, node)| indexed(node, names)),
        _ => None,
    }
}

/// Whether there are so many rows of so many numbers.
fn has_extents(read: &[Vec<ParsedNumber>], rows: usize, cols: usize) -> bool {
    read.len() == rows && read.iter().all(|row| row.len() == cols)
}

/// The parts of a design by name; a single one needs no name.
fn named(given: &Node, names: &[&str]) -> Result<Vec<(String, Node)>, NoDesign> {
    let of_text = match given {
        Node::Text(text) => assigned(text),
        _ => None,
    };
    let entries: Vec<(String, Node)> = match (of_text, given) {
        (Some(entries), _) => entries,
        (None, Node::Named(entries)) => entries.clone(),
        (None, other) => match (names, layout(other)?) {
            ([one], Layout::One(_) | Layout::Flat(_) | Layout::Rows(_)) => {
                vec![((*one).to_owned(), other.clone())]
            }
            _ => return Err(NoDesign::NoNames { names: owned(names) }),
        },
    };
    // `WQ` is `W_Q` here too.
    let meant =
        |(name, node): (String, Node)| (known(&name, names).map_or(name, str::to_owned), node);
    let entries: Vec<(String, Node)> = entries.into_iter().map(meant).collect();
    if let Some((name, _)) = entries.iter().find(|(name, _)| !names.contains(&name.as_str())) {
        let got = name.escape_debug().to_string();
        return Err(NoDesign::Unknown { names: owned(names), got });
    }
    match names.iter().find(|name| entries.iter().filter(|(other, _)| other == *name).count() != 1)
    {
        Some(name) => Err(NoDesign::Once { name: (*name).to_owned() }),
        None => Ok(entries),
    }
}

/// The entries of `{p: [1, 0], r: [0, 1]}`, `p = [1, 0], r = [0, 1]` and the like, on one line or
/// several; nothing for other text.
pub(super) fn assigned(text: &str) -> Option<Vec<(String, Node)>> {
    let text = text.trim();
    let inner = text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap_or(text);
    let mut entries: Vec<(String, String)> = Vec::new();
    for piece in pieces(inner) {
        match (entry(piece), entries.last_mut()) {
            (Some((name, value)), _) => entries.push((name.to_owned(), value.to_owned())),
            // `q = 1, 0`: what names nothing belongs to the name before it.
            (None, Some((_, last))) => last.push_str(piece),
            (None, None) if piece.trim().is_empty() => {}
            (None, None) => return None,
        }
    }
    let is_left = |c: char| c.is_whitespace() || matches!(c, ',' | ';');
    let node = |value: String| Node::Text(value.trim_matches(is_left).to_owned());
    (!entries.is_empty())
        .then(|| entries.into_iter().map(|(name, value)| (name, node(value))).collect())
}

/// Text before each separator outside of brackets; each piece begins with the separator before it.
fn pieces(text: &str) -> Vec<&str> {
    let (mut pieces, mut depth, mut start) = (Vec::new(), 0_i32, 0);
    for (at, c) in text.char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            ',' | ';' | '\n' if depth == 0 => {
                pieces.push(&text[start..at]);
                start = at;
            }
            _ => {}
        }
    }
    pieces.push(&text[start..]);
    pieces
}

/// A name, which may stand in quotes, and what stands behind `:` or `=`.
fn entry(piece: &str) -> Option<(&str, &str)> {
    let piece = piece.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, ',' | ';'));
    let (name, value) = piece.split_once([':', '='])?;
    let name = name.trim().trim_matches(['"', '\'']);
    let is_name = name.starts_with(char::is_alphabetic)
        && name.chars().all(|c| c.is_alphanumeric() || c == '_');
    is_name.then_some((name, value))
}
