//! Keys that the engine's enclosures are too wide for: rejected where they are made and called
//! wrong where they are verified.

use crate::own_question;

use qkvet_exam::answer::Parameter;
use qkvet_exam::build::{Request, keys};
use qkvet_exam::generate::{Answer, Instance};
use qkvet_exam::key::{Key, Source};
use qkvet_exam::question::Library;
use qkvet_exam::verify::verify;

use own_question::variants;

use crate::catalog;

/// A question whose key is a power of e with three decimals: of e^30 binary64 holds no more than
/// two.
fn text(low: usize, high: usize) -> String {
    format!(
        "question: own\ntitle: Own\ngoal: raise\ndifficulty: 1\ndraw: {{k: integer({low}..{high})}}\nparts:\n  - prompt: Raise.\n    points: 1\n    answer: {{value: {{of: exp(k), places: 3}}}}\n"
    )
}

fn library(low: usize, high: usize) -> Library {
    let mut library = Library::default();
    library.add("own.yaml", &text(low, high), catalog()).unwrap_or_else(|error| panic!("{error}"));
    library
}

#[test]
fn a_key_that_cannot_be_confirmed_is_no_variant() {
    let library = library(20, 60);
    let (all, error) = variants(&library, 41);
    let drawn = |posed: &Instance<'_>| match posed.drawn.parameters.get("k") {
        Some(Parameter::Number(k)) => *k,
        other => panic!("{other:?}"),
    };
    assert!(
        !all.is_empty() && all.iter().all(|posed| drawn(posed) <= 31.0),
        "{:?}",
        all.iter().map(drawn).max_by(f64::total_cmp)
    );
    // The others are not there, and that is said.
    let error = error.unwrap_or_else(|| panic!("41 variants")).to_string();
    assert!(error.contains(&format!("(different variants: {})", all.len())), "{error}");
}

#[test]
fn where_none_can_be_confirmed_there_is_no_exam() {
    let library = library(40, 60);
    let (all, error) = variants(&library, 1);
    let error = error.unwrap_or_else(|| panic!("{} variants", all.len())).to_string();
    assert!(error.contains("narrow enough for ") && error.contains("hint:"), "{error}");
}

#[test]
fn a_key_that_cannot_be_confirmed_is_not_true() {
    let set = Source {
        path: "set.yaml".to_owned(),
        text: "exam: x\ntitle: X\nquestions:\n  - question: own\n".to_owned(),
    };
    let own = vec![Source { path: "own.yaml".to_owned(), text: text(2, 20) }];
    let request = Request { set, own, variants: 1, seed: 3 };
    let mut made = keys(&request, 1, catalog()).unwrap_or_else(|error| panic!("{error}"));
    let mut key: Key = made.pop().unwrap_or_else(|| panic!("no key"));
    let wrong = |key: &Key| {
        let (_, library) = key.sources(catalog()).unwrap_or_else(|error| panic!("{error}"));
        let all = verify(key, &library, catalog()).wrong;
        all.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    };
    assert_eq!(wrong(&key), "");
    // Every digit is right, and still nothing confirms it.
    let question = &mut key.questions[0];
    question.drawn.parameters.insert("k".to_owned(), Parameter::Number(40.0));
    let Answer::Numbers { key: numbers, .. } = &mut question.parts[0].answer else {
        panic!("no numbers")
    };
    numbers.rows = vec![vec!["235385266837019985.408".to_owned()]];
    numbers.exact = vec![vec!["exp(40)".to_owned()]];
    assert!(wrong(&key).contains("narrow enough for 235385266837019985.408"), "{}", wrong(&key));
}
