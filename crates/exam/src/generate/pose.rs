//! One instance of a question: drawn, worked, and kept only if nobody who makes a mistake gets the key.

use std::collections::BTreeSet;

use qkvet_prove::exact::Value as Exactly;
use qkvet_spec::syntax::{BinaryOp, Expr, ExprKind};
use qkvet_spec::{Catalog, Meaning};
use serde::{Deserialize, Serialize};

use super::draw::draw;
use super::mistake::{Mistaken, mistaken, nothing};
use super::stream::Stream;
use crate::answer::{Drawn, Judgment, Numbers, Worked, agrees, enclosed, of_value, work};
use crate::error::ExamError;
use crate::question::{AnswerSpec, CheckedPart, CheckedQuestion, Part};
use crate::verify::ball_of;

/// Draws that are thrown away before a question is given up.
const MOST_TRIES: usize = 2_000;
/// Draws after which a question without numbers may be asked again as it was.
const TRIES_FOR_NEW_WORDS: usize = 40;

/// A question with its numbers and answers.
#[derive(Clone, Debug)]
pub struct Posed<'a> {
    /// The question.
    pub question: &'a CheckedQuestion,
    /// Its numbers.
    pub drawn: Drawn,
    /// Its worked steps.
    pub worked: Worked,
    /// The parts that are asked.
    pub parts: Vec<PosedPart>,
}

/// A part that is asked.
#[derive(Clone, Debug, PartialEq)]
pub struct PosedPart {
    /// Its number in the question, from 0.
    pub at: usize,
    /// The answer.
    pub answer: Answer,
    /// What mistakes give.
    pub mistakes: Vec<Mistaken>,
}

/// An answer, as far as it depends on the instance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// Numbers; what is offered beside them, the right one among it, or nothing.
    Numbers {
        /// The right ones.
        key: Numbers,
        /// Options in the order of the sheet.
        choices: Vec<Numbers>,
    },
    /// For each row the column of its largest entry, from 1.
    Largest(Vec<usize>),
    /// Options in the order of the sheet: 0 is the right one, others count from 1.
    Choice(Vec<usize>),
    /// Statements in the order of the sheet: whether it is a true one, and its number among those.
    Statements(Vec<(bool, usize)>),
    /// Lines in the order of the sheet, by their number; strangers count on behind the last line.
    Ordering(Vec<usize>),
    /// What the question itself says.
    AsWritten,
}

/// Why an instance is not used.
enum Unfit {
    /// Other numbers may do.
    Numbers(String),
    /// No numbers will: the question is wrong.
    Question(String, String),
}

/// Variant `variant` (from 1) of a question; `name` tells its streams from those of others, `seen` holds the notes of variants that exist.
///
/// # Errors
/// No numbers that do within some thousands of draws, or a question that contradicts itself.
pub fn pose<'a>(
    question: &'a CheckedQuestion,
    parts: &[usize],
    (seed, name, variant): (u64, &[&str], usize),
    seen: &mut BTreeSet<String>,
    catalog: &Catalog,
) -> Result<Posed<'a>, ExamError> {
    let id = &question.question.question;
    let mut last = String::new();
    for tries in 0..MOST_TRIES {
        let number = tries.to_string();
        let label: Vec<&str> = name.iter().copied().chain([id.as_str(), number.as_str()]).collect();
        let drawn = match draw(question, seed, &label) {
            Ok(drawn) => drawn,
            Err(reason) => {
                last = reason;
                continue;
            }
        };
        match instance(question, parts, drawn, (seed, &label), catalog) {
            Ok(posed) => {
                let note = note(&posed);
                let is_new = seen.insert(note);
                if is_new || (!has_numbers(question) && tries >= TRIES_FOR_NEW_WORDS) {
                    return Ok(posed);
                }
                last = "the same numbers as an earlier variant".to_owned();
            }
            Err(Unfit::Numbers(reason)) => last = reason,
            Err(Unfit::Question(what, reason)) => {
                return Err(ExamError::NoValue { question: id.clone(), what, reason });
            }
        }
    }
    Err(ExamError::NoVariant { question: id.clone(), variant, tries: MOST_TRIES, last })
}

/// A question with these numbers, whatever they are good for: conditions and mistakes are not looked at.
///
/// # Errors
/// A formula without a value, or a question that contradicts itself.
pub fn pose_drawn<'a>(question: &'a CheckedQuestion, drawn: Drawn, catalog: &Catalog) -> Result<Posed<'a>, ExamError> {
    let all: Vec<usize> = (0..question.parts.len()).collect();
    let unfit = |unfit| {
        let (what, reason) = match unfit {
            Unfit::Numbers(reason) => ("example".to_owned(), reason),
            Unfit::Question(what, reason) => (what, reason),
        };
        ExamError::NoValue { question: question.question.question.clone(), what, reason }
    };
    let worked = work(&question.law, &drawn, &nothing())
        .map_err(|error| unfit(Unfit::Question("let".to_owned(), error.to_string())))?;
    let mut posed = Posed { question, drawn, worked, parts: Vec::new() };
    for at in all {
        let part = posed.part(at, (0, &["example"]), catalog, false).map_err(unfit)?;
        posed.parts.push(part);
    }
    Ok(posed)
}

