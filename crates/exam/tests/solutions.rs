//! Worked solutions: clean ones have no slip, and a slip is found in its step.

use qkvet_exam::generate::Stream;
use qkvet_exam::solution::{
    CheckedSolution, CheckedStep, Found, Mistake, Remark, TEMPLATE, WrittenSolution, check,
};

/// What is said of a step.
fn lines(step: &CheckedStep) -> Vec<String> {
    step.says.iter().map(ToString::to_string).collect()
}

/// Whether two causes fit, or one beside an entry that has none.
fn is_guess(says: &Remark) -> bool {
    matches!(says, Remark::Entry { causes, perhaps, .. } if causes.len() > 1 || *perhaps && !causes.is_empty())
}

type Matrix = Vec<Vec<f64>>;

fn checked(text: &str) -> CheckedSolution {
    let written = WrittenSolution::from_yaml("solution.yaml", text)
        .unwrap_or_else(|error| panic!("{error}\n{text}"));
    check(&written)
}

fn slips(checked: &CheckedSolution) -> Vec<(&'static str, Option<Mistake>)> {
    checked
        .steps
        .iter()
        .filter(|step| step.found == Found::Slip)
        .map(|step| (step.step, step.slip))
        .collect()
}

fn product(x: &Matrix, y: &Matrix) -> Matrix {
    let dot = |row: &[f64], j: usize| row.iter().zip(y).map(|(x, row)| x * row[j]).sum();
    x.iter().map(|row| (0..y[0].len()).map(|j| dot(row, j)).collect()).collect()
}

fn transposed(x: &Matrix) -> Matrix {
    (0..x[0].len()).map(|j| x.iter().map(|row| row[j]).collect()).collect()
}

fn times(x: &Matrix, factor: f64) -> Matrix {
    x.iter().map(|row| row.iter().map(|x| x * factor).collect()).collect()
}

fn softmax(x: &Matrix) -> Matrix {
    let row = |row: &Vec<f64>| {
        let powers: Vec<f64> = row.iter().map(|x| libm::exp(*x)).collect();
        let sum: f64 = powers.iter().sum();
        powers.into_iter().map(|x| x / sum).collect()
    };
    x.iter().map(row).collect()
}

fn rounded(x: &Matrix, places: usize) -> Matrix {
    x.iter()
        .map(|row| {
            row.iter().map(|x| format!("{x:.places$}").parse().unwrap_or(f64::NAN)).collect()
        })
        .collect()
}

fn text(x: &Matrix, places: Option<usize>) -> String {
    let number = |x: &f64| places.map_or_else(|| x.to_string(), |places| format!("{x:.places$}"));
    let row =
        |row: &Vec<f64>| format!("[{}]", row.iter().map(number).collect::<Vec<_>>().join(", "));
    format!("[{}]", x.iter().map(row).collect::<Vec<_>>().join(", "))
}

/// A head, and what somebody wrote who works without rounding.
struct Head {
    given: [Matrix; 4],
    places: usize,
    /// Steps that are written.
    is_scaled_written: bool,
}

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wrong {
    Sign,
    Digit,
    Exchanged,
    Factor,
    Term,
    NoScale,
    Width,
    Axis,
    Rounded,
    Hull,
}

const KINDS: [Wrong; 10] = [
    Wrong::Sign,
    Wrong::Digit,
    Wrong::Exchanged,
    Wrong::Factor,
    Wrong::Term,
    Wrong::NoScale,
    Wrong::Width,
    Wrong::Axis,
    Wrong::Rounded,
    Wrong::Hull,
];

fn head(stream: &mut Stream) -> Head {
    let (n, d) = (stream.below(3) + 2, stream.below(2) + 2);
    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
    let mut matrix = |rows: usize, cols: usize, per: i64| -> Matrix {
        (0..rows)
            .map(|_| {
                (0..cols).map(|_| stream.between(-2 * per, 2 * per) as f64 / per as f64).collect()
            })
            .collect()
    };
    let given = [matrix(n, d, 1), matrix(d, 2, 2), matrix(d, 2, 2), matrix(d, 2, 1)];
    Head { given, places: stream.below(3) + 3, is_scaled_written: stream.below(2) == 0 }
}

