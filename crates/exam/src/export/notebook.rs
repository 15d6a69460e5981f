//! Jupyter notebooks with nbgrader's metadata: one for students, one with solutions and tests, from
//! which nbgrader makes the same.
//!
//! The cell of an answer says which part it answers: `qkvet: {part: 1a}`.

use serde_json::{Value, json};

use super::decimal::Entry;
use super::item::{Cell, Item, ItemKind, Offer, Placed, Word};
use super::{Exam, Exported, Variant, secret};
use crate::error::ExamError;
use crate::print::{Block, Inline, letter, markdown_blocks, markdown_line};

/// Who a notebook is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Student,
    Key,
}

pub(super) fn write(exam: &Exam) -> Result<Vec<Exported>, ExamError> {
    let mut files = Vec::new();
    for variant in &exam.variants {
        let text = |side| {
            serde_json::to_string_pretty(&notebook(exam, variant, side)).map(|text| text + "\n")
        };
        files.push(Exported {
            path: format!("student/{}.ipynb", variant.name),
            bytes: text(Side::Student)?.into_bytes(),
            secret: false,
        });
        files.push(secret(format!("{}.ipynb", variant.name), text(Side::Key)?));
    }
    Ok(files)
}

fn notebook(exam: &Exam, variant: &Variant, side: Side) -> Value {
    let points: u32 = variant.items.iter().map(|item| item.points).sum();
    let title = format!("# {}\n\nVariant {} · {points} points\n", exam.title, variant.number);
    let mut cells = vec![cell("markdown", "title", json!({}), &title)];
    let mut question = 0;
    for item in &variant.items {
        if item.question != question {
            question = item.question;
            let head = format!("## {question}. {}\n\n{}", item.title, markdown_blocks(&item.head));
            cells.push(locked(&format!("q{question}-text"), &head));
        }
        let ask = format!(
            "**({})** *[{}]*\n\n{}{}",
            item.id,
            item.points,
            markdown_blocks(&item.ask),
            options(item)
        );
        cells.push(locked(&format!("q{}-text", item.id), &ask));
        cells.extend(answer(item, side));
    }
    json!({
        "cells": cells,
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
            "qkvet": {"exam": exam.id, "variant": variant.number},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    })
}

fn cell(kind: &str, id: &str, metadata: Value, source: &str) -> Value {
    let lines: Vec<&str> = source.trim_end().split_inclusive('\n').collect();
    let mut cell = json!({"cell_type": kind, "id": id, "metadata": metadata, "source": lines});
    if kind == "code" {
        cell["execution_count"] = Value::Null;
        cell["outputs"] = json!([]);
    }
    cell
}

/// Words that students leave as they are.
fn locked(id: &str, source: &str) -> Value {
    cell("markdown", id, json!({"nbgrader": graded(id, None, false, true)}), source)
}

fn graded(id: &str, points: Option<u32>, solution: bool, locked: bool) -> Value {
    let mut metadata = json!({
        "schema_version": 3,
        "grade_id": id,
        "grade": points.is_some(),
        "solution": solution,
        "locked": locked,
    });
    if let Some(points) = points {
        metadata["points"] = json!(points);
    }
    metadata
}

/// Options, statements and lines under their letters.
fn options(item: &Item) -> String {
    let listed = |says: Vec<&[Inline]>| -> String {
        let one = |(at, says): (usize, &&[Inline])| {
            format!("- ({}) {}\n", letter(at), markdown_line(says))
        };
        format!("\n{}", says.iter().enumerate().map(one).collect::<String>())
    };
    match &item.asked {
        ItemKind::One(offers) | ItemKind::TrueFalse(offers) => {
            listed(offers.iter().map(|offer| &offer.says[..]).collect())
        }
        ItemKind::Order(lines) => listed(lines.iter().map(|own| &own.says[..]).collect()),
        ItemKind::Numbers(_) | ItemKind::Shape(_) | ItemKind::Open(_) => String::new(),
    }
}

/// The cell of the answer, and of its test.
fn answer(item: &Item, side: Side) -> Vec<Value> {
    let id = format!("q{}", item.id);
    let tagged = |graded: Value| json!({"qkvet": {"part": item.id}, "nbgrader": graded});
    if let ItemKind::Open(_) = item.asked {
        let source = match side {
            Side::Student => "*Write your answer here.*".to_owned(),
            Side::Key => markdown_blocks(&[item.solution.clone(), marked(item)].concat()),
        };
        return vec![cell(
            "markdown",
            &id,
            tagged(graded(&id, Some(item.points), true, false)),
            &source,
        )];
    }
    let (how, right, test) = form(item);
    let name = format!("answer_{}", item.id);
    let (source, test) = match side {
        Side::Student => (format!("# {how}\n{name} = None\n"), String::new()),
        Side::Key => (
            format!("# {how}\n### BEGIN SOLUTION\n{name} = {right}\n### END SOLUTION\n"),
            format!("### BEGIN HIDDEN TESTS\n{test}### END HIDDEN TESTS\n"),
        ),
    };
    let test = format!(
        "# Marks the answer to {}: what stands here is run again by who teaches.\n{test}",
        item.id
    );
    let test_id = format!("{id}-test");
    vec![
        cell("code", &id, tagged(graded(&id, None, true, false)), &source),
        cell(
            "code",
            &test_id,
            json!({"nbgrader": graded(&test_id, Some(item.points), false, true)}),
            &test,
        ),
    ]
}

