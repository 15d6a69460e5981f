//! A simulated class: 25 kinds of students hand in whole sheets. A right answer earns full points, a
//! wrong one never more than its share, and the sums are those of the parts.
//!
//! `QKVET_TEST_TIER=all` has a class of 300 for each of four sets, else each kind comes once for one.

#![expect(clippy::disallowed_methods, reason = "the runner says which tier it is")]

use std::fmt::Write;

use qkvet_exam::build::{Request, build};
use qkvet_exam::generate::Answer;
use qkvet_exam::grade::{Grader, Verdict, part_id, read};
use qkvet_exam::key::{Key, KeyedPart, Source};
use qkvet_spec::Catalog;

use crate::catalog;

/// What an answer may earn.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Earns {
    All,
    /// At most this share.
    AtMost(f64),
}

type Rows = Vec<Vec<f64>>;

/// What goes wrong, and what it does to the numbers.
type Slip = (&'static str, fn(&mut Rows));

/// Ways to go wrong in the numbers of one part that no question models.
const SLIPS: [Slip; 17] = [
    ("a sign is lost", |rows| on_largest(rows, |x| -x)),
    ("all signs are lost", |rows| each(rows, |x| -x)),
    ("one is added", |rows| on_largest(rows, |x| x + 1.0)),
    ("one is taken away", |rows| on_largest(rows, |x| x - 1.0)),
    ("the last entry is doubled", |rows| on_largest(rows, |x| 2.0 * x)),
    ("all is doubled", |rows| each(rows, |x| 2.0 * x)),
    ("all is halved", |rows| each(rows, |x| x / 2.0)),
    ("the point is shifted", |rows| each(rows, |x| 10.0 * x)),
    ("a tenth is added", |rows| on_largest(rows, |x| x + 0.1)),
    ("a fifth is missing", |rows| on_largest(rows, |x| 0.8 * x)),
    ("an entry is 0", |rows| on_largest(rows, |_| 0.0)),
    ("all is 0", |rows| each(rows, |_| 0.0)),
    ("all is 1", |rows| each(rows, |_| 1.0)),
    ("squares", |rows| each(rows, |x| x * x)),
    ("the largest is far off", |rows| on_largest(rows, |x| x * 1.5 + 3.0)),
    ("all is shifted", |rows| each(rows, |x| x + 7.0)),
    ("a cube", |rows| on_largest(rows, |x| x * x * x)),
];

fn each(rows: &mut Rows, with: fn(f64) -> f64) {
    rows.iter_mut().flatten().for_each(|x| *x = with(*x));
}

fn on_largest(rows: &mut Rows, with: fn(f64) -> f64) {
    let largest = rows.iter_mut().flatten().max_by(|x, y| x.abs().total_cmp(&y.abs()));
    if let Some(x) = largest {
        *x = with(*x);
    }
}

/// A number of a key as binary64.
fn value(text: &str) -> f64 {
    let number = |text: &str| text.trim().parse::<f64>().unwrap_or(f64::NAN);
    text.split_once('/').map_or_else(|| number(text), |(over, under)| number(over) / number(under))
}

fn written(rows: &Rows, one: impl Fn(f64) -> String) -> String {
    let row = |row: &Vec<f64>| row.iter().map(|x| one(*x)).collect::<Vec<_>>().join(", ");
    format!("[{}]", rows.iter().map(|one| format!("[{}]", row(one))).collect::<Vec<_>>().join(", "))
}

/// A number to four significant digits, as a pocket calculator may show it.
fn four_digits(x: f64) -> String {
    let text = format!("{x:.3e}");
    text.parse::<f64>().map_or(text, |x| x.to_string())
}

/// How far `given` is from the numbers of the key at most, in units of the last decimal asked.
fn units(key: &[Vec<String>], given: &Rows, places: usize) -> f64 {
    let unit = 0.1_f64.powi(i32::try_from(places).unwrap_or(0));
    let apart = key.iter().flatten().zip(given.iter().flatten());
    apart.map(|(right, x)| (value(right) - x).abs() / unit).fold(0.0, f64::max)
}

/// What a student of a kind answers to one part, and what that earns; `slips` says whether it is
/// the part in which the student goes wrong.
fn answer(kind: usize, part: &KeyedPart, slips: bool) -> Option<(String, Earns)> {
    let Answer::Numbers { key, choices } = &part.answer else { return None };
    if !choices.is_empty() {
        return None;
    }
    let rows: Rows = key.rows.iter().map(|row| row.iter().map(|x| value(x)).collect()).collect();
    let printed = || {
        let row = |row: &Vec<String>| format!("[{}]", row.join(", "));
        format!("[{}]", key.rows.iter().map(row).collect::<Vec<_>>().join(", "))
    };
    let exact = || {
        let row = |row: &Vec<String>| format!("[{}]", row.join(", "));
        format!("[{}]", key.exact.iter().map(row).collect::<Vec<_>>().join(", "))
    };
    // Half a unit that the key is off itself, and one unit of tolerance.
    let is_full = |given: &Rows| match key.places {
        Some(places) => units(&key.rows, given, places) <= 0.5,
        None => rows == *given,
    };
    Some(match kind {
        0 => (printed(), Earns::All),
        1 => (exact(), Earns::All),
        2 => (written(&rows, |x| format!("{x:.12}")), Earns::All),
        3 => {
            let given: Rows = rows
                .iter()
                .map(|row| row.iter().map(|x| value(&four_digits(*x))).collect())
                .collect();
            let earns = if is_full(&given) { Earns::All } else { Earns::AtMost(1.0) };
            (written(&rows, four_digits), earns)
        }
        // One unit of the last decimal off: within the tolerance of the set.
        4 => match key.places {
            Some(places) => {
                let unit = 0.1_f64.powi(i32::try_from(places).unwrap_or(0)) / 2.0;
                (written(&rows, |x| format!("{:.*}", places + 1, x + unit)), Earns::All)
            }
            None => (printed(), Earns::All),
        },
        5 => (String::new(), Earns::AtMost(0.0)),
        6 => ("=HYPERLINK(\"x\") <script> 9**9**9 [[[[".to_owned(), Earns::AtMost(0.0)),
        7 if slips => match part.mistakes.first() {
            Some(mistake) => {
                let row = |row: &Vec<String>| format!("[{}]", row.join(", "));
                let rows = mistake.numbers.rows.iter().map(row).collect::<Vec<_>>();
                (format!("[{}]", rows.join(", ")), Earns::AtMost(0.5))
            }
            None => (printed(), Earns::All),
        },
        kind if kind >= 8 && slips => {
            let mut given = rows.clone();
            SLIPS[kind - 8].1(&mut given);
            let text = written(&given, |x| format!("{x:.6}"));
            let far = match key.places {
                Some(places) => {
                    units(&key.rows, &given, places) > 2.0
                        && rows
                            .iter()
                            .flatten()
                            .zip(given.iter().flatten())
                            .any(|(right, x)| (right - x).abs() > 0.02 * right.abs().max(0.01))
                }
                None => rows != given,
            };
            (text, if far { Earns::AtMost(0.5) } else { Earns::AtMost(1.0) })
        }
        _ => (printed(), Earns::All),
    })
}

fn keys(set: &str, variants: usize) -> Vec<Key> {
    let texts = Catalog::texts("exams");
    let (path, text) = texts
        .into_iter()
        .find(|(path, _)| path.ends_with(&format!("exams/{set}.yaml")))
        .unwrap_or_else(|| panic!("no set {set}"));
    let set = Source { path, text: text.to_owned() };
    let request = Request { set, own: Vec::new(), variants, seed: 2_026 };
    let files = build(&request, catalog()).unwrap_or_else(|error| panic!("{error}"));
    let keys =
        files.iter().filter(|file| file.path.starts_with("key/") && file.path.ends_with(".json"));
    keys.map(|file| Key::from_json(&file.text).unwrap_or_else(|error| panic!("{error}"))).collect()
}

#[test]
fn a_class_of_25_kinds_of_students_gets_what_it_has_earned() {
    let kinds = 8 + SLIPS.len();
    assert_eq!(kinds, 25);
    let sets = ["tiny-head", "cs189-discussion-10", "csci5922-problem-set-4", "attention-in-depth"];
    let is_all = std::env::var("QKVET_TEST_TIER").as_deref() == Ok("all");
    let (class, sets) = if is_all { (300, &sets[..]) } else { (kinds, &sets[..1]) };
    for set in sets {
        let keys = keys(set, 5);
        let grader = Grader::new(keys.clone(), catalog()).unwrap_or_else(|error| panic!("{error}"));
        for student in 0..class {
            let (kind, key) = (student % kinds, &keys[student % keys.len()]);
            let numeric: Vec<(usize, usize)> = (0..key.questions.len())
                .flat_map(|q| (0..key.questions[q].parts.len()).map(move |p| (q, p)))
                .filter(|(q, p)| answer(0, &key.questions[*q].parts[*p], false).is_some())
                .collect();
            let slip = numeric[(7 * student + 3) % numeric.len()];
            let mut text = format!("variant: {}\nstudent: s{student}\nanswers:\n", key.variant);
            let mut earned = Vec::new();
            for (q, p) in numeric {
                let part = &key.questions[q].parts[p];
                let (answer, earns) = answer(kind, part, (q, p) == slip).expect("numbers");
                let _ = writeln!(text, "  {}: '{answer}'", part_id(q, p));
                earned.push((part_id(q, p), earns));
            }
            let graded = grader.grade(&read("class.yaml", text.as_bytes())[0]);
            let name = SLIPS.get(kind.wrapping_sub(8)).map_or("", |(name, _)| name);
            for (id, earns) in earned {
                let part = graded.parts.iter().find(|part| part.part == id).expect("a part");
                let (points, of) = (part.points, f64::from(part.of));
                let is_fair = match earns {
                    Earns::All => part.verdict == Verdict::Right && (points - of).abs() < 1e-9,
                    Earns::AtMost(share) => points <= share * of + 1e-9,
                };
                assert!(is_fair, "{set}, kind {kind} {name}: {earns:?} {part:?}\n{text}");
            }
            let sum: f64 = graded.parts.iter().map(|part| part.points).sum();
            assert!((graded.points - sum).abs() < 0.006, "{graded:?}");
            let left: u32 =
                graded.parts.iter().filter(|part| part.is_left()).map(|part| part.of).sum();
            assert_eq!(graded.by_hand, left);
        }
    }
}
