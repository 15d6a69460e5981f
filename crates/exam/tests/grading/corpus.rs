//! Ways to write an answer: `notations.txt` says of each how it must be read.

use std::collections::BTreeMap;
use std::fmt::Write;

use qkvet_exam::generate::Answer;
use qkvet_exam::grade::{Grader, Verdict, read};
use qkvet_exam::key::Source;

use super::{grader, keys, set};

const CORPUS: &str = include_str!("notations.txt");

/// A matrix as a formula.
fn entries(rows: &[&[&str]]) -> String {
    let joined = |function: &str, parts: Vec<String>| {
        let mut parts = parts.into_iter();
        let first = parts.next().unwrap_or_default();
        parts.fold(first, |all, part| format!("{function}({all}, {part})"))
    };
    let row =
        |row: &&[&str]| joined("hcat", row.iter().map(|x| format!("{x} * ones(1, 1)")).collect());
    joined("vcat", rows.iter().map(row).collect())
}

/// The question whose answers the corpus writes.
fn question() -> String {
    let mut text = "\
question: own
title: Own
goal: compute
difficulty: 1
sizes: {B: 2, H: 4, T: 12, L: 5}
draw:
  X: \"integers(3, 2, -3..3)\"
  W_Q: \"integers(2, 2, -2..2)\"
  W_K: \"integers(2, 2, -2..2)\"
  d: \"integer(2..9)\"
  mu: \"one_of(3, 5)\"
  g: \"integer(1..2)\"
let:
"
    .to_owned();
    for (name, of) in [
        ("c", "325 / 2 + 0 * g".to_owned()),
        ("w", "979216 / 100000 + 0 * g".to_owned()),
        ("p", "1157 + 0 * g".to_owned()),
        ("M", entries(&[&["2", "-2", "-2"], &["2", "-1", "-1"], &["-3", "-1", "-1"]])),
        ("A", format!("{} / 100000", entries(&[&["59889", "40111"], &["26894", "73106"]]))),
        ("r", format!("{} / 10000", entries(&[&["29351", "82964"]]))),
        ("Q", "X @ W_Q".to_owned()),
        ("f", "d * mu * mu".to_owned()),
        ("u", entries(&[&["1", "0"]])),
        ("v", entries(&[&["0", "1"]])),
        ("q", "u + v".to_owned()),
        ("Z", entries(&[&["1", "2", "3"], &["4", "9", "5"]])),
    ] {
        let _ = writeln!(text, "  {name}: {of}");
    }
    text += "keep: [g <= 1]\nprompt: \"$$u; v$$\"\nparts:\n";
    for answer in [
        "value: {of: c}",
        "value: {of: w, places: 3}",
        "value: {of: p}",
        "value: {of: M}",
        "value: {of: A, places: 3}",
        "value: {of: r, places: 3}",
        "expression: {is: X @ W_Q, equals: Q}",
        "expression: {is: d * mu * mu, equals: f}",
        "shape: \"(B, H, T, L)\"",
        "statements: {pick: 4, right: [{says: one, because: x}, {says: two, because: x}, {says: three, because: x}], wrong: [{says: four, because: x}]}",
        "choice: {right: twice as large, wrong: [{says: half as large, because: x}, {says: as large, because: x}]}",
        "ordering: {lines: [one, two, three]}",
        "largest: {of: Z}",
        "design: {example: [q], distance: \"norm_max(q @ ones(2, 1) - 2 * ones(1, 1))\", at_most: 0.001, rubric: [all]}",
    ] {
        let _ = writeln!(text, "  - prompt: what\n    points: 4\n    answer: {{{answer}}}");
    }
    text
}

/// A grader of a variant in which option A is the right one and the last statement is false, the
/// variant, and the letters of the lines in order.
fn asked() -> (Grader, usize, Vec<char>) {
    let own = vec![Source { path: "questions/own.yaml".to_owned(), text: question() }];
    for key in keys(&set("own"), own, 60) {
        let parts = &key.questions[0].parts;
        let (Answer::Statements(picked), Answer::Choice(order), Answer::Ordering(lines)) =
            (&parts[9].answer, &parts[10].answer, &parts[11].answer)
        else {
            panic!("{parts:?}")
        };
        if picked.iter().map(|(right, _)| *right).eq([true, true, true, false])
            && order[0] == 0
            && order[1] == 1
        {
            let letter = |line: usize| {
                let at = lines.iter().position(|other| *other == line).unwrap_or(0);
                char::from(b'A' + u8::try_from(at).unwrap_or(0))
            };
            let letters = (0..3).map(letter).collect();
            let variant = key.variant;
            return (grader(vec![key]), variant, letters);
        }
    }
    panic!("no variant")
}

