//! Formulas, and things with a property.

use indexmap::IndexMap;
use qkvet_prove::exact::{ExactMatrices, Real, Value};
use qkvet_spec::CheckedLaw;
use qkvet_spec::syntax::{BinaryOp, Expr, ExprKind, parse};

use super::formula;
use super::numbers::{Wanted, stated};
use super::part::{Asked, Marked, Unread};
use crate::answer::{of_value, work, work_from};
use crate::generate::{draw, nothing};
use crate::given::{Layout, Node, layout};
use crate::question::{CheckedPart, Expression, Property};

/// Decimals that a sheet prints values with in its words.
const SHEET: usize = 4;

/// Other numbers on which a formula is tried.
const TRIES: usize = 8;

fn relation(op: BinaryOp, left: &Expr, right: &Expr) -> Expr {
    Expr { kind: ExprKind::Binary(op, Box::new(left.clone()), Box::new(right.clone())), span: 0..0 }
}

/// A formula in the question's own letters: equal to what is asked on the sheet's numbers and on others, exactly.
pub(super) fn expression(
    asked: &Asked<'_>,
    expression: &Expression,
    checked: &CheckedPart,
    given: &Node,
) -> Result<Marked, Unread> {
    let hint = "write it as on the sheet: X W_Q or X @ W_Q, K.T for the transpose, exp(x), sqrt(x), x * x for a square";
    let text = match given {
        Node::Text(text) => text.trim(),
        _ => return Err(Unread::new("expected a formula", hint)),
    };
    if text.len() > crate::given::MOST_TEXT {
        return Err(Unread::new("expected a shorter formula", hint));
    }
    let law = &asked.question.law;
    let steps = law.lets.iter().map(|(name, _)| name.as_str());
    let names: Vec<&str> = asked.question.question.draw.keys().map(String::as_str).chain(steps).collect();
    let sizes = asked.question.sizes.iter().map(|(name, _)| name.as_str());
    let names: Vec<&str> = names.into_iter().chain(sizes).collect();
    let formula = formula::read(text, &names).map_err(|reason| Unread::new(format!("formula: {reason}"), hint))?;
    let (Some(equals), Some(right)) = (&checked.of, &checked.beside) else {
        return Err(Unread::new("expected a question with a formula", hint));
    };
    let is_matrix = |expr: &Expr| matches!(asked.worked.value(expr), Ok(Value::Matrices(_)));
    let fitted = formula::fitted(&formula, &is_matrix);
    // A product that was written as such may be meant entry by entry.
    let formula =
        if asked.worked.holds(&relation(BinaryOp::Eq, &fitted, right)) == Ok(true) { fitted } else { formula };
    let mut others = Vec::new();
    for number in 0..TRIES {
        let label = number.to_string();
        let drawn = draw(asked.question, 0, &["grade", &label]);
        others.extend(drawn.ok().and_then(|drawn| work(law, &drawn, &nothing()).ok()));
    }
    let same_everywhere = |same: &Expr| others.iter().all(|worked| worked.holds(same) != Ok(false));
    if let Some(name) = asked_again(law, equals, right, &formula, &|name| {
        let same = relation(BinaryOp::Eq, name, equals);
        asked.worked.holds(&same) == Ok(true) && same_everywhere(&same)
    }) {
        let given: Vec<&str> = asked.question.question.draw.keys().map(String::as_str).collect();
        return Ok(Marked::wrong(format!(
            "`{name}` is what is asked or made from it: write it in terms of what is given, {}",
            given.join(", ")
        )));
    }
    let same = relation(BinaryOp::Eq, &formula, right);
    match asked.worked.holds(&same) {
        Ok(true) => {}
        Ok(false) => return Ok(Marked::wrong("another value than asked")),
        Err(reason) if asked.worked.value(&formula).is_err() => {
            return Err(Unread::new(format!("formula: {reason}"), hint));
        }
        // Such as matrices of different extents.
        Err(reason) => return Ok(Marked::wrong(format!("not what is asked: {reason}"))),
    }
    // Numbers alone may agree by chance: others are drawn.
    if !same_everywhere(&same) {
        return Ok(Marked::wrong("equal on these numbers, but not on others"));
    }
    let says = if expression.law.is_some() { "equal on all numbers tried" } else { "" };
    Ok(Marked::right(says))
}

/// The first step in a formula that is what is asked, or is made from it. Steps in the question's own answer are none.
fn asked_again(
    law: &CheckedLaw,
    equals: &Expr,
    right: &Expr,
    formula: &Expr,
    is_asked: &dyn Fn(&Expr) -> bool,
) -> Option<String> {
    let mut taken: Vec<&str> = Vec::new();
    for (name, expr) in &law.lets {
        let step = Expr { kind: ExprKind::Name(name.clone()), span: 0..0 };
        let is_made = |expr: &Expr| taken.iter().any(|taken| expr.mentions(taken));
        let is_it = matches!(&equals.kind, ExprKind::Name(asked) if asked == name) || is_made(expr) || is_asked(&step);
        if is_it && !right.mentions(name) {
            taken.push(name);
        }
    }
    taken.into_iter().find(|name| formula.mentions(name)).map(str::to_owned)
}

