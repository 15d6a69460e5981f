//! Many variants of every question: all have one clear answer, and each is what its seed says.

use crate::own_question;

use std::collections::BTreeSet;

use qkvet_exam::ExamError;
use qkvet_exam::answer::Parameter;
use qkvet_exam::generate::{Answer, Instance, instantiate};
use qkvet_exam::question::{AnswerSpec, Library};

use own_question::variants;

use crate::{catalog, library};

const VARIANTS: usize = 200;

/// Nobody who makes a modelled mistake gets the key, and no two options are the same.
fn unclear(posed: &Instance<'_>) -> Option<String> {
    for part in &posed.parts {
        let Answer::Numbers { key, choices } = &part.answer else { continue };
        let mut all: Vec<_> = part.mistakes.iter().map(|mistake| &mistake.numbers.rows).collect();
        all.push(&key.rows);
        for (at, one) in all.iter().enumerate() {
            if all[..at].contains(one) {
                return Some(format!("part {}: {one:?} twice", part.part));
            }
        }
        if choices.iter().filter(|choice| choice.rows == key.rows).count()
            != usize::from(!choices.is_empty())
        {
            return Some(format!("part {}: the key is not one of the options", part.part));
        }
        let tiny = matches!(&posed.written(part).0.answer, AnswerSpec::Value(value) if value.tiny);
        if !tiny && key.vanishes() {
            return Some(format!("part {}: a number rounds to 0", part.part));
        }
    }
    None
}

#[test]
fn two_hundred_variants_of_every_question_are_clear_and_different() {
    let library = library();
    let mut failures = Vec::new();
    for question in library.iter() {
        let id = &question.question.question;
        let parts: Vec<usize> = (0..question.parts.len()).collect();
        let (mut seen, mut drawn) = (BTreeSet::new(), Vec::new());
        for variant in 1..=VARIANTS {
            let number = variant.to_string();
            match instantiate(
                question,
                &parts,
                (7, &[number.as_str()], variant),
                &mut seen,
                catalog(),
            ) {
                Ok(posed) => {
                    failures.extend(
                        unclear(&posed).map(|reason| format!("{id}, variant {variant}: {reason}")),
                    );
                    drawn.push(posed.drawn);
                }
                // A question with few numbers may run out of new ones, but not before thirty.
                Err(ExamError::NoMore { .. }) if variant > 30 => break,
                Err(error) => {
                    failures.push(error.to_string());
                    break;
                }
            }
        }
        let varies = !question.draw.is_empty()
            || question.sizes.iter().any(|(_, size)| size.low < size.high);
        if varies && (1..drawn.len()).any(|at| drawn[..at].contains(&drawn[at])) {
            failures.push(format!("{id}: the same numbers twice"));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn mistakes_are_many() {
    let library = library();
    let says: BTreeSet<&str> = library
        .iter()
        .flat_map(|question| &question.parts)
        .flat_map(|part| &part.mistakes)
        .map(|mistake| mistake.says.as_str())
        .collect();
    assert!(says.len() >= 20, "{} mistakes", says.len());
    let of_students = catalog().faults.iter().filter(|(_, fault)| fault.student).count();
    assert!(of_students >= 20, "{of_students} faults that students make");
}

fn own(draw: &str, more: &str) -> Library {
    let text = format!(
        "question: own\ntitle: Own\ngoal: add\ndifficulty: 1\ndraw: {draw}\n{more}parts:\n  - prompt: Add.\n    points: 1\n    answer: {{value: {{of: x + y}}}}\n    mistakes:\n      - {{gives: x - y, says: subtracted}}\n"
    );
    let mut library = Library::default();
    library.add("own.yaml", &text, catalog()).unwrap_or_else(|error| panic!("{error}"));
    library
}

#[test]
fn a_small_domain_is_used_up_to_the_last_and_said_to_be() {
    // x + y and x - y differ iff y is not 0: 5 * 4 ways.
    let library = own("{x: integer(0..4), y: integer(0..4)}", "");
    let (all, error) = variants(&library, 21);
    assert_eq!(all.len(), 20);
    let error = error.unwrap_or_else(|| panic!("a variant too many")).to_string();
    assert!(
        error.contains("variant 21 of question `own`")
            && error.contains("(different variants: 20)"),
        "{error}"
    );
    assert!(variants(&library, 20).1.is_none());
    // Where nothing is good there is nothing to count.
    let library = own("{x: integer(0..4), y: integer(0..0)}", "");
    let (_, error) = variants(&library, 1);
    assert!(error.is_some_and(|error| error.to_string().contains("gives the key")));
}

#[test]
fn the_load_stays_in_its_band() {
    let draw = "{x: integer(0..64), y: integer(0..64)}";
    let loads = |library: &Library, n| -> BTreeSet<usize> {
        variants(library, n).0.iter().map(Instance::load).collect()
    };
    // One term of the key; two numbers of one or two digits, or a 0 without any.
    assert_eq!(loads(&own(draw, ""), 400), BTreeSet::from([2, 3, 4, 5]));
    assert_eq!(loads(&own(draw, "load: 4..5\n"), 400), BTreeSet::from([4, 5]));
    assert_eq!(loads(&own(draw, "load: 3\n"), 40), BTreeSet::from([3]));
    let (_, error) = variants(&own(draw, "load: 6..9\n"), 1);
    assert!(error.is_some_and(|error| error.to_string().contains("a load of ")));
}

#[test]
fn numeric_questions_have_a_band_that_is_not_wide() {
    let library = library();
    for question in library.iter() {
        let id = &question.question.question;
        let has_numbers =
            question.parts.iter().any(|part| part.of.is_some()) && !question.draw.is_empty();
        match question.load {
            Some(band) => assert!(band.high <= 2 * band.low, "{id}: {} to {}", band.low, band.high),
            None => assert!(!has_numbers, "{id}: no band"),
        }
    }
}

#[test]
fn a_softmax_that_saturates_has_one_weight_near_1() {
    let library = library();
    let question = library.get("softmax-saturation").unwrap_or_else(|| panic!("no question"));
    let mut seen = BTreeSet::new();
    for variant in 1..=VARIANTS {
        let number = variant.to_string();
        let posed = match instantiate(
            question,
            &[2],
            (7, &[number.as_str()], variant),
            &mut seen,
            catalog(),
        ) {
            Ok(posed) => posed,
            Err(ExamError::NoMore { .. }) if variant > 60 => break,
            Err(error) => panic!("{error}"),
        };
        let (Parameter::Matrix(z), Parameter::Number(c)) =
            (&posed.drawn.parameters["z"], &posed.drawn.parameters["c"])
        else {
            panic!("{:?}", posed.drawn)
        };
        let largest = z[0].iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = z[0].iter().map(|x| libm::exp(c * (x - largest))).sum();
        assert!(1.0 / sum >= 0.9, "{z:?} times {c}: largest weight {}", 1.0 / sum);
    }
}
