//! Parsers of exams on files that are right and were then changed, as in `foreign_bytes.rs`: what
//! teachers write, keys that come back, what students hand in, worked solutions. What is read is
//! graded and checked too.

use std::hint::black_box;

use qkvet_exam::build::{File, Request, build};
use qkvet_exam::grade::{Grader, csv_table, gradescope, read};
use qkvet_exam::key::{Key, Source};
use qkvet_exam::question::{CheckedQuestion, ProblemSet};
use qkvet_exam::solution::{TEMPLATE, WrittenSolution, check as check_solution};
use qkvet_exam::student_answer::read_expression;
use qkvet_spec::Catalog;
use qkvet_tests::changed::{check, files, text};

/// A question with a part of each kind that students answer with numbers, and one of words.
const SET: &str = "exam: x\ntitle: X\nquestions:\n  - question: tiny-head\n";

fn catalog() -> Catalog {
    Catalog::embedded().expect("specifications")
}

/// The files of a small exam.
fn built(catalog: &Catalog) -> Vec<File> {
    let set = Source { path: "x.yaml".to_owned(), text: SET.to_owned() };
    build(&Request { set, own: Vec::new(), variants: 1, seed: 1 }, catalog).expect("an exam")
}

fn file<'a>(files: &'a [File], end: &str) -> &'a str {
    &files.iter().find(|file| file.path.ends_with(end)).expect(end).text
}

#[test]
fn problem_sets_and_questions() {
    let catalog = catalog();
    let is_set = |bytes: &[u8]| {
        text(bytes).is_some_and(|source| ProblemSet::from_yaml("x.yaml", source).is_ok())
    };
    let sets: Vec<Vec<u8>> =
        files("specs/exams", ".yaml").into_iter().filter(|bytes| is_set(bytes)).collect();
    check("problem set", &sets, is_set);
    check("question", &files("specs/exams/questions", ".yaml"), |bytes| {
        text(bytes)
            .is_some_and(|source| CheckedQuestion::from_yaml("x.yaml", source, &catalog).is_ok())
    });
}

#[test]
fn keys() {
    let catalog = catalog();
    let key = file(&built(&catalog), "key/x-1.json").as_bytes().to_vec();
    let is_true = |bytes: &[u8]| {
        let key = text(bytes).and_then(|source| Key::from_json(source).ok());
        key.is_some_and(|key| Grader::new(vec![key], &catalog).is_ok())
    };
    check("key", &[key], is_true);
}

#[test]
fn submissions() {
    let catalog = catalog();
    let files = built(&catalog);
    let key = Key::from_json(file(&files, "key/x-1.json")).expect("a key");
    let grader = Grader::new(vec![key], &catalog).expect("a true key");
    let answers = [
        "[[1, 0.5], [1/3, \"exp(1/2)\"]]",
        "1 2; 3 4",
        "sqrt(2)/2, -1",
        "\\frac{1}{2} & 0.250",
        "3, 1, 2",
    ];
    let yaml = |answer: &&str| {
        file(&files, ".answers.yaml").replace("  1b:\n", &format!("  1b: {answer}\n"))
    };
    let yaml: Vec<Vec<u8>> = answers.iter().map(|answer| yaml(answer).into_bytes()).collect();
    let json = |answer: &&str| serde_json::json!([{"student": "Ada", "variant": 1, "answers": {"1a": [[1, 0.5]], "1b": answer}}]);
    let csv = |answer: &&str| {
        format!("student,variant,1a,1b\nAda,1,\"[[1,0.5]]\",\"{}\"\n", answer.replace('"', "\"\""))
    };
    let cell = |answer: &&str| {
        serde_json::json!({"nbformat": 4, "nbformat_minor": 5, "metadata": {"qkvet": {"variant": 1}}, "cells": [
            {"cell_type": "code", "metadata": {"qkvet": {"part": "1a"}}, "source": ["answer = ", answer], "outputs": []}]})
    };
    let texts = |write: &dyn Fn(&&str) -> String| {
        answers.iter().map(|answer| write(answer).into_bytes()).collect()
    };
    let kinds: [(&str, Vec<Vec<u8>>); 4] = [
        ("x.yaml", yaml),
        ("x.json", texts(&|answer| json(answer).to_string())),
        ("x.csv", texts(&csv)),
        ("x.ipynb", texts(&|answer| cell(answer).to_string())),
    ];
    for (name, corpus) in kinds {
        check(name, &corpus, |bytes| {
            let graded = grader.all(&read(name, bytes));
            black_box(csv_table(&graded));
            graded.iter().for_each(|one| drop(gradescope(one).expect("numbers")));
            !graded.is_empty() && graded.iter().all(|one| one.trouble.is_empty())
        });
    }
}

#[test]
fn worked_solutions() {
    check("worked solution", &[TEMPLATE.as_bytes().to_vec()], |bytes| {
        let written =
            text(bytes).and_then(|source| WrittenSolution::from_yaml("x.yaml", source).ok());
        written.is_some_and(|written| !check_solution(&written).steps.is_empty())
    });
    let numbers = [
        "-12.50",
        "1/3",
        "2 sqrt(3)/5 + exp(-1/2)",
        "\\frac{1}{1+e^{2}}",
        "log(38)",
        "1 1/2",
        "5e-3",
    ];
    let corpus: Vec<Vec<u8>> = numbers
        .iter()
        .filter(|text| read_expression(text).is_ok())
        .map(|text| text.as_bytes().to_vec())
        .collect();
    assert!(corpus.len() > 3, "{corpus:?}");
    check("number", &corpus, |bytes| {
        text(bytes).is_some_and(|source| read_expression(source).is_ok())
    });
}
