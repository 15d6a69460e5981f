//! Forty variants of every question: each is clear, different, within its load, can be held by
//! every format that exams are exported to, and its key is derived again by the engine.
//!
//! `QKVET_TEST_TIER=all` takes ten thousand of each, or all that there are.

#![expect(clippy::disallowed_methods, reason = "the runner says which tier it is")]

use std::collections::{BTreeMap, BTreeSet};

use qkvet_exam::ExamError;
use qkvet_exam::export::{Credit, Target, export};
use qkvet_exam::generate::{Answer, Instance, instantiate};
use qkvet_exam::key::{FORMAT, Key, KeyedQuestion, Source};
use qkvet_exam::question::CheckedQuestion;
use qkvet_exam::verify::verify;
use qkvet_prove::exact::Value;
use qkvet_spec::syntax::parse;

use crate::{catalog, library};

/// Variants of one question.
struct Run<'a> {
    question: &'a CheckedQuestion,
    seen: BTreeSet<String>,
    /// How many were made.
    made: usize,
    /// Answers, and values of mistakes, that the engine derived again.
    derived: (usize, usize),
    /// Least and greatest load.
    loads: (usize, usize),
    /// The first few, which are exported.
    keys: Vec<Key>,
    /// Different answers to each part that has numbers.
    answers: BTreeMap<usize, BTreeSet<String>>,
    /// Whether there are no more, and whether all that exist were made.
    is_over: bool,
    is_complete: bool,
}

fn key(posed: &Instance<'_>, variant: usize) -> Key {
    let id = &posed.question.question.question;
    Key {
        format: FORMAT.to_owned(),
        generator: String::new(),
        seed: 0,
        variant,
        variants: variant,
        set: Source {
            path: "stress.yaml".to_owned(),
            text: format!("exam: stress\ntitle: Stress\nquestions:\n  - question: {id}\n"),
        },
        own: Vec::new(),
        questions: vec![KeyedQuestion::of(posed)],
    }
}

/// Rows that make a question trivial: two that are equal, or one of zeros that compares with nothing.
fn degenerate(posed: &Instance<'_>) -> Option<String> {
    for name in ["X", "Y", "Q", "K", "V"] {
        let Ok(Value::Matrices(m)) = posed.worked.value(&parse(name).expect("a name")) else {
            continue;
        };
        let digits: Vec<String> = m.data.iter().map(|x| x.digits(9)).collect();
        let rows: Vec<&[String]> = digits.chunks(m.cols).collect();
        if (1..rows.len()).any(|at| rows[..at].contains(&rows[at])) {
            return Some(format!("{name} has equal rows"));
        }
        let is_zero =
            |row: &&[String]| row.iter().all(|x| x.trim_matches(['0', '.', '-']).is_empty());
        if ["X", "Q", "K"].contains(&name) && rows.iter().any(is_zero) {
            return Some(format!("{name} has a row of zeros"));
        }
    }
    let sizes: Vec<&usize> = posed.drawn.sizes.values().collect();
    let are_distinct = (1..sizes.len()).all(|at| !sizes[..at].contains(&sizes[at]));
    let is_of_shapes = ["heads-and-shapes", "cross-attention", "layer-in-code", "which-products"]
        .contains(&posed.question.question.question.as_str());
    (is_of_shapes && !are_distinct).then(|| format!("two extents are equal: {sizes:?}"))
}

/// What is wrong with a variant before its key is derived again.
fn unfit(posed: &Instance<'_>) -> Option<String> {
    for part in &posed.parts {
        let Answer::Numbers { key, choices } = &part.answer else { continue };
        let given: BTreeSet<_> =
            part.mistakes.iter().map(|mistake| &mistake.numbers.rows).chain([&key.rows]).collect();
        let offered: BTreeSet<_> = choices.iter().map(|choice| &choice.rows).collect();
        if given.len() != part.mistakes.len() + 1 || offered.len() != choices.len() {
            return Some(format!("part {}: two answers look alike", part.part));
        }
        // Canvas takes smaller numbers for 0.
        let value = |x: &str| match x.split_once('/') {
            Some((over, under)) => Some(over.parse::<f64>().ok()? / under.parse::<f64>().ok()?),
            None => x.parse().ok(),
        };
        let small = |x: &&String| value(x).is_some_and(|x| x != 0.0 && x.abs() < 1e-4);
        if let Some(x) = key.rows.iter().flatten().find(small) {
            return Some(format!("part {}: {x} is too small to be entered", part.part));
        }
    }
    let load = posed.load();
    let band = posed.question.load.filter(|band| !(band.low..=band.high).contains(&load));
    band.map(|band| format!("a load of {load}, not of {} to {}", band.low, band.high))
}

