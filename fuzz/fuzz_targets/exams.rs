//! Exams: what teachers write, keys that come back, and what students hand in, graded with a key.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use qkvet_exam::build::{Request, build};
use qkvet_exam::student_answer::read_expression;
use qkvet_exam::grade::{Grader, csv_table, gradescope, read};
use qkvet_exam::key::{Key, Source};
use qkvet_exam::question::{CheckedQuestion, ProblemSet};
use qkvet_exam::solution::{WrittenSolution, check};
use qkvet_spec::Catalog;

/// A set whose parts are of every kind: numbers, choices, orderings, formulas, designs, text.
const SET: &str = "exam: x\ntitle: X\nquestions:\n  - question: tiny-head\n  - question: outer-products\n  - question: proof-steps\n  - question: dot-product-moments\n";

struct Bench {
    catalog: Catalog,
    grader: Grader,
}

static BENCH: LazyLock<Bench> = LazyLock::new(|| {
    let catalog = Catalog::embedded().expect("specifications");
    let set = Source { path: "x.yaml".to_owned(), text: SET.to_owned() };
    let files = build(&Request { set, own: Vec::new(), variants: 1, seed: 1 }, &catalog).expect("an exam");
    let key = files.iter().find(|file| file.path.ends_with("key/x-1.json")).expect("a key");
    let grader = Grader::new(vec![Key::from_json(&key.text).expect("a key")], &catalog).expect("a true key");
    Bench { catalog, grader }
});

// Made before the first input is timed: with the marks of the fuzzer it takes seconds.
fuzz_target!(init: { LazyLock::force(&BENCH); }, |bytes: &[u8]| {
    let Ok(source) = std::str::from_utf8(bytes) else { return };
    let Bench { catalog, grader } = &*BENCH;
    let _ = ProblemSet::from_yaml("x.yaml", source);
    let _ = CheckedQuestion::from_yaml("x.yaml", source, catalog);
    let _ = read_expression(source);
    if let Ok(key) = Key::from_json(source) {
        let _ = Grader::new(vec![key], catalog);
    }
    if let Ok(written) = WrittenSolution::from_yaml("x.yaml", source) {
        let _ = check(&written);
    }
    for file in ["x.yaml", "x.json", "x.csv", "x.ipynb"] {
        let graded = grader.all(&read(file, source.as_bytes()));
        let _ = csv_table(&graded);
        graded.iter().for_each(|one| drop(gradescope(one).expect("numbers")));
    }
});
