//! Options of own questions: no two of them say the same, as they are written or with the numbers
//! in them.

use qkvet_exam::build::{Request, build};
use qkvet_exam::key::Source;

use crate::catalog;

/// What building an exam of this one part comes to.
fn built(answer: &str) -> Result<(), String> {
    let text = format!(
        "question: own\ntitle: Own\ngoal: choose\ndifficulty: 1\ndraw: {{k: \"integer(1..3)\", l: \"integer(1..3)\"}}\n\
         parts:\n  - prompt: Choose.\n    points: 1\n    answer: {answer}\n"
    );
    let own = vec![Source { path: "own.yaml".to_owned(), text }];
    let set = "exam: x\ntitle: X\nquestions:\n  - question: own\n".to_owned();
    let set = Source { path: "set.yaml".to_owned(), text: set };
    build(&Request { set, own, variants: 3, seed: 7 }, catalog())
        .map(|_| ())
        .map_err(|error| error.to_string())
}

#[test]
fn texts_that_stand_side_by_side_differ() {
    for answer in [
        "{choice: {right: \"Yes.\", wrong: [{says: \"No.\", because: no}, {says: \"Yes.\", because: no}]}}",
        "{statements: {pick: 2, right: [{says: a, because: b}], wrong: [{says: \" a\", because: b}]}}",
        "{ordering: {lines: [a, b, a]}}",
        "{ordering: {lines: [a, b, c], strangers: [{says: c, because: d}]}}",
    ] {
        let error = built(answer).expect_err(answer);
        assert!(error.contains("twice") && error.contains("own.yaml:"), "{answer}: {error}");
    }
    built("{choice: {right: \"Yes.\", wrong: [{says: \"No.\", because: no}]}}")
        .unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn numbers_make_no_two_options_alike() {
    // k = 1 gives 2 twice; l = k gives k twice.
    let options = "{choice: {right: \"$=k$\", wrong: [{says: \"$=l$\", because: no}, {says: \"$=2 * k$\", because: no}]}}";
    built(options).unwrap_or_else(|error| panic!("{error}"));
    let never = "{choice: {right: \"$=k$\", wrong: [{says: \"$=k + 0$\", because: no}]}}";
    let error = built(never).expect_err(never);
    assert!(error.contains("two options say"), "{error}");
}
