//! What follows from wrong answers, and what is right as far as it goes.

use qkvet_exam::grade::Verdict;

use super::{graded, known, of_own, part};

#[test]
fn what_follows_from_an_own_wrong_answer_is_not_punished_twice() {
    let grader = known();
    let all = graded(&grader, "  1b: [[1, 1/3], [1/3, 1/3]]\n  1c: [[2, 4/3], [4/3, 4/3]]\n");
    let follows = part(&all, "1c");
    assert_eq!((follows.points, follows.verdict), (4.0, Verdict::Follows), "{follows:?}");
    assert!(follows.feedback.to_string().contains("follows from the answer to 1b"), "{follows:?}");
    let alone = graded(&grader, "  1c: [[2, 4/3], [4/3, 4/3]]\n");
    assert_eq!(
        (part(&alone, "1c").points, part(&alone, "1c").verdict),
        (1.5, Verdict::Partial),
        "{alone:?}"
    );
}

/// k = 2: s = 3, u = 9 and a step that takes a root of s.
const SCALARS: &str = "\
question: own
title: Own
goal: compute
difficulty: 1
draw: {k: \"integer(2..2)\"}
let:
  s: k + 1
  u: s * s
  w: sqrt(s)
  a: exp(s) / (1 + exp(s))
parts:
  - prompt: s
    points: 2
    answer: {value: {of: s}}
    mistakes: [{gives: k, says: \"one was forgotten\"}]
  - prompt: u
    points: 2
    answer: {value: {of: u}}
  - prompt: w
    points: 2
    answer: {value: {of: w, places: 3}}
  - prompt: a
    points: 4
    answer: {value: {of: a, places: 3}}
    mistakes: [{gives: \"0.949\", says: \"another rule\"}]
";

#[test]
fn numbers_follow_from_numbers_whatever_else_is_made_of_them() {
    let (grader, _) = of_own(SCALARS);
    let all = graded(&grader, "  1a: 2\n  1b: 4\n  1c: 1.414\n  1d: 0.881\n");
    assert_eq!(part(&all, "1a").verdict, Verdict::Partial, "{all:?}");
    for id in ["1b", "1c", "1d"] {
        let part = part(&all, id);
        assert_eq!((part.verdict, part.points), (Verdict::Follows, f64::from(part.of)), "{all:?}");
    }
    assert_eq!(part(&graded(&grader, "  1b: 4\n"), "1b").verdict, Verdict::Wrong);
}

/// Scores, and their weights.
const SCORES: &str = "\
question: own
title: Own
goal: compute
difficulty: 1
draw: {k: \"integer(2..2)\"}
let:
  S: vcat(hcat(hcat(k * ones(1, 1), ones(1, 1)), zeros(1, 1)), hcat(hcat(zeros(1, 1), k * ones(1, 1)), ones(1, 1)))
  A: softmax_rows(S)
parts:
  - prompt: S
    points: 2
    answer: {value: {of: S}}
  - prompt: A
    points: 4
    answer: {value: {of: A, places: 3}}
";

#[test]
fn nothing_follows_from_numbers_that_leave_nothing_to_compute() {
    let (grader, _) = of_own(SCORES);
    for (scores, weights, verdict) in [
        // Half of the scores are right, and one row of weights still is to be computed.
        ("[[2, 1, -40], [0, 90, -40]]", "[[0.731, 0.269, 0], [0, 1, 0]]", Verdict::Follows),
        // Fewer are right.
        ("[[2, 1, -40], [7, 90, -40]]", "[[0.731, 0.269, 0], [0, 1, 0]]", Verdict::Follows),
        // Scores so far apart that all weights are 0 or 1.
        ("[[2, 60, 0], [0, 2, 60]]", "[[0, 1, 0], [0, 0, 1]]", Verdict::Wrong),
    ] {
        let all = graded(&grader, &format!("  1a: {scores}\n  1b: {weights}\n"));
        assert_eq!(part(&all, "1b").verdict, verdict, "{scores}: {all:?}");
    }
}

#[test]
fn what_is_right_as_far_as_it_goes_is_no_mistake() {
    let (grader, _) = of_own(SCALARS);
    // 0.953 to two decimals is 0.95, and so is what the mistake gives.
    let coarse = graded(&grader, "  1d: 0.95\n");
    let found = part(&coarse, "1d");
    assert!(
        found.feedback.mistake().is_none()
            && found.feedback.to_string().contains("to 2 decimals where 3 are asked"),
        "{found:?}"
    );
    assert_eq!(found.verdict, Verdict::Partial, "{found:?}");
    let mistaken = graded(&grader, "  1d: 0.949\n");
    assert!(part(&mistaken, "1d").verdict != Verdict::Follows, "{mistaken:?}");
}
