//! How far off a number may be: what the set and the part say, what the sheet prints, and what a
//! tolerance must not admit.

use qkvet_exam::build::{Request, build};
use qkvet_exam::generate::Answer;
use qkvet_exam::grade::{Grader, Verdict, read};
use qkvet_exam::key::{Key, Source};

use super::{grader, keys, part, set};
use crate::catalog;

/// A scalar of 3634.27…, and a matrix of roots.
const OWN: &str = "\
question: own
title: Own
goal: compute
difficulty: 1
draw: {g: \"one_of(2, 3)\"}
let:
  x: 2569.817 * sqrt(g)
  M: hcat(sqrt(g) * ones(1, 1), 100 * sqrt(g) * ones(1, 1))
keep: [g <= 2]
parts:
  - prompt: x
    points: 4
    answer: {value: {of: x, places: 2}}
    mistakes: [{gives: x + 100, says: a hundred too many}]
  - prompt: M
    points: 4
    answer: {value: {of: M, places: 3}}
    PART
";

fn graded(tolerance: &str, own: &str, answers: &str) -> qkvet_exam::grade::Graded {
    let text = OWN.replace("PART", own);
    let own = vec![Source { path: "questions/own.yaml".to_owned(), text }];
    let set = set("own").replace("questions:", &format!("{tolerance}\nquestions:"));
    let keys = keys(&set, own, 1);
    super::graded(&grader(keys), answers)
}

#[test]
fn bands_of_set_and_part_are_kept_to_the_digit() {
    let bands = "tolerance: [{digits: 4}, {relative: 0.01, share: 0.75}]";
    // sqrt(2) = 1.41421…, x = 3634.2700…
    for (tolerance, own, answer, points) in [
        ("", "", "1a: 3634", 0.0),
        (bands, "", "1a: 3634", 4.0),
        (bands, "", "1a: 3633.5", 3.0),
        (bands, "", "1a: 3600", 3.0),
        (bands, "", "1a: 3590", 0.0),
        (bands, "", "1a: 3734.27", 2.0),
        (bands, "", "1b: [[1.414, 141.4]]", 4.0),
        (bands, "", "1b: [[1.414, 141.0]]", 3.0),
        (bands, "", "1b: [[1.5, 141.4]]", 1.0),
        ("tolerance: {units: 2}", "", "1b: [[1.416, 141.421]]", 4.0),
        ("tolerance: {units: 2}", "", "1b: [[1.417, 141.421]]", 1.0),
        (bands, "tolerance: {absolute: 0.5}", "1b: [[1.9, 141.0]]", 4.0),
        (bands, "tolerance: {absolute: 0.5}", "1b: [[2.0, 141.0]]", 1.0),
    ] {
        let all = graded(tolerance, own, &format!("  {answer}\n"));
        let part = part(&all, &answer[..2]);
        assert!((part.points - points).abs() < 1e-9, "{tolerance} {own} {answer}: {part:?}");
    }
    let all = graded(bands, "", "  1a: 3634\n");
    assert!(part(&all, "1a").feedback.to_string().contains("within the tolerance"), "{all:?}");
}

#[test]
fn a_tolerance_that_admits_a_mistake_in_every_draw_is_an_error_with_its_line() {
    let text = OWN.replace("PART", "");
    let own = vec![Source { path: "questions/own.yaml".to_owned(), text }];
    let text = set("own").replace("questions:", "tolerance: {absolute: 100}\nquestions:");
    let set = Source { path: "set.yaml".to_owned(), text };
    let error = build(&Request { set, own, variants: 1, seed: 11 }, catalog())
        .expect_err("a hundred too many is right")
        .to_string();
    assert!(error.contains("the tolerance admits mistake `a hundred too many`"), "{error}");
}

#[test]
fn a_tolerance_is_one_distance_and_a_share() {
    for (tolerance, says) in [
        ("tolerance: {absolute: 1, digits: 2}", "expected one of `absolute`"),
        ("tolerance: {absolute: -1}", "expected one of `absolute`"),
        ("tolerance: {units: 1, share: 0}", "expected a share"),
        ("tolerance: {unit: 1}", "unit"),
    ] {
        let text = set("tiny-head").replace("questions:", &format!("{tolerance}\nquestions:"));
        let set = Source { path: "set.yaml".to_owned(), text };
        let request = Request { set, own: Vec::new(), variants: 1, seed: 1 };
        let error = build(&request, catalog()).expect_err(tolerance).to_string();
        assert!(error.contains(says), "{tolerance}: {error}");
    }
}

/// Rows of decimals of a key.
fn rows(key: &Key, part: usize) -> Vec<Vec<f64>> {
    let Answer::Numbers { key, .. } = &key.questions[0].parts[part].answer else {
        panic!("numbers")
    };
    let value = |x: &String| x.parse::<f64>().unwrap_or_else(|_| panic!("{x}"));
    key.rows.iter().map(|row| row.iter().map(value).collect()).collect()
}

fn product(x: &[Vec<f64>], y: &[Vec<f64>]) -> String {
    let entry =
        |row: &Vec<f64>, j: usize| -> f64 { row.iter().zip(y).map(|(a, y)| a * y[j]).sum() };
    let row = |row: &Vec<f64>| {
        (0..y[0].len()).map(|j| format!("{:.4}", entry(row, j))).collect::<Vec<_>>().join(", ")
    };
    format!("[{}]", x.iter().map(|one| format!("[{}]", row(one))).collect::<Vec<_>>().join(", "))
}

#[test]
fn outputs_from_weights_rounded_as_asked_are_right() {
    let keys = keys(&set("tiny-head"), Vec::new(), 30);
    let grader = grader(keys.clone());
    for key in &keys {
        let drawn = &key.questions[0].drawn;
        let qkvet_exam::answer::Parameter::Matrix(v) = &drawn.parameters["V"] else { panic!("V") };
        let weights = rows(key, 1);
        let text = |x: &[Vec<f64>]| {
            let row = |row: &Vec<f64>| {
                row.iter().map(|x| format!("{x:.4}")).collect::<Vec<_>>().join(", ")
            };
            format!(
                "[{}]",
                x.iter().map(|one| format!("[{}]", row(one))).collect::<Vec<_>>().join(", ")
            )
        };
        let answers = format!(
            "variant: {}\nanswers:\n  1b: {}\n  1c: {}\n",
            key.variant,
            text(&weights),
            product(&weights, v)
        );
        let all = grader.grade(&read("ada.yaml", answers.as_bytes())[0]);
        assert!(part(&all, "1c").points > 3.99, "{answers}{all:?}");
    }
}

#[test]
fn numbers_that_the_sheet_prints_rounded_count_as_exact() {
    let keys = keys(&set("token-attention"), Vec::new(), 30);
    let grader = Grader::new(keys.clone(), catalog()).unwrap_or_else(|error| panic!("{error}"));
    let mut off = 0;
    for key in &keys {
        let (_, library) = key.sources(catalog()).unwrap_or_else(|error| panic!("{error}"));
        let question = library.get("token-attention").expect("a question");
        let drawn = &key.questions[0].drawn;
        let rounds = [("a".to_owned(), 4)].into_iter().collect();
        let worked = qkvet_exam::answer::work(&question.law, drawn, &rounds).expect("steps");
        let output = qkvet_spec::syntax::parse("o").expect("a name");
        let qkvet_prove::exact::Value::Matrices(m) = worked.value(&output).expect("an output")
        else {
            panic!("a row")
        };
        let output: Vec<String> = m.data.iter().map(|x| x.digits(3)).collect();
        off += usize::from(
            [output.clone()].as_slice() != {
                let Answer::Numbers { key, .. } = &key.questions[0].parts[3].answer else {
                    panic!("o")
                };
                key.rows.as_slice()
            },
        );
        let text = format!("variant: {}\nanswers:\n  1d: [{}]\n", key.variant, output.join(", "));
        let all = grader.grade(&read("ada.yaml", text.as_bytes())[0]);
        assert_eq!(
            (part(&all, "1d").verdict, part(&all, "1d").points),
            (Verdict::Right, 3.0),
            "{text}"
        );
    }
    assert!(off > 0, "the printed weights never make a difference");
}