/// An entry that is changed, in a step whose entries are rounded to so many places.
fn changed(x: &Matrix, wrong: Wrong, places: Option<usize>, stream: &mut Stream) -> Matrix {
    let (i, j) = (stream.below(x.len()), stream.below(x[0].len()));
    let mut y = x.clone();
    match wrong {
        Wrong::Sign if y[i][j] != 0.0 => y[i][j] = -y[i][j],
        Wrong::Sign => {}
        Wrong::Digit => {
            // A unit of an inner digit.
            let unit = places.map_or(1.0, |places| (0..places).fold(2.0, |unit, _| unit / 10.0));
            y[i][j] += if stream.below(2) == 0 { unit } else { -unit };
        }
        _ => {
            let (k, l) = (stream.below(x.len()), stream.below(x[0].len()));
            (y[i][j], y[k][l]) = (x[k][l], x[i][j]);
        }
    }
    y
}

/// The solution as a file, with one slip at most; the step that has it, if it shows.
fn written(
    head: &Head,
    slip: Option<Wrong>,
    stream: &mut Stream,
) -> (String, Option<&'static str>) {
    let [x, w_q, w_k, w_v] = &head.given;
    let at = stream.below(7);
    let places = Some(head.places);
    let mut place = None;
    let mut step = |name: &'static str,
                    number: usize,
                    value: Matrix,
                    other: Option<Matrix>,
                    exact: bool,
                    stream: &mut Stream| {
        let places = if exact { None } else { places };
        let entries =
            matches!(slip, Some(Wrong::Sign | Wrong::Digit | Wrong::Exchanged)) && at == number;
        let new = match (entries, slip) {
            (true, Some(wrong)) => {
                let value = places.map_or(value.clone(), |places| rounded(&value, places));
                changed(&value, wrong, places, stream)
            }
            _ => other.unwrap_or_else(|| value.clone()),
        };
        if text(&new, places) != text(&value, places) {
            place = place.or(Some(name));
        }
        new
    };
    let product_of = |number: usize, instead: &Matrix| -> Option<Matrix> {
        (slip == Some(Wrong::Factor) && at == number).then(|| product(x, instead))
    };
    let (q_other, k_other) = (product_of(0, w_k), product_of(1, w_v));
    let q = step("Q", 0, product(x, w_q), q_other, true, stream);
    let k = step("K", 1, product(x, w_k), k_other, true, stream);
    let v = step("V", 2, product(x, w_v), product_of(2, w_q), true, stream);
    let right = product(&q, &transposed(&k));
    let r_other = match slip {
        Some(Wrong::Factor) if at >= 3 => Some(product(&k, &transposed(&q))),
        Some(Wrong::Term) => {
            let mut other = right.clone();
            let (i, j) = (stream.below(q.len()), stream.below(k.len()));
            other[i][j] -= q[i][0] * k[j][0] * if stream.below(2) == 0 { 1.0 } else { 2.0 };
            Some(other)
        }
        _ => None,
    };
    let r = step("scores", 3, right, r_other, true, stream);
    let scale = 0.5_f64.sqrt();
    let mut s = times(&r, scale);
    if head.is_scaled_written {
        let s_other = match slip {
            Some(Wrong::NoScale) => Some(r.clone()),
            Some(Wrong::Width) => Some(times(&r, 0.5)),
            _ => None,
        };
        s = step("scaled", 4, s, s_other, false, stream);
    }
    let a_other = match slip {
        Some(Wrong::NoScale) if !head.is_scaled_written => Some(softmax(&r)),
        Some(Wrong::Width) if !head.is_scaled_written => Some(softmax(&times(&r, 0.5))),
        Some(Wrong::Axis) => Some(transposed(&softmax(&transposed(&s)))),
        _ => None,
    };
    let a = step("weights", 5, softmax(&s), a_other, false, stream);
    let o_other = match slip {
        Some(Wrong::Rounded) => Some(product(&rounded(&a, 1), &v)),
        Some(Wrong::Hull) => Some(product(&s, &v)),
        _ => None,
    };
    // The step before shows the rounding that the output was made from.
    let a_places = if slip == Some(Wrong::Rounded) { 1 } else { head.places };
    let o = step("output", 6, product(&a, &v), o_other, false, stream);
    let scaled = if head.is_scaled_written {
        format!("  scaled: {}\n", text(&s, places))
    } else {
        String::new()
    };
    let file = format!(
        "given:\n  X: {}\n  W_Q: {}\n  W_K: {}\n  W_V: {}\nsteps:\n  Q: {}\n  K: {}\n  V: {}\n  scores: {}\n{scaled}  weights: {}\n  output: {}\n",
        text(x, None),
        text(w_q, None),
        text(w_k, None),
        text(w_v, None),
        text(&q, None),
        text(&k, None),
        text(&v, None),
        text(&r, None),
        text(&a, Some(a_places)),
        text(&o, places),
    );
    (file, place)
}