/// Something with a property: it is put where the example stood, and the property is decided exactly.
pub(super) fn design(
    asked: &Asked<'_>,
    property: &Property,
    checked: &CheckedPart,
    given: &Node,
) -> Result<Marked, Unread> {
    let names: Vec<&str> = property.example.iter().map(String::as_str).collect();
    let hint = format!("give {} by name: {} = [[1, 0], [0, 1]]", names.join(", "), names.first().unwrap_or(&"q"));
    let unread = |says: String| Unread::new(says, &hint);
    let (Some(distance), Some(most)) = (&checked.of, &checked.beside) else {
        return Err(unread("expected a question with a property".to_owned()));
    };
    let entries = named(given, &names).map_err(unread)?;
    let mut own: IndexMap<String, Value> = IndexMap::new();
    for (name, node) in entries {
        let step = Expr { kind: ExprKind::Name(name.clone()), span: 0..0 };
        let example = asked.worked.value(&step).map_err(|error| unread(error.to_string()))?;
        let (scalar, extents) = match &example {
            Value::Matrices(m) => (false, (m.rows, m.cols)),
            _ => (true, (1, 1)),
        };
        let wanted = Wanted { rows: extents.0, cols: extents.1, in_percent: false };
        let rows = stated(&node, wanted).map_err(|error| unread(format!("`{name}`: {}", error.says)))?;
        if rows.len() != extents.0 || rows.iter().any(|row| row.len() != extents.1) {
            return Err(unread(format!("`{name}`: expected {} × {} numbers, got others", extents.0, extents.1)));
        }
        let data: Vec<Real> = rows.into_iter().flatten().map(|x| x.value).collect();
        let value = match (scalar, data.first()) {
            (true, Some(x)) => Value::Number(x.clone()),
            _ => Value::Matrices(ExactMatrices { batch: None, heads: None, rows: extents.0, cols: extents.1, data }),
        };
        own.insert(name, value);
    }
    let undecided = |reason: String| Marked::by_hand(format!("not decided, marked by a person: {reason}"));
    let worked = match work_from(&asked.question.law, asked.drawn, &nothing(), &own) {
        Ok(worked) => worked,
        Err(reason) => return Ok(undecided(reason.to_string())),
    };
    let reached = worked.value(distance).ok().and_then(|value| of_value(&value, Some(6)).ok());
    let reached = reached.and_then(|numbers| numbers.rows.first()?.first().cloned());
    // The sheet prints the bound with so many decimals: what is within what it prints has the property too.
    let printed = worked.value(most).ok().and_then(|value| of_value(&value, Some(SHEET)).ok());
    let printed = printed.and_then(|numbers| numbers.rows.first()?.first().cloned());
    let within = printed.as_deref().and_then(exactly);
    let is_within = |most: &Expr| worked.holds(&relation(BinaryOp::Le, distance, most));
    let as_printed = within.map(|within| is_within(&within));
    match if as_printed == Some(Ok(true)) { Ok(true) } else { is_within(most) } {
        Ok(true) => Ok(Marked::right("it has the property")),
        Ok(false) => {
            let most = worked.value(most).ok().and_then(|value| of_value(&value, Some(6)).ok());
            let most = most.and_then(|numbers| numbers.rows.first()?.first().cloned());
            let says = match (reached, most) {
                (Some(reached), Some(most)) => format!("it is {reached} away from what is asked, more than {most}"),
                _ => "it does not have the property".to_owned(),
            };
            Ok(Marked::wrong(says))
        }
        Err(reason) => Ok(undecided(reason.to_string())),
    }
}

/// A decimal as a fraction.
fn exactly(decimal: &str) -> Option<Expr> {
    let (whole, fraction) = decimal.split_once('.').unwrap_or((decimal, ""));
    parse(&format!("{whole}{fraction} / 1{}", "0".repeat(fraction.len()))).ok()
}

/// The parts of a design by name; a single one needs no name.
fn named(given: &Node, names: &[&str]) -> Result<Vec<(String, Node)>, String> {
    let entries: Vec<(String, Node)> = match given {
        Node::Named(entries) => entries.clone(),
        Node::Text(text) if text.contains('=') => {
            let mut entries: Vec<(String, String)> = Vec::new();
            for line in text.lines() {
                match (line.split_once('='), entries.last_mut()) {
                    (Some((name, value)), _) => entries.push((name.trim().to_owned(), value.trim().to_owned())),
                    (None, Some((_, last))) => {
                        last.push('\n');
                        last.push_str(line);
                    }
                    (None, None) => {}
                }
            }
            entries.into_iter().map(|(name, text)| (name, Node::Text(text))).collect()
        }
        other => match (names, layout(other)?) {
            ([one], Layout::One(_) | Layout::Flat(_) | Layout::Rows(_)) => vec![((*one).to_owned(), other.clone())],
            _ => return Err(format!("expected {}, each by name", names.join(", "))),
        },
    };
    if let Some((name, _)) = entries.iter().find(|(name, _)| !names.contains(&name.as_str())) {
        return Err(format!("expected {}, got `{}`", names.join(", "), name.escape_debug()));
    }
    match names.iter().find(|name| entries.iter().filter(|(other, _)| other == *name).count() != 1) {
        Some(name) => Err(format!("expected `{name}` once")),
        None => Ok(entries),
    }
}
