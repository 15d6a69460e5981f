//! One part of one submission.

use std::ops::Range;

use indexmap::IndexMap;
use qkvet_prove::exact::{Real, Value};
use qkvet_spec::syntax::{Expr, ExprKind};

use super::choices;
use super::design;
use super::earlier_steps::{self, Own};
use super::marked::Marked;
use super::numbers::{Right, blocks, choice_of, is_even, is_whole, rows_of};
use super::result::Verdict;
use super::{Feedback, Unread};
use crate::answer::{Drawn, Worked, of_value, worked_value};
use crate::expr;
use crate::generate::{Answer, Mistaken, nothing, plain};
use crate::key::KeyedPart;
use crate::print::PRINTED_PLACES;
use crate::question::{AnswerSpec, CheckedPart, CheckedQuestion, Part, prose};
use crate::student_answer::{ParsedNumber, RequestedShape, option, read_expression, read_numbers};

/// Decimals by which exact values are called equal.
const PLACES: usize = 6;

/// A question of the sheet with its numbers.
pub(super) struct WorkedQuestion<'a> {
    pub(super) question: &'a CheckedQuestion,
    pub(super) drawn: &'a Drawn,
    pub(super) worked: Worked,
    /// Whether a comma is the decimal sign of the submission.
    pub(super) comma: bool,
}