#[test]
fn two_hundred_slips_are_found_in_their_step_and_none_in_clean_solutions() {
    let (mut tried, mut found, mut lost) = (0, 0, Vec::new());
    let (mut told, mut named, mut misnamed) = (0, 0, Vec::new());
    let mut kinds = std::collections::BTreeMap::new();
    let mut number = 0;
    while tried < 200 {
        number += 1;
        assert!(number < 2_000, "{tried} slips only");
        let label = number.to_string();
        let mut stream = Stream::new(9, &["solutions", &label]);
        let head = head(&mut stream);
        let (clean, none) = written(&head, None, &mut stream.clone());
        let result = checked(&clean);
        assert_eq!((none, result.first), (None, None), "{clean}\n{result:?}");
        assert!(result.steps.iter().all(|step| step.found == Found::Right), "{clean}\n{result:?}");
        let wrong = KINDS[number % KINDS.len()];
        let (slipped, place) = written(&head, Some(wrong), &mut stream);
        // A slip that changes nothing is none.
        let Some(place) = place else { continue };
        tried += 1;
        let result = checked(&slipped);
        let is_silent = |step: &&CheckedStep| step.found == Found::Slip && step.says.is_empty();
        assert!(!result.steps.iter().any(|step| is_silent(&step)), "{slipped}\n{result:?}");
        *kinds.entry(format!("{wrong:?}")).or_insert(0) += 1;
        if result.first == Some(place) {
            found += 1;
            let step = result
                .steps
                .iter()
                .find(|step| step.step == place)
                .expect("the first step with a slip");
            // Two causes that fit, or one beside an entry that has none, are not told as the slip.
            if let (Some(expected), Some(slip)) = (kinds_of(wrong), step.slip)
                && !step.says.iter().any(is_guess)
            {
                told += 1;
                if expected.contains(&slip) {
                    named += 1;
                } else {
                    misnamed.push(format!(
                        "{wrong:?} is {slip:?} in {place}: {:?}\n{slipped}",
                        lines(step)
                    ));
                }
            }
        } else {
            lost.push(format!("{wrong:?} in {place}: {:?}\n{slipped}", slips(&result)));
        }
    }
    assert!(kinds.len() == KINDS.len() && kinds.values().all(|n| *n >= 10), "{kinds:?}");
    assert!(found * 100 >= tried * 95, "{found} of {tried}\n{}", lost.join("\n"));
    assert!(told >= 100 && named * 100 >= told * 90, "{named} of {told}\n{}", misnamed.join("\n"));
}