#[test]
fn every_way_to_write_an_answer_is_read_truly_or_left_to_a_person() {
    let (grader, variant, letters) = asked();
    let (mut id, mut counts, mut wrong) =
        ("", BTreeMap::<(&str, &str), usize>::new(), String::new());
    for line in CORPUS.lines() {
        if let Some((part, _)) = line.strip_prefix('[').and_then(|line| line.split_once(']')) {
            id = part;
        }
        let (Some(expected), Some(form)) =
            (["= ", "? ", "! "].into_iter().find(|mark| line.starts_with(mark)), line.get(2..))
        else {
            continue;
        };
        let mut form = form.replace('⏎', "\n");
        for (at, letter) in letters.iter().enumerate().filter(|_| id == "1l") {
            form = form.replace(&format!("{{{}}}", at + 1), &letter.to_string());
        }
        let json = serde_json::json!({"variant": variant, "answers": {id: form}}).to_string();
        let all = grader.grade(&read("a.json", json.as_bytes())[0]);
        let part = all.parts.iter().find(|part| part.part == id).expect("the part");
        let found = match part.verdict {
            Verdict::Right => "= ",
            Verdict::Unreadable | Verdict::ByHand => "? ",
            _ => "! ",
        };
        *counts.entry((expected, found)).or_default() += 1;
        if found != expected {
            let _ =
                writeln!(wrong, "{id} {expected}{form:?}: {:?} {}", part.verdict, part.feedback);
        }
    }
    assert!(wrong.is_empty(), "{wrong}{counts:?}");
}

/// What is natural in the template is read there, and one answer that is no YAML loses no other.
#[test]
fn the_template_is_read_by_lines_where_it_is_no_yaml() {
    let (grader, variant, _) = asked();
    let is_right = |file: &str, text: &str, id: &str| {
        let all = grader.grade(&read(file, text.as_bytes())[0]);
        assert!(all.trouble.is_empty(), "{text}: {:?}", all.trouble);
        let part = all.parts.iter().find(|part| part.part == id).expect("the part");
        assert!(part.verdict == Verdict::Right && all.student == "Ada", "{text}: {part:?}");
    };
    for (id, answer) in [
        ("1f", "[2.935 8.296]"),
        ("1d", "[[2 -2 -2], [2 -1 -1], [-3 -1 -1]]"),
        ("1d", "[2 -2 -2; 2 -1 -1; -3 -1 -1]"),
        ("1d", "\n    2 -2 -2\n    2 -1 -1\n    -3 -1 -1"),
        ("1a", "c = 162.5"),
    ] {
        for broken in
            ["", "  1b: a: b: c\n", "\t1b: 1\n", "  1b: *X\n", "  1b: [1\n", "  1b: \"1\n"]
        {
            let text = format!(
                "exam: x\nvariant: {variant}\nstudent: Ada\nanswers:\n  {id}: {answer}\n{broken}"
            );
            let text = if broken.starts_with('\t') { text.replace("\n\t", "\n  \t") } else { text };
            // A block of plain lines is one text in YAML, and lines where it is none.
            if broken.is_empty() && answer.starts_with('\n') {
                continue;
            }
            is_right("ada.yaml", &text, id);
        }
    }
    for (decimal, id, answer) in
        [("comma", "1b", "9,792"), ("comma", "1f", "[2,935; 8,296]"), ("point", "1b", "9.792")]
    {
        let text = format!(
            "variant: {variant}\nstudent: Ada\ndecimal: {decimal}\nanswers:\n  {id}: \"{answer}\"\n"
        );
        is_right("ada.yaml", &text, id);
    }
}

/// A cell that computes is read by what it printed, one that was not touched is no answer.
#[test]
fn what_a_notebook_printed_is_read() {
    let (grader, variant, _) = asked();
    let cell = |source: &str, output: &str| {
        serde_json::json!({"cell_type": "code", "metadata": {"qkvet": {"part": "1f"}}, "source": source,
            "outputs": [{"output_type": "execute_result", "data": {"text/plain": output}}]})
    };
    let graded = |cells: Vec<serde_json::Value>| {
        let notebook =
            serde_json::json!({"metadata": {"qkvet": {"variant": variant}}, "cells": cells});
        let all = grader.grade(&read("ada.ipynb", notebook.to_string().as_bytes())[0]);
        all.parts.iter().find(|part| part.part == "1f").map(|part| part.verdict)
    };
    let computed = "A = np.exp(S)\nanswer_1f = A @ V\nanswer_1f";
    for (source, output, verdict) in [
        (computed, "array([2.9351, 8.2964])", Verdict::Right),
        ("answer_1f = [2.935, 8.296]", "", Verdict::Right),
        (computed, "", Verdict::Missing),
        ("raise NotImplementedError()", "", Verdict::Missing),
        (computed, "array([8.2964, 2.9351])", Verdict::Wrong),
    ] {
        assert_eq!(graded(vec![cell(source, output)]), Some(verdict), "{source} {output}");
    }
    let printed = serde_json::json!({"cell_type": "code", "metadata": {"qkvet": {"answers": true}}, "source": "",
        "outputs": [{"output_type": "stream", "text": ["1a: 1\n", "1f: [2.9351 8.2964]\n"]}]});
    assert_eq!(graded(vec![cell(computed, ""), printed]), Some(Verdict::Right));
}
