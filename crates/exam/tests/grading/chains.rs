//! One slip is paid for once: chains of steps with one wrong step each.

use indexmap::IndexMap;
use qkvet_exam::answer::work_from;
use qkvet_exam::generate::Stream;
use qkvet_exam::grade::{Verdict, read};
use qkvet_exam::key::Source;
use qkvet_exam::student_answer::read_expression;
use qkvet_prove::exact::{ExactMatrices, Real, Value};
use qkvet_spec::syntax::parse;

use super::{grader, keys, set};
use crate::catalog;

/// Scores, scaled scores, weights and outputs.
const CHAIN: &str = "\
question: own
title: Own
goal: compute
difficulty: 1
draw: {A: \"integers(2, 2, -2..2)\", B: \"integers(2, 3, -2..2)\", V: \"integers(3, 2, -4..4)\"}
let:
  N: A @ B
  S: N / 3
  W: softmax_rows(S)
  O: W @ V
keep: [1 <= norm_max(N), norm_max(N) <= 4, 2 <= spread(V), 1 <= spread(N)]
parts:
  - prompt: N
    points: 2
    answer: {value: {of: N}}
    mistakes: [{gives: \"N + ones(2, 3)\", says: one too many}]
  - prompt: S
    points: 2
    answer: {value: {of: S}}
  - prompt: W
    points: 2
    answer: {value: {of: W, places: 3}}
  - prompt: O
    points: 2
    answer: {value: {of: O, places: 3}}
";

const STEPS: [(&str, Option<usize>); 4] =
    [("N", None), ("S", None), ("W", Some(3)), ("O", Some(3))];

fn real(text: &str) -> Real {
    read_expression(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// The numbers of a step as they are handed in: exact, or to so many decimals.
fn written(m: &ExactMatrices, places: Option<usize>) -> String {
    let one = |x: &Real| places.map_or_else(|| x.to_string(), |places| x.digits(places));
    let rows = m
        .data
        .chunks(m.cols)
        .map(|row| format!("[{}]", row.iter().map(one).collect::<Vec<_>>().join(", ")));
    format!("[{}]", rows.collect::<Vec<_>>().join(", "))
}

/// The same with every number rounded to what was written.
fn rounded(m: &ExactMatrices, places: Option<usize>) -> ExactMatrices {
    let one = |x: &Real| match places {
        None => x.clone(),
        Some(places) => real(&x.digits(places)),
    };
    ExactMatrices { data: m.data.iter().map(one).collect(), ..m.clone() }
}

#[test]
fn one_slip_is_paid_for_once() {
    let own = vec![Source { path: "questions/own.yaml".to_owned(), text: CHAIN.to_owned() }];
    let keys = keys(&set("own"), own, 40);
    let (_, library) = keys[0].sources(catalog()).unwrap_or_else(|error| panic!("{error}"));
    let question = library.get("own").expect("the question");
    let grader = grader(keys.clone());
    let mut chains = 0;
    for number in 0..400 {
        let mut stream = Stream::new(7, &["chain", &number.to_string()]);
        let key = &keys[stream.below(keys.len())];
        let drawn = &key.questions[0].drawn;
        let (wrong, rounds) = (stream.below(3), stream.below(2) == 1);
        let mut own: IndexMap<String, Value> = IndexMap::new();
        let mut text = format!("variant: {}\nanswers:\n", key.variant);
        for (at, (name, places)) in STEPS.iter().enumerate() {
            let worked = work_from(&question.law, drawn, &IndexMap::new(), &own).expect("steps");
            let Ok(Value::Matrices(mut m)) = worked.value(&parse(name).expect("a name")) else {
                panic!("{name}")
            };
            if at == wrong {
                let entry = stream.below(m.data.len());
                let off = Real::from(i64::try_from(stream.below(2)).expect("small") * 2 - 1);
                let off = if at == 2 { off.times(&real("1/10")).expect("a number") } else { off };
                m.data[entry] = m.data[entry].plus(&off).expect("a number");
            }
            if at == wrong || rounds {
                own.insert((*name).to_owned(), Value::Matrices(rounded(&m, *places)));
            }
            text += &format!("  1{}: {}\n", ["a", "b", "c", "d"][at], written(&m, *places));
        }
        let all = grader.grade(&read("ada.yaml", text.as_bytes())[0]);
        // A slip that leaves nothing to compute, such as rows that are all equal, is another rule.
        let is_level = |at: usize| {
            let rows: Vec<&str> = text.lines().nth(2 + at).unwrap_or("").split("], [").collect();
            rows.len() == 2
                && rows[0].trim_start_matches(|c: char| c != '[').trim_matches(['[', ']'])
                    == rows[1].trim_matches([']', '['])
        };
        if (wrong..4).any(is_level) || all.parts[wrong].verdict == Verdict::Right {
            continue;
        }
        chains += 1;
        for (at, part) in all.parts.iter().enumerate().filter(|(at, _)| *at != wrong) {
            assert!(
                part.points > 1.99,
                "{number}: step {at} after a slip in {wrong}:\n{text}{part:?}"
            );
        }
        assert!(all.parts[wrong].points < 1.5, "{text}{:?}", all.parts[wrong]);
    }
    assert!(chains >= 200, "{chains}");
}