/// Kinds that a slip may be told as; none where any number may be written.
fn kinds_of(wrong: Wrong) -> Option<&'static [Mistake]> {
    Some(match wrong {
        Wrong::Sign => &[Mistake::SignError],
        Wrong::Digit => return None,
        Wrong::Exchanged => &[Mistake::EntriesExchanged],
        Wrong::Factor => &[Mistake::WrongFactor],
        Wrong::Term => &[Mistake::SignError, Mistake::TermError],
        Wrong::NoScale => &[Mistake::MissingScale],
        Wrong::Width => &[Mistake::WrongScale],
        Wrong::Axis => &[Mistake::WrongAxis],
        Wrong::Rounded => &[Mistake::EarlyRounding],
        Wrong::Hull => &[Mistake::NoSoftmax],
    })
}

/// A head whose steps before the scaled scores are right.
fn after_scores(rest: &str) -> String {
    format!(
        "given:\n  X: [[1, 0], [0, 1], [1, 1]]\n  W_Q: [[1, 0], [0, 1]]\n  W_K: [[1, 1], [0, 1]]\n  W_V: [[2, 0], [0, 1]]\nsteps:\n{rest}"
    )
}

#[test]
fn unrounded_numbers_after_a_slip_are_no_second_slip() {
    // Powers or scaled scores with a slip, and everything after them without rounding.
    let mut slipped = 0;
    for number in 0..80_usize {
        let label = number.to_string();
        let mut stream = Stream::new(11, &["carried", &label]);
        let Head { given: [x, w_q, w_k, w_v], places, .. } = head(&mut stream);
        let places = Some(places - 1);
        let (q, k, v) = (product(&x, &w_q), product(&x, &w_k), product(&x, &w_v));
        let mut z = times(&product(&q, &transposed(&k)), 0.5_f64.sqrt());
        let (i, j) = (stream.below(z.len()), stream.below(z.len()));
        let factor = [2.0, 3.0, 0.5][stream.below(3)];
        let before = z.clone();
        z[i][j] += libm::log(factor);
        let a = softmax(&z);
        let scaled = if number % 2 == 0 { &before } else { &z };
        let text = format!(
            "given:\n  X: {}\n  W_Q: {}\n  W_K: {}\n  W_V: {}\nsteps:\n  scaled: {}\n  weights: {}\n  output: {}\n",
            text(&x, None),
            text(&w_q, None),
            text(&w_k, None),
            text(&w_v, None),
            text(scaled, places),
            text(&a, places),
            text(&product(&a, &v), places),
        );
        let result = checked(&text);
        let slips = slips(&result);
        slipped += slips.len();
        let step = if number % 2 == 0 { "weights" } else { "scaled" };
        // What a slip changes in digits that are not seen may show in the output first.
        let is_hidden = result.steps[1].found == Found::Right && number % 2 == 0;
        assert!(is_hidden || slips.iter().all(|slip| slip.0 == step), "{text}{result:?}");
    }
    assert!(slipped >= 60, "{slipped}");
    // A wrong number that the written ones cannot give is one still, and a right row is none.
    let wrong = after_scores(
        "  weights: [[0.573, 0.141, 0.286], [0.248, 0.248, 0.503], [0.284, 0.14, 0.576]]\n  output: [[1.718, 0.427], [1.503, 0.752], [1.82, 0.716]]\n",
    );
    let result = checked(&wrong);
    assert_eq!(slips(&result).len(), 2, "{result:?}");
    assert_eq!(lines(&result.steps[1]), ["another value in entry (3, 1): expected 1.72, got 1.82"]);
    let result = checked(&wrong.replace("1.82", "1.72"));
    assert_eq!(result.steps[1].found, Found::Follows, "{result:?}");
}

#[test]
fn rows_exchanged_are_one_slip() {
    let result = checked(&after_scores(
        "  scaled: [[0.7071, 0.0, 0.7071], [0.7071, 0.7071, 1.4142], [1.4142, 0.7071, 2.1213]]\n  weights: [[0.2483, 0.2483, 0.5035], [0.4011, 0.1978, 0.4011], [0.284, 0.14, 0.576]]\n  output: [[1.5035, 0.7517], [1.6044, 0.5989], [1.7199, 0.716]]\n",
    ));
    assert_eq!(slips(&result), [("weights", Some(Mistake::EntriesExchanged))], "{result:?}");
}

