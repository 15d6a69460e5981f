//! Keys derived again by another route: every number by the engine's enclosures, every picked word
//! by the question itself.

use indexmap::IndexMap;
use qkvet_engine::ball::Ball;
use qkvet_spec::syntax::Expr;
use qkvet_spec::{Catalog, CheckedLaw};

use crate::answer::{
    AnswerError, Balls, Drawn, Numbers, Printed, agrees, ball_of, enclosed, enclosed_all, read,
    rounded, standard, worked_value,
};
use crate::build::{self, Request, build_each};
use crate::error::{ExamError, KeyError};
use crate::expr::matrix;
use crate::generate::{Answer, Mistaken, PLACES, fits, load, nothing};
use crate::key::{Key, KeyedPart, KeyedQuestion};
use crate::print::Format;
use crate::question::{
    AnswerSpec, CheckedMistake, CheckedPart, CheckedQuestion, Library, MistakeEffect,
};

pub use crate::error::{Place, Untrue, Within, Wrong, WrongFile};

/// What a verification found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verified {
    /// Answers that were derived again.
    pub answers: usize,
    /// Values of mistakes that were derived again.
    pub mistakes: usize,
    /// What is wrong, each with its question and part.
    pub wrong: Vec<Wrong>,
}

/// Derives every answer of a key again.
pub fn verify(key: &Key, library: &Library, catalog: &Catalog) -> Verified {
    let mut verified = Verified::default();
    for (number, keyed) in key.questions.iter().enumerate() {
        let name = Place::question(number, &keyed.question);
        let Some(question) = library.get(&keyed.question) else {
            verified.wrong.push(name.is(Untrue::Question));
            continue;
        };
        if let Err(reason) = fits(question, &keyed.drawn) {
            verified.wrong.push(name.is(reason));
            continue;
        }
        let keys = keyed.parts.iter().filter_map(|part| match &part.answer {
            Answer::Numbers { key, .. } => Some(key),
            _ => None,
        });
        let expected = load(&keyed.drawn, keys);
        if keyed.load != expected {
            verified.wrong.push(name.is(Untrue::Load { expected, got: keyed.load }));
        }
        let known = enclosures(question, &keyed.drawn, catalog);
        for part in &keyed.parts {
            let place = Place { part: Some(part.part), ..name.clone() };
            let written = part
                .part
                .checked_sub(1)
                .and_then(|at| Some((question.question.parts.get(at)?, question.parts.get(at)?)));
            let Some((written, checked)) = written else {
                verified.wrong.push(place.is(Untrue::Part));
                continue;
            };
            let again =
                Again { question, part: checked, drawn: &keyed.drawn, known: &known, catalog };
            let (expected, got) = (written.points, part.points);
            if got != expected {
                verified.wrong.push(place.is(Untrue::Points { expected, got }));
            }
            match again.answer(&written.answer, &part.answer) {
                Ok(()) => verified.answers += 1,
                Err(reason) => verified.wrong.push(place.is(reason)),
            }
            if let Some(at) = stray_choice(part) {
                verified.wrong.push(place.within(Within::Option(at), Untrue::Option));
            }
            again.mistakes(part, &written.answer, &place, &mut verified);
        }
    }
    verified
}

/// The first option, from 1, that is neither the key nor what one of the mistakes gives, which are
/// derived again themselves.
fn stray_choice(part: &KeyedPart) -> Option<usize> {
    let Answer::Numbers { key, choices } = &part.answer else { return None };
    let is_known = |choice: &Numbers| {
        choice == key || part.mistakes.iter().any(|mistake| *choice == mistake.numbers)
    };
    choices.iter().position(|choice| !is_known(choice)).map(|at| at + 1)
}

