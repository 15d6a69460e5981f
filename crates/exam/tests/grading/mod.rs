//! Submissions of all kinds against keys: what is right, what earns a part of the points, and what
//! cannot be read.

mod chains;
mod computed;
mod corpus;
mod fewer;
mod follows;
mod notations;
mod tolerance;

use std::fmt::Write;

use qkvet_exam::build::{Request, build};
use qkvet_exam::export::{Credit, Target, export};
use qkvet_exam::generate::Answer;
use qkvet_exam::grade::{Graded, GradedPart, Grader, Verdict, part_id, read};
use qkvet_exam::key::{Key, Source};
use qkvet_exam::{ExamError, KeyError};

use crate::catalog;

fn keys(set: &str, own: Vec<Source>, variants: usize) -> Vec<Key> {
    let set = Source { path: "set.yaml".to_owned(), text: set.to_owned() };
    let files = build(&Request { set, own, variants, seed: 11 }, catalog())
        .unwrap_or_else(|error| panic!("{error}"));
    let keys =
        files.iter().filter(|file| file.path.starts_with("key/") && file.path.ends_with(".json"));
    keys.map(|file| Key::from_json(&file.text).unwrap_or_else(|error| panic!("{error}"))).collect()
}

fn grader(keys: Vec<Key>) -> Grader {
    Grader::new(keys, catalog()).unwrap_or_else(|error| panic!("{error}"))
}

fn set(question: &str) -> String {
    format!("exam: x\ntitle: X\nquestions:\n  - question: {question}\n")
}

fn graded(grader: &Grader, answers: &str) -> Graded {
    let text = format!("exam: x\nvariant: 1\nstudent: Ada\nanswers:\n{answers}");
    let submissions = read("ada.yaml", text.as_bytes());
    grader.grade(&submissions[0])
}

fn part<'a>(graded: &'a Graded, id: &str) -> &'a GradedPart {
    graded
        .parts
        .iter()
        .find(|part| part.part == id)
        .unwrap_or_else(|| panic!("no part {id}: {graded:?}"))
}

fn matrix(rows: &[Vec<String>]) -> String {
    let row = |row: &Vec<String>| format!("[{}]", row.join(", "));
    format!("[{}]", rows.iter().map(row).collect::<Vec<_>>().join(", "))
}

/// A grader of one question of its own, `own`.
fn of_own(text: &str) -> (Grader, Key) {
    let own = vec![Source { path: "questions/own.yaml".to_owned(), text: text.to_owned() }];
    let keys = keys(&set("own"), own, 1);
    let key = keys[0].clone();
    (grader(keys), key)
}

/// The right answers of a key, in YAML.
fn right(key: &Key) -> String {
    let mut text = String::new();
    for (number, question) in key.questions.iter().enumerate() {
        for (at, part) in question.parts.iter().enumerate() {
            let letter = |at: usize| char::from(b'A' + u8::try_from(at).unwrap_or(0));
            let answer = match &part.answer {
                Answer::Numbers { key, choices } if !choices.is_empty() => {
                    letter(choices.iter().position(|choice| choice == key).unwrap_or(99))
                        .to_string()
                }
                Answer::Numbers { key, .. } => matrix(&key.rows),
                Answer::Largest(columns) => format!("{columns:?}"),
                Answer::Choice(order) => {
                    letter(order.iter().position(|at| *at == 0).unwrap_or(99)).to_string()
                }
                Answer::Statements(picked) => {
                    format!("{:?}", picked.iter().map(|(right, _)| right).collect::<Vec<_>>())
                }
                Answer::Ordering(order) => {
                    let mut lines: Vec<(usize, char)> =
                        order.iter().enumerate().map(|(at, line)| (*line, letter(at))).collect();
                    lines.sort_unstable();
                    // What comes behind the last line belongs nowhere; `split_heads` has four.
                    format!(
                        "[{}]",
                        lines
                            .iter()
                            .take(4)
                            .map(|(_, letter)| letter.to_string())
                            .collect::<Vec<_>>()
                            .join(", ")
                    )
                }
                Answer::AsWritten => "\"words\"".to_owned(),
            };
            let _ = writeln!(text, "  {}: {answer}", part_id(number, at));
        }
    }
    text
}