#[test]
fn numbers_are_told_in_as_many_digits_as_were_written() {
    for (steps, at, says) in [
        (
            "  weights: [[0.401, 0.198, 0.401], [0.248, 0.248, 0.503], [0.284, 0.14, 0.576]]\n  output: [[1.604, 0.599], [1.502, 0.751], [1.72, 0.716]]\n",
            1,
            "entry (2, 1): 1.502 comes from rounded numbers, 1.503 from unrounded ones",
        ),
        (
            "  weights: [[0.4011, 0.1978, 0.4011], [0.2483, 0.2483, 0.5035], [0.284, 0.14, 0.676]]\n",
            0,
            "another value in entry (3, 3): expected 0.576, got 0.676\nrow 3 sums to 1.100, not to 1",
        ),
        (
            "  scores: [[1, 0, 1], [1, 1, 2], [2, 1, 9/2]]\n",
            0,
            "another value in entry (3, 3): expected 3, got 9/2\n",
        ),
        (
            "  scores: [[1, 0, 1], [1, 1, 2], [2, 1, 4.5]]\n",
            0,
            "another value in entry (3, 3): expected 3.0, got 4.5\n",
        ),
    ] {
        let result = checked(&after_scores(steps));
        assert!(lines(&result.steps[at]).join("\n").contains(says), "{result:?}");
    }
}

#[test]
fn digits_that_were_cut_off_are_told_so() {
    let result = checked(&after_scores(
        "  weights: [[0.4011, 0.1977, 0.4011], [0.2482, 0.2482, 0.5034], [0.2839, 0.14, 0.5759]]\n  output: [[1.6044, 0.5988], [1.5032, 0.7516], [1.7196, 0.7159]]\n",
    ));
    assert_eq!(slips(&result), [("weights", Some(Mistake::NotNearest))], "{result:?}");
    assert_eq!(
        lines(&result.steps[0])[0],
        "not rounded to the nearest in entry (1, 2): expected 0.1978, got 0.1977"
    );
}

#[test]
fn causes_that_fit_alike_are_told_together() {
    let result = checked(&after_scores("  scores: [[1, 0, 1], [1, 1, 2], [2, 1, 1]]\n"));
    let says = "sign error in term 1 or missing term 2 in entry (3, 3): expected 3, got 1";
    assert_eq!(
        (result.steps[0].slip, lines(&result.steps[0])[0].as_str()),
        (Some(Mistake::Arithmetic), says)
    );
    // Where other entries have no cause, one that has is a guess.
    let result = checked(&after_scores("  output: [[1, 1], [1, 1], [1, 1]]\n"));
    assert!(
        lines(&result.steps[0])[1].starts_with("perhaps twice the term 3 in entry (1, 2)"),
        "{result:?}"
    );
}

/// Problem set 4 as it was handed in: `QKᵀ` has 2.5 for -2.5, the softmax is not scaled, and the
/// output comes from rounded weights.
const SEED: &str = "\
solution: problem set 4, question 3
given:
  X: [[1, -1, 0, 2], [0, -1, 2, 1], [-2, 2, -1, 0]]
  W_Q: [[0, 1], [1, 0], [-1/2, 0], [1, 1]]
  W_K: [[1, -1/2], [0, 1], [1/2, -1/2], [1, 1/2]]
  W_V: [[1, 1/2], [-1/2, 0], [-1, 2], [1/2, -1]]
steps:
  Q: [[1, 3], [-1, 1], [5/2, -2]]
  K: [[3, -1/2], [2, -3/2], [-5/2, 7/2]]
  V: [[5/2, -3/2], [-1, 3], [-2, -3]]
  scores: [[1.5, 2.5, 8], [-3.5, -3.5, 6], [8.5, 8, -13.25]]
  weights: [[0, 0, 1], [0, 0, 1], [0.62, 0.38, 0]]
  output: [[-2, -3], [-2, -3], [1.17, 0.21]]
";

