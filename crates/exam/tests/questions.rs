//! What questions say is true in every variant, and designs that miss their point are refused.

#![expect(
    clippy::disallowed_methods,
    reason = "exponentials of the platform, to three decimals, as a second opinion on keys"
)]

use std::collections::BTreeSet;

use qkvet_exam::answer::{Drawn, Parameter};
use qkvet_exam::build::{Request, build};
use qkvet_exam::generate::{Answer, Instance, instantiate};
use qkvet_exam::grade::{Grader, Verdict, read};
use qkvet_exam::key::{Key, Source};
use qkvet_exam::question::CheckedQuestion;

use crate::{catalog, library};

fn each_variant(id: &str, check: impl Fn(&Instance<'_>)) {
    let library = library();
    let question = library.get(id).unwrap_or_else(|| panic!("no question {id}"));
    let parts: Vec<usize> = (0..question.parts.len()).collect();
    let mut seen = BTreeSet::new();
    for variant in 1..=200 {
        let number = variant.to_string();
        let posed =
            instantiate(question, &parts, (3, &[number.as_str()], variant), &mut seen, catalog());
        check(&posed.unwrap_or_else(|error| panic!("{error}")));
    }
}

fn matrix(drawn: &Drawn, name: &str) -> Vec<Vec<f64>> {
    match drawn.parameters.get(name) {
        Some(Parameter::Matrix(rows)) => rows.clone(),
        other => panic!("{name}: {other:?}"),
    }
}

fn number(drawn: &Drawn, name: &str) -> f64 {
    match drawn.parameters.get(name) {
        Some(Parameter::Number(x)) => *x,
        other => panic!("{name}: {other:?}"),
    }
}

fn index(drawn: &Drawn, name: &str) -> usize {
    match drawn.parameters.get(name) {
        Some(Parameter::Index(i)) => *i,
        other => panic!("{name}: {other:?}"),
    }
}

fn rows(numbers: &qkvet_exam::answer::Numbers) -> Vec<Vec<f64>> {
    let whole = |x: &str| -> f64 { x.parse().unwrap_or_else(|_| panic!("{x}")) };
    let read = |x: &String| {
        x.split_once('/').map_or_else(|| whole(x), |(top, bottom)| whole(top) / whole(bottom))
    };
    numbers.rows.iter().map(|row| row.iter().map(read).collect()).collect()
}

fn key_of(posed: &Instance<'_>, part: usize) -> Vec<Vec<f64>> {
    match &posed.parts[part - 1].answer {
        Answer::Numbers { key, .. } => rows(key),
        other => panic!("{other:?}"),
    }
}

/// The weights that the sheet gives, rounded by this test, have the error that the key says, and
/// the mean is worth subtracting.
#[test]
fn rounded_weights_are_rounded_and_the_mean_makes_the_bound_smaller() {
    each_variant("predict-and-check", |posed| {
        let drawn = &posed.drawn;
        let thousandths: Vec<f64> = matrix(drawn, "g")[0]
            .iter()
            .zip(&matrix(drawn, "r")[0])
            .map(|(g, r)| 10.0 * g + r)
            .collect();
        let last = 1000.0 - thousandths.iter().sum::<f64>();
        let weights: Vec<f64> = thousandths.into_iter().chain([last]).map(|k| k / 1000.0).collect();
        assert!(weights.iter().all(|a| *a > 0.0), "{weights:?}");
        let rounded: Vec<f64> = weights.iter().map(|a| (a * 100.0).round() / 100.0).collect();
        let values = matrix(drawn, "V");
        let output = |weights: &[f64], column: usize| -> f64 {
            weights.iter().zip(&values).map(|(a, value)| a * value[column]).sum()
        };
        let off =
            (0..2).map(|j| (output(&rounded, j) - output(&weights, j)).abs()).fold(0.0, f64::max);
        assert!((off - key_of(posed, 3)[0][0]).abs() < 1e-9, "{off}, {drawn:?}");
        let largest = |values: &[Vec<f64>]| {
            values.iter().flatten().fold(0.0_f64, |most, x| most.max(x.abs()))
        };
        #[expect(clippy::cast_precision_loss, reason = "a small number")]
        let mean =
            |j: usize| values.iter().map(|value| value[j]).sum::<f64>() / values.len() as f64;
        let centered: Vec<Vec<f64>> =
            values.iter().map(|value| (0..2).map(|j| value[j] - mean(j)).collect()).collect();
        assert!(largest(&centered) < largest(&values), "{values:?}");
    });
}

/// Whether a point lies in a triangle of the values.
fn is_in_hull(values: &[Vec<f64>], point: &[f64]) -> bool {
    let side = |a: &[f64], b: &[f64], c: &[f64]| {
        (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
    };
    let n = values.len();
    let all = (0..n).flat_map(|i| (i + 1..n).flat_map(move |j| (j + 1..n).map(move |k| (i, j, k))));
    all.into_iter().any(|(i, j, k)| {
        let (a, b, c) = (&values[i], &values[j], &values[k]);
        let sides = [side(a, b, point), side(b, c, point), side(c, a, point)];
        side(a, b, c) != 0.0 && (sides.iter().all(|x| *x >= 0.0) || sides.iter().all(|x| *x <= 0.0))
    })
}

#[test]
fn the_possible_output_is_in_the_hull_and_two_others_are_in_the_box_alone() {
    each_variant("convex-hull", |posed| {
        let sign = number(&posed.drawn, "f");
        let values: Vec<Vec<f64>> =
            matrix(&posed.drawn, "Y").iter().map(|y| vec![y[0], sign * y[1]]).collect();
        let bounds = key_of(posed, 1);
        let is_in_box =
            |point: &[f64]| (0..2).all(|j| bounds[0][j] < point[j] && point[j] < bounds[1][j]);
        assert!(is_in_hull(&values, &key_of(posed, 2)[0]), "{values:?}");
        let others: Vec<Vec<f64>> =
            posed.parts[1].mistakes.iter().map(|m| rows(&m.numbers)[0].clone()).collect();
        assert!(others.iter().all(|point| !is_in_hull(&values, point)), "{values:?}, {others:?}");
        assert_eq!(
            others.iter().filter(|point| is_in_box(point)).count(),
            2,
            "{values:?}, {others:?}"
        );
    });
}

/// Whether each answer to a part of one question is right.
fn verdicts(question: &str, id: &str, answers: impl Fn(&Drawn) -> Vec<String>) {
    let set = format!("exam: x\ntitle: X\nquestions:\n  - question: {question}\n");
    let set = Source { path: "set.yaml".to_owned(), text: set };
    let files = build(&Request { set, own: Vec::new(), variants: 5, seed: 4 }, catalog());
    let files = files.unwrap_or_else(|error| panic!("{error}"));
    let keys =
        files.iter().filter(|file| file.path.starts_with("key/") && file.path.ends_with(".json"));
    let keys: Vec<Key> = keys
        .map(|file| Key::from_json(&file.text).unwrap_or_else(|error| panic!("{error}")))
        .collect();
    let grader = Grader::new(keys.clone(), catalog()).unwrap_or_else(|error| panic!("{error}"));
    for key in &keys {
        // The first answer is right, all others are not.
        for (at, answer) in answers(&key.questions[0].drawn).into_iter().enumerate() {
            let text = format!(
                "exam: x\nvariant: {}\nstudent: Ada\nanswers:\n  {id}: {answer}\n",
                key.variant
            );
            let graded = grader.grade(&read("ada.yaml", text.as_bytes())[0]);
            let part = graded
                .parts
                .iter()
                .find(|part| part.part == id)
                .unwrap_or_else(|| panic!("no part {id}"));
            let expected = if at == 0 { Verdict::Right } else { Verdict::Wrong };
            assert_eq!(part.verdict, expected, "{question} {id}, answer {at}, {answer}: {part:?}");
        }
    }
}

/// Two heads balance to within what the key says.
#[test]
fn two_heads_balance() {
    each_variant("several-heads", |posed| {
        let drawn = &posed.drawn;
        let [beta, gamma] = ["beta", "gamma"].map(|name| number(drawn, name));
        let n = drawn.size("n").unwrap_or(0);
        #[expect(clippy::cast_precision_loss, reason = "a small number")]
        let others = (n - 1) as f64;
        let weight = |score: f64| score.exp() / (score.exp() + others);
        let average = (weight(beta * gamma) + (1.0 - weight(beta)) / others) / 2.0;
        assert!(
            (average - 0.5).abs() < 0.03 && (average - key_of(posed, 2)[0][0]).abs() < 6e-5,
            "{drawn:?}"
        );
    });
}

/// A matrix of 0 with these entries.
fn sparse(n: usize, m: usize, entries: &[(usize, usize, f64)]) -> String {
    let entry = |i: usize, j: usize| {
        entries
            .iter()
            .filter(|(row, column, _)| (*row, *column) == (i, j))
            .map(|(_, _, x)| *x)
            .sum::<f64>()
    };
    let row = |i: usize| (0..m).map(|j| entry(i, j).to_string()).collect::<Vec<_>>().join(", ");
    format!("[{}]", (0..n).map(|i| format!("[{}]", row(i))).collect::<Vec<_>>().join(", "))
}

/// The least factors and margins on the key do what is asked, and a little less does not.
#[test]
fn least_factors_are_enough_and_least() {
    #[expect(clippy::cast_precision_loss, reason = "a small number")]
    let size = |posed: &Instance<'_>| posed.drawn.size("n").unwrap_or(0) as f64;
    // What all others weigh beside so many keys of this score, theirs being 0.
    let rest = |keys: f64, n: f64, score: f64| (n - keys) / (keys * score.exp() + n - keys);
    let is_least = |posed: &Instance<'_>, part: usize, keys: f64| {
        let (least, most) = (key_of(posed, part)[0][0], 1.0 / number(&posed.drawn, "f"));
        let of = |score: f64| rest(keys, size(posed), score);
        assert!(
            of(least + 0.0006) <= most && most <= of(least - 0.0006),
            "part {part}: {least}, {:?}",
            posed.drawn
        );
    };
    each_variant("copy-and-average", |posed| {
        is_least(posed, 2, 1.0);
        is_least(posed, 5, 2.0);
    });
    each_variant("random-keys", |posed| {
        is_least(posed, 4, 2.0);
        let [beta, m, g] = ["beta", "m", "g"].map(|name| number(&posed.drawn, name));
        // The difference of the scores is (k_a − k_c) · q, and each entry of k_a − k_c has the
        // variance 2/m².
        let deviation = |factor: f64| (2.0 / (m * m) * (2.0 * factor * factor)).sqrt();
        let exact = |part: usize| match &posed.parts[part - 1].answer {
            Answer::Numbers { key, .. } => fraction(&key.rows[0][0]),
            other => panic!("{other:?}"),
        };
        assert!((exact(1) - deviation(beta)).abs() < 1e-9, "{:?}", posed.drawn);
        assert!((deviation(exact(3)) - 1.0 / g).abs() < 1e-9, "{:?}", posed.drawn);
        assert!(key_of(posed, 4)[0][0] + 0.49 < exact(3), "no room: {:?}", posed.drawn);
    });
}

/// `4/5` and `3`.
fn fraction(text: &str) -> f64 {
    let read = |x: &str| x.parse::<f64>().unwrap_or_else(|_| panic!("{text}"));
    text.split_once('/').map_or_else(|| read(text), |(above, below)| read(above) / read(below))
}

#[test]
fn factors_between_both_bounds_keep_two_random_keys_in_balance() {
    verdicts("random-keys", "1e", |drawn| {
        let [m, g, f] = ["m", "g", "f"].map(|name| number(drawn, name));
        #[expect(clippy::cast_precision_loss, reason = "a small number")]
        let n = drawn.size("n").unwrap_or(0) as f64;
        let (least, most) = (((n - 2.0) * (f - 1.0) / 2.0).ln(), m / (2.0 * g));
        let shown = |x: f64| format!("{{x: {x:.3}}}");
        vec![
            shown(f64::midpoint(least, most)),
            shown(least - 0.01),
            shown(most + 0.01),
            shown(0.0),
            shown(-most),
        ]
    });
}

#[test]
fn a_query_that_averages_gives_two_keys_half_of_the_weight() {
    verdicts("copy-and-average", "1d", |drawn| {
        let (n, a, c) = (drawn.size("n").unwrap_or(0), index(drawn, "a"), index(drawn, "c"));
        let query = |x, y| format!("{{q: {}}}", sparse(1, n, &[(0, a, x), (0, c, y)]));
        vec![query(9.0, 9.0), query(0.0, 0.0), query(9.0, 8.0), query(3.0, 3.0), query(9.0, 0.0)]
    });
}

#[test]
fn two_heads_that_each_balance_two_keys_are_no_robust_mean() {
    verdicts("several-heads", "1d", |drawn| {
        let (n, a, c) = (drawn.size("n").unwrap_or(0), index(drawn, "a"), index(drawn, "c"));
        let heads = |p: (f64, f64), r: (f64, f64)| {
            let query = |(x, y)| sparse(1, n, &[(0, a, x), (0, c, y)]);
            format!("{{p: {}, r: {}}}", query(p), query(r))
        };
        vec![
            heads((25.0, 0.0), (0.0, 25.0)),
            // The answer for one head, twice.
            heads((5.0, 5.0), (5.0, 5.0)),
            heads((30.0, 30.0), (30.0, 30.0)),
            heads((0.0, 0.0), (0.0, 0.0)),
            heads((25.0, 0.0), (25.0, 0.0)),
        ]
    });
    // Another key may have the mean of both values as its own, which is luck.
    verdicts("several-heads", "1d", |drawn| {
        let (n, a, c) = (drawn.size("n").unwrap_or(0), index(drawn, "a"), index(drawn, "c"));
        let heads = |i: usize, j: usize| {
            format!(
                "{{p: {}, r: {}}}",
                sparse(1, n, &[(0, i, 20.0)]),
                sparse(1, n, &[(0, j, 20.0)])
            )
        };
        let others = (0..n).filter(|key| *key != a && *key != c).map(|key| heads(key, key));
        std::iter::once(heads(c, a)).chain(others).collect()
    });
}

#[test]
fn projections_without_attention_do_not_copy() {
    let answers = |drawn: &Drawn| {
        let [i, j, k, l] = ["i", "j", "k", "l"].map(|name| index(drawn, name));
        let [f, h, m] = ["f", "h", "m"].map(|name| number(drawn, name));
        let of = |query: &[(usize, usize, f64)], key: f64, value: &[(usize, usize, f64)]| {
            let key: Vec<(usize, usize, f64)> = (0..5).map(|at| (at, at, key)).collect();
            let [query, key, value] = [query, &key, value].map(|entries| sparse(5, 5, entries));
            format!("{{W_Q: {query}, W_K: {key}, W_V: {value}}}")
        };
        // The second token looks for d, the first for c.
        let looks = [(i, l, 5.0 * f * m), (l, k, 5.0 * m * h)];
        vec![
            of(&looks, 1.0, &[(j, j, 1.0), (k, k, -1.0)]),
            // No attention: all weights are a third, and the values make up for it.
            of(&[], 0.0, &[(j, j, 1.5)]),
            of(&[], 0.0, &[(j, j, 1.5), (k, k, -3.0)]),
            // The second token attends to itself, whose value is set to r.
            of(&[(i, i, 5.0)], 1.0, &[(i, j, f * number(drawn, "g"))]),
        ]
    };
    verdicts("outer-products", "1c", answers);
    verdicts("outer-products", "1d", answers);
}

#[test]
fn proofs_in_keys_are_of_plain_attention() {
    for question in ["order-of-tokens", "convex-hull", "dot-product-moments"] {
        let set = format!("exam: x\ntitle: X\nquestions:\n  - question: {question}\n");
        let set = Source { path: "set.yaml".to_owned(), text: set };
        let files = build(&Request { set, own: Vec::new(), variants: 1, seed: 4 }, catalog());
        let files = files.unwrap_or_else(|error| panic!("{error}"));
        let key =
            files.iter().find(|file| file.path == "key/x-1.md").unwrap_or_else(|| panic!("no key"));
        let (_, proof) = key.text.split_once("Prove ").unwrap_or_else(|| panic!("no proof"));
        for word in ["mask", "bias", "sink", "softcap", "alibi", "exists", "{variance}"] {
            assert!(!proof.contains(word), "{question}: {word}\n{proof}");
        }
    }
}

#[test]
fn keys_name_rows_and_say_what_they_prove() {
    for (question, marks) in [
        ("token-attention", &["{row}_{", "In the letters of the law `score-entry`"][..]),
        ("attention-map", &["w = \\operatorname{row}_{"]),
        ("tiny-head", &["adds up each row of the weights", "instead of 1/$\\sqrt{d_{k}}$"]),
        ("outer-products", &["scaled by $\\sqrt{d_{k}}$"]),
    ] {
        let set = format!("exam: x\ntitle: X\nquestions:\n  - question: {question}\n");
        let set = Source { path: "set.yaml".to_owned(), text: set };
        let files = build(&Request { set, own: Vec::new(), variants: 1, seed: 4 }, catalog());
        let files = files.unwrap_or_else(|error| panic!("{error}"));
        for file in files.iter().filter(|file| file.path.ends_with(".md")) {
            for colon in [",:", ":,", "d\\_k"] {
                assert!(!file.text.contains(colon), "{question}: {colon}\n{}", file.text);
            }
        }
        let key =
            files.iter().find(|file| file.path == "key/x-1.md").unwrap_or_else(|| panic!("no key"));
        for mark in marks {
            assert!(key.text.contains(mark), "{question}: {mark}\n{}", key.text);
        }
    }
}

/// Who does not divide by the sum writes exponentials of the scores as they are, not less their
/// maximum.
#[test]
fn exponentials_that_are_not_divided_are_those_of_the_scores() {
    each_variant("tiny-head", |posed| {
        let [queries, keys, values] = ["Q", "K", "V"].map(|name| matrix(&posed.drawn, name));
        let told = |part: usize| {
            let says = "the exponentials were not divided by their sum";
            let found = posed.parts[part].mistakes.iter().find(|mistake| mistake.says == says);
            rows(&found.unwrap_or_else(|| panic!("part {part}")).numbers)
        };
        let (weights, output) = (told(1), told(2));
        for (i, query) in queries.iter().enumerate() {
            let score = |key: &Vec<f64>| (query[0] * key[0] + query[1] * key[1]) / 2.0_f64.sqrt();
            let powers: Vec<f64> = keys.iter().map(|key| score(key).exp()).collect();
            assert!(
                powers.iter().zip(&weights[i]).all(|(x, y)| (x - y).abs() < 6e-5),
                "{weights:?}, {:?}",
                posed.drawn
            );
            for (j, entry) in output[i].iter().enumerate() {
                let sum: f64 =
                    powers.iter().zip(&values).map(|(power, value)| power * value[j]).sum();
                assert!((sum - entry).abs() < 6e-5, "{output:?}, {:?}", posed.drawn);
            }
        }
    });
}

/// A product of many factors is read without a bracket, and written again with one for each.
#[test]
fn a_formula_in_a_text_that_is_too_deep_to_be_written_again_is_an_error() {
    let source = include_str!("../../../specs/exams/questions/tiny-head.yaml");
    let read = |n: usize| {
        let product = vec!["d_k"; n].join(" * ");
        let text = source.replace("scores by $1 / sqrt(d_k)$", &format!("scores by $={product}$"));
        assert_ne!(text, source);
        CheckedQuestion::from_yaml("deep.yaml", &text, catalog())
            .map(|_| ())
            .map_err(|error| error.to_string())
    };
    assert_eq!(read(20), Ok(()));
    let error = read(70).expect_err("a formula of 70 factors");
    assert!(error.contains("expected formulas of fewer brackets in brackets"), "{error}");
}
