//! Designs: which inequality fails, numbers that are not rational, and how answers may be written.

use qkvet_exam::build::{Request, build};
use qkvet_exam::grade::{GradedPart, Grader, Verdict, read};
use qkvet_exam::key::{Key, Source};

use crate::catalog;

/// A number with `x ≤ 2` and `exp(x) ≥ 4`; a row with a small first entry; ln 38 and 4/25.
const OWN: &str = "\
question: own
title: Own
goal: design
difficulty: 1
sizes: {n: 3}
draw: {k: \"integer(2..2)\", g: \"integer(1..3)\"}
let:
  x: 3 / 2
  q: hcat(0 * g * ones(1, 2), ones(1, 1))
  s: 4 / 25
keep: [g <= 1]
parts:
  - prompt: x
    points: 2
    answer: {design: {example: [x], distance: \"norm_max(hcat(x / k * ones(1, 1), 4 / exp(x) * ones(1, 1)))\", at_most: 1, rubric: [all]}}
  - prompt: q
    points: 2
    answer: {design: {example: [q], distance: \"norm_max(q @ vcat(ones(1, 1), zeros(2, 1)))\", at_most: 0.01, rubric: [all]}}
  - prompt: l
    points: 2
    answer: {value: {of: log(38), places: 3}}
  - prompt: s
    points: 2
    answer: {value: {of: s}}
  - prompt: row
    points: 2
    answer: {value: {of: \"hcat(ones(1, 1), 2 * ones(1, 1))\"}}
";

struct Bench {
    grader: Grader,
    template: String,
}

fn bench() -> Bench {
    let source = |path: &str, text: &str| Source { path: path.to_owned(), text: text.to_owned() };
    let set = source("set.yaml", "exam: x\ntitle: X\nquestions:\n  - question: own\n");
    let request =
        Request { set, own: vec![source("questions/own.yaml", OWN)], variants: 1, seed: 3 };
    let files = build(&request, catalog()).unwrap_or_else(|error| panic!("{error}"));
    let text = |end: &str| {
        let file = files
            .iter()
            .find(|file| file.path.ends_with(end))
            .unwrap_or_else(|| panic!("no {end}"));
        file.text.clone()
    };
    let key = Key::from_json(&text("key/x-1.json")).unwrap_or_else(|error| panic!("{error}"));
    let grader = Grader::new(vec![key], catalog()).unwrap_or_else(|error| panic!("{error}"));
    Bench { grader, template: text(".answers.yaml") }
}

impl Bench {
    fn graded(&self, id: &str, answer: &str) -> (GradedPart, String) {
        let text = format!("exam: x\nvariant: 1\nstudent: Ada\nanswers:\n  {id}: {answer}\n");
        let graded = self.grader.grade(&read("ada.yaml", text.as_bytes())[0]);
        let part = graded
            .parts
            .iter()
            .find(|part| part.part == id)
            .unwrap_or_else(|| panic!("no part {id}"));
        (part.clone(), part.feedback.hint().unwrap_or_default())
    }

    fn check(&self, id: &str, answer: &str, verdict: Verdict, says: &[&str]) {
        let (part, hint) = self.graded(id, answer);
        assert_eq!(part.verdict, verdict, "{id}, {answer}: {part:?}, {hint}");
        for word in says {
            assert!(
                part.feedback.to_string().contains(word) || hint.contains(word),
                "{id}, {answer}: {word}: {part:?}, {hint}"
            );
        }
    }
}

#[test]
fn an_inequality_that_fails_is_named_with_both_sides() {
    let bench = bench();
    let fails = |answer: &str, says: &[&str]| bench.check("1a", answer, Verdict::Wrong, says);
    fails("{x: 2.0001}", &["x/2 ≤ 1", "left side is 1.000050, the right 1.000000"]);
    fails("{x: 2.0000000001}", &["left side is 1.000000000050, the right 1.000000000000"]);
    fails("{x: 1}", &["≤ 1", "left side is 1.471518, the right 1.000000"]);
    assert!(
        !bench.graded("1a", "{x: 1}").0.feedback.to_string().contains("x/2"),
        "the one that holds is not named"
    );
}

#[test]
fn numbers_that_are_not_rational_are_decided() {
    let bench = bench();
    for (answer, verdict, says) in [
        ("{x: 3/2}", Verdict::Right, ""),
        ("{x: sqrt(2)}", Verdict::Right, ""),
        ("{x: ln(5)}", Verdict::Right, ""),
        ("{x: exp(1/2)}", Verdict::Right, ""),
        // On the bound itself, which no enclosure decides.
        ("{x: ln(4)}", Verdict::Right, ""),
        ("{x: 2*ln(2)}", Verdict::Right, ""),
        ("{x: ln(3999999999999/1000000000000)}", Verdict::Wrong, "the right 1.000000"),
        ("{x: exp(1)}", Verdict::Wrong, "left side is 1.359141, the right 1.000000"),
        ("{x: ln(3)}", Verdict::Wrong, "left side is 1.333333, the right 1.000000"),
        ("x ≈ 1.5", Verdict::Right, ""),
        ("x = 1.5", Verdict::Right, ""),
    ] {
        bench.check("1a", answer, verdict, &[says]);
    }
}

#[test]
fn a_column_may_stand_for_a_row_and_the_template_shows_the_extents() {
    let bench = bench();
    bench.check("1b", "{q: [[0], [0], [10]]}", Verdict::Right, &["`q` is taken as a row"]);
    bench.check(
        "1b",
        "{q: [[10], [0], [0]]}",
        Verdict::Wrong,
        &["left side is 10.000000, the right 0.010000"],
    );
    bench.check(
        "1b",
        "{q: [[1, 0], [0, 1]]}",
        Verdict::Unreadable,
        &["1 × 3 numbers, got 2 × 2", "q = [[1, 0, 0]]"],
    );
    for line in ["{x: 1}", "{q: [[1, 0, 0]]}"] {
        assert!(bench.template.contains(line), "{}", bench.template);
    }
}

/// Vectors of the sheet are no numbers that can be computed with here, and no mistake.
#[test]
fn what_is_written_in_terms_of_the_sheet_is_left_to_a_person() {
    let bench = bench();
    for (answer, name) in [
        ("10 (k_2 + k_3)", "k_2"),
        ("q = 10k_3", "k_3"),
        ("{q: 10 k_1 + k_3}", "k_1"),
        ("\"q: 5 * k_2\"", "k_2"),
    ] {
        bench.check("1b", answer, Verdict::Unreadable, &[name]);
    }
    for answer in ["{q: ten times the last}", "{q: k_}", "{q: key_3}", "q_x"] {
        bench.check("1b", answer, Verdict::Unreadable, &[]);
    }
}

#[test]
fn a_name_or_a_sign_before_a_number_is_left_out() {
    let bench = bench();
    for (id, answer, verdict) in [
        ("1d", "s = 4/25", Verdict::Right),
        ("1d", "\"= 0.16\"", Verdict::Right),
        ("1c", "≈ 3.638", Verdict::Right),
        ("1c", "l ≈ 3.638", Verdict::Right),
        ("1c", "≈ 3.637", Verdict::Partial),
        ("1c", "ln(38) ≈ 3.638", Verdict::Right),
        ("1c", "ln(39) ≈ 3.638", Verdict::Unreadable),
        ("1e", "v = [[1, 2]]", Verdict::Right),
        ("1e", "[≈1, ≈2]", Verdict::Right),
    ] {
        bench.check(id, answer, verdict, &[]);
    }
}

#[test]
fn a_comma_that_may_be_a_decimal_point_is_told() {
    let bench = bench();
    bench.check("1c", "3,638", Verdict::Unreadable, &["decimal point", "decimal: comma"]);
    // 3.640 is another value too.
    bench.check("1c", "3,640", Verdict::Wrong, &["another value"]);
    bench.check("1c", "3638", Verdict::Wrong, &["another value"]);
}
