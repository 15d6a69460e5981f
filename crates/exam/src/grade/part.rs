//! One part of one submission.

use indexmap::IndexMap;
use qkvet_prove::exact::{ExactMatrices, Real, Value};

use super::design;
use super::numbers::{Right, Wanted, beside, is_even, is_whole, rows_of, stated, step_of};
use super::picked;
use super::result::Verdict;
use crate::answer::{Drawn, Worked, worked_value};
use crate::generate::{Answer, Mistaken, nothing, plain};
use crate::given::{Node, Stated};
use crate::key::KeyedPart;
use crate::question::{AnswerSpec, CheckedPart, CheckedQuestion, Part};

/// Decimals by which exact values are called equal.
const PLACES: usize = 6;

/// Whether a part asks for percent.
fn is_in_percent(part: &Part) -> bool {
    ["percent", "per cent", "%"].iter().any(|word| part.prompt.text.contains(word))
}

/// How an answer was marked.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Marked {
    pub(super) verdict: Verdict,
    /// Share of the points.
    pub(super) share: f64,
    pub(super) says: String,
    pub(super) mistake: Option<String>,
    pub(super) rubric: Vec<String>,
}

/// Why an answer cannot be read, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unread {
    pub(super) says: String,
    pub(super) hint: String,
}

impl Unread {
    pub(super) fn new(says: impl Into<String>, hint: &str) -> Self {
        Self { says: says.into(), hint: hint.to_owned() }
    }
}

impl Marked {
    fn of(verdict: Verdict, share: f64, says: impl Into<String>) -> Self {
        Self { verdict, share, says: says.into(), mistake: None, rubric: Vec::new() }
    }

    pub(super) fn right(says: impl Into<String>) -> Self {
        Self::of(Verdict::Right, 1.0, says)
    }

    pub(super) fn wrong(says: impl Into<String>) -> Self {
        Self::of(Verdict::Wrong, 0.0, says)
    }

    pub(super) fn partial(share: f64, says: impl Into<String>) -> Self {
        if share > 0.0 { Self::of(Verdict::Partial, share, says) } else { Self::wrong(says) }
    }

    pub(super) fn follows(share: f64, says: impl Into<String>) -> Self {
        Self::of(Verdict::Follows, share, says)
    }

    pub(super) fn by_hand(says: impl Into<String>) -> Self {
        Self::of(Verdict::ByHand, 0.0, says)
    }
}

/// A question of the sheet with its numbers.
pub(super) struct Asked<'a> {
    pub(super) question: &'a CheckedQuestion,
    pub(super) drawn: &'a Drawn,
    pub(super) worked: Worked,
}

/// Steps that a student's own answers gave: name, values, and the part.
pub(super) type Own = Vec<(String, Value, String)>;

