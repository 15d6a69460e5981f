//! One instance of a question: drawn, worked, and kept only if nobody who makes a mistake gets the
//! key.

use std::collections::BTreeSet;

use qkvet_spec::Catalog;
use sha2::{Digest, Sha256};

use super::draw::{chosen, draw};
use super::keyed::{Answer, KeyedPart};
use super::load::load;
use super::mistake::nothing;
use super::stream::Odometer;
use super::workspace::Workspace;
use crate::answer::{Drawn, Worked, work};
use crate::error::ExamError;
use crate::error::{Contradiction, NoVariant, Reject, Rejected, Which};
use crate::question::{CheckedPart, CheckedQuestion, Part, line_of};

/// Draws that are thrown away before a question is given up.
const MAX_TRIES: usize = 2_000;
/// Draws after which a question without numbers may be asked again as it was.
const TRIES_FOR_NEW_WORDS: usize = 40;
/// Ways to choose numbers that are gone through one by one, when drawing finds no new ones.
const MAX_WAYS: usize = 50_000;

/// A question with its numbers and answers.
#[derive(Clone, Debug)]
pub struct Instance<'a> {
    /// The question.
    pub question: &'a CheckedQuestion,
    /// Its numbers.
    pub drawn: Drawn,
    /// Its worked steps.
    pub worked: Worked,
    /// The parts that are asked.
    pub parts: Vec<KeyedPart>,
    /// Why numbers that were drawn before these were thrown away.
    pub thrown: Vec<Reject>,
}

/// Variant `variant` (from 1) of a question; `name` tells its streams from those of others, `seen`
/// holds the notes of variants that exist.
///
/// # Errors
/// No numbers that do within some thousands of draws, or a question that contradicts itself.
pub fn instantiate<'a>(
    question: &'a CheckedQuestion,
    parts: &[usize],
    (seed, name, variant): (u64, &[&str], usize),
    seen: &mut BTreeSet<String>,
    catalog: &Catalog,
) -> Result<Instance<'a>, ExamError> {
    let id = &question.question.question;
    let mut thrown: Vec<Reject> = Vec::new();
    // Whether all draws of which the conditions hold are thrown away for the same reason.
    let (mut reached, mut is_always) = (None, true);
    let contradiction = |(what, reason)| {
        let (question, reason) = (id.clone(), Box::new(reason));
        ExamError::NoValue { question, what, reason }
    };
    for tries in 0..MAX_TRIES {
        let number = tries.to_string();
        let label: Vec<&str> = name.iter().copied().chain([id.as_str(), number.as_str()]).collect();
        let drawn = match draw(question, seed, &label) {
            Ok(drawn) => drawn,
            Err(reason) => {
                thrown.push(reason.into());
                continue;
            }
        };
        // Numbers that were asked before need not be worked out again.
        if has_numbers(question) && seen.contains(&numbers_note(&drawn)) {
            thrown.push(Reject::Seen);
            continue;
        }
        match instance(question, parts, drawn, (seed, &label), catalog) {
            Ok(posed) => {
                let is_new = seen.insert(note(&posed));
                if is_new || (!has_numbers(question) && tries >= TRIES_FOR_NEW_WORDS) {
                    return Ok(Instance { thrown, ..posed });
                }
                thrown.push(Reject::Seen);
            }
            Err(Rejected::Numbers(reason)) => {
                // Conditions come before mistakes: what they throw away says nothing of these.
                if !matches!(reason, Reject::Condition { .. }) {
                    is_always &= reached.as_ref().is_none_or(|other| *other == reason);
                    reached = Some(reason.clone());
                }
                thrown.push(reason);
            }
            Err(Rejected::Question(what, reason)) => return Err(contradiction((what, reason))),
        }
    }
    let label: Vec<&str> = name.iter().copied().chain([id.as_str(), "each"]).collect();
    match each(question, parts, (seed, &label), seen, catalog).map_err(contradiction)? {
        Each::New(posed) => Ok(Instance { thrown, ..*posed }),
        Each::None if !seen.is_empty() => {
            Err(ExamError::NoMore { question: id.clone(), variant, variants: seen.len() })
        }
        Each::None | Each::TooMany => {
            let always = reached.filter(|_| is_always && seen.is_empty());
            let line = match &always {
                Some(reason @ Reject::Key { nearly: false, .. }) => {
                    let start = reason.span(&question.source).start;
                    Some(line_of(&question.source, start))
                }
                _ => None,
            };
            let last = always.or(thrown.pop()).unwrap_or(Reject::Seen);
            let tries = MAX_TRIES;
            let question = id.clone();
            let none = Box::new(NoVariant { question, variant, tries, last, line });
            Err(ExamError::NoVariant { none })
        }
    }
}