fn marked(item: &Item) -> Vec<Block> {
    if item.rubric.is_empty() {
        return Vec::new();
    }
    vec![Block::List(crate::print::Marker::Dot, item.rubric.clone())]
}

/// How to write an answer, the right one, and a test whose last value is what it earns.
fn form(item: &Item) -> (String, String, String) {
    let (name, points) = (format!("answer_{}", item.id), item.points);
    // Letters may be small, with spaces and brackets about them.
    let letters = format!("_text = \"\".join(x for x in str({name}).upper() if x.isalpha())\n");
    let same = |right: &str| format!("{letters}{points} if _text == {right} else 0\n");
    match &item.asked {
        ItemKind::Numbers(rows) => {
            let flat: Vec<&Cell> = rows.iter().flatten().collect();
            let text = |cell: &Cell| match &cell.right {
                Entry::Decimal { text, .. } => text.clone(),
                Entry::Fraction(text) => format!("\"{text}\""),
            };
            let row = |row: &Vec<Cell>| {
                format!("[{}]", row.iter().map(text).collect::<Vec<_>>().join(", "))
            };
            let (how, right) = match flat.as_slice() {
                [one] => ("A number; a fraction as text, such as \"1/3\".", text(one)),
                _ => (
                    "A matrix by rows, such as [[1, 2], [3, 4]]; fractions as text, such as \"1/3\".",
                    format!("[{}]", rows.iter().map(row).collect::<Vec<_>>().join(", ")),
                ),
            };
            (how.to_owned(), right, entries(&name, item, rows))
        }
        ItemKind::Shape(Word { right, .. }) => {
            let extents = right.trim_matches(['(', ')']).split(',').collect::<Vec<_>>().join(", ");
            let right = format!("({extents},)");
            let extents = |entry: &Entry| match entry {
                Entry::Decimal { text, .. } | Entry::Fraction(text) => text.clone(),
            };
            let gives = |(rows, share): &(Vec<Vec<Entry>>, f64)| {
                let extents: Vec<String> = rows.iter().flatten().map(extents).collect();
                format!("({},): {share}", extents.join(", "))
            };
            let mistakes: Vec<String> = item.mistakes.iter().map(gives).collect();
            let test = format!(
                "_mistakes = {{{}}}\n{points} if tuple({name}) == {right} else {points} * _mistakes.get(tuple({name}), 0)\n",
                mistakes.join(", ")
            );
            ("A shape, such as (2, 3).".to_owned(), right, test)
        }
        ItemKind::One(offers) => {
            let at = offers.iter().position(|offer| offer.right).map_or('?', letter);
            let right = format!("\"{at}\"");
            let gives = |(at, offer): (usize, &Offer)| {
                (!offer.right && offer.share > 0.0)
                    .then(|| format!("\"{}\": {}", letter(at), offer.share))
            };
            let mistakes: Vec<String> = offers.iter().enumerate().filter_map(gives).collect();
            let test = match mistakes.as_slice() {
                [] => same(&right),
                _ => format!(
                    "{letters}_mistakes = {{{}}}\n{points} if _text == {right} else {points} * _mistakes.get(_text, 0)\n",
                    mistakes.join(", ")
                ),
            };
            ("The letter of one option, such as \"A\".".to_owned(), right, test)
        }
        ItemKind::TrueFalse(offers) => {
            let words: Vec<&str> =
                offers.iter().map(|offer| if offer.right { "True" } else { "False" }).collect();
            let right = format!("[{}]", words.join(", "));
            let n = offers.len();
            let test = format!(
                "_right = {right}\n{TRUTHS}_given = _truths({name})\n{points} * sum(a is b for a, b in zip(_given, _right)) / {n} if \
                 len(_given) == {n} else 0\n"
            );
            ("For each statement True or False, such as [True, False].".to_owned(), right, test)
        }
        ItemKind::Order(lines) => {
            let mut placed: Vec<_> =
                lines.iter().filter_map(|own| Some((own.place?, own.letter))).collect();
            placed.sort_unstable();
            let letters: String = placed.iter().map(|(_, letter)| letter).collect();
            let right = format!("\"{letters}\"");
            let is_one = lines.iter().all(|own| own.range.0 == own.range.1);
            let test =
                if is_one { same(&right) } else { one_of(&name, points, lines, letters.len()) };
            ("Letters in the right order, such as \"BCA\".".to_owned(), right, test)
        }
        ItemKind::Open(_) => (String::new(), String::new(), String::new()),
    }
}

