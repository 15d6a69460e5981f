//! Numbers on trial: the key, what mistakes give, and the engine's word, what rejects cheaply
//! first.

use std::collections::BTreeSet;

use qkvet_prove::exact::{Exact, NoValue, Real, Value as Exactly};
use qkvet_spec::syntax::{BinaryOp, Expr};
use qkvet_spec::{Catalog, Formula};

use super::keyed::{Answer, KeyedPart};
use super::load::load;
use super::mistake::{Gives, Mistaken, PLACES, gives, is_near};
use super::prose::plain;
use super::stream::Stream;
use crate::answer::{
    AnswerError, Drawn, Numbers, Printed, Worked, agrees, ball_of, enclosed_all, of_value, standard,
};
use crate::error::{Contradiction, MistakeOf, Reject, Rejected, Which};
use crate::expr::binary;
use crate::question::{AnswerSpec, CheckedPart, CheckedQuestion, MistakeEffect, Part, Size, prose};
use crate::student_answer::{half_unit, is_within, read_expression};

/// An instance while it is tried.
pub(super) struct Workspace<'a> {
    pub(super) question: &'a CheckedQuestion,
    pub(super) drawn: Drawn,
    pub(super) worked: Worked,
    pub(super) catalog: &'a Catalog,
    /// Whether mistakes and the load are looked at.
    pub(super) strict: bool,
}

/// What is found out about a part before its answer is written down.
#[derive(Default)]
struct Found {
    key: Option<Printed>,
    numbers: Option<Numbers>,
    mistakes: Vec<Option<Gives>>,
    largest: Vec<usize>,
}