/// The first of the keys of one exam that is another than its seed gives, and in what. What cannot
/// be derived from a key's numbers, as the order of options and which questions there are, is known
/// by this alone.
///
/// # Errors
/// A set or a question that no longer fits.
pub fn not_of_seed(keys: &[&Key], catalog: &Catalog) -> Result<Option<(usize, Wrong)>, ExamError> {
    let Some(one) = keys.first() else { return Ok(None) };
    let last = keys.iter().map(|key| key.variant).max().unwrap_or(0);
    let again = build::keys(&request(one), last, catalog)
        .map_err(|error| KeyError::copy(one.variant, error))?;
    for key in keys {
        let Some(right) = key.variant.checked_sub(1).and_then(|at| again.get(at)) else {
            return Ok(Some((key.variant, Wrong::Number { variants: again.len() })));
        };
        let same = Key { generator: key.generator.clone(), ..right.clone() };
        if same == **key {
            continue;
        }
        let differs = |(at, (one, other)): (usize, (&KeyedQuestion, &KeyedQuestion))| {
            (one != other).then(|| Place::question(at, &other.question).is(Untrue::Seed))
        };
        let first = right.questions.iter().zip(&key.questions).enumerate().find_map(differs);
        let (expected, got) = (right.questions.len(), key.questions.len());
        return Ok(Some((key.variant, first.unwrap_or(Wrong::Questions { expected, got }))));
    }
    Ok(None)
}

fn request(key: &Key) -> Request {
    Request { set: key.set.clone(), own: key.own.clone(), variants: key.variants, seed: key.seed }
}

/// Files of an exam that are not what the seed of its key gives; `read` has their bytes by path.
pub fn differing(
    key: &Key,
    read: &dyn Fn(&str) -> Option<Vec<u8>>,
    catalog: &Catalog,
) -> Vec<WrongFile> {
    let mut wrong = Vec::new();
    let built = build_each::<ExamError>(&request(key), catalog, &mut |files| {
        wrong.extend(files.iter().filter_map(|file| {
            let got = read(&file.path);
            (got.as_deref() != Some(file.text.as_bytes()))
                .then(|| WrongFile::Bytes { path: file.path.clone(), is_missing: got.is_none() })
        }));
        Ok(())
    });
    wrong.extend(built.err().map(WrongFile::Build));
    wrong
}

/// Files that lie in the folder of an exam though its key makes none of that name: all in
/// `student/`, for that is handed out, and in `key/` keys and whatever is named like those of a
/// variant. PDFs beside a sheet or a key belong to it.
pub fn surplus<'a>(
    key: &Key,
    exam: &str,
    present: impl Iterator<Item = &'a str>,
) -> Vec<WrongFile> {
    let width = key.variants.to_string().len();
    let is_made = |path: &str| {
        let (folder, name) = path.split_once('/').unwrap_or(("", path));
        let rest = name.strip_prefix(exam).and_then(|rest| rest.strip_prefix('-'));
        let Some((number, extension)) = rest.and_then(|rest| rest.split_once('.')) else {
            return false;
        };
        let is_number = number.len() >= width
            && number
                .parse::<usize>()
                .is_ok_and(|n| (1..=key.variants).contains(&n) && format!("{n:0width$}") == number);
        let is_kind = extension == "pdf"
            || extension == (if folder == "key" { "json" } else { "answers.yaml" })
            || Format::ALL.iter().any(|format| format.extension() == extension);
        is_number && is_kind
    };
    let mut wrong = Vec::new();
    for path in present.filter(|path| !is_made(path)) {
        if path.starts_with("student/") {
            wrong.push(WrongFile::NoSheet { path: path.to_owned() });
        } else if path.ends_with(".json") || is_of_variant(path, exam) {
            let (path, variants) = (path.to_owned(), key.variants);
            wrong.push(WrongFile::NoKey { path, variants });
        }
    }
    wrong
}

/// Whether a file is named like the key of a variant, `key/SET-9.md`.
fn is_of_variant(path: &str, exam: &str) -> bool {
    let name =
        path.strip_prefix("key/").and_then(|name| name.strip_prefix(exam)?.strip_prefix('-'));
    let Some((number, extension)) = name.and_then(|name| name.split_once('.')) else {
        return false;
    };
    let is_kind =
        extension == "pdf" || Format::ALL.iter().any(|format| format.extension() == extension);
    is_kind && !number.is_empty() && number.chars().all(|c| c.is_ascii_digit())
}