/// Lines of which some may be exchanged: each stands behind those that it must follow.
fn one_of(name: &str, points: u32, lines: &[Placed], n: usize) -> String {
    let letter =
        |place: &usize| lines.iter().find(|own| own.place == Some(*place)).map(|own| own.letter);
    let pair = |own: &Placed| {
        let before: String = own.after.iter().filter_map(letter).collect();
        own.place.map(|_| format!("\"{}\": \"{before}\"", own.letter))
    };
    let pairs: Vec<String> = lines.iter().filter_map(pair).collect();
    format!(
        "_text = \"\".join(x for x in str({name}).upper() if x.isalpha())\n_after = {{{}}}\n{points} if len(_text) == {n} and set(_text) == set(_after) and \
         all(_text.index(b) < _text.index(a) for a in _text for b in _after[a]) else 0\n",
        pairs.join(", ")
    )
}

/// Truth values as lists of them, of words or of letters, or as text: `[True, False]`,
/// `"true, false"`, `"TF"`.
const TRUTHS: &str = r#"_words = {"T": True, "TRUE": True, "YES": True, "F": False, "FALSE": False, "NO": False}
def _truths(x):
    if isinstance(x, str):
        text = x.replace(",", " ").split()
        x = list(text[0]) if len(text) == 1 and text[0].upper() not in _words else text
    return [_words.get(str(y).strip().upper(), y) for y in x or []]
"#;

/// Marks numbers as `qkvet exam grade` does where a notebook can: rows and columns as asked, a flat
/// list as the only row or column, text such as `sqrt(2)/2`, arrays of NumPy, what a mistake gives,
/// right entries for their share; of exact values what is at most half a unit of the 15th digit
/// away, as floats are.
const NUMBERS: &str = r#"from fractions import Fraction
import math
import re
_names = {"Fraction": Fraction, "sqrt": math.sqrt, "exp": math.exp, "ln": math.log, "log": math.log, "e": math.e}
def _number(x):
    try:
        return Fraction(str(x))
    except Exception:
        pass
    try:
        text = re.sub(r"[0-9]+\.?[0-9]*|\.[0-9]+", r"Fraction('\g<0>')", str(x).replace("^", "**"))
        return Fraction(eval(text, {"__builtins__": {}}, _names))
    except Exception:
        return None
def _plain(x):
    x = x.tolist() if hasattr(x, "tolist") else x
    return [_plain(y) for y in x] if isinstance(x, (list, tuple)) else x
def _rows(x):
    x = _plain(x)
    x = x if isinstance(x, list) else [x]
    if not any(isinstance(row, list) for row in x):
        x = [[y] for y in x] if len(_key[0]) == 1 else [x]
    return [row if isinstance(row, list) else [row] for row in x]
def _half(k):
    return Fraction(10) ** (math.floor(math.log10(abs(k))) - 14) / 2 if k else 0
def _hits(key):
    if [len(row) for row in key] != [len(row) for row in _given]:
        return []
    pairs = [(_number(x), k) for row, own in zip(_given, key) for x, k in zip(row, own)]
    return [x is not None and abs(x - Fraction(k)) <= (Fraction(t) or _half(Fraction(k))) for x, (k, t) in pairs]
def _earned():
    hits = _hits(_key)
    if hits and all(hits):
        return 1
    for rows, share in _mistakes:
        own = _hits(rows)
        if own and all(own):
            return share
    return _entries * sum(hits) / len(hits) if len(hits) > 1 else 0
"#;

/// The test of numbers.
fn entries(name: &str, item: &Item, rows: &[Vec<Cell>]) -> String {
    let pair = |entry: &Entry| match entry {
        Entry::Decimal { text, tolerance } => format!("(\"{text}\", \"{tolerance}\")"),
        Entry::Fraction(text) => format!("(\"{text}\", \"0\")"),
    };
    let list = |all: Vec<String>| format!("[{}]", all.join(", "));
    let key = list(
        rows.iter().map(|row| list(row.iter().map(|cell| pair(&cell.right)).collect())).collect(),
    );
    let gives = |(rows, share): &(Vec<Vec<Entry>>, f64)| {
        format!(
            "({}, {share})",
            list(rows.iter().map(|row| list(row.iter().map(pair).collect())).collect())
        )
    };
    let mistakes = list(item.mistakes.iter().map(gives).collect());
    format!(
        "{NUMBERS}_key = {key}\n_mistakes = {mistakes}\n_entries = {}\n_given = _rows({name})\n{} * _earned()\n",
        item.entries, item.points
    )
}