/// What makes two instances the same.
fn note(posed: &Posed<'_>) -> String {
    let numbers = serde_json::to_string(&posed.drawn).unwrap_or_default();
    let words: Vec<String> = posed.parts.iter().map(|part| format!("{:?}", part.answer)).collect();
    if has_numbers(posed.question) { numbers } else { words.join(";") }
}

/// Whether instances can differ in numbers, and not only in words and their order.
fn has_numbers(question: &CheckedQuestion) -> bool {
    !question.draw.is_empty() || question.sizes.iter().any(|(_, size)| size.low < size.high)
}

fn instance<'a>(
    question: &'a CheckedQuestion,
    parts: &[usize],
    drawn: Drawn,
    stream: (u64, &[&str]),
    catalog: &Catalog,
) -> Result<Posed<'a>, Unfit> {
    let no_value = |error: qkvet_prove::exact::NoValue| Unfit::Numbers(error.to_string());
    let worked = work(&question.law, &drawn, &nothing()).map_err(no_value)?;
    for (condition, formula) in question.keep.iter().zip(&question.question.keep) {
        if !worked.holds(condition).map_err(no_value)? {
            return Err(Unfit::Numbers(format!("`{}` does not hold", formula.text)));
        }
    }
    let mut posed = Posed { question, drawn, worked, parts: Vec::new() };
    for at in parts {
        let part = posed.part(*at, stream, catalog, true)?;
        posed.parts.push(part);
    }
    Ok(posed)
}