/// Formulas of a question and what the engine makes of them.
type Known<'a> = Vec<(&'a Expr, Result<Balls, AnswerError>)>;

/// Every formula of a question whose steps are the question's own, enclosed with each step worked
/// out once.
fn enclosures<'a>(question: &'a CheckedQuestion, drawn: &Drawn, catalog: &Catalog) -> Known<'a> {
    let of_mistake = |mistake: &'a CheckedMistake| match &mistake.slip {
        MistakeEffect::Answer(gives) => Some(gives),
        MistakeEffect::Fault(_) | MistakeEffect::Steps { .. } => None,
    };
    let of_part = |part: &'a CheckedPart| {
        part.of.iter().chain(&part.beside).chain(part.mistakes.iter().filter_map(of_mistake))
    };
    let exprs: Vec<&Expr> = question.parts.iter().flat_map(of_part).collect();
    let all = enclosed_all(&question.law, &exprs, drawn, standard(), catalog);
    let all =
        all.unwrap_or_else(|reason| exprs.iter().map(|_| Err(reason.clone().into())).collect());
    exprs.into_iter().zip(all).collect()
}

/// One part, to be derived again.
struct Again<'a> {
    question: &'a CheckedQuestion,
    part: &'a CheckedPart,
    drawn: &'a Drawn,
    known: &'a Known<'a>,
    catalog: &'a Catalog,
}