impl WorkedQuestion<'_> {
    fn written(&self, keyed: &KeyedPart) -> Option<(&Part, &CheckedPart)> {
        let at = keyed.part.checked_sub(1)?;
        Some((self.question.question.parts.get(at)?, self.question.parts.get(at)?))
    }

    /// What a person marks, or nothing.
    fn rubric(&self, part: &Part) -> Vec<String> {
        let lines = match &part.answer {
            AnswerSpec::Proof(proof) => &proof.rubric,
            AnswerSpec::Text(text) => &text.rubric,
            AnswerSpec::Design(design) => &design.rubric,
            _ => return Vec::new(),
        };
        lines.iter().map(|line| plain(line, &self.worked)).collect()
    }

    /// Marks an answer. A number or matrix that is a step of the solution is noted in `own` for the
    /// parts behind it.
    pub(super) fn mark(
        &self,
        keyed: &KeyedPart,
        id: &str,
        given: &str,
        own: &mut Own,
    ) -> Result<Marked, Unread> {
        let Some((part, checked)) = self.written(keyed) else {
            return Err(Unread::Key);
        };
        match (&part.answer, &keyed.answer) {
            (AnswerSpec::Value(value), Answer::Numbers { choices, .. }) => {
                if choices.is_empty() {
                    return self.numbers((keyed, part, checked), value.places, id, given, own);
                }
                // A number that is typed is the value of an option, never its place.
                let at =
                    option(given, choices.len(), &[], false).or_else(|| choice_of(choices, given));
                Ok(self.picked(
                    keyed,
                    checked,
                    at.ok_or_else(|| choices::no_option(choices.len()))?,
                ))
            }
            (AnswerSpec::Shape(_), Answer::Numbers { .. }) => {
                self.numbers((keyed, part, checked), None, id, given, own)
            }
            (AnswerSpec::Largest(_), Answer::Largest(columns)) => choices::largest(columns, given),
            (AnswerSpec::Choice(choice), Answer::Choice(order)) => {
                let text = |at: &usize| match at.checked_sub(1) {
                    None => plain(&choice.right, &self.worked),
                    Some(at) => choice
                        .wrong
                        .get(at)
                        .map_or(String::new(), |wrong| plain(&wrong.says, &self.worked)),
                };
                let texts: Vec<String> = order.iter().map(text).collect();
                let at = option(given, order.len(), &texts, true)
                    .ok_or_else(|| choices::no_option(order.len()))?;
                let wrong = order.get(at).and_then(|at| choice.wrong.get(at.checked_sub(1)?));
                Ok(match wrong {
                    None => Marked::right(Feedback::Nothing),
                    Some(wrong) => {
                        let because = plain(&wrong.because, &self.worked);
                        Marked::wrong(Feedback::Wrong { because })
                    }
                })
            }
            (AnswerSpec::Statements(statements), Answer::Statements(order)) => {
                let because = |at: usize| {
                    let (right, number) = order.get(at).copied().unwrap_or((true, 0));
                    let bank = if right { &statements.right } else { &statements.wrong };
                    bank.get(number)
                        .map(|one| plain(&one.because, &self.worked))
                        .unwrap_or_default()
                };
                choices::statements(
                    &order.iter().map(|(right, _)| *right).collect::<Vec<_>>(),
                    &because,
                    given,
                )
            }
            (AnswerSpec::Ordering(ordering), Answer::Ordering(order)) => {
                let stranger = |at: usize| {
                    ordering
                        .strangers
                        .get(at)
                        .map(|one| plain(&one.because, &self.worked))
                        .unwrap_or_default()
                };
                choices::ordering(order, ordering, &stranger, given)
            }
            (AnswerSpec::Expression(expression), _) => {
                design::expression(self, expression, checked, given)
            }
            (AnswerSpec::Design(property), _) => {
                let mut marked = design::design(self, property, (keyed.part - 1, checked), given)?;
                if marked.verdict != Verdict::Right {
                    marked.rubric = self.rubric(part);
                }
                Ok(marked)
            }
            (AnswerSpec::Proof(_) | AnswerSpec::Text(_), _) => {
                Ok(Marked { rubric: self.rubric(part), ..Marked::by_hand(Feedback::ByHand) })
            }
            _ => Err(Unread::Key),
        }
    }

    /// An option that a mistake gives earns nothing, as any other that is not right, unless the
    /// mistake has credit of its own: who guesses would earn it too.
    fn picked(&self, keyed: &KeyedPart, checked: &CheckedPart, at: usize) -> Marked {
        let wrong = || Marked::wrong(Feedback::Nothing);
        let Answer::Numbers { key, choices } = &keyed.answer else { return wrong() };
        let Some(choice) = choices.get(at) else { return wrong() };
        if choice.looks_like(key) {
            return Marked::right(Feedback::Nothing);
        }
        let mistake = keyed
            .mistakes
            .iter()
            .zip(&checked.mistakes)
            .find(|(one, _)| one.numbers.looks_like(choice));
        match mistake {
            Some((one, checked)) => {
                let feedback = Feedback::Mistake { says: one.says.clone(), coarse: false };
                Marked::partial(checked.credit.unwrap_or(0.0), feedback)
            }
            None => wrong(),
        }
    }

    fn numbers(
        &self,
        (keyed, part, checked): (&KeyedPart, &Part, &CheckedPart),
        places: Option<usize>,
        id: &str,
        answer: &str,
        own: &mut Own,
    ) -> Result<Marked, Unread> {
        let of = checked.of.as_ref().ok_or(Unread::Key)?;
        let value = self.worked.value(of).map_err(|_| Unread::Key)?;
        let rows = rows_of(&value).ok_or(Unread::Key)?;
        let cols = rows.first().map_or(0, Vec::len);
        let is_shape = matches!(part.answer, AnswerSpec::Shape(_));
        // What a mistake gives may have the extents of the answer turned round, and a shape is
        // asked for itself.
        let is_of_mistake = |one: &Mistaken| {
            (one.numbers.rows.len(), one.numbers.rows.first().map_or(0, Vec::len))
                == (cols, rows.len())
        };
        let turns = !is_shape && !keyed.mistakes.iter().any(is_of_mistake);
        let mut names = Vec::new();
        let are_blocks = match &of.kind {
            ExprKind::Tuple(extents) => {
                extents.iter().try_for_each(|extent| blocks(extent, &mut names))
            }
            _ => blocks(of, &mut names),
        };
        let in_percent = matches!(&part.answer, AnswerSpec::Value(value) if value.percent);
        let asked = RequestedShape {
            rows: rows.len(),
            cols,
            in_percent,
            turns,
            is_shape,
            comma: self.comma,
            blocks: if are_blocks.is_some() && names.len() > 1 { &names } else { &[] },
        };
        let given = read_numbers(answer, &asked).map_err(Unread::Numbers)?;
        let digits = places.unwrap_or(PLACES);
        let is_level = is_even(&rows, digits);
        // Where the own step makes all rows or columns equal, or a softmax saturate, nothing is
        // left to compute.
        let is_broken = places.is_some() && !is_whole(&rows, digits);
        let is_work = |own: &Vec<Vec<Real>>| {
            (is_level || !is_even(own, digits)) && !(is_broken && is_whole(own, digits))
        };
        let steps = self.steps_of(of, cols);
        let own_names: Vec<&str> = steps.iter().map(|(name, _)| *name).collect();
        let rows_with = |values: &IndexMap<String, Value>| {
            let rows = rows_of(
                &worked_value(&self.question.law, self.drawn, &nothing(), values, of).ok()?,
            )?;
            is_work(&rows).then_some(rows)
        };
        let right = Right {
            carried: &|| own.carried(&own_names, &rows_with),
            tolerance: part.tolerance(),
            printed: &|| self.rows_from_printed(keyed.part, of),
            is_shape,
            places,
            mistakes: keyed
                .mistakes
                .iter()
                .zip(checked.mistakes.iter().map(|mistake| mistake.credit))
                .collect(),
            credit: part.credit,
            rows,
        };
        let marked = right.mark(&given);
        // `9,792` may be 9792 or 9.792: what would be right is not called wrong.
        let by_comma = RequestedShape { comma: true, ..asked };
        if marked.verdict == Verdict::Wrong
            && !self.comma
            && answer.contains(',')
            && read_numbers(answer, &by_comma).is_ok_and(|other| right.mark(&other).share > 0.0)
        {
            return Err(Unread::Comma { text: answer.trim().to_owned() });
        }
        let rows = right.rows;
        let values: Vec<Vec<Real>> =
            given.iter().map(|row| row.iter().map(|x| x.value.clone()).collect()).collect();
        let exact = marked.mistake.and_then(|at| keyed.mistakes.get(at)).and_then(exact_rows);
        let has_extents = given.len() == rows.len() && given.iter().all(|row| row.len() == cols);
        if has_extents && (is_level || !is_even(&values, digits)) {
            for (name, columns) in steps {
                let given: Vec<Vec<ParsedNumber>> =
                    given.iter().map(|row| row[columns.clone()].to_vec()).collect();
                let rows: Vec<Vec<Real>> =
                    rows.iter().map(|row| row[columns.clone()].to_vec()).collect();
                let is_number = matches!(value, Value::Number(_));
                let wanted = earlier_steps::RequestedStep { name, rows: &rows, places, is_number };
                let part = |rows: &Vec<Vec<Real>>| -> Vec<Vec<Real>> {
                    rows.iter().map(|row| row[columns.clone()].to_vec()).collect()
                };
                let exact = exact.as_ref().map(part);
                let follows = marked.verdict == Verdict::Follows;
                own.note(&wanted, id, &given, (exact.as_deref(), follows));
            }
        }
        Ok(marked)
    }

    /// The value of a formula from the numbers that the sheet rounds and prints up to a part, from
    /// 1; `None` where it prints none that the formula needs.
    fn rows_from_printed(&self, part: usize, of: &Expr) -> Option<Vec<Vec<Real>>> {
        let law = &self.question.law;
        let question = &self.question.question;
        let prompts = question.parts.iter().take(part).map(|part| &part.prompt);
        let needed = law.lets_needed_by(of);
        let mut rounds = IndexMap::new();
        for text in question.prompt.iter().chain(prompts) {
            let pieces = prose(text).ok()?.into_iter().flat_map(|paragraph| paragraph.pieces);
            for piece in pieces {
                for expr in piece.values() {
                    let ExprKind::Name(name) = &expr.kind else { continue };
                    let is_needed = law
                        .lets
                        .iter()
                        .zip(&needed)
                        .any(|((step, _), is_needed)| step == name && *is_needed);
                    let is_rounded =
                        self.worked.value(expr).is_ok_and(|value| of_value(&value, None).is_err());
                    if is_needed && is_rounded {
                        rounds.insert(name.clone(), PRINTED_PLACES);
                    }
                }
            }
        }
        if rounds.is_empty() {
            return None;
        }
        rows_of(&worked_value(law, self.drawn, &rounds, &IndexMap::new(), of).ok()?)
    }

    /// The steps that a formula is: an abbreviation alone, or several side by side, each with its
    /// columns.
    fn steps_of<'b>(&self, of: &'b Expr, cols: usize) -> Vec<(&'b str, Range<usize>)> {
        let mut names = Vec::new();
        let is_step = |name: &&str| self.question.law.lets.iter().any(|(step, _)| step == name);
        if blocks(of, &mut names).is_none() || !names.iter().all(is_step) {
            return Vec::new();
        }
        if let [name] = names.as_slice() {
            return vec![(*name, 0..cols)];
        }
        let mut start = 0;
        let mut steps = Vec::new();
        for name in names {
            let step = expr::name(name);
            let Some(width) = self
                .worked
                .value(&step)
                .ok()
                .and_then(|value| rows_of(&value)?.first().map(Vec::len))
            else {
                return Vec::new();
            };
            steps.push((name, start..start + width));
            start += width;
        }
        if start == cols { steps } else { Vec::new() }
    }
}

/// The exact numbers of a mistake.
fn exact_rows(mistake: &Mistaken) -> Option<Vec<Vec<Real>>> {
    let row = |row: &Vec<String>| row.iter().map(|x| read_expression(x).ok()).collect();
    mistake.numbers.exact.iter().map(row).collect()
}