#[test]
fn the_slips_of_the_handed_in_solution_are_named() {
    let result = checked(SEED);
    assert_eq!(
        slips(&result),
        [
            ("scores", Some(Mistake::SignError)),
            ("weights", Some(Mistake::MissingScale)),
            ("output", Some(Mistake::EarlyRounding))
        ]
    );
    let says = |at: usize| lines(&result.steps[at]).join("\n");
    assert!(says(3).contains("sign error in entry (1, 2): expected -2.5, got 2.5"), "{}", says(3));
    assert!(says(3).contains("the rank of these scores is 3"), "{}", says(3));
    assert!(says(4).contains("the scale was left out"), "{}", says(4));
    assert!(says(5).contains("rounded before going on"), "{}", says(5));
    assert_eq!(result.steps[3].place.to_string(), "solution.yaml:11");
    // Corrected, it has none.
    let corrected = SEED
        .replace("1.5, 2.5, 8", "1.5, -2.5, 8")
        .replace(
            "[[0, 0, 1], [0, 0, 1], [0.62, 0.38, 0]]",
            "[[0.0100, 0.0006, 0.9894], [0.0012, 0.0012, 0.9976], [0.5875, 0.4125, 0]]",
        )
        .replace(
            "[[-2, -3], [-2, -3], [1.17, 0.21]]",
            "[[-1.9545, -2.981], [-1.993, -2.991], [1.056, 0.356]]",
        );
    let result = checked(&corrected);
    assert_eq!(result.first, None, "{result:?}");
}

/// Weights are written to four decimals, and outputs come from one.
const UNSEEN: [&str; 2] = [
    "\
given:
  Q: [[4, -2], [-3, 1], [-3, 2], [2, -2]]
  K: [[-2, 0], [2, -2], [1, 2], [0, -4]]
  V: [[-2, 2], [1, -3], [2, 0], [-2, -2]]
steps:
  weights: [[0.0000, 0.9440, 0.0002, 0.0558], [0.9921, 0.0000, 0.0070, 0.0008], [0.9716, 0.0000, 0.0283, 0.0000], [0.0001, 0.4997, 0.0004, 0.4997]]
  output: [[0.7000, -2.9000], [-2, 2], [-2, 2], [-0.5000, -2.5000]]
",
    "\
given:
  Q: [[8, 8], [2, 2], [5, 5], [-5, -5]]
  K: [[6, 3], [0, -4], [6, 5], [-4, -2]]
  V: [[-6, -5], [2, 4], [-1, 1], [3, 2]]
steps:
  weights: [[0.0000, 0, 1.0000, 0], [0.0558, 0.0000, 0.9442, 0.0000], [0.0008, 0, 0.9992, 0], [0, 0.0008, 0, 0.9992]]
  output: [[-1, 1], [-1.5000, 0.4000], [-1, 1], [3, 2]]
",
];

#[test]
fn a_rounding_that_is_not_written_is_named_before_causes_of_single_entries() {
    for text in UNSEEN {
        let result = checked(text);
        assert_eq!(slips(&result), [("output", Some(Mistake::EarlyRounding))], "{result:?}");
        let says = lines(&result.steps[1]).join("\n");
        assert!(says.contains("before going on: the weights to 1 decimal\n"), "{says}");
        assert!(says.contains("comes from rounded numbers") && !says.contains("sign"), "{says}");
    }
    // One entry that no rounding gives has its own cause.
    let result = checked(&UNSEEN[0].replace("0.7000, -2.9000", "0.7000, 2.9000"));
    assert_eq!(slips(&result), [("output", Some(Mistake::Arithmetic))], "{result:?}");
    // Other steps: 0.71 for 1/√2, and exponents to one decimal.
    let base =
        "given:\n  Q: [[1, 2], [0, 1]]\n  K: [[1, 0], [1, 1]]\n  V: [[1, 0], [0, 2]]\nsteps:\n";
    for (steps, step, what) in [
        ("  scaled: [[0.7100, 2.1300], [0, 0.7100]]\n", "scaled", "the scale to 2 decimals"),
        (
            "  weights: [[0.1978, 0.8022], [0.3318, 0.6682]]\n",
            "weights",
            "the scaled scores to 1 decimal",
        ),
    ] {
        let result = checked(&format!("{base}{steps}"));
        assert_eq!(slips(&result), [(step, Some(Mistake::EarlyRounding))], "{result:?}");
        assert!(lines(&result.steps[0]).join("\n").contains(what), "{result:?}");
    }
}