impl Again<'_> {
    fn balls(&self, law: &CheckedLaw, expr: &Expr) -> Result<Balls, AnswerError> {
        let known = self.known.iter().find(|(known, _)| std::ptr::eq(*known, expr));
        if let Some((_, balls)) = known.filter(|_| std::ptr::eq(law, &self.question.law)) {
            return balls.clone();
        }
        enclosed(law, expr, self.drawn, standard(), self.catalog)
    }

    fn numbers(&self, key: &Numbers) -> Result<(), AnswerError> {
        for expr in [&self.part.of, &self.part.beside].into_iter().flatten() {
            let balls = self.balls(&self.question.law, expr)?;
            agrees(key, &balls, &|text| ball_of(text, self.catalog))?;
        }
        Ok(())
    }

    fn answer(&self, written: &AnswerSpec, answer: &Answer) -> Result<(), Untrue> {
        match (written, answer) {
            (AnswerSpec::Value(value), Answer::Numbers { key, choices }) => {
                if key.places != value.places {
                    return Err(Untrue::Places { expected: value.places, got: key.places });
                }
                let alike = choices.iter().filter(|choice| choice.looks_like(key)).count();
                if value.choices && alike != 1 {
                    return Err(Untrue::Options { got: alike });
                }
                Ok(self.numbers(key)?)
            }
            (AnswerSpec::Shape(_), Answer::Numbers { key, .. }) => Ok(self.numbers(key)?),
            (AnswerSpec::Largest(_), Answer::Largest(columns)) => self.largest(columns),
            (AnswerSpec::Choice(choice), Answer::Choice(order)) => {
                permutation(order, choice.wrong.len() + 1)
            }
            (AnswerSpec::Statements(statements), Answer::Statements(picked)) => {
                let known = |(right, at): &(bool, usize)| {
                    *at < if *right { statements.right.len() } else { statements.wrong.len() }
                };
                let twice = (1..picked.len()).any(|at| picked[..at].contains(&picked[at]));
                if picked.len() == statements.pick && picked.iter().all(known) && !twice {
                    Ok(())
                } else {
                    Err(Untrue::Statements { pick: statements.pick })
                }
            }
            (AnswerSpec::Ordering(ordering), Answer::Ordering(order)) => {
                permutation(order, ordering.lines.len() + ordering.strangers.len())
            }
            (AnswerSpec::Expression(_), Answer::AsWritten) => {
                self.related(|apart| apart.low() <= 0.0 && apart.high() < 1e-6)
            }
            (AnswerSpec::Design(_), Answer::AsWritten) => self.design(),
            (AnswerSpec::Proof(_) | AnswerSpec::Text(_), Answer::AsWritten) => Ok(()),
            _ => Err(Untrue::Kind),
        }
    }

    fn both(&self) -> Result<[Vec<Vec<Ball>>; 2], AnswerError> {
        let (Some(left), Some(right)) = (&self.part.of, &self.part.beside) else {
            return Err(AnswerError::NoFormula);
        };
        Ok([self.balls(&self.question.law, left)?.1, self.balls(&self.question.law, right)?.1])
    }

    fn related(&self, fits: impl Fn(Ball) -> bool) -> Result<(), Untrue> {
        let [left, right] = self.both()?;
        let same =
            left.len() == right.len() && left.iter().zip(&right).all(|(x, y)| x.len() == y.len());
        let all =
            left.iter().flatten().zip(right.iter().flatten()).all(|(x, y)| fits((*x - *y).abs()));
        if same && all { Ok(()) } else { Err(Untrue::Sides) }
    }

    fn design(&self) -> Result<(), Untrue> {
        let [distance, most] = self.both()?;
        match (
            distance.first().and_then(|row| row.first()),
            most.first().and_then(|row| row.first()),
        ) {
            (Some(distance), Some(most)) if distance.high() <= most.low() => Ok(()),
            _ => Err(Untrue::Example),
        }
    }

    fn largest(&self, columns: &[usize]) -> Result<(), Untrue> {
        let of = self.part.of.as_ref().ok_or(AnswerError::NoFormula)?;
        let (_, rows) = self.balls(&self.question.law, of)?;
        if rows.len() != columns.len() {
            return Err(Untrue::Columns { expected: rows.len(), got: columns.len() });
        }
        for (at, (row, column)) in rows.iter().zip(columns).enumerate() {
            let best = column.checked_sub(1).and_then(|at| row.get(at));
            let is_best = best.is_some_and(|best| {
                row.iter().enumerate().all(|(at, x)| at + 1 == *column || x.high() < best.low())
            });
            if !is_best {
                return Err(Untrue::Largest { row: at + 1, got: *column });
            }
        }
        Ok(())
    }

    /// What mistakes give, by the engine: patched calls, other formulas, steps that are rounded on
    /// the way.
    fn mistakes(
        &self,
        part: &KeyedPart,
        written: &AnswerSpec,
        place: &Place,
        verified: &mut Verified,
    ) {
        if part.mistakes.is_empty() && !matches!(part.answer, Answer::Numbers { .. }) {
            return;
        }
        if part.mistakes.len() != self.part.mistakes.len() {
            let expected = self.part.mistakes.len();
            verified.wrong.push(place.is(Untrue::Mistakes { expected }));
            return;
        }
        let places = if let AnswerSpec::Value(value) = written { value.places } else { None };
        for (keyed, checked) in part.mistakes.iter().zip(&self.part.mistakes) {
            let is_known = keyed.says == checked.says;
            let result =
                if is_known { self.mistake(keyed, checked, places) } else { Err(Untrue::Words) };
            match result {
                Ok(()) => verified.mistakes += 1,
                Err(reason) => {
                    let within = Within::Mistake(keyed.says.clone());
                    verified.wrong.push(place.within(within, reason));
                }
            }
        }
    }

    fn mistake(
        &self,
        keyed: &Mistaken,
        checked: &CheckedMistake,
        places: Option<usize>,
    ) -> Result<(), Untrue> {
        let numbers = &keyed.numbers;
        // A mistake may make a rational answer irrational, and is then told in decimals.
        if numbers.places != places && (places.is_some() || numbers.places != Some(PLACES)) {
            return Err(Untrue::Places { expected: places, got: numbers.places });
        }
        let of = || self.part.of.as_ref().ok_or(AnswerError::NoFormula);
        let balls = match &checked.slip {
            MistakeEffect::Fault(meaning) => {
                let check = self.part.beside.as_ref().ok_or(AnswerError::NoFormula)?;
                let balls = enclosed(&self.question.law, check, self.drawn, meaning, self.catalog)?;
                // Decimals stand for the exact value of what a fault gives.
                let again = rounded(&balls, numbers.places.unwrap_or(PLACES))?;
                return if again == *numbers { Ok(()) } else { Err(Untrue::Numbers) };
            }
            // Decimals without exact values are the engine's, so that exact arithmetic is the other
            // route.
            MistakeEffect::Steps { law, rounds, .. }
                if numbers.exact == numbers.rows && numbers.places.is_some() =>
            {
                return self.decimals(numbers, law, rounds, of()?);
            }
            MistakeEffect::Answer(gives)
                if numbers.exact == numbers.rows && numbers.places.is_some() =>
            {
                return self.decimals(numbers, &self.question.law, &nothing(), gives);
            }
            MistakeEffect::Steps { law, rounds, .. } if rounds.is_empty() => {
                self.balls(law, of()?)?
            }
            MistakeEffect::Steps { law, rounds, .. } => {
                self.balls(&self.with_rounded(law, rounds)?, of()?)?
            }
            MistakeEffect::Answer(gives) => self.balls(&self.question.law, gives)?,
        };
        Ok(agrees(numbers, &balls, &|text| ball_of(text, self.catalog))?)
    }

    /// Whether these are the decimals of a formula under the steps of a law, by exact arithmetic.
    fn decimals(
        &self,
        numbers: &Numbers,
        law: &CheckedLaw,
        rounds: &IndexMap<String, usize>,
        of: &Expr,
    ) -> Result<(), Untrue> {
        let value = worked_value(law, self.drawn, rounds, &IndexMap::new(), of)
            .map_err(AnswerError::from)?;
        let again = Printed::new(value, numbers.places)?;
        if again.rows() == numbers.rows { Ok(()) } else { Err(Untrue::Numbers) }
    }

    /// The law with the decimals of some steps in their place.
    fn with_rounded(
        &self,
        law: &CheckedLaw,
        rounds: &IndexMap<String, usize>,
    ) -> Result<CheckedLaw, AnswerError> {
        let mut law = law.clone();
        for at in 0..law.lets.len() {
            let (name, expr) = law.lets[at].clone();
            if let Some(places) = rounds.get(&name) {
                let before = CheckedLaw { lets: law.lets[..at].to_vec(), ..law.clone() };
                let decimals = rounded(&self.balls(&before, &expr)?, *places)?;
                law.lets[at].1 =
                    read(&literal(&decimals, *places)).map_err(|_| AnswerError::NoFormula)?;
            }
        }
        Ok(law)
    }
}

/// Decimals as a formula of exact fractions.
fn literal(numbers: &Numbers, places: usize) -> String {
    let one = |cell: &String| {
        let (sign, digits) =
            cell.strip_prefix('-').map_or(("", cell.as_str()), |digits| ("-", digits));
        let digits = digits.replace('.', "");
        let digits = digits.trim_start_matches('0');
        format!(
            "({sign}{} / 1{})",
            if digits.is_empty() { "0" } else { digits },
            "0".repeat(places)
        )
    };
    match numbers.rows.first().and_then(|row| row.first()) {
        Some(first) if numbers.scalar => one(first),
        _ => matrix(&numbers.rows, &one),
    }
}

fn permutation(order: &[usize], n: usize) -> Result<(), Untrue> {
    let mut sorted = order.to_vec();
    sorted.sort_unstable();
    if sorted.iter().copied().eq(0..n) {
        Ok(())
    } else {
        Err(Untrue::Order { n, got: order.to_vec() })
    }
}
