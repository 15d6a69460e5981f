//! As many variants of every question as fit in some seconds: each is clear, and its key is derived again by the engine.
//!
//! `QKVET_TEST_TIER=all` takes up to ten thousand of each.

#![expect(clippy::disallowed_methods, reason = "the clock says when to stop, the runner which tier it is")]

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use qkvet_exam::ExamError;
use qkvet_exam::generate::{Answer, Posed, pose};
use qkvet_exam::key::{FORMAT, Key, KeyedQuestion, Source};
use qkvet_exam::question::{CheckedQuestion, Library};
use qkvet_exam::verify::verify;
use qkvet_spec::Catalog;

/// Variants of one question.
struct Run<'a> {
    question: &'a CheckedQuestion,
    seen: BTreeSet<String>,
    /// How many were made, and in what time, without their verification.
    made: usize,
    took: Duration,
    /// Whether there are no more.
    is_over: bool,
}

fn key(posed: &Posed<'_>, variant: usize) -> Key {
    Key {
        format: FORMAT.to_owned(),
        generator: String::new(),
        seed: 0,
        variant,
        variants: variant,
        set: Source { path: String::new(), text: String::new() },
        own: Vec::new(),
        questions: vec![KeyedQuestion::of(posed)],
    }
}

/// Two answers that look alike, of the key and of what mistakes give.
fn alike(posed: &Posed<'_>) -> Option<String> {
    for part in &posed.parts {
        let Answer::Numbers { key, choices } = &part.answer else { continue };
        let given: BTreeSet<_> = part.mistakes.iter().map(|mistake| &mistake.numbers.rows).chain([&key.rows]).collect();
        let offered: BTreeSet<_> = choices.iter().map(|choice| &choice.rows).collect();
        if given.len() != part.mistakes.len() + 1 || offered.len() != choices.len() {
            return Some(format!("part {}: two answers look alike", part.at + 1));
        }
    }
    None
}

#[test]
fn variants_are_clear_and_their_keys_are_derived_again() {
    let catalog = Catalog::embedded().unwrap_or_else(|error| panic!("{error}"));
    let library = Library::embedded(&catalog).unwrap_or_else(|error| panic!("{error}"));
    let (budget, most) = match std::env::var("QKVET_TEST_TIER").as_deref() {
        Ok("all") => (Duration::from_secs(3600), 10_000),
        _ => (Duration::from_secs(20), 2_000),
    };
    let start = |question| Run { question, seen: BTreeSet::new(), made: 0, took: Duration::ZERO, is_over: false };
    let mut runs: Vec<Run<'_>> = library.iter().map(start).collect();
    let mut failures = Vec::new();
    let began = Instant::now();
    // Each question gets its turn, so that a slow one takes nothing from the others.
    while began.elapsed() < budget && failures.is_empty() && runs.iter().any(|run| !run.is_over) {
        for run in runs.iter_mut().filter(|run| !run.is_over) {
            let id = &run.question.question.question;
            let parts: Vec<usize> = (0..run.question.parts.len()).collect();
            let variant = run.made + 1;
            let number = variant.to_string();
            let at = Instant::now();
            match pose(run.question, &parts, (11, &["stress", number.as_str()], variant), &mut run.seen, &catalog) {
                Ok(posed) => {
                    run.took += at.elapsed();
                    run.made = variant;
                    let verified = verify(&key(&posed, variant), &library, &catalog);
                    failures.extend(
                        verified.wrong.into_iter().chain(alike(&posed)).map(|why| format!("{id}, {variant}: {why}")),
                    );
                }
                // A question with few numbers runs out of new ones.
                Err(ExamError::NoVariant { last, .. }) if variant > 30 && last.contains("earlier variant") => {
                    run.is_over = true;
                }
                Err(error) => failures.push(error.to_string()),
            }
            run.is_over |= run.made >= most;
        }
    }
    for run in &runs {
        let rate = f64::from(u32::try_from(run.made).unwrap_or(u32::MAX)) / run.took.as_secs_f64();
        println!("{:22} {:6} variants, {rate:8.0} in a second", run.question.question.question, run.made);
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(runs.iter().all(|run| run.made >= 3), "a question had no turn");
}
