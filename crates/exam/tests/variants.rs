//! Many variants of every question: all have one clear answer, and each is what its seed says.

use std::collections::BTreeSet;

use qkvet_exam::ExamError;
use qkvet_exam::generate::{Answer, Posed, pose};
use qkvet_exam::question::{AnswerSpec, Library};
use qkvet_spec::Catalog;

const VARIANTS: usize = 200;

/// Nobody who makes a modelled mistake gets the key, and no two options are the same.
fn unclear(posed: &Posed<'_>) -> Option<String> {
    for part in &posed.parts {
        let Answer::Numbers { key, choices } = &part.answer else { continue };
        let mut all: Vec<_> = part.mistakes.iter().map(|mistake| &mistake.numbers.rows).collect();
        all.push(&key.rows);
        for (at, one) in all.iter().enumerate() {
            if all[..at].contains(one) {
                return Some(format!("part {}: {one:?} twice", part.at + 1));
            }
        }
        if choices.iter().filter(|choice| choice.rows == key.rows).count() != usize::from(!choices.is_empty()) {
            return Some(format!("part {}: the key is not one of the options", part.at + 1));
        }
        let tiny = matches!(&posed.written(part).0.answer, AnswerSpec::Value(value) if value.tiny);
        if !tiny && key.vanishes() {
            return Some(format!("part {}: a number rounds to 0", part.at + 1));
        }
    }
    None
}

#[test]
fn two_hundred_variants_of_every_question_are_clear_and_different() {
    let catalog = Catalog::embedded().unwrap_or_else(|error| panic!("{error}"));
    let library = Library::embedded(&catalog).unwrap_or_else(|error| panic!("{error}"));
    let mut failures = Vec::new();
    for question in library.iter() {
        let id = &question.question.question;
        let parts: Vec<usize> = (0..question.parts.len()).collect();
        let (mut seen, mut drawn) = (BTreeSet::new(), Vec::new());
        for variant in 1..=VARIANTS {
            let number = variant.to_string();
            match pose(question, &parts, (7, &[number.as_str()], variant), &mut seen, &catalog) {
                Ok(posed) => {
                    failures.extend(unclear(&posed).map(|reason| format!("{id}, variant {variant}: {reason}")));
                    drawn.push(posed.drawn);
                }
                // A question with few numbers may run out of new ones, but not before thirty.
                Err(ExamError::NoVariant { last, .. }) if variant > 30 && last.contains("earlier variant") => break,
                Err(error) => {
                    failures.push(error.to_string());
                    break;
                }
            }
        }
        let varies = !question.draw.is_empty() || question.sizes.iter().any(|(_, size)| size.low < size.high);
        if varies && (1..drawn.len()).any(|at| drawn[..at].contains(&drawn[at])) {
            failures.push(format!("{id}: the same numbers twice"));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn mistakes_are_many() {
    let catalog = Catalog::embedded().unwrap_or_else(|error| panic!("{error}"));
    let library = Library::embedded(&catalog).unwrap_or_else(|error| panic!("{error}"));
    let says: BTreeSet<&str> = library
        .iter()
        .flat_map(|question| &question.parts)
        .flat_map(|part| &part.mistakes)
        .map(|mistake| mistake.says.as_str())
        .collect();
    assert!(says.len() >= 20, "{} mistakes", says.len());
}