impl Workspace<'_> {
    /// The answers to the parts that are asked.
    pub(super) fn parts(
        &mut self,
        parts: &[usize],
        stream: (u64, &[&str]),
    ) -> Result<Vec<KeyedPart>, Rejected> {
        let mut all: Vec<Found> = parts.iter().map(|_| Found::default()).collect();
        // Rows without a largest entry are seen before anything is worked out to the end.
        for is_largest in [true, false] {
            for (at, found) in parts.iter().zip(&mut all) {
                let answer = &self.question.question.parts[*at].answer;
                if matches!(answer, AnswerSpec::Largest(_)) == is_largest {
                    *found = self.find(*at)?;
                }
            }
        }
        if let Some(band) =
            self.question.load.filter(|_| self.strict && parts.len() == self.question.parts.len())
        {
            let load = load(&self.drawn, all.iter().filter_map(|found| found.numbers.as_ref()));
            let Size { low, high } = band;
            if !(low..=high).contains(&load) {
                return Err(Reject::Load { load, low, high }.into());
            }
        }
        // What another meaning of a call gives asks the engine, which takes longest.
        for is_fault in [false, true] {
            for (at, found) in parts.iter().zip(&mut all) {
                self.mistakes(*at, found, is_fault)?;
            }
        }
        self.confirm(parts, &all)?;
        parts.iter().zip(all).map(|(at, found)| self.part(*at, found, stream)).collect()
    }

    /// The key of a part.
    fn find(&mut self, at: usize) -> Result<Found, Rejected> {
        let question = self.question;
        let (part, checked) = (&question.question.parts[at], &question.parts[at]);
        let (places, tiny) = match &part.answer {
            AnswerSpec::Value(value) => (value.places, value.tiny),
            AnswerSpec::Shape(_) => (None, true),
            AnswerSpec::Largest(_) => {
                let largest = self.largest(at)?;
                return Ok(Found { largest, ..Found::default() });
            }
            _ => return Ok(Found::default()),
        };
        let key = self.value(checked.of.as_ref()).and_then(|value| Printed::new(value, places));
        let key = key.map_err(|reason| wrong(at, reason))?;
        if let Some(places) =
            places.filter(|places| !key.data().iter().all(|x| x.is_certain(*places)))
        {
            let printed = format!("{places} decimals");
            return Err(Reject::Undecided {
                reason: AnswerError::Wide { row: 1, column: 1, printed },
            }
            .into());
        }
        if self.strict && !tiny && key.vanishes() {
            return Err(Reject::Vanishes { part: at }.into());
        }
        let mistakes = checked.mistakes.iter().map(|_| None).collect();
        Ok(Found {
            numbers: Some(key.clone().numbers()),
            key: Some(key),
            mistakes,
            ..Found::default()
        })
    }

    /// What the mistakes in a part give: those that are another meaning of a call, or the others.
    fn mistakes(&mut self, at: usize, found: &mut Found, is_fault: bool) -> Result<(), Rejected> {
        let question = self.question;
        for (which, mistake) in question.parts[at].mistakes.iter().enumerate() {
            if self.strict
                && found.key.is_some()
                && matches!(mistake.slip, MistakeEffect::Fault(_)) == is_fault
            {
                self.mistake(at, which, found)?;
            }
        }
        Ok(())
    }

    /// What a mistake gives; another answer than the key and than all others.
    fn mistake(&mut self, at: usize, which: usize, found: &mut Found) -> Result<(), Rejected> {
        let question = self.question;
        let (part, checked) = (&question.question.parts[at], &question.parts[at]);
        let mistake = &checked.mistakes[which];
        let places = if let AnswerSpec::Value(value) = &part.answer { value.places } else { None };
        let of = || MistakeOf { part: at, mistake: which, says: mistake.says.clone() };
        let gives = gives(
            mistake,
            (question, checked),
            &self.drawn,
            &mut self.worked,
            places,
            self.catalog,
        )
        .map_err(|reason| Reject::Mistake { of: of(), reason: Box::new(reason) })?;
        if let Some(key) = &found.key {
            let nearly = key.rows() != gives.rows();
            if !nearly || places.is_some_and(|places| is_near(key.rows(), gives.rows(), places)) {
                return Err(Reject::Key { of: of(), nearly }.into());
            }
        }
        if let Some(key) = &found.key
            && admits(part, mistake.credit, key, gives.rows())
        {
            return Err(Reject::Admitted { of: of() }.into());
        }
        let alike = found
            .mistakes
            .iter()
            .position(|other| other.as_ref().is_some_and(|o| o.rows() == gives.rows()));
        if let Some(other) = alike {
            return Err(
                Reject::Same { of: of(), other: checked.mistakes[other].says.clone() }.into()
            );
        }
        found.mistakes[which] = Some(gives);
        Ok(())
    }

    /// The engine's word on the keys.
    fn confirm(&self, parts: &[usize], all: &[Found]) -> Result<(), Rejected> {
        let checked = |at: &usize| &self.question.parts[*at];
        let asked: Vec<(usize, &Numbers, &Expr)> = parts
            .iter()
            .zip(all)
            .filter_map(|(at, found)| {
                let expr = checked(at).beside.as_ref().or(checked(at).of.as_ref())?;
                Some((*at, found.numbers.as_ref()?, expr))
            })
            .collect();
        let exprs: Vec<&Expr> = asked.iter().map(|(_, _, expr)| *expr).collect();
        let balls = enclosed_all(&self.question.law, &exprs, &self.drawn, standard(), self.catalog);
        let differ = |at: usize, reason| wrong(at, Contradiction::Check { reason });
        let balls = balls.map_err(|reason| differ(0, reason.into()))?;
        for ((at, key, _), balls) in asked.into_iter().zip(balls) {
            let balls = balls.map_err(|reason| differ(at, reason))?;
            agrees(key, &balls, &|text| ball_of(text, self.catalog)).map_err(
                |reason| match reason {
                    AnswerError::Wide { .. } => Reject::Undecided { reason }.into(),
                    reason => differ(at, reason),
                },
            )?;
        }
        Ok(())
    }

    fn part(
        &mut self,
        at: usize,
        found: Found,
        (seed, label): (u64, &[&str]),
    ) -> Result<KeyedPart, Rejected> {
        let question = self.question;
        let (part, checked) = (&question.question.parts[at], &question.parts[at]);
        let number = format!("part {}", at + 1);
        let mut stream = Stream::new(seed, &[label, &[number.as_str()]].concat());
        let says = checked.mistakes.iter().map(|mistake| mistake.says.clone());
        let given = found.mistakes.into_iter();
        let mistakes: Vec<Mistaken> = says
            .zip(given)
            .filter_map(|(says, gives)| Some(Mistaken { says, numbers: gives?.numbers() }))
            .collect();
        let answer = match &part.answer {
            AnswerSpec::Value(_) | AnswerSpec::Shape(_) => {
                let key = found.numbers.ok_or_else(|| wrong(at, AnswerError::NoFormula))?;
                let mut choices = Vec::new();
                if let AnswerSpec::Value(value) = &part.answer
                    && value.choices
                    && self.strict
                {
                    let all: Vec<&Numbers> = std::iter::once(&key)
                        .chain(mistakes.iter().map(|mistake| &mistake.numbers))
                        .collect();
                    choices =
                        stream.shuffled(all.len()).into_iter().map(|at| all[at].clone()).collect();
                }
                Answer::Numbers { key, choices }
            }
            AnswerSpec::Largest(_) => Answer::Largest(found.largest),
            AnswerSpec::Choice(choice) => {
                self.differ(
                    at,
                    std::iter::once(&choice.right).chain(choice.wrong.iter().map(|one| &one.says)),
                )?;
                Answer::Choice(stream.shuffled(choice.wrong.len() + 1))
            }
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
                let text = |at: &usize| {
                    if *at < right {
                        &statements.right[*at]
                    } else {
                        &statements.wrong[*at - right]
                    }
                };
                self.differ(at, picked.iter().map(|at| &text(at).says))?;
                Answer::Statements(
                    picked
                        .into_iter()
                        .map(|at| if at < right { (true, at) } else { (false, at - right) })
                        .collect(),
                )
            }
            AnswerSpec::Ordering(ordering) => {
                self.differ(
                    at,
                    ordering.lines.iter().chain(ordering.strangers.iter().map(|one| &one.says)),
                )?;
                let n = ordering.lines.len();
                let mut order = stream.shuffled(n + ordering.strangers.len());
                if order.iter().filter(|at| **at < n).is_sorted() {
                    order.rotate_left(1);
                }
                // Lines that may be exchanged can be right as they stand.
                let is_right = |order: &[usize]| {
                    let known: Vec<usize> = order.iter().copied().filter(|at| *at < n).collect();
                    (1..n).all(|at| {
                        !known[..at].iter().any(|other| ordering.is_before(known[at], *other))
                    })
                };
                let rotations = order.len();
                for _ in 0..rotations {
                    if !is_right(&order) {
                        break;
                    }
                    order.rotate_left(1);
                }
                Answer::Ordering(order)
            }
            AnswerSpec::Expression(_) => {
                self.related(checked, BinaryOp::Eq).map_err(|reason| wrong(at, reason))?;
                Answer::AsWritten
            }
            AnswerSpec::Design(_) => {
                self.related(checked, BinaryOp::Le).map_err(|reason| wrong(at, reason))?;
                Answer::AsWritten
            }
            AnswerSpec::Proof(_) | AnswerSpec::Text(_) => Answer::AsWritten,
        };
        Ok(KeyedPart { part: at + 1, points: part.points, answer, mistakes })
    }

    /// Whether texts that stand side by side differ with the numbers in them.
    fn differ<'f>(
        &mut self,
        part: usize,
        texts: impl Iterator<Item = &'f Formula>,
    ) -> Result<(), Rejected> {
        let texts: Vec<&Formula> = texts.collect();
        if !self.strict || !texts.iter().any(|text| text.text.contains("$=")) {
            return Ok(());
        }
        let mut seen = BTreeSet::new();
        for text in texts {
            let pieces =
                prose(text).unwrap_or_default().into_iter().flat_map(|paragraph| paragraph.pieces);
            for piece in pieces {
                for expr in piece.values() {
                    self.worked.work_for(&self.question.law, expr)?;
                }
            }
            let words = plain(text, &self.worked);
            if !seen.insert(words.clone()) {
                return Err(Reject::Alike { part, words }.into());
            }
        }
        Ok(())
    }

    /// The value of a formula of the question, with the steps that it needs.
    fn value(&mut self, of: Option<&Expr>) -> Result<Exactly, AnswerError> {
        let of = of.ok_or(AnswerError::NoFormula)?;
        self.worked.work_for(&self.question.law, of)?;
        Ok(self.worked.value(of)?)
    }

    /// For each row the column of its largest entry, which has no equal.
    fn largest(&mut self, part: usize) -> Result<Vec<usize>, Reject> {
        let undecided = |reason| Reject::Undecided { reason };
        let question = self.question;
        let Exactly::Matrices(m) =
            self.value(question.parts[part].of.as_ref()).map_err(undecided)?
        else {
            return Err(undecided(AnswerError::NoMatrix));
        };
        let compare = |x: &Real, y: &Real| x.compare(y).map_err(NoValue::from);
        let mut columns = Vec::new();
        for row in m.data.chunks(m.cols.max(1)) {
            let mut best = 0;
            for (at, x) in row.iter().enumerate().skip(1) {
                if compare(x, &row[best])?.is_gt() {
                    best = at;
                }
            }
            for (at, x) in row.iter().enumerate().filter(|(at, _)| *at != best) {
                if compare(x, &row[best])?.is_eq() {
                    return Err(Reject::Equal { part, first: best + 1, second: at + 1 });
                }
            }
            columns.push(best + 1);
        }
        Ok(columns)
    }

    /// Whether the two formulas of a part stand in a relation, exactly.
    fn related(&mut self, part: &CheckedPart, op: BinaryOp) -> Result<(), Contradiction> {
        let (Some(left), Some(right)) = (&part.of, &part.beside) else {
            return Err(AnswerError::NoFormula.into());
        };
        let relation = binary(op, left.clone(), right.clone());
        self.worked.work_for(&self.question.law, &relation)?;
        if self.worked.holds(&relation)? {
            return Ok(());
        }
        let shown = |side: &Expr| {
            let value = self.worked.value(side).ok();
            let numbers = value.and_then(|value| of_value(&value, Some(PLACES)).ok());
            let first = numbers.and_then(|numbers| numbers.rows.concat().into_iter().next());
            first.unwrap_or_else(|| "another".to_owned())
        };
        Err(match op {
            BinaryOp::Le => Contradiction::Example { most: shown(right), distance: shown(left) },
            _ => Contradiction::Expression,
        })
    }
}

/// Whether the tolerance of a part gives what a mistake leads to, or a number that is taken for it,
/// more than the mistake earns.
fn admits(part: &Part, own: Option<f64>, key: &Printed, gives: &[Vec<String>]) -> bool {
    let (tolerance, places) = (part.tolerance(), part.places());
    if tolerance.0.is_empty() || key.rows().len() != gives.len() {
        return false;
    }
    let share = own.unwrap_or(part.credit.mistake);
    // Decimals of the mistake are half a unit from it at most, and numbers half a unit from these
    // are taken for it.
    let unit = places.map_or(Exact::from(0), |places| {
        let half = half_unit(places);
        &half + &half
    });
    let is_near = |(right, gives): (&Real, &String)| {
        let widest = tolerance.widest(share, right, places);
        let (Some(widest), Ok(gives)) = (widest, read_expression(gives)) else { return false };
        is_within(&gives, right, &(&widest + &unit))
    };
    key.data().len() == gives.iter().map(Vec::len).sum::<usize>()
        && key.data().iter().zip(gives.iter().flatten()).all(is_near)
}

fn wrong(part: usize, reason: impl Into<Contradiction>) -> Rejected {
    Rejected::Question(Which::Part(part), reason.into())
}
