//! The same numbers in other notations, and other numbers in them.

use qkvet_exam::generate::Answer;
use qkvet_exam::grade::{Verdict, read};

use super::{graded, grader, keys, of_own, part, set};

/// M = [[1, -1], [2, 0]] / √2, two blocks K = [[1], [2]] and V = [[3, 4], [5, 6]], a row, a column,
/// a shape, options.
const BLOCKS: &str = "\
question: own
title: Own
goal: compute
difficulty: 1
draw: {g: \"integer(1..2)\"}
let:
  W: vcat(hcat(ones(1, 1), -ones(1, 1)), hcat(2 * ones(1, 1), zeros(1, 1)))
  M: W / sqrt(2)
  K: vcat(ones(1, 1), 2 * ones(1, 1))
  V: vcat(hcat(3 * ones(1, 1), 4 * ones(1, 1)), hcat(5 * ones(1, 1), 6 * ones(1, 1)))
  r: hcat(ones(1, 1), 2 * ones(1, 1)) + 0 * g * ones(1, 2)
keep: [g <= 1]
parts:
  - prompt: M
    points: 4
    answer: {value: {of: M, places: 3}}
  - prompt: K beside V
    points: 6
    answer: {value: {of: \"hcat(K, V)\"}}
  - prompt: a row
    points: 2
    answer: {value: {of: r}}
  - prompt: a column
    points: 2
    answer: {value: {of: r.T}}
  - prompt: a row that may be exchanged for a column
    points: 2
    answer: {value: {of: r}}
    mistakes: [{gives: r.T, says: the column was given}]
  - prompt: a shape
    points: 2
    answer: {shape: \"(2, 3)\"}
  - prompt: a small number
    points: 2
    answer: {value: {of: 5000000 / (exp(10) + 5), places: 2}}
  - prompt: a half
    points: 2
    answer: {value: {of: r / 2}}
";

#[test]
fn what_is_right_is_right_in_every_usual_notation_and_what_is_wrong_stays_wrong() {
    let (grader, _) = of_own(BLOCKS);
    for (answer, verdict, says) in [
        ("1a: 1/sqrt(2) * [[1, -1], [2, 0]]", Verdict::Right, "exact value"),
        ("1a: 2^{-1/2} [[1, -1], [2, 0]]", Verdict::Right, "exact value"),
        ("1a: '[[1, -1], [2, 0]] / √2'", Verdict::Right, "exact value"),
        (
            r"1a: '\frac{1}{\sqrt2}\begin{bmatrix} 1 & -1 \\ 2 & 0 \end{bmatrix}'",
            Verdict::Right,
            "exact value",
        ),
        ("1a: 'M = 1/√2 {{1, -1}, {2, 0}}'", Verdict::Right, "exact value"),
        ("1a: 1/2 * [[1, -1], [2, 0]]", Verdict::Partial, "1 of 4 entries are right"),
        ("1a: 1/sqrt(2) * [[1, 1], [2, 0]]", Verdict::Partial, "wrong sign in (1, 2)"),
        ("1a: 1 + 1/sqrt(2) * [[1, -1], [2, 0]]", Verdict::Unreadable, ""),
        (
            "1a: 1/sqrt(2) * [[1, -1, 0], [2, 0, 0]]",
            Verdict::Wrong,
            "expected a matrix of 2 × 2, got 2 × 3",
        ),
        ("1b: '[1, 3, 4], [2, 5, 6]'", Verdict::Right, ""),
        ("1b: (1 3 4), (2 5 6)", Verdict::Right, ""),
        ("1b: '{{1, 3, 4}, {2, 5, 6}}'", Verdict::Right, ""),
        (r"1b: '1 & 3 & 4 \\ 2 & 5 & 6'", Verdict::Right, ""),
        ("1b: '[1, 3, 4], [2, 5, 7]'", Verdict::Partial, "5 of 6"),
        ("1b: 'K = [[1], [2]], V = [[3, 4], [5, 6]]'", Verdict::Right, ""),
        ("1b: 'V=[[3, 4], [5, 6]]; K=[[1], [2]]'", Verdict::Right, ""),
        ("1b: {K: [[1], [2]], V: [[3, 4], [5, 6]]}", Verdict::Right, ""),
        ("1b: 'K = [[1], [2]], V = [[3, 4], [5, 5]]'", Verdict::Partial, "another value in (2, 3)"),
        ("1b: 'K = [[3, 4], [5, 6]], V = [[1], [2]]'", Verdict::Wrong, ""),
        ("1b: 'K = [[1], [2]]'", Verdict::Wrong, "expected a matrix of 2 × 3, got 2 × 1"),
        ("1b: 'K = [[1], [2]], Q = [[3, 4], [5, 6]]'", Verdict::Unreadable, ""),
        ("1b: 'K = [[1], [2], [3]], V = [[3, 4], [5, 6]]'", Verdict::Unreadable, ""),
        ("1c: [[1], [2]]", Verdict::Right, ""),
        ("1d: [[1, 2]]", Verdict::Right, ""),
        ("1d: [[2, 1]]", Verdict::Wrong, ""),
        ("1e: [[1], [2]]", Verdict::Partial, "the column was given"),
        ("1e: [[1, 2]]", Verdict::Right, ""),
        ("1f: torch.Size([2, 3])", Verdict::Right, ""),
        ("1f: torch.Size([3, 2])", Verdict::Wrong, ""),
        ("1g: 5e6/(e^10+5)", Verdict::Right, "exact value"),
        ("1g: 5e5/(e^10+5)", Verdict::Wrong, ""),
        ("1h: np.array([0.5, 1])", Verdict::Right, ""),
        ("1h: '［０．５，１］'", Verdict::Right, ""),
        ("1h: '［０．５，２］'", Verdict::Partial, "1 of 2"),
        ("1h: 1/2 * (1, 2)", Verdict::Right, ""),
    ] {
        let all = graded(&grader, &format!("  {answer}\n"));
        assert!(all.trouble.is_empty(), "{answer}: {:?}", all.trouble);
        let part = part(&all, &answer[..2]);
        assert!(
            part.verdict == verdict && part.feedback.to_string().contains(says),
            "{answer}: {part:?}"
        );
    }
}

#[test]
fn an_option_may_be_called_one() {
    let keys = keys(&set("several-heads"), Vec::new(), 1);
    let Answer::Choice(order) = &keys[0].questions[0].parts[2].answer else { panic!("options") };
    let right = order
        .iter()
        .position(|at| *at == 0)
        .and_then(|at| u8::try_from(at).ok())
        .expect("the right one");
    let letter = char::from(b'a' + right);
    let other = char::from(b'a' + (right + 1) % 4);
    let grader = grader(keys.clone());
    for (written, verdict) in [
        (format!("option {letter}"), Verdict::Right),
        (format!("Option ({})", letter.to_ascii_uppercase()), Verdict::Right),
        (format!("option {other}"), Verdict::Wrong),
        (format!("{letter} or {other}"), Verdict::Unreadable),
    ] {
        let all = graded(&grader, &format!("  1c: {written}\n"));
        assert_eq!(part(&all, "1c").verdict, verdict, "{written}: {all:?}");
    }
}

#[test]
fn what_is_no_number_costs_its_own_part_alone() {
    let (grader, _) = of_own(BLOCKS);
    for word in [".nan", ".inf", "-.inf", "1e999"] {
        let text = format!(
            "variant: 1\nstudent: Ada\nanswers:\n  1c: [[1, 2]]\n  1d: {word}\n  1h: [[{word}, 1]]\n"
        );
        let all = grader.grade(&read("ada.yaml", text.as_bytes())[0]);
        assert!(all.trouble.is_empty() && all.student == "Ada", "{word}: {all:?}");
        assert_eq!(part(&all, "1c").verdict, Verdict::Right, "{word}: {all:?}");
        for id in ["1d", "1h"] {
            let part = part(&all, id);
            assert!(part.verdict == Verdict::Unreadable && part.points < 0.01, "{word}: {part:?}");
            assert!(part.points < 0.01, "{word}: {part:?}");
            assert!(
                part.place.as_ref().is_some_and(|place| place.to_string().starts_with("ada.yaml:")),
                "{part:?}"
            );
        }
    }
}