#[test]
fn variants_are_clear_and_their_keys_are_derived_again() {
    let library = library();
    let most = match std::env::var("QKVET_TEST_TIER").as_deref() {
        Ok("all") => 10_000,
        _ => 40,
    };
    let start = |question| Run {
        question,
        seen: BTreeSet::new(),
        made: 0,
        derived: (0, 0),
        loads: (usize::MAX, 0),
        keys: Vec::new(),
        answers: BTreeMap::new(),
        is_over: false,
        is_complete: false,
    };
    let mut runs: Vec<Run<'_>> = library.iter().map(start).collect();
    let mut failures = Vec::new();
    while failures.is_empty() && runs.iter().any(|run| !run.is_over) {
        for run in runs.iter_mut().filter(|run| !run.is_over) {
            let id = &run.question.question.question;
            let parts: Vec<usize> = (0..run.question.parts.len()).collect();
            let variant = run.made + 1;
            let number = variant.to_string();
            match instantiate(
                run.question,
                &parts,
                (11, &["stress", number.as_str()], variant),
                &mut run.seen,
                catalog(),
            ) {
                Ok(posed) => {
                    run.made = variant;
                    run.loads = (run.loads.0.min(posed.load()), run.loads.1.max(posed.load()));
                    for part in &posed.parts {
                        let answer = match &part.answer {
                            Answer::Numbers { key, .. } => format!("{:?}", key.rows),
                            Answer::Largest(columns) => format!("{columns:?}"),
                            _ => continue,
                        };
                        run.answers.entry(part.part).or_default().insert(answer);
                    }
                    let key = key(&posed, variant);
                    let verified = verify(&key, &library, catalog());
                    run.derived =
                        (run.derived.0 + verified.answers, run.derived.1 + verified.mistakes);
                    failures.extend(
                        verified
                            .wrong
                            .iter()
                            .map(ToString::to_string)
                            .chain(unfit(&posed))
                            .chain(degenerate(&posed))
                            .map(|why| format!("{id}, {variant}: {why}")),
                    );
                    if run.keys.len() < 3 {
                        run.keys.push(key);
                    }
                }
                // A question with few numbers runs out of new ones, and says so.
                Err(ExamError::NoMore { variants, .. }) if variant > 30 => {
                    assert_eq!(variants, run.made, "{id}");
                    (run.is_over, run.is_complete) = (true, true);
                }
                Err(error) => failures.push(error.to_string()),
            }
            run.is_over |= run.made >= most;
        }
    }
    for run in &runs {
        let (answers, mistakes) = run.derived;
        println!(
            "{:22} {:6} variants{}, load {} to {}, derived again: {answers} answers, {mistakes} values of mistakes",
            run.question.question.question,
            run.made,
            if run.is_complete { ", all that there are" } else { "" },
            run.loads.0,
            run.loads.1,
        );
        failures.extend(run.answers.iter().filter(|(_, answers)| answers.len() < 3).map(
            |(part, answers)| {
                let id = &run.question.question.question;
                format!("{id}: part {part} has {} different answers", answers.len())
            },
        ));
        failures.extend(run.question.unused().iter().map(|name| {
            format!("{}: no answer depends on `{name}`", run.question.question.question)
        }));
        let is_numeric = !run.question.draw.is_empty()
            || run.question.sizes.iter().any(|(_, size)| size.low < size.high);
        if is_numeric && run.seen.len() != run.made {
            failures.push(format!("{}: numbers that came twice", run.question.question.question));
        }
        for (target, ..) in Target::all() {
            if let Err(error) = export(target, &run.keys, Credit::default(), catalog()) {
                failures.push(format!(
                    "{}: {}: {error}",
                    run.question.question.question,
                    target.name()
                ));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    for run in &runs {
        let (id, made) = (&run.question.question.question, run.made);
        assert!(run.is_complete || made >= most, "{id}: expected {most} variants, got {made}");
    }
}