#[test]
fn mistakes_of_one_step_have_their_names() {
    let base =
        "given:\n  Q: [[1, 2], [0, 1]]\n  K: [[1, 0], [1, 1]]\n  V: [[1, 0], [0, 2]]\nsteps:\n";
    for (steps, step, slip) in [
        ("  scores: [[1, 0], [3, 1]]\n", "scores", Mistake::WrongFactor),
        ("  scores: [[3, 1], [1, 0]]\n", "scores", Mistake::EntriesExchanged),
        ("  scores: [[1, 3], [0, 5]]\n", "scores", Mistake::Arithmetic),
        ("  scores: [[1, 3], [1, 0]]\n", "scores", Mistake::EntriesExchanged),
        ("  scores: [[1, 2], [0, 1]]\n", "scores", Mistake::TermError),
        ("  scale: 1/2\n", "scale", Mistake::WrongScale),
        ("  scale: 1\n", "scale", Mistake::MissingScale),
        ("  scaled: [[1, 3], [0, 1]]\n", "scaled", Mistake::MissingScale),
        ("  scaled: [[0.5, 1.5], [0, 0.5]]\n", "scaled", Mistake::WrongScale),
        ("  weights: [[0.6698, 0.8044], [0.3302, 0.1956]]\n", "weights", Mistake::WrongAxis),
        (
            "  weights: [[1, 0], [1, 0]]\n  output: [[1, 0], [1, 0]]\n",
            "weights",
            Mistake::Arithmetic,
        ),
        ("  weights: [[0, 1], [0, 1]]\n", "weights", Mistake::NoSoftmax),
        ("  weights: [[2.0281, 8.3421], [1, 2.0281]]\n", "weights", Mistake::NoSoftmax),
        ("  weights: [[0.195, 0.805, 0], [0.33, 0.67, 0]]\n", "weights", Mistake::Extents),
        ("  output: [[0.7071, 4.2426], [0, 1.4142]]\n", "output", Mistake::NoSoftmax),
    ] {
        let result = checked(&format!("{base}{steps}"));
        assert_eq!(slips(&result).first(), Some(&(step, Some(slip))), "{steps}{result:?}");
    }
    for (steps, says) in [
        ("  scores: [[3, 1], [1, 0]]\n", "columns 1 and 2 are exchanged"),
        ("  scores: [[0, 1], [1, 3]]\n", "rows 1 and 2 are exchanged"),
        ("  scores: [[2, 3], [1, 1]]\n", "columns 1 and 2 of K are exchanged"),
        ("  output: [[0.8044, 0.3911], [0.6698, 0.6605]]\n", "rows 1 and 2 of V are exchanged"),
    ] {
        let result = checked(&format!("{base}{steps}"));
        assert_eq!(
            lines(&result.steps[0]).first().map(String::as_str),
            Some(says),
            "{steps}{result:?}"
        );
    }
    // A head that does not scale is right without.
    let unscaled = "given:\n  Q: [[1, 2], [0, 1]]\n  K: [[1, 0], [1, 1]]\n  V: [[1, 0], [0, 2]]\n  scale: 1\nsteps:\n  weights: [[0.1192, 0.8808], [0.2689, 0.7311]]\n  output: [[exp(1)/(exp(1)+exp(3)), 2/(1+exp(-2))], [0.27, 1.46]]\n";
    assert_eq!(slips(&checked(unscaled)), []);
}