#[test]
fn right_answers_of_every_question_have_all_their_points_and_each_mistake_is_named() {
    let mut mistakes = 0;
    for id in [
        "tiny-head",
        "hand-head",
        "token-attention",
        "masked-head",
        "heads-and-shapes",
        "dot-product-moments",
        "order-of-tokens",
        "copy-and-average",
    ] {
        let keys = keys(&set(id), Vec::new(), 2);
        let key = keys[0].clone();
        let grader = grader(keys);
        let all = graded(&grader, &right(&key));
        assert!(all.trouble.is_empty(), "{id}: {:?}", all.trouble);
        for (at, part) in all.parts.iter().enumerate() {
            let is_written = matches!(key.questions[0].parts[at].answer, Answer::AsWritten);
            assert!(part.verdict == Verdict::Right || is_written, "{id}: {part:?}");
        }
        for (at, keyed) in key.questions[0].parts.iter().enumerate() {
            for mistake in &keyed.mistakes {
                let name = part_id(0, at);
                let one =
                    graded(&grader, &format!("  {name}: {}\n", matrix(&mistake.numbers.rows)));
                let part = part(&one, &name);
                assert_eq!(
                    part.feedback.mistake().as_deref(),
                    Some(mistake.says.as_str()),
                    "{id}: {part:?}"
                );
                // An option is ticked, and whoever guesses ticks one too.
                let is_option =
                    matches!(&keyed.answer, Answer::Numbers { choices, .. } if !choices.is_empty());
                let (points, verdict) = if is_option {
                    (0.0, Verdict::Wrong)
                } else {
                    (f64::from(part.of) / 2.0, Verdict::Partial)
                };
                assert!((part.points - points).abs() < 0.01 && part.verdict == verdict, "{part:?}");
                mistakes += 1;
            }
        }
    }
    assert!(mistakes >= 40, "{mistakes}");
}