impl Posed<'_> {
    /// The part as it is written.
    pub fn written(&self, part: &PosedPart) -> (&Part, &CheckedPart) {
        (&self.question.question.parts[part.at], &self.question.parts[part.at])
    }

    fn part(
        &self,
        at: usize,
        (seed, label): (u64, &[&str]),
        catalog: &Catalog,
        strict: bool,
    ) -> Result<PosedPart, Unfit> {
        let (part, checked) = (&self.question.question.parts[at], &self.question.parts[at]);
        let number = format!("part {}", at + 1);
        let mut stream = Stream::new(seed, &[label, &[number.as_str()]].concat());
        let wrong = |reason: String| Unfit::Question(number.clone(), reason);
        let mut mistakes = Vec::new();
        let answer = match &part.answer {
            AnswerSpec::Value(value) => {
                let key = self.numbers(checked, value.places).map_err(wrong)?;
                self.confirm(checked, &key, catalog).map_err(|judgment| match judgment {
                    Judgment::Undecided(reason) => Unfit::Numbers(reason),
                    Judgment::Wrong(reason) => wrong(format!("`of` and its check differ: {reason}")),
                    Judgment::Right => wrong("expected a judgment".to_owned()),
                })?;
                if strict {
                    if key.vanishes() && !value.tiny {
                        return Err(Unfit::Numbers(format!("{number}: a number that is not 0 rounds to 0")));
                    }
                    mistakes = self.mistakes(checked, &key, value.places, catalog).map_err(Unfit::Numbers)?;
                }
                let mut choices = Vec::new();
                if value.choices && strict {
                    let all: Vec<&Numbers> =
                        std::iter::once(&key).chain(mistakes.iter().map(|mistake| &mistake.numbers)).collect();
                    choices = stream.shuffled(all.len()).into_iter().map(|at| all[at].clone()).collect();
                }
                Answer::Numbers { key, choices }
            }
            AnswerSpec::Shape(_) => {
                let key = self.numbers(checked, None).map_err(wrong)?;
                if let Err(judgment) = self.confirm(checked, &key, catalog) {
                    return Err(wrong(format!("{judgment:?}")));
                }
                if strict {
                    mistakes = self.mistakes(checked, &key, None, catalog).map_err(Unfit::Numbers)?;
                }
                Answer::Numbers { key, choices: Vec::new() }
            }
            AnswerSpec::Largest(_) => Answer::Largest(self.largest(checked).map_err(Unfit::Numbers)?),
            AnswerSpec::Choice(choice) => Answer::Choice(stream.shuffled(choice.wrong.len() + 1)),
            AnswerSpec::Statements(statements) => {
                let (right, wrong) = (statements.right.len(), statements.wrong.len());
                let order = stream.shuffled(right + wrong);
                let mut picked: Vec<usize> = order[..statements.pick].to_vec();
                // One of each kind at least.
                for kind in [true, false] {
                    if picked.iter().all(|at| (*at < right) != kind)
                        && let Some(other) = order.iter().find(|at| (**at < right) == kind)
                    {
                        picked[0] = *other;
                    }
                }
                Answer::Statements(
                    picked.into_iter().map(|at| if at < right { (true, at) } else { (false, at - right) }).collect(),
                )
            }
            AnswerSpec::Ordering(ordering) => {
                let n = ordering.lines.len();
                let mut order = stream.shuffled(n + ordering.strangers.len());
                if order.iter().filter(|at| **at < n).is_sorted() {
                    order.rotate_left(1);
                }
                Answer::Ordering(order)
            }
            AnswerSpec::Expression(_) => {
                self.related(checked, BinaryOp::Eq, at).map_err(wrong)?;
                Answer::AsWritten
            }
            AnswerSpec::Design(_) => {
                self.related(checked, BinaryOp::Le, at).map_err(wrong)?;
                Answer::AsWritten
            }
            AnswerSpec::Proof(_) | AnswerSpec::Text(_) => Answer::AsWritten,
        };
        Ok(PosedPart { at, answer, mistakes })
    }

    fn numbers(&self, part: &CheckedPart, places: Option<usize>) -> Result<Numbers, String> {
        let of = part.of.as_ref().ok_or("expected a formula")?;
        let value = self.worked.value(of).map_err(|error| error.to_string())?;
        of_value(&value, places)
    }

    /// The engine's word on the key.
    fn confirm(&self, part: &CheckedPart, key: &Numbers, catalog: &Catalog) -> Result<(), Judgment> {
        let Some(expr) = part.beside.as_ref().or(part.of.as_ref()) else { return Ok(()) };
        let balls = enclosed(&self.question.law, expr, &self.drawn, &Meaning::standard(), catalog);
        let balls = balls.map_err(Judgment::Wrong)?;
        match agrees(key, &balls, &|text| ball_of(text, catalog)) {
            Judgment::Right => Ok(()),
            other => Err(other),
        }
    }

    /// What mistakes give; each another answer than the key and than all others.
    fn mistakes(
        &self,
        part: &CheckedPart,
        key: &Numbers,
        places: Option<usize>,
        catalog: &Catalog,
    ) -> Result<Vec<Mistaken>, String> {
        let mut all: Vec<Mistaken> = Vec::new();
        for mistake in &part.mistakes {
            let one = mistaken(mistake, (self.question, part), &self.drawn, &self.worked, places, catalog)
                .map_err(|reason| format!("mistake `{}`: {reason}", mistake.says))?;
            if one.numbers.looks_like(key) {
                return Err(format!("mistake `{}` gives the key", mistake.says));
            }
            if let Some(other) = all.iter().find(|other| other.numbers.looks_like(&one.numbers)) {
                return Err(format!("mistakes `{}` and `{}` give the same", mistake.says, other.says));
            }
            all.push(one);
        }
        Ok(all)
    }

    /// For each row the column of its largest entry, which has no equal.
    fn largest(&self, part: &CheckedPart) -> Result<Vec<usize>, String> {
        let of = part.of.as_ref().ok_or("expected a formula")?;
        let Exactly::Matrices(m) = self.worked.value(of).map_err(|error| error.to_string())? else {
            return Err("expected a matrix".to_owned());
        };
        let mut columns = Vec::new();
        for row in m.data.chunks(m.cols.max(1)) {
            let mut best = 0;
            for (at, x) in row.iter().enumerate().skip(1) {
                if x.compare(&row[best]).map_err(|error| error.to_string())?.is_gt() {
                    best = at;
                }
            }
            for (at, x) in row.iter().enumerate().filter(|(at, _)| *at != best) {
                if x.compare(&row[best]).map_err(|error| error.to_string())?.is_eq() {
                    return Err(format!("columns {} and {} of a row are equal", best + 1, at + 1));
                }
            }
            columns.push(best + 1);
        }
        Ok(columns)
    }

    /// Whether the two formulas of a part stand in a relation, exactly.
    fn related(&self, part: &CheckedPart, op: BinaryOp, at: usize) -> Result<(), String> {
        let (Some(left), Some(right)) = (&part.of, &part.beside) else {
            return Err("expected two formulas".to_owned());
        };
        let relation = Expr { kind: ExprKind::Binary(op, Box::new(left.clone()), Box::new(right.clone())), span: 0..0 };
        match self.worked.holds(&relation) {
            Ok(true) => Ok(()),
            Ok(false) => Err(format!("part {}: expected `{}` between its formulas, got none", at + 1, op.symbol())),
            Err(reason) => Err(reason.to_string()),
        }
    }
}
