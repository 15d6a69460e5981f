//! Formulas, and things with a property.

use indexmap::IndexMap;
use qkvet_prove::exact::{ExactMatrices, NoValue, Real, Value};
use qkvet_spec::CheckedLaw;
use qkvet_spec::syntax::{BinaryOp, Expr, ExprKind};

use super::marked::Marked;
use super::part::WorkedQuestion;
use super::property::{Decided, decide, literal};
use super::{Extents, Feedback, NoDesign, TurnedVector, Undecided, Unread};
use crate::answer::work;
use crate::expr::{self, binary};
use crate::generate::{draw, nothing};
use crate::question::{CheckedPart, Expression, Piece, Property, prose};
use crate::student_answer::{
    Entry, Notation, ReadError, RequestedShape, entries, fitted, known, read_formula,
};

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
    given: &str,
) -> Result<Marked, Unread> {
    let law = &asked.question.law;
    let steps = law.lets.iter().map(|(name, _)| name.as_str());
    let names: Vec<&str> =
        asked.question.question.draw.keys().map(String::as_str).chain(steps).collect();
    let sizes = asked.question.sizes.iter().map(|(name, _)| name.as_str());
    let names: Vec<&str> = names.into_iter().chain(sizes).collect();
    let formula = read_formula(given, &names).map_err(Unread::Formula)?;
    let (Some(equals), Some(right)) = (&checked.of, &checked.beside) else {
        return Err(Unread::Key);
    };
    let is_matrix = |expr: &Expr| matches!(asked.worked.value(expr), Ok(Value::Matrices(_)));
    let fitted = fitted(&formula, &is_matrix);
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
                reason => Err(Unread::NoValue(reason)),
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
/// exactly. Each thing is numbers, or a formula in what the sheet shows.
pub(super) fn design(
    asked: &WorkedQuestion<'_>,
    property: &Property,
    (part, checked): (usize, &CheckedPart),
    given: &str,
) -> Result<Marked, Unread> {
    let names: Vec<&str> = property.example.iter().map(String::as_str).collect();
    let extents: Vec<_> = names.iter().map(|name| asked.worked.extents_of(name)).collect();
    let unread = |reason| Unread::Design {
        reason,
        asked: names.iter().map(|name| (*name).to_owned()).zip(extents.iter().copied()).collect(),
    };
    let (Some(distance), Some(most)) = (&checked.of, &checked.beside) else {
        return Err(Unread::Key);
    };
    let is_number = matches!(extents.as_slice(), [None]);
    let notation = Notation { comma: asked.comma, grouped: is_number };
    let entries = entries(given, notation).map_err(|reason| unread(reason.into()))?;
    let shown = Shown::of(asked, part, &names);
    let mut own: IndexMap<String, Value> = IndexMap::new();
    let mut turned = Vec::new();
    for (name, entry) in named(entries, &names).map_err(unread)? {
        let extents = names.iter().position(|known| *known == name).and_then(|at| extents[at]);
        let (value, is_turned) = shown.value(asked, &entry, extents).map_err(|reason| {
            Unread::Named { name: name.clone(), reason: Box::new(Unread::Numbers(reason)) }
        })?;
        let (rows, cols) = extents.unwrap_or((1, 1));
        if let Value::Matrices(m) = &value
            && (m.rows, m.cols) != (rows, cols)
        {
            let got = Extents { rows: m.rows, cols: Some(m.cols) };
            return Err(unread(NoDesign::Extents { name, rows, cols, got }));
        }
        if is_turned {
            let taken_as = if cols > 1 { "row" } else { "column" };
            turned.push(TurnedVector { name: name.clone(), taken_as });
        }
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

/// The things of a design by name; a single one may have any name, or none.
fn named(entries: Vec<Entry>, names: &[&str]) -> Result<Vec<(String, Entry)>, NoDesign> {
    if let ([name], 1) = (names, entries.len()) {
        return Ok(entries.into_iter().map(|entry| ((*name).to_owned(), entry)).collect());
    }
    let owned = || names.iter().map(|name| (*name).to_owned()).collect();
    let mut all: Vec<(String, Entry)> = Vec::new();
    for entry in entries {
        let Some(label) = &entry.name else { return Err(NoDesign::NoNames { names: owned() }) };
        // `WQ` is `W_Q` here too.
        let own = label.name();
        let Some(name) = known(&own, names) else {
            return Err(NoDesign::Unknown { names: owned(), got: own.escape_debug().to_string() });
        };
        all.push((name.to_owned(), entry));
    }
    match names.iter().find(|name| all.iter().filter(|(other, _)| other == *name).count() != 1) {
        Some(name) => Err(NoDesign::Once { name: (*name).to_owned() }),
        None => Ok(all),
    }
}

/// What the sheet shows before a part, by name, and the rows of its matrices.
struct Shown(IndexMap<String, Expr>);

impl Shown {
    fn of(asked: &WorkedQuestion<'_>, part: usize, hidden: &[&str]) -> Self {
        let question = &asked.question.question;
        let parts = question.parts.iter().take(part + 1).map(|part| &part.prompt);
        let mut shown = IndexMap::new();
        let mut show = |name: &str| {
            let Ok(value) = asked.worked.value(&expr::name(name)) else { return };
            if hidden.contains(&name) {
                return;
            }
            // `k_2` is row 2 of `K`.
            if let Value::Matrices(m) = &value
                && name.starts_with(char::is_uppercase)
                && m.rows > 1
            {
                for (at, row) in m.data.chunks(m.cols.max(1)).enumerate() {
                    let row = ExactMatrices { rows: 1, data: row.to_vec(), ..*m };
                    let literal = literal(&Value::Matrices(row));
                    shown.extend(
                        literal.map(|row| (format!("{}_{}", name.to_lowercase(), at + 1), row)),
                    );
                }
            }
            shown.insert(name.to_owned(), expr::name(name));
        };
        for text in question.prompt.iter().chain(parts) {
            let pieces = prose(text).unwrap_or_default().into_iter().flat_map(|one| one.pieces);
            for piece in pieces {
                match piece {
                    Piece::Formula(formula) | Piece::Figure(_, formula) => {
                        formula.each_name(&mut show)
                    }
                    Piece::Equations(all) => all.iter().for_each(|one| one.each_name(&mut show)),
                    Piece::Text(_) | Piece::Code(_) | Piece::Value(_) => {}
                }
            }
        }
        Self(shown)
    }

    /// The value of what was given, and whether it is a row for a column or a column for a row.
    fn value(
        &self,
        asked: &WorkedQuestion<'_>,
        entry: &Entry,
        extents: Option<(usize, usize)>,
    ) -> Result<(Value, bool), ReadError> {
        let (rows, cols) = extents.unwrap_or((1, 1));
        let one = |data: Vec<Real>| ExactMatrices { batch: None, heads: None, rows, cols, data };
        let is_vector = rows.min(cols) == 1 && rows != cols;
        let shape = RequestedShape { rows, cols, comma: asked.comma, ..RequestedShape::default() };
        let reason = match entry.numbers(&shape) {
            Ok(read) => {
                let is_turned =
                    is_vector && read.len() == cols && read.iter().all(|row| row.len() == rows);
                let (own_rows, own_cols) = (read.len(), read.first().map_or(0, Vec::len));
                let data: Vec<Real> = read.into_iter().flatten().map(|x| x.value).collect();
                return Ok(match (extents, data.first()) {
                    (None, Some(x)) => (Value::Number(x.clone()), false),
                    _ if is_turned => (Value::Matrices(one(data)), true),
                    _ => (
                        Value::Matrices(ExactMatrices {
                            rows: own_rows,
                            cols: own_cols,
                            ..one(data)
                        }),
                        false,
                    ),
                });
            }
            Err(reason) => reason,
        };
        let names: Vec<&str> = self.0.keys().map(String::as_str).chain(["I"]).collect();
        let Ok(mut formula) = entry.formula(&names) else { return Err(reason) };
        self.fill(&mut formula, rows.max(cols));
        let is_matrix = |expr: &Expr| matches!(asked.worked.value(expr), Ok(Value::Matrices(_)));
        outer(
            &mut formula,
            &|expr| matches!(asked.worked.value(expr), Ok(Value::Matrices(m)) if m.rows == 1),
        );
        let value =
            asked.worked.value(&fitted(&formula, &is_matrix)).map_err(|_| reason.clone())?;
        match (value, extents) {
            (Value::Number(x), None) => Ok((Value::Number(x), false)),
            (Value::Matrices(m), Some(_)) if is_vector && (m.cols, m.rows) == (rows, cols) => {
                Ok((Value::Matrices(one(m.data)), true))
            }
            (Value::Matrices(m), Some(_)) => Ok((Value::Matrices(m), false)),
            _ => Err(reason),
        }
    }

    /// Puts rows and identities in the place of their names.
    fn fill(&self, formula: &mut Expr, n: usize) {
        formula.parts_mut().into_iter().for_each(|part| self.fill(part, n));
        let ExprKind::Name(name) = &formula.kind else { return };
        match self.0.get(name) {
            Some(shown) => *formula = shown.clone(),
            #[expect(clippy::cast_precision_loss, reason = "extents are small")]
            None if name == "I" => {
                *formula = expr::apply("eye", vec![expr::expr(ExprKind::Number(n as f64))]);
            }
            None => {}
        }
    }
}

/// Outer products as products with a transpose.
fn outer(formula: &mut Expr, is_row: &dyn Fn(&Expr) -> bool) {
    formula.parts_mut().into_iter().for_each(|part| outer(part, is_row));
    let ExprKind::Apply { function, args, .. } = &formula.kind else { return };
    if let ("outer", [left, right]) = (function.as_str(), args.as_slice()) {
        let turned = |x: &Expr| expr::expr(ExprKind::Transpose(Box::new(x.clone())));
        let left = if is_row(left) { turned(left) } else { left.clone() };
        let right = if is_row(right) { right.clone() } else { turned(right) };
        *formula = binary(BinaryOp::MatMul, left, right);
    }
}