/// A question whose key is known: S = 1/2·√2 = 0.7071…, M = [[1/3, 2], [0, -1]].
const KNOWN: &str = "\
question: known
title: Known
goal: compute
difficulty: 1
draw: {A: \"integers(2, 2, 1..1)\", g: \"integer(1..2)\"}
let:
  c: sqrt(2) / 2 + 0 * g
  M: A / 3
  N: M + A
  t: exp(sqrt(2) / 2)
keep: [g <= 1]
parts:
  - prompt: c
    points: 4
    answer: {value: {of: c, places: 3}}
    mistakes: [{gives: c + 1, says: one too many, credit: 0.25}]
  - prompt: M
    points: 4
    answer: {value: {of: M}}
    credit: {coarse: 0.5, entries: 0.8}
  - prompt: N
    points: 4
    answer: {value: {of: N}}
    mistakes: [{gives: A, says: forgot M}]
  - prompt: t
    points: 2
    answer: {value: {of: (t + 1) / (2 * t + 1), places: 4}}
  - prompt: query
    points: 2
    answer: {design: {example: [q], distance: norm_max(q @ A), at_most: 1, rubric: [\"2 points\"]}}
  - prompt: formula
    points: 1
    answer: {expression: {is: g + g, equals: 2 * g}}
  - prompt: why
    points: 3
    answer: {text: {sample: because, rubric: [1 point for $g$, 2 points for the rest]}}
";

fn known() -> Grader {
    let text = KNOWN
        .replace("  t: exp", "  q: row(A, 1) / 4\n  t: exp")
        .replace("row(A, 1)", "ones(1, 2)");
    let own = vec![Source { path: "questions/known.yaml".to_owned(), text }];
    Grader::new(keys(&set("known"), own, 1), catalog()).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn numbers_are_held_against_the_stated_precision_and_the_rule_of_the_question() {
    let grader = known();
    for (answer, verdict, points, says) in [
        ("1a: 0.707", Verdict::Right, 4.0, ""),
        ("1a: 0.7071", Verdict::Right, 4.0, ""),
        ("1a: sqrt(2)/2", Verdict::Right, 4.0, "exact value"),
        ("1a: 1/sqrt(2)", Verdict::Right, 4.0, "exact value"),
        ("1a: \"\\\\frac{\\\\sqrt{2}}{2}\"", Verdict::Right, 4.0, "exact value"),
        ("1a: 0.7", Verdict::Wrong, 0.0, "fewer than half of the decimals asked"),
        ("1a: 0.71", Verdict::Partial, 3.0, "to 2 decimals where 3 are asked"),
        ("1a: 0.708", Verdict::Partial, 3.0, "last digit"),
        ("1a: 0.70", Verdict::Wrong, 0.0, "fewer than half of the decimals asked"),
        ("1a: 0.710", Verdict::Wrong, 0.0, "another value"),
        ("1a: 1", Verdict::Wrong, 0.0, "fewer than half of the decimals asked"),
        ("1a: -0.707", Verdict::Wrong, 0.0, "wrong sign"),
        ("1a: 1.707", Verdict::Partial, 1.0, "one too many"),
        ("1a: seven", Verdict::Unreadable, 0.0, "expected a number"),
        ("1a: 0,7", Verdict::Unreadable, 0.0, ""),
        ("1a: [0.7, 1, 2]", Verdict::Unreadable, 0.0, ""),
        ("1a: 0.707 m", Verdict::Unreadable, 0.0, ""),
        ("1a: 70.7%", Verdict::Right, 4.0, ""),
        ("1b: [[1/3, 1/3], [1/3, 1/3]]", Verdict::Right, 4.0, ""),
        ("1b: 1/3 1/3; 2/6 1/3", Verdict::Right, 4.0, ""),
        ("1b: [[0.33, 0.33], [0.33, 0.33]]", Verdict::Partial, 2.0, "the exact value is asked"),
        (
            "1b: [[1/3, 1/3], [1/3, 1/4]]",
            Verdict::Partial,
            2.4,
            "3 of 4 entries are right; another value in (2, 2)",
        ),
        ("1b: [[1/3, 1/3], [1/3, -1/3]]", Verdict::Partial, 2.4, "wrong sign in (2, 2)"),
        ("1b: [[1/3, 1/3]]", Verdict::Wrong, 0.0, "expected a matrix of 2 × 2, got 1 × 2"),
        ("1b: [[1/3, 1/3], [1/3]]", Verdict::Unreadable, 0.0, ""),
        ("1b: {a: 1}", Verdict::Unreadable, 0.0, ""),
        ("1d: (e^{sqrt(2)/2}+1)/(2e^{sqrt(2)/2}+1)", Verdict::Right, 2.0, "exact value"),
        ("1d: 0.5989", Verdict::Right, 2.0, ""),
        ("1e: [[0.5, -1/2]]", Verdict::Right, 2.0, "property"),
        ("1e: {q: [0.5, 0.5]}", Verdict::Right, 2.0, "property"),
        (
            "1e: \"q = [0.5, 0.6]\"",
            Verdict::Wrong,
            0.0,
            "left side is 1.100000, the right 1.000000",
        ),
        ("1e: {p: [0.5, 0.5]}", Verdict::Right, 2.0, "property"),
        ("1e: [1, 2, 3]", Verdict::Unreadable, 0.0, "expected 1 × 2"),
        ("1f: g * 2", Verdict::Right, 1.0, ""),
        ("1f: 2", Verdict::Wrong, 0.0, "not on others"),
        ("1f: g + 7", Verdict::Wrong, 0.0, "another value"),
        ("1f: g +", Verdict::Unreadable, 0.0, "formula"),
        ("1f: zz", Verdict::Unreadable, 0.0, "formula"),
        ("1g: because of b", Verdict::ByHand, 0.0, "a person"),
        ("1g:", Verdict::Missing, 0.0, "no answer"),
        ("Q1.a: 0.707", Verdict::Right, 4.0, ""),
        ("known/1: 0.707", Verdict::Right, 4.0, ""),
    ] {
        let all = graded(&grader, &format!("  {answer}\n"));
        assert!(all.trouble.is_empty(), "{answer}: {:?}", all.trouble);
        let name = if answer.starts_with("Q1") || answer.starts_with("known") {
            "1a"
        } else {
            &answer[..2]
        };
        let part = part(&all, name);
        assert_eq!((part.verdict, part.points), (verdict, points), "{answer}: {part:?}");
        assert!(part.feedback.to_string().contains(says), "{answer}: {part:?}");
        assert!(part.verdict != Verdict::Unreadable || part.feedback.hint().is_some(), "{part:?}");
    }
    let words = graded(&grader, "  1g: b\n");
    assert_eq!(
        (
            words.by_hand,
            part(&words, "1g").rubric.len(),
            part(&words, "1g").place.as_ref().map(ToString::to_string).as_deref()
        ),
        (3, 2, Some("ada.yaml:5"))
    );
}

#[test]
fn submissions_come_in_four_kinds_of_files() {
    let keys = keys(&set("tiny-head"), Vec::new(), 2);
    let Answer::Numbers { key, .. } = &keys[1].questions[0].parts[0].answer else {
        panic!("numbers")
    };
    let answer = matrix(&key.rows);
    let grader = grader(keys.clone());
    let notebook = serde_json::json!({"cells": [
        {"cell_type": "code", "metadata": {"qkvet": {"part": "1a"}}, "source": [format!("answer = {answer}\n")]}],
        "metadata": {"qkvet": {"exam": "x", "variant": 2}}});
    for (file, text) in [
        ("a.yaml", format!("exam: x\nvariant: 2\nanswers:\n  1a: {answer}\n")),
        (
            "a.json",
            format!("{{\"exam\": \"x\", \"variant\": 2, \"answers\": {{\"1a\": {answer}}}}}"),
        ),
        ("a.json", format!("[{{\"variant\": \"2\", \"answers\": {{\"1a\": \"{answer}\"}}}}]")),
        ("a.csv", format!("student,variant,1a\na,2,\"{answer}\"\n")),
        ("a.ipynb", notebook.to_string()),
    ] {
        let all = grader.all(&read(file, text.as_bytes()));
        assert_eq!(
            (all.len(), all[0].student.as_str(), all[0].variant),
            (1, "a", Some(2)),
            "{file}: {all:?}"
        );
        assert_eq!(all[0].parts[0].verdict, Verdict::Right, "{file}: {all:?}");
        assert!(all[0].trouble.is_empty(), "{file}: {all:?}");
    }
}

#[test]
fn bad_submissions_are_told_and_never_end_the_run() {
    let grader = Grader::new(keys(&set("tiny-head"), Vec::new(), 2), catalog())
        .unwrap_or_else(|error| panic!("{error}"));
    let deep = "[".repeat(5_000);
    for (file, text, says) in [
        ("a.yaml", "", "empty file"),
        ("a.yaml", "[", ""),
        ("a.yaml", deep.as_str(), ""),
        ("a.yaml", "answers: 3\n", ""),
        ("a.yaml", "variant: 1\nanswer: {}\n", "unknown field"),
        ("a.yaml", "variant: 1\nanswers:\n  1a: 1\n  1a: 2\n", "got a second"),
        ("a.yaml", "variant: 9\nanswers: {1a: 1}\n", "variant: expected 1, 2, got `9`"),
        ("a.yaml", "answers: {1a: 1}\n", "variant: expected one, got none"),
        ("a.yaml", "exam: y\nvariant: 1\nanswers: {1a: 1}\n", "exam: expected `x`, got `y`"),
        ("a.yaml", "variant: 1\nanswers: {1z: 1}\n", "part `1z`: expected one of the sheet"),
        ("a.yaml", "variant: 1\nanswers: {1a: 1, q1a: 2}\n", "got a second"),
        ("a.json", "{", "a file that is cut off"),
        ("a.json", deep.as_str(), ""),
        ("a.json", "{\"answers\": {\"1a\": 1, \"1a\": 2}}", "duplicate entry `1a`"),
        ("a.json", "{\"points\": 3}", "got `points`"),
        ("a.json", "7", "expected an object with `answers`, got a text"),
        ("a.json", "{\"answers\": [1]}", "answers: expected an object, a part each, got a list"),
        ("a.json", "{\"student\": {\"a\": 1}}", "student: expected a text or a number, got named"),
        (
            "a.yaml",
            "student: {a: 1}\nvariant: 1\n",
            "student: expected a text or a number, got named",
        ),
        ("a.yaml", "exam: [x]\nvariant: 1\n", "exam: expected a text or a number, got a list"),
        ("a.yaml", "variant: [1]\n", "variant: expected a text or a number, got a list"),
        ("a.csv", "name,1a\nAda,1", "expected a column `student`, got 2 others"),
        ("a.csv", "student,1a\nAda,\"1", "closing quote"),
        ("a.ipynb", "{\"cells\": 5}", "expected a list"),
        ("a.ipynb", "{}", "notebook"),
        ("a.json", "{\"student\": [1], \"answers\": [1]}", "student: expected a text or a number"),
        ("a.exe", "MZ", "expected a submission, got one that ends in `.exe`"),
        ("a.d/readme", "MZ", "expected a submission, got one without an ending"),
    ] {
        let all = grader.all(&read(file, text.as_bytes()));
        assert!(!all.is_empty(), "{text}");
        let told = all.iter().flat_map(|one| &one.trouble).any(|trouble| {
            trouble.problem.to_string().contains(says)
                && trouble.place.to_string().starts_with("a.")
        });
        assert!(told, "{file} {text:.60}: {all:?}");
    }
    assert!(read("a.yaml", &[0xff, 0xfe, 0]).iter().all(|one| {
        one.trouble.iter().any(|trouble| trouble.problem.to_string().contains("UTF-8"))
    }));
    // Random bytes, of all kinds of files.
    for number in 0..400_usize {
        let mut stream = qkvet_exam::generate::Stream::new(3, &["garbage", &number.to_string()]);
        let letters = b"variant: 1\nanswers{}[],\"'#&*!|>%@`1a=-.e(^)\\\x00\xc3\xa4";
        let bytes: Vec<u8> =
            (0..stream.below(80)).map(|_| letters[stream.below(letters.len())]).collect();
        for file in ["a.yaml", "a.json", "a.csv", "a.ipynb"] {
            let _ = grader.all(&read(file, &bytes));
        }
        let text = String::from_utf8_lossy(&bytes).replace(['\n', '\u{0}'], " ");
        let csv = format!(
            "student,variant,1a,1b,1c,1d,1e\nx,1,\"{0}\",\"{0}\",\"{0}\",\"{0}\",\"{0}\"\n",
            text.replace('"', "\"\"")
        );
        let all = grader.all(&read("a.csv", csv.as_bytes()));
        assert_eq!(all[0].parts.len(), 5, "{csv}");
    }
}

#[test]
fn a_key_that_is_not_true_is_refused() {
    let mut keys = keys(&set("tiny-head"), Vec::new(), 1);
    let Answer::Numbers { key, .. } = &mut keys[0].questions[0].parts[1].answer else {
        panic!("numbers")
    };
    key.rows[0][0] = "0.9999".to_owned();
    let error = Grader::new(keys, catalog()).map(|_| ()).expect_err("a wrong key").to_string();
    assert!(
        error.contains("key of variant 1") && error.contains("hint: `qkvet exam verify`"),
        "{error}"
    );
    assert!(Grader::new(Vec::new(), catalog()).is_err());
}

#[test]
fn a_formula_is_in_terms_of_what_is_given_and_written_as_people_do() {
    let keys = keys(&set("token-attention"), Vec::new(), 1);
    let grader = grader(keys.clone());
    let at = keys[0].questions[0]
        .parts
        .iter()
        .position(|part| part.answer == Answer::AsWritten)
        .expect("a formula");
    let id = part_id(0, at);
    for (formula, verdict, says) in [
        ("Q", Verdict::Wrong, "in terms of what is given, X, W_Q, W_K, W_V"),
        ("Q + 0 * X @ W_Q", Verdict::Wrong, "`Q` is what is asked"),
        ("X @ W_Q + 0 * S @ K", Verdict::Wrong, "`S` is what is asked or made from it"),
        ("X @ W_Q", Verdict::Right, ""),
        ("X W_Q", Verdict::Right, ""),
        ("XW_Q", Verdict::Right, ""),
        ("X · W_Q", Verdict::Right, ""),
        ("X * W_Q", Verdict::Right, ""),
        ("$X W_{Q}$", Verdict::Right, ""),
        ("X \\cdot W_Q", Verdict::Right, ""),
        ("(W_QᵀXᵀ)ᵀ", Verdict::Right, ""),
        ("(W_Q^T X^T)^T", Verdict::Right, ""),
        ("2 X W_Q / 2", Verdict::Right, ""),
        ("X W_K", Verdict::Wrong, "another value"),
        ("X W_P", Verdict::Unreadable, "expected one of X, W_Q"),
    ] {
        let all = graded(&grader, &format!("  {id}: \"{}\"\n", formula.replace('\\', "\\\\")));
        let part = part(&all, &id);
        assert!(
            part.verdict == verdict && part.feedback.to_string().contains(says),
            "{formula}: {part:?}"
        );
    }
}

#[test]
fn nothing_follows_from_an_answer_that_leaves_nothing_to_compute() {
    let keys = keys(&set("tiny-head"), Vec::new(), 3);
    let grader = grader(keys.clone());
    for key in &keys {
        let values = match &key.questions[0].drawn.parameters["V"] {
            qkvet_exam::answer::Parameter::Matrix(rows) => rows.clone(),
            other => panic!("expected a matrix, got {other:?}"),
        };
        let sum = |j: usize| values.iter().map(|row| row[j]).sum::<f64>();
        let mean = format!("[\"{}/3\", \"{}/3\"]", sum(0), sum(1));
        let third = "[\"1/3\", \"1/3\", \"1/3\"]";
        for first in ["[[0, 0, 0], [0, 0, 0]]", "[[1, 1, 1], [2, 2, 2]]", "[[9, 9, 9], [9, 9, 9]]"]
        {
            let text = format!(
                "variant: {}\nanswers:\n  1a: {first}\n  1b: [{third}, {third}]\n  1c: [{mean}, {mean}]\n",
                key.variant
            );
            let all = grader.grade(&read("zero.yaml", text.as_bytes())[0]);
            for id in ["1a", "1b", "1c"] {
                let part = part(&all, id);
                assert!(
                    part.verdict != Verdict::Follows && part.points <= f64::from(part.of) / 2.0,
                    "{part:?}"
                );
            }
            assert!(all.points <= 2.5, "{all:?}");
        }
    }
    // One slip is paid for once, whatever it is.
    let (grader, _) = of_own(CHAIN);
    let all = graded(&grader, "  1a: [[7, 8], [9, 10]]\n  1b: [[14, 16], [18, 20]]\n");
    assert_eq!(
        (part(&all, "1a").verdict, part(&all, "1b").verdict),
        (Verdict::Wrong, Verdict::Follows),
        "{all:?}"
    );
    let all = graded(&grader, "  1a: [[2, 4], [3, 6]]\n  1b: [[4, 8], [6, 12]]\n");
    assert_eq!(
        (part(&all, "1a").verdict, part(&all, "1b").verdict),
        (Verdict::Partial, Verdict::Follows),
        "{all:?}"
    );
}

/// A = [[1, 2], [3, 4]], M = A, N = 2 M; two designs with the same names, and lines of which two
/// commute.
const CHAIN: &str = "\
question: own
title: Own
goal: compute
difficulty: 1
sizes: {n: 2, d: 3}
draw: {k: \"integer(1..1)\", g: \"integer(1..3)\"}
let:
  c: k * vcat(hcat(ones(1, 1), 2 * ones(1, 1)), hcat(3 * ones(1, 1), 4 * ones(1, 1))) + 0 * g * ones(2, 2)
  M: c
  N: 2 * M
  q: ones(1, 2)
  big: 11475 * k
keep: [g <= 1]
parts:
  - prompt: M
    points: 4
    answer: {value: {of: M}}
    mistakes: [{gives: \"vcat(hcat(2 * ones(1, 1), 4 * ones(1, 1)), hcat(3 * ones(1, 1), 6 * ones(1, 1)))\", says: other}]
  - prompt: N
    points: 4
    answer: {value: {of: N}}
  - prompt: a query of sum 2
    points: 3
    answer: {design: {example: [q], distance: \"norm_max(q @ ones(2, 1) - 2 * ones(1, 1))\", at_most: sqrt(2) / 300, rubric: [all]}}
  - prompt: one of equal entries; give it once more if it has to change
    points: 2
    answer: {design: {example: [q], distance: \"norm_max(q @ vcat(ones(1, 1), -ones(1, 1)))\", at_most: 0.01, rubric: [all]}}
  - prompt: lines
    points: 5
    answer:
      ordering:
        lines: [one, two, three, four, five]
        strangers: [{says: no, because: none}]
        any_order: [[2, 3]]
  - prompt: how many
    points: 1
    answer: {value: {of: big}}
  - prompt: what share, in percent
    points: 1
    answer: {value: {of: big / 100, places: 2, percent: true}}
  - prompt: a row
    points: 1
    answer: {value: {of: \"hcat(ones(1, 1), 2 * ones(1, 1))\"}}
  - prompt: extents
    points: 4
    answer: {shape: \"(1, 1, n, d)\"}
";

#[test]
fn a_bound_is_met_that_the_sheet_prints() {
    let (grader, _) = of_own(CHAIN);
    // √2/300 = 0.004714… is printed as 0.0047, below it; 0.00475 is too far.
    for (entry, verdict) in
        [("1.0047", Verdict::Right), ("1.004714", Verdict::Right), ("1.00475", Verdict::Wrong)]
    {
        let all = graded(&grader, &format!("  1c: [{entry}, 1]\n"));
        assert_eq!(part(&all, "1c").verdict, verdict, "{entry}: {all:?}");
    }
    // Where what is printed is above the bound, what is within it is right: √3/300 = 0.005773… is
    // printed as 0.0058.
    let (grader, _) = of_own(&CHAIN.replace("sqrt(2) / 300", "sqrt(3) / 300"));
    for (entry, verdict) in
        [("1.0058", Verdict::Right), ("1.00579", Verdict::Right), ("1.00581", Verdict::Wrong)]
    {
        let all = graded(&grader, &format!("  1c: [{entry}, 1]\n"));
        assert_eq!(part(&all, "1c").verdict, verdict, "{entry}: {all:?}");
    }
}

#[test]
fn a_design_that_need_not_change_is_taken_over() {
    let (grader, _) = of_own(CHAIN);
    let of = |answers: &str| {
        let all = graded(&grader, answers);
        (part(&all, "1d").verdict, part(&all, "1d").points, part(&all, "1d").feedback.to_string())
    };
    let (verdict, points, says) = of("  1c: [1, 1]\n  1d:\n");
    assert!(
        verdict == Verdict::Right
            && points > 1.99
            && says.contains("the one to 1c has this property too"),
        "{says}"
    );
    assert_eq!(of("  1c: [0.5, 1.5]\n").0, Verdict::Missing);
    assert_eq!(of("  1c: [1, 1]\n  1d: [1, 2]\n").0, Verdict::Wrong);
    assert_eq!(of("  1d: [3, 3]\n").0, Verdict::Right);
}

#[test]
fn lines_that_commute_are_right_in_either_order() {
    let (grader, key) = of_own(CHAIN);
    let Answer::Ordering(order) = &key.questions[0].parts[4].answer else { panic!("lines") };
    let letters = |lines: &[usize]| -> String {
        let letter = |line: &usize| {
            order.iter().position(|at| at == line).and_then(|at| u8::try_from(at).ok())
        };
        lines.iter().filter_map(letter).map(|at| char::from(b'A' + at)).collect()
    };
    for (lines, points) in [
        ([0, 1, 2, 3, 4], 5.0),
        ([0, 2, 1, 3, 4], 5.0),
        ([1, 0, 2, 3, 4], 4.0),
        ([0, 2, 3, 1, 4], 4.0),
    ] {
        let all = graded(&grader, &format!("  1e: {}\n", letters(&lines)));
        assert!((part(&all, "1e").points - points).abs() < 1e-9, "{lines:?}: {all:?}");
    }
    // What other systems are told: PrairieLearn the lines before each, Moodle the places of each.
    let exported = |target| {
        let files = export(target, std::slice::from_ref(&key), Credit::default(), catalog());
        let files = files.unwrap_or_else(|error| panic!("{error}"));
        files
            .iter()
            .map(|file| String::from_utf8_lossy(&file.bytes).into_owned())
            .collect::<String>()
    };
    let lines = exported(Target::PrairieLearn);
    for depends in [
        "tag=\"1\" depends=\"\"",
        "tag=\"2\" depends=\"1\"",
        "tag=\"3\" depends=\"1\"",
        "tag=\"4\" depends=\"2,3\"",
    ] {
        assert!(lines.contains(depends), "{depends}: {lines}");
    }
    for target in [Target::Moodle, Target::Qti21] {
        let text = exported(target);
        assert!(
            target == Target::Qti21 || text.contains("line 2 or 3") && !text.contains("line 2<"),
            "{text}"
        );
    }
    assert!(exported(Target::Notebook).contains("_text.index(b)"));
    for wrong in ["[[1, 3]]", "[[2, 9]]", "[[2, 2]]"] {
        let own = vec![Source {
            path: "questions/own.yaml".to_owned(),
            text: CHAIN.replace("any_order: [[2, 3]]", &format!("any_order: {wrong}")),
        }];
        let set = Source { path: "set.yaml".to_owned(), text: set("own") };
        let error = build(&Request { set, own, variants: 1, seed: 1 }, catalog())
            .expect_err("a pair that is none");
        assert!(error.to_string().contains("answer.any_order: expected"), "{error}");
    }
}

/// A key that was built when a question had another id is graded by the question.
#[test]
fn an_old_id_of_a_question_is_followed() {
    let text = CHAIN.replace("question: own", "question: raised-score-odds");
    let own =
        |name: &str| vec![Source { path: format!("questions/{name}.yaml"), text: text.clone() }];
    let mut key = keys(&set("raised-score"), own("raised-score-odds"), 1).remove(0);
    let (_, library) = key.sources(catalog()).unwrap_or_else(|error| panic!("{error}"));
    key.questions[0].question = "raised-score".to_owned();
    assert!(library.get(&key.questions[0].question).is_some());
    assert!(library.get("raised").is_none());
}

/// The file that a question was read from may be right while the copy in the key is not.
#[test]
fn a_damaged_copy_is_placed_in_the_key() {
    let own = vec![Source { path: "questions/own.yaml".to_owned(), text: CHAIN.to_owned() }];
    let key = keys(&set("own"), own, 1).remove(0);
    let mut own = key.clone();
    own.own[0].text.push_str("\nrubbish: 1\n");
    let mut of_set = key.clone();
    of_set.set.text.push_str("\nrubbish: 1\n");
    let mut unknown = key;
    unknown.set.text = set("nobody");
    for key in [own, of_set, unknown] {
        let error = Grader::new(vec![key], catalog()).err();
        assert!(
            matches!(error, Some(ExamError::Key(KeyError::Copy { variant: 1, .. }))),
            "{error:?}"
        );
    }
}

#[test]
fn digits_in_groups_units_and_percent_are_read_or_told() {
    let (grader, _) = of_own(CHAIN);
    for (answer, verdict, says) in [
        ("1f: 11475", Verdict::Right, ""),
        ("1f: 11,475", Verdict::Right, ""),
        ("1f: 11 475", Verdict::Right, ""),
        ("1f: \"11,475.00\"", Verdict::Right, ""),
        ("1f: 11,47", Verdict::Unreadable, ""),
        ("1f: 11475 keys", Verdict::Right, ""),
        ("1f: 11475%", Verdict::Wrong, "another value"),
        ("1f: 11 4750", Verdict::Unreadable, ""),
        ("1g: 114.75", Verdict::Right, ""),
        ("1g: 114.75%", Verdict::Right, ""),
        ("1h: 1; 2", Verdict::Right, ""),
        ("1h: 1, 2", Verdict::Right, ""),
        ("1h: [[1], [2]]", Verdict::Right, ""),
        ("1h: [[2], [1]]", Verdict::Wrong, "another value"),
        ("1h: [[1], [2], [3]]", Verdict::Wrong, "expected a matrix of 1 × 2, got 3 × 1"),
        ("1i: (1, 1, 2, 3)", Verdict::Right, ""),
        // A batch and a head of 1 may be left out or written.
        ("1i: (2, 3)", Verdict::Right, ""),
        ("1i: (1, 2, 3)", Verdict::Right, ""),
        ("1i: (1, 1, 1, 2, 3)", Verdict::Right, ""),
        ("1i: (1, 1, 3, 2)", Verdict::Partial, "2 of 4 entries"),
        ("1i: (2, 4)", Verdict::Wrong, "expected 4 extents, got 2"),
        ("1i: 1x1x2x3", Verdict::Right, ""),
    ] {
        let all = graded(&grader, &format!("  {answer}\n"));
        let part = part(&all, &answer[..2]);
        assert!(
            part.verdict == verdict && part.feedback.to_string().contains(says),
            "{answer}: {part:?}"
        );
    }
    // A formula of a spreadsheet names no part.
    let all = graded(&grader, "  \"=1+1\": 3\n");
    assert!(
        all.trouble
            .iter()
            .any(|one| one.problem.to_string().contains("part `=1+1`: expected one of the sheet")),
        "{all:?}"
    );
}

#[test]
fn a_key_is_held_against_its_seed_before_it_is_used() {
    let good = keys(&set("which-products"), Vec::new(), 2);
    let error = |keys: Vec<Key>| {
        Grader::new(keys, catalog()).map(|_| ()).expect_err("a wrong key").to_string()
    };
    assert!(
        Grader::new(good.clone(), catalog()).is_ok()
            && Grader::new(vec![good[1].clone()], catalog()).is_ok()
    );
    let mut swapped = good.clone();
    let order = swapped[1].questions[0].parts.iter_mut().find_map(|part| match &mut part.answer {
        Answer::Choice(order) => Some(order),
        _ => None,
    });
    order.expect("options").swap(0, 1);
    assert!(error(swapped).contains("key of variant 2"));
    let mut fewer = good.clone();
    fewer[0].questions[0].parts.pop();
    assert!(error(fewer).contains("key of variant 1"));
    let mut none = good.clone();
    none[0].questions.clear();
    assert!(error(none).contains("expected 1, got 0"));
    let mut twice = good.clone();
    twice.push(good[0].clone());
    assert!(error(twice).contains("two keys of variant 1"));
    let mut seed = good;
    seed.iter_mut().for_each(|key| key.seed += 1);
    assert!(error(seed).contains("its seed gives"));
}
