//! Answers with fewer digits than asked, logarithms, designs as text, and what is no option.

use qkvet_exam::generate::Answer;
use qkvet_exam::grade::{Verdict, part_id, read};

use super::{graded, grader, keys, of_own, part, set};

/// 0.5002 beside 0.5000 and 0.4998, 0.011, 0.825901, ln 196, and designs of one and of two.
const FEWER: &str = "\
question: own
title: Own
goal: compute
difficulty: 1
draw: {g: \"integer(1..2)\"}
let:
  c: 5002 / 10000 + 0 * g
  d: 11 / 1000 + 0 * g
  f: 825901 / 1000000 + 0 * g
  l: log(196 + 0 * g)
  x: 3 + 0 * g
  p: ones(1, 2)
  r: ones(1, 2)
  m: 1 / 10000 * hcat(hcat(9902 * ones(1, 1), 19913 * ones(1, 1)), hcat(7012 * ones(1, 1), 9997 * ones(1, 1)))
keep: [g <= 1]
parts:
  - prompt: c
    points: 3
    answer: {value: {of: c, places: 4}}
    mistakes: [{gives: 0.5, says: half}]
  - prompt: d
    points: 2
    answer: {value: {of: d, places: 3}}
  - prompt: f
    points: 3
    answer: {value: {of: f, places: 6}}
  - prompt: c again
    points: 4
    answer: {value: {of: c, places: 4}}
    mistakes: [{gives: 0.4998, says: less, credit: 0.25}]
  - prompt: l
    points: 1
    answer: {value: {of: l, places: 3}}
  - prompt: x
    points: 2
    answer: {design: {example: [x], distance: \"norm_max(x * ones(1, 1) - 3 * ones(1, 1))\", at_most: 0.5, rubric: [all]}}
  - prompt: p and r
    points: 2
    answer: {design: {example: [p, r], distance: norm_max(p - r), at_most: 0.5, rubric: [all]}}
  - prompt: m
    points: 4
    answer: {value: {of: m, places: 4}}
  - prompt: c, a last time
    points: 4
    answer: {value: {of: c, places: 4}}
    mistakes: [{gives: 1 / 3, says: a third}, {gives: 2 / 3, says: two thirds}, {gives: 0.6712, says: more}]
";

#[test]
fn fewer_digits_earn_only_what_they_tell() {
    let (grader, _) = of_own(FEWER);
    for (answer, points, says) in [
        ("1a: 0.5002", 3.0, ""),
        ("1a: 0.5000", 1.5, "half"),
        ("1a: 0.5", 1.5, "half"),
        ("1a: 0.50", 1.5, "half"),
        ("1a: 0.500", 1.5, "half"),
        ("1b: 0.011", 2.0, ""),
        ("1b: 0.0", 0.0, "another value"),
        ("1b: 0.00", 0.0, "another value"),
        ("1b: 0.01", 1.5, "right, but to 2 decimals where 3 are asked"),
        // The last digit cut off: the one before it is right.
        ("1c: 0.8259", 2.25, "right, but to 4 decimals where 6 are asked"),
        ("1c: 0.8260", 2.25, "right, but to 3 decimals where 6 are asked"),
        ("1c: 0.8256", 0.0, "another value"),
        ("1c: 1", 0.0, "fewer than half of the decimals asked"),
        ("1c: 0.8", 0.0, "fewer than half of the decimals asked"),
        ("1c: 0.83", 0.0, "fewer than half of the decimals asked"),
        ("1c: 0.826", 2.25, "right, but to 3 decimals where 6 are asked"),
        ("1d: 0.50", 1.0, "with so few it may also be a mistake: less"),
        ("1d: 0.5002", 4.0, ""),
        ("1i: 0.3333", 2.0, "a third"),
        ("1i: 0.33", 1.5, "a third; fewer decimals than asked"),
        ("1i: 0.3334", 0.0, "another value"),
        ("1i: 0.3", 0.0, "another value"),
        // Either of two.
        ("1i: 0.67", 0.0, "another value"),
        ("1i: 0.667", 1.5, "two thirds; fewer decimals than asked"),
        ("1e: 2*ln(14)", 1.0, "equal to the exact value"),
        ("1e: ln(196)", 1.0, "equal to the exact value"),
        ("1e: 2 ln 7 + 1/2 ln(16)", 1.0, "equal to the exact value"),
    ] {
        let all = graded(&grader, &format!("  {answer}\n"));
        let part = part(&all, &answer[..2]);
        assert!(
            (part.points - points).abs() < 1e-9 && part.feedback.to_string().contains(says),
            "{answer}: {part:?}"
        );
    }
}

#[test]
fn zeros_at_the_end_may_be_dropped_beside_entries_that_have_enough_digits() {
    let (grader, _) = of_own(FEWER);
    let coarse = "right, but to 2 decimals where 4 are asked";
    for (answer, points, says) in [
        ("[0.9902, 1.9913, 0.7012, 0.9997]", 4.0, ""),
        ("[0.99, 1.99, 0.70, 1.00]", 3.0, coarse),
        ("[0.99, 1.99, 0.7, 1.0]", 3.0, coarse),
        ("[0.99, 1.99, 0.7, 1]", 3.0, coarse),
        ("[0.9902, 1.9913, 0.70, 0.9997]", 3.0, coarse),
        ("[0.9902, 1.99, 0.7, 0.9997]", 3.0, coarse),
        // Zeros that are not right are not taken for dropped ones.
        ("[0.9902, 1.9913, 0.7012, 1]", 1.5, "fewer than half of the decimals asked in (1, 4)"),
        ("[0.9902, 1.9913, 0.7, 0.9997]", 1.5, "fewer than half of the decimals asked in (1, 3)"),
        (
            "[0.99, 1.99, 0.8, 1.00]",
            1.13,
            "3 of 4 entries are right, though not to all digits asked; another value in (1, 3)",
        ),
        (
            "[0.99, 2.0, 0.7, 1.0]",
            1.13,
            "though not to all digits asked; fewer than half of the decimals asked in (1, 2)",
        ),
        ("[1.0, 2.0, 0.7, 1.0]", 0.0, "fewer than half of the decimals asked"),
    ] {
        let all = graded(&grader, &format!("  1h: {answer}\n"));
        let part = part(&all, "1h");
        assert!(
            (part.points - points).abs() < 1e-9 && part.feedback.to_string().contains(says),
            "{answer}: {part:?}"
        );
    }
}

#[test]
fn a_whole_number_and_a_fraction_are_a_mixed_number() {
    let (grader, _) = of_own(FEWER);
    for (answer, verdict) in [("0 2501/5000", Verdict::Right), ("45 9/16", Verdict::Wrong)] {
        let all = graded(&grader, &format!("  1a: {answer}\n"));
        assert_eq!(part(&all, "1a").verdict, verdict, "{answer}: {all:?}");
    }
}

#[test]
fn a_design_is_the_same_in_every_kind_of_file() {
    let (grader, _) = of_own(FEWER);
    for (id, text) in [
        ("1f", "{x: 3}"),
        ("1f", "x = 3"),
        ("1f", "{x: 2*ln(4)}"),
        ("1f", "3"),
        ("1g", "{p: [[1, 2]], r: [[1, 2]]}"),
        ("1g", "{p: [1, 2], r: [1, 2]}"),
        ("1g", "p = [1, 2], r = [1, 2]"),
        ("1g", "p = [1, 2]; r = [1, 2]"),
        ("1g", "p = 1, 2, r = 1, 2"),
        ("1g", "p: [1,\n 2]\nr: [1, 2]"),
        ("1g", "{'p': [1, 2], 'r': [1, 2]}"),
    ] {
        let csv = format!("student,variant,{id}\nAda,1,\"{text}\"\n");
        let json = serde_json::json!({"variant": 1, "answers": {id: text}}).to_string();
        for (file, text) in [("a.csv", csv), ("a.json", json)] {
            let all = grader.grade(&read(file, text.as_bytes())[0]);
            // ln 16 = 2.77 is near enough to 3.
            assert_eq!(part(&all, id).verdict, Verdict::Right, "{file} {text}: {all:?}");
        }
    }
    for (text, says) in [("{x: 3, x: 3}", "expected `x` once"), ("{x: 9}", "does not hold")] {
        let all = grader
            .grade(&read("a.csv", format!("student,variant,1f\nAda,1,\"{text}\"\n").as_bytes())[0]);
        assert!(part(&all, "1f").feedback.to_string().contains(says), "{text}: {all:?}");
    }
}

#[test]
fn of_options_that_are_matrices_a_letter_is_asked() {
    let keys = keys(&set("convex-hull"), Vec::new(), 1);
    let has_options =
        |answer: &Answer| matches!(answer, Answer::Numbers { choices, .. } if !choices.is_empty());
    let at = keys[0].questions[0]
        .parts
        .iter()
        .position(|part| has_options(&part.answer))
        .expect("options");
    let grader = grader(keys);
    for answer in ["Z", "option Z", "A or B"] {
        let all = graded(&grader, &format!("  {}: {answer}\n", part_id(0, at)));
        let part = part(&all, &part_id(0, at));
        assert_eq!(part.verdict, Verdict::Unreadable, "{part:?}");
        assert!(
            part.feedback.to_string().contains("one option from A to D")
                && part.feedback.hint().as_deref() == Some("give its letter, as on the sheet"),
            "{part:?}"
        );
    }
}