impl Asked<'_> {
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

    /// Marks an answer. A number or matrix that is a step of the solution is noted in `own` for the parts behind it.
    pub(super) fn mark(&self, keyed: &KeyedPart, id: &str, given: &Node, own: &mut Own) -> Result<Marked, Unread> {
        let Some((part, checked)) = self.written(keyed) else {
            return Err(Unread::new("expected a part of the question", "build the exam again"));
        };
        match (&part.answer, &keyed.answer) {
            (AnswerSpec::Value(value), Answer::Numbers { choices, .. }) => {
                if !choices.is_empty()
                    && let Some(at) = picked::letter(given, choices.len())
                {
                    return Ok(self.picked(keyed, part, checked, at));
                }
                let marked = self.numbers((keyed, part, checked), value.places, id, given, own);
                if choices.is_empty() { marked } else { marked.map_err(|_| picked::no_option(choices.len())) }
            }
            (AnswerSpec::Shape(_), Answer::Numbers { key, .. }) => {
                let n = key.rows.iter().map(Vec::len).sum();
                self.numbers((keyed, part, checked), None, id, &picked::extents(given, n), own)
            }
            (AnswerSpec::Largest(_), Answer::Largest(columns)) => picked::largest(columns, given),
            (AnswerSpec::Choice(choice), Answer::Choice(order)) => {
                let at = picked::letter(given, order.len()).ok_or_else(|| picked::no_option(order.len()))?;
                let wrong = order.get(at).and_then(|at| choice.wrong.get(at.checked_sub(1)?));
                Ok(match wrong {
                    None => Marked::right(""),
                    Some(wrong) => Marked::wrong(plain(&wrong.because, &self.worked)),
                })
            }
            (AnswerSpec::Statements(statements), Answer::Statements(order)) => {
                let because = |at: usize| {
                    let (right, number) = order.get(at).copied().unwrap_or((true, 0));
                    let bank = if right { &statements.right } else { &statements.wrong };
                    bank.get(number).map(|one| plain(&one.because, &self.worked)).unwrap_or_default()
                };
                picked::statements(&order.iter().map(|(right, _)| *right).collect::<Vec<_>>(), &because, given)
            }
            (AnswerSpec::Ordering(ordering), Answer::Ordering(order)) => {
                let stranger = |at: usize| {
                    ordering.strangers.get(at).map(|one| plain(&one.because, &self.worked)).unwrap_or_default()
                };
                picked::ordering(order, ordering, &stranger, given)
            }
            (AnswerSpec::Expression(expression), _) => design::expression(self, expression, checked, given),
            (AnswerSpec::Design(property), _) => {
                let mut marked = design::design(self, property, checked, given)?;
                if marked.verdict != Verdict::Right {
                    marked.rubric = self.rubric(part);
                }
                Ok(marked)
            }
            (AnswerSpec::Proof(_) | AnswerSpec::Text(_), _) => {
                Ok(Marked { rubric: self.rubric(part), ..Marked::by_hand("marked by a person") })
            }
            _ => Err(Unread::new("expected a key of the question's own kind", "build the exam again")),
        }
    }

    fn picked(&self, keyed: &KeyedPart, part: &Part, checked: &CheckedPart, at: usize) -> Marked {
        let Answer::Numbers { key, choices } = &keyed.answer else { return Marked::wrong("") };
        let Some(choice) = choices.get(at) else { return Marked::wrong("") };
        if choice.looks_like(key) {
            return Marked::right("");
        }
        let mistake = keyed.mistakes.iter().zip(&checked.mistakes).find(|(one, _)| one.numbers.looks_like(choice));
        match mistake {
            Some((one, checked)) => Marked {
                mistake: Some(one.says.clone()),
                ..Marked::partial(checked.credit.unwrap_or(part.credit.mistake), one.says.clone())
            },
            None => Marked::wrong(""),
        }
    }

    fn numbers(
        &self,
        (keyed, part, checked): (&KeyedPart, &Part, &CheckedPart),
        places: Option<usize>,
        id: &str,
        given: &Node,
        own: &mut Own,
    ) -> Result<Marked, Unread> {
        let no_value = || Unread::new("expected a question whose answer has a value", "build the exam again");
        let of = checked.of.as_ref().ok_or_else(no_value)?;
        let value = self.worked.value(of).map_err(|_| no_value())?;
        let rows = rows_of(&value).ok_or_else(no_value)?;
        let cols = rows.first().map_or(0, Vec::len);
        let is_shape = matches!(part.answer, AnswerSpec::Shape(_));
        // What a mistake gives may have the extents of the answer turned round, and a shape is asked for itself.
        let is_of_mistake = |one: &Mistaken| {
            (one.numbers.rows.len(), one.numbers.rows.first().map_or(0, Vec::len)) == (cols, rows.len())
        };
        let turns = !is_shape && !keyed.mistakes.iter().any(is_of_mistake);
        let joined = beside(given, of);
        let wanted = Wanted { rows: rows.len(), cols, in_percent: is_in_percent(part), turns };
        let given = stated(joined.as_ref().unwrap_or(given), wanted)?;
        let step = step_of(&self.question.law, of);
        let digits = places.unwrap_or(PLACES);
        let is_level = is_even(&rows, digits);
        // Where the own step makes all rows or columns equal, or a softmax saturate, nothing is left to compute.
        let is_broken = places.is_some() && !is_whole(&rows, digits);
        let is_work =
            |own: &Vec<Vec<Real>>| (is_level || !is_even(own, digits)) && !(is_broken && is_whole(own, digits));
        let follows = self.follows(of, step, own).filter(|(rows, _)| is_work(rows));
        let right = Right {
            follows,
            is_shape,
            places,
            mistakes: keyed.mistakes.iter().zip(checked.mistakes.iter().map(|mistake| mistake.credit)).collect(),
            credit: part.credit,
            rows,
        };
        let marked = right.mark(&given);
        // A step of which less than half is right, and that is no known mistake, is not carried on, nor one that leaves nothing to
        // compute.
        let values: Vec<Vec<Real>> = given.iter().map(|row| row.iter().map(|x| x.value.clone()).collect()).collect();
        let is_step = marked.mistake.is_some()
            || marked.verdict == Verdict::Follows
            || marked.share > 0.0 && right.is_half_right(&given);
        if let Some(step) = step
            && is_step
            && (is_level || !is_even(&values, digits))
            && !right.is_about(&given)
            && let Some(value) = own_value(&given, &right.rows, matches!(value, Value::Number(_)))
        {
            own.push((step.to_owned(), value, id.to_owned()));
        }
        Ok(marked)
    }

    /// The value of a part with the student's own wrong steps before it.
    fn follows(
        &self,
        of: &qkvet_spec::syntax::Expr,
        step: Option<&str>,
        own: &Own,
    ) -> Option<(Vec<Vec<Real>>, String)> {
        if own.is_empty() || own.iter().any(|(name, ..)| Some(name.as_str()) == step) {
            return None;
        }
        let values: IndexMap<String, Value> =
            own.iter().map(|(name, value, _)| (name.clone(), value.clone())).collect();
        let rows = rows_of(&worked_value(&self.question.law, self.drawn, &nothing(), &values, of).ok()?)?;
        let from: Vec<&str> = own.iter().map(|(_, _, id)| id.as_str()).collect();
        Some((rows, from.join(" and ")))
    }
}

/// A student's number or matrix as a step, if it has the extents of the right one.
fn own_value(given: &[Vec<Stated>], right: &[Vec<Real>], is_number: bool) -> Option<Value> {
    let same = given.len() == right.len() && given.iter().zip(right).all(|(x, y)| x.len() == y.len());
    let cols = right.first().map(Vec::len)?;
    let data: Vec<Real> = given.iter().flatten().map(|x| x.value.clone()).collect();
    if is_number {
        return data.into_iter().next().filter(|_| same).map(Value::Number);
    }
    same.then(|| Value::Matrices(ExactMatrices { batch: None, heads: None, rows: right.len(), cols, data }))
}
