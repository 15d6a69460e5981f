//! Fractions in the files of others, which compare texts.

use qkvet_exam::build::{Request, keys};
use qkvet_exam::export::{Credit, Target, export};
use qkvet_exam::key::Source;

use crate::catalog;

const QUESTION: &str = "question: own\ntitle: Own\ngoal: divide\ndifficulty: 1\ndraw: {x: one_of(4)}\nparts:\n\
    \x20 - prompt: Divide.\n    points: 1\n    answer: {value: {of: x / 15}}\n    mistakes:\n\
    \x20     - {gives: x / 16, says: divided by 16}\n      - {gives: x / 30, says: halved}\n\
    \x20 - prompt: Divide both.\n    points: 1\n    answer: {value: {of: \"hcat(-x * ones(1, 1) / 15, ones(1, 1) / 2)\"}}\n";

fn moodle() -> String {
    let set = Source {
        path: "set.yaml".to_owned(),
        text: "exam: x\ntitle: X\nquestions:\n  - question: own\n".to_owned(),
    };
    let own = vec![Source { path: "own.yaml".to_owned(), text: QUESTION.to_owned() }];
    let keys = keys(&Request { set, own, variants: 1, seed: 3 }, 1, catalog())
        .unwrap_or_else(|error| panic!("{error}"));
    let mut files = export(Target::Moodle, &keys, Credit::default(), catalog())
        .unwrap_or_else(|error| panic!("{error}"));
    String::from_utf8(files.pop().unwrap_or_else(|| panic!("no file")).bytes)
        .unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn moodle_takes_fractions_that_are_not_in_lowest_terms() {
    let quiz = moodle();
    let (single, matrix) = quiz.split_once("\"cloze\"").unwrap_or_else(|| panic!("{quiz}"));
    assert!(single.contains("type=\"shortanswer\""), "{single}");
    let answers: Vec<(&str, &str)> = single
        .split("<answer fraction=\"")
        .skip(1)
        .filter_map(|rest| {
            let (fraction, rest) = rest.split_once('"')?;
            Some((fraction, rest.split_once("<text>")?.1.split_once("</text>")?.0))
        })
        .collect();
    for right in ["4/15", "4 / 15", "8/30", "12/45", "48/180"] {
        assert!(answers.contains(&("100", right)), "{right}: {answers:?}");
    }
    // What mistakes give, also where it has a decimal.
    for wrong in ["0.25", "2/15", "4/30"] {
        assert!(answers.contains(&("50", wrong)), "{wrong}: {answers:?}");
    }
    for right in ["{1:SHORTANSWER:=-4/15~=-4 / 15~=-8/30~", "{1:NUMERICAL:=0.5:0}"] {
        assert!(matrix.contains(right), "{right}: {matrix}");
    }
    assert_eq!(quiz.matches("Write a fraction whose decimals end as a decimal").count(), 2);
}