#[test]
fn the_template_is_clean_and_bad_files_point_at_the_line() {
    let result = checked(TEMPLATE);
    assert!(
        result.steps.len() == 8 && result.steps.iter().all(|step| step.found == Found::Right),
        "{result:?}"
    );
    for (from, to, says) in [
        ("  scores: [[1, 0, 1]", "  score: [[1, 0, 1]", "did you mean `scores`?"),
        ("[2, 1, 3]]", "[2, 1]]", "solution.yaml:22"),
        ("[[2, 0], [0, 1], [2, 1]]", "[[2, 0], [0, x], [2, 1]]", "got `x`"),
        ("given:", "gven:", "gven"),
        ("  W_V: [[2, 0], [0, 1]]\n", "", "`X` and `W_V`, got neither"),
        ("  scale:\n", "  scale: 1\n", "not given"),
        ("[[1, 1], [0, 1]]", "[]", "W_K"),
    ] {
        let text = TEMPLATE.replacen(from, to, 1);
        assert_ne!(text, TEMPLATE, "{from}");
        let error = WrittenSolution::from_yaml("solution.yaml", &text).map(|_| ()).expect_err(to);
        assert!(error.to_string().contains(says), "{to}: {error}");
    }
    for text in ["", "[", "given: {}\nsteps: {}\n", "given: 3\nsteps: 4\n", "\u{0}"] {
        assert!(WrittenSolution::from_yaml("solution.yaml", text).is_err(), "{text}");
    }
}

#[test]
fn what_is_given_must_fit() {
    for (from, to, says) in [
        ("W_Q: [[1, 0], [0, 1]]", "W_Q: [[1, 0]]", "`W_Q`: expected 2 rows, got 1 row"),
        (
            "W_K: [[1, 1], [0, 1]]",
            "W_K: [[1, 1, 0], [0, 1, 0]]",
            "`W_K`: expected 2 columns, got 3 columns",
        ),
        ("scale:\n\n", "scale: [[1, 2]]\n\n", "`scale`: expected one number, got 1 × 2"),
    ] {
        let text = TEMPLATE.replacen(from, to, 1);
        assert_ne!(text, TEMPLATE, "{from}");
        let error = WrittenSolution::from_yaml("solution.yaml", &text)
            .map(|_| ())
            .expect_err(to)
            .to_string();
        assert!(error.contains(says) && error.contains("solution.yaml:"), "{to}: {error}");
    }
    let values =
        "given: {Q: [[1, 0]], K: [[1, 0]], V: [[1, 2], [3, 4]]}\nsteps: {output: [[9, 9]]}\n";
    let error = WrittenSolution::from_yaml("solution.yaml", values)
        .map(|_| ())
        .expect_err("values")
        .to_string();
    assert!(error.contains("`V`: expected 1 row, got 2 rows"), "{error}");
}

#[test]
fn laws_hold_where_the_right_value_is_not_decided() {
    let far = |weights: &str, output: &str| {
        format!(
            "given: {{Q: [[1000, 0]], K: [[1000, 0], [0, 1000]], V: [[1, 0], [0, 1]]}}\n\
             steps: {{weights: {weights}, output: {output}}}\n"
        )
    };
    let wrong = checked(&far("[[0.3, 0.9]]", "[[7, 7]]"));
    assert_eq!(
        (wrong.first, wrong.undecided, slips(&wrong).len()),
        (Some("weights"), 0, 2),
        "{wrong:?}"
    );
    assert!(lines(&wrong.steps[0]).join(" ").contains("not to 1"), "{wrong:?}");
    assert!(lines(&wrong.steps[1]).join(" ").contains("outside the values"), "{wrong:?}");
    // Nothing is said of what might be right, but that it was not decided.
    let open = checked(&far("[[1, 0]]", "[[1, 0]]"));
    assert_eq!((open.first, open.undecided), (None, 1), "{open:?}");
    assert_eq!(open.steps[1].found, Found::Follows, "{open:?}");
    let sizes = checked(&far("[[1, 0]]", "[[1, 0, 0]]"));
    assert_eq!(slips(&sizes), [("output", Some(Mistake::Extents))], "{sizes:?}");
}
