//! Numbers as programs print them, answers with signs of other programs, options that are numbers,
//! and bounds that end.

use qkvet_exam::grade::{Verdict, read};

use super::{graded, of_own, part};

/// 1/6, 647/125, options 3, 4 and 5, a bound of 0.00006, a matrix of small and large numbers, and a
/// row.
const COMPUTED: &str = "\
question: own
title: Own
goal: compute
difficulty: 1
draw: {g: \"integer(1..2)\"}
let:
  s: 1 / 6 + 0 * g
  t: 647 / 125 + 0 * g
  c: 4 + 0 * g
  x: 1 / 100000 + 0 * g
  m: 1 / 10000 * hcat(hcat(17 * ones(1, 1), 9913 * ones(1, 1)), hcat(7072 * ones(1, 1), 2997 * ones(1, 1))) + 0 * g
  r: hcat(-307 / 100 * ones(1, 1), -1463 / 1000 * ones(1, 1)) + 0 * g
keep: [g <= 1]
parts:
  - prompt: s
    points: 4
    answer: {value: {of: s}}
  - prompt: t
    points: 2
    answer: {value: {of: t}}
  - prompt: c
    points: 2
    answer: {value: {of: c, choices: true}}
    mistakes: [{gives: c - 1, says: one less}, {gives: c + 1, says: one more}]
  - prompt: x
    points: 1
    answer: {design: {example: [x], distance: x, at_most: 0.00006, rubric: [all]}}
  - prompt: m
    points: 4
    answer: {value: {of: m, places: 4}}
  - prompt: r
    points: 4
    answer: {value: {of: r, places: 3}}
";

#[test]
fn numbers_of_programs_and_signs_of_others_are_read() {
    let (grader, key) = of_own(COMPUTED);
    let right = {
        use qkvet_exam::generate::Answer;
        let Answer::Numbers { key, choices } = &key.questions[0].parts[2].answer else {
            panic!("options")
        };
        choices.iter().position(|one| one.looks_like(key)).expect("the right one")
    };
    let (right, other) =
        (char::from(b'A' + u8::try_from(right).unwrap_or(0)), if right == 0 { 'B' } else { 'A' });
    let options = [(format!("1c: {right}"), 2.0), (format!("1c: {other}"), 0.0)];
    for (answer, points) in options {
        let all = graded(&grader, &format!("  {answer}\n"));
        assert_eq!(part(&all, "1c").points.to_bits(), f64::to_bits(points), "{answer}: {all:?}");
    }
    for (answer, points, says) in [
        ("1a: 0.16666666666666666", 4.0, ""),
        ("1a: 1.6666666666666666e-1", 4.0, ""),
        (r"1a: 6.00 x 10^-0000000000001", 0.0, "another value"),
        ("1a: 0.1666666666667", 3.0, "right to 13 decimals"),
        ("1a: 0.1666666", 3.0, "right to 6 decimals, but the exact value is asked"),
        ("1a: 0.166", 3.0, "right to 2 decimals, but the exact value is asked"),
        ("1a: 0.17", 3.0, "right to 2 decimals, but the exact value is asked"),
        ("1a: 0.16666666666666", 3.0, "the exact value is asked"),
        ("1b: 5.1760000000000002", 2.0, ""),
        ("1b: 5.1770000000000002", 0.0, "another value"),
        (r"1b: \boxed{647/125}", 2.0, ""),
        (r"1b: \(647/125\)", 2.0, ""),
        ("1b: ≤ 5.176", 2.0, ""),
        ("1c: 4", 2.0, ""),
        ("1c: 3", 0.0, "one less"),
        ("1c: 5", 0.0, "one more"),
        ("1d: {x: 0.00006}", 1.0, "property"),
        ("1d: {x: 0.0001}", 0.0, "does not hold"),
        ("1e: [0.0017, 0.9913, 0.7072, 0.2997]", 4.0, ""),
        ("1e: [0.00, 0.99, 0.71, 0.30]", 3.0, "right, but to 2 decimals where 4 are asked"),
        (
            "1e: [0.00, 0.99, 0.71, 0.40]",
            1.13,
            "3 of 4 entries are right, though not to all digits asked; another value in (1, 4)",
        ),
        ("1e: [0.00, 0.99, -0.71, 0.30]", 1.13, "wrong sign in (1, 3)"),
        ("1e: [0, 0, 0, 0]", 0.0, "0 of 4"),
        ("1e: [0.0000, 0.99, 0.71, 0.30]", 1.13, "3 of 4 entries are right"),
        ("1f: \"[-3.070, -1.463].\"", 4.0, ""),
    ] {
        let all = graded(&grader, &format!("  {answer}\n"));
        let part = part(&all, &answer[..2]);
        assert!(
            (part.points - points).abs() < 0.006 && part.feedback.to_string().contains(says),
            "{answer}: {part:?}"
        );
    }
    for (answer, says, hint) in [
        ("1c: 2", "expected one option from A to C", "its letter"),
        ("1f: \"[-3,07; -1,463]\"", "", ""),
        ("1a: log2(3)", "", ""),
    ] {
        let all = graded(&grader, &format!("  {answer}\n"));
        let part = part(&all, &answer[..2]);
        assert_eq!(part.verdict, Verdict::Unreadable, "{answer}: {part:?}");
        let told = part.feedback.hint().unwrap_or_default();
        assert!(
            part.feedback.to_string().contains(says) && told.contains(hint),
            "{answer}: {part:?}"
        );
    }
    let wide =
        format!("student{}\n{}", ",".repeat(999), format!("a{}\n", ",".repeat(999)).repeat(200));
    let all: usize = read("a.csv", wide.as_bytes()).iter().map(|one| one.answers.len()).sum();
    assert_eq!(all, 0, "empty cells are no answers");
}

/// A head whose projections are given side by side, and weights that are rounded.
const SIDE: &str = "\
question: own
title: Own
goal: compute
difficulty: 1
draw: {g: \"integer(1..2)\"}
let:
  Q: hcat(ones(2, 1), 2 * ones(2, 1)) + 0 * g
  K: hcat(3 * ones(2, 1), vcat(ones(1, 1), 2 * ones(1, 1))) + 0 * g
  R: Q @ K.T
  A: softmax_rows(R / 3)
  O: A @ vcat(10 * ones(1, 1), 90 * ones(1, 1))
keep: [g <= 1]
parts:
  - prompt: Q and K
    points: 4
    answer: {value: {of: \"hcat(Q, K)\"}}
  - prompt: R
    points: 2
    answer: {value: {of: R}}
  - prompt: A
    points: 2
    answer: {value: {of: A, places: 2}}
  - prompt: O
    points: 2
    answer: {value: {of: O, places: 3}}
";

#[test]
fn steps_side_by_side_are_carried_on_and_roundings_are_named() {
    let (grader, _) = of_own(SIDE);
    // Rows of R are 5 and 7, weights 1/(1 + e^(2/3)) = 0.3392 and 0.6608, the output 10 * 0.3392 +
    // 90 * 0.6608 = 62.861.
    let all = graded(
        &grader,
        "  1a: [[1, 2, 3, 1], [1, 2, 3, 2]]\n  1b: [[5, 7], [5, 7]]\n  1c: [[0.34, 0.66], [0.34, 0.66]]\n  1d: [62.861, 62.861]\n",
    );
    assert!(all.parts.iter().all(|part| part.verdict == Verdict::Right), "{all:?}");
    // 3 for 1 in K: R has 9 and 7, weights of that 0.66 and 0.34, the output 37.139; as rounded
    // 37.2.
    let slip = "  1a: [[1, 2, 3, 3], [1, 2, 3, 2]]\n  1b: [[9, 7], [9, 7]]\n  1c: [[0.66, 0.34], [0.66, 0.34]]\n";
    for output in ["[37.139, 37.139]", "[37.2, 37.2]"] {
        let all = graded(&grader, &format!("{slip}  1d: {output}\n"));
        for id in ["1b", "1c", "1d"] {
            assert_eq!(part(&all, id).verdict, Verdict::Follows, "{output}: {all:?}");
        }
        assert!(
            part(&all, "1b").feedback.to_string().contains("follows from the answer to 1a"),
            "{all:?}"
        );
    }
    // 10 * 0.34 + 90 * 0.66
    let all = graded(&grader, "  1c: [[0.34, 0.66], [0.34, 0.66]]\n  1d: [62.8, 62.8]\n");
    let part = part(&all, "1d");
    assert!(
        part.feedback.to_string().contains("the answer to 1c") && (part.points - 2.0).abs() < 1e-9,
        "{part:?}"
    );
}