/// What is left when all ways to choose numbers are gone through.
enum Each<'a> {
    New(Box<Instance<'a>>),
    None,
    TooMany,
}

/// The first way to choose numbers that is new and good.
fn each<'a>(
    question: &'a CheckedQuestion,
    parts: &[usize],
    stream: (u64, &[&str]),
    seen: &mut BTreeSet<String>,
    catalog: &Catalog,
) -> Result<Each<'a>, (Which, Contradiction)> {
    // Whether they are few is known before any is worked out.
    let (mut ways, mut odometer) = (1, Odometer::default());
    loop {
        let _ = chosen(question, &mut odometer);
        if !odometer.next() {
            break;
        }
        ways += 1;
        if ways > MAX_WAYS {
            return Ok(Each::TooMany);
        }
    }
    let mut odometer = Odometer::default();
    loop {
        if let Ok(drawn) = chosen(question, &mut odometer)
            && !seen.contains(&numbers_note(&drawn))
        {
            match instance(question, parts, drawn, stream, catalog) {
                Ok(posed) => {
                    if seen.insert(note(&posed)) {
                        return Ok(Each::New(Box::new(posed)));
                    }
                }
                Err(Rejected::Numbers(_)) => {}
                Err(Rejected::Question(what, reason)) => return Err((what, reason)),
            }
        }
        if !odometer.next() {
            return Ok(Each::None);
        }
    }
}

/// A question with these numbers, whatever they are good for: conditions and mistakes are not
/// looked at.
///
/// # Errors
/// A formula without a value, or a question that contradicts itself.
pub fn pose_drawn<'a>(
    question: &'a CheckedQuestion,
    drawn: Drawn,
    catalog: &Catalog,
) -> Result<Instance<'a>, ExamError> {
    let all: Vec<usize> = (0..question.parts.len()).collect();
    let unfit = |unfit| {
        let (what, reason) = match unfit {
            Rejected::Numbers(reason) => (Which::Example, reason.into()),
            Rejected::Question(what, reason) => (what, reason),
        };
        let (question, reason) = (question.question.question.clone(), Box::new(reason));
        ExamError::NoValue { question, what, reason }
    };
    let worked = work(&question.law, &drawn, &nothing())
        .map_err(|error| unfit(Rejected::Question(Which::Steps, error.into())))?;
    let mut bench = Workspace { question, drawn, worked, catalog, strict: false };
    let parts = bench.parts(&all, (0, &["example"])).map_err(unfit)?;
    Ok(Instance { question, drawn: bench.drawn, worked: bench.worked, parts, thrown: Vec::new() })
}

/// What makes two instances the same.
fn note(posed: &Instance<'_>) -> String {
    if has_numbers(posed.question) {
        return numbers_note(&posed.drawn);
    }
    let words: Vec<String> = posed.parts.iter().map(|part| format!("{:?}", part.answer)).collect();
    digest(&words.join(";"))
}

fn numbers_note(drawn: &Drawn) -> String {
    digest(&serde_json::to_string(drawn).unwrap_or_default())
}

/// Notes of a hundred thousand variants are held at once: each is 16 bytes of the hash, in
/// hexadecimal.
fn digest(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().take(16).map(|byte| format!("{byte:02x}")).collect()
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
) -> Result<Instance<'a>, Rejected> {
    let mut worked = Worked::begun(&drawn)?;
    // What rejects cheaply comes first: conditions with the steps that they need, numbers and
    // mistakes, then the engine.
    for (condition, formula) in question.keep.iter().zip(&question.question.keep) {
        if !condition.holds(&question.law, &mut worked)? {
            return Err(Reject::Condition { condition: formula.clone() }.into());
        }
    }
    let mut bench = Workspace { question, drawn, worked, catalog, strict: true };
    let parts = bench.parts(parts, stream)?;
    bench.worked.work_for_all(&question.law)?;
    Ok(Instance { question, drawn: bench.drawn, worked: bench.worked, parts, thrown: Vec::new() })
}

impl Instance<'_> {
    /// How much work it is.
    pub fn load(&self) -> usize {
        let keys = self.parts.iter().filter_map(|part| match &part.answer {
            Answer::Numbers { key, .. } => Some(key),
            _ => None,
        });
        load(&self.drawn, keys)
    }

    /// The part as it is written.
    pub fn written(&self, part: &KeyedPart) -> (&Part, &CheckedPart) {
        (&self.question.question.parts[part.part - 1], &self.question.parts[part.part - 1])
    }
}
