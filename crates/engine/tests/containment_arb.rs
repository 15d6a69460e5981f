//! Enclosures and arbitrary precision against ball arithmetic of another library: FLINT/Arb,
//! through Python.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::adversarial;

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

use adversarial::{CHOICES, Choice, FAMILIES, Hard, NORMALIZATIONS, Random};
use qkvet_engine::digits::{Logarithm, PreciseHead, Width};
use qkvet_engine::enclosure::{HeadEnclosure, enclose};
use qkvet_engine::head::{EmptyRow, Normalization, Stage};

/// Problems of each family: one without choices, one for each choice, and random ones.
const PROBLEMS: u64 = 40;

/// Midpoint and radius of every ball, by turns.
#[derive(Default)]
struct Balls {
    output: Vec<f64>,
    weights: Vec<f64>,
    /// Of the logarithm of every row sum.
    lse: Vec<f64>,
}

fn enclosed(problem: &Hard) -> Balls {
    let outputs = |problem: &Hard| {
        let HeadEnclosure { mid, rad, .. } = enclose(&problem.head());
        mid.into_iter().zip(rad).flat_map(|(mid, rad)| [mid, rad]).collect()
    };
    let rows = enclose(&problem.head()).rows;
    let lse = rows.iter().flat_map(|row| [row.lse.mid, row.lse.rad]).collect();
    Balls { output: outputs(problem), weights: outputs(&problem.of_weights()), lse }
}

fn precise(problem: &Hard) -> Balls {
    let outputs = |problem: &Hard| {
        let head = problem.head();
        let precise = PreciseHead::new(&head).unwrap();
        let balls = (0..problem.n_q).flat_map(|i| precise.output(i, Width::NEAREST).unwrap());
        balls.flat_map(|ball| [ball.mid, ball.rad]).collect()
    };
    let head = problem.head();
    let precise = PreciseHead::new(&head).unwrap();
    let lse = (0..problem.n_q).map(|i| precise.lse(i, Logarithm::Natural, Width::NEAREST).unwrap());
    Balls {
        output: outputs(problem),
        weights: outputs(&problem.of_weights()),
        lse: lse.flat_map(|ball| [ball.mid, ball.rad]).collect(),
    }
}

fn list(xs: &[f64]) -> String {
    format!("\"{}\"", xs.iter().map(|x| format!("{:016x}", x.to_bits())).collect::<String>())
}

fn hex(x: f64) -> String {
    list(&[x])
}

fn option(x: Option<String>) -> String {
    x.unwrap_or_else(|| "null".to_owned())
}

/// One line for `tests/fixtures/containment.py`.
fn line(p: &Hard, balls: &Balls) -> String {
    let word = |stage: &Stage| match stage {
        Stage::Scale => "\"scale\"",
        Stage::Softcap => "\"softcap\"",
        Stage::Bias => "\"bias\"",
    };
    let stages: Vec<&str> = p.stages.iter().map(word).collect();
    let bits =
        |i: usize| (0..p.n_k).map(|j| if p.sees(i, j) { '1' } else { '0' }).collect::<String>();
    let seen: Vec<String> = (0..p.n_q).map(|i| format!("\"{}\"", bits(i))).collect();
    let positions: Vec<String> = (0..p.n_q).map(|i| p.position(i).to_string()).collect();
    let empty_row = if p.empty_row == EmptyRow::Mean { "mean" } else { "zero" };
    let normalization = match p.normalization {
        Normalization::OverKeys => "over-keys",
        Normalization::OverQueries => "over-queries",
        Normalization::None => "none",
    };
    let mut line = format!("{{\"name\":\"{}\",\"empty_row\":\"{empty_row}\"", p.name());
    write!(line, ",\"normalization\":\"{normalization}\"").unwrap();
    for (name, n) in [("n_q", p.n_q), ("n_k", p.n_k), ("d_k", p.d_k), ("d_v", p.d_v)] {
        write!(line, ",\"{name}\":{n}").unwrap();
    }
    for (name, text) in [
        ("query", list(&p.query)),
        ("key", list(&p.key)),
        ("value", list(&p.value)),
        ("stages", format!("[{}]", stages.join(","))),
        ("factor", hex(p.scale.factor)),
        ("radicand", p.scale.radicand.to_string()),
        ("softcap", option(p.softcap.map(hex))),
        ("bias", option(p.bias.as_deref().map(list))),
        ("slope", option(p.alibi.map(|alibi| hex(alibi.slope)))),
        ("positions", format!("[{}]", positions.join(","))),
        ("sink", option(p.sink.map(hex))),
        ("seen", format!("[{}]", seen.join(","))),
        ("output", list(&balls.output)),
        ("weights", list(&balls.weights)),
        ("row sum", list(&balls.lse)),
    ] {
        write!(line, ",\"{name}\":{text}").unwrap();
    }
    line.push_str("}\n");
    line
}

/// The interpreter that `cargo xtask test` prepared. Under CI its absence is a failure, not a
/// silent pass.
#[expect(clippy::disallowed_methods, reason = "the test runner says where its interpreter is")]
fn python() -> Option<String> {
    let python = std::env::var("QKVET_TEST_PYTHON").ok();
    assert!(
        python.is_some() || std::env::var_os("CI").is_none(),
        "no QKVET_TEST_PYTHON: run `cargo xtask test`"
    );
    python
}

/// What the script says of each line.
fn verdicts(python: &str, lines: &[String]) -> Vec<String> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/containment.py");
    let mut child = Command::new(python)
        .arg(script)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("Python");
    let mut stdin = child.stdin.take().unwrap();
    let text = lines.concat();
    // Read while writing: neither pipe may fill up.
    let writer = std::thread::spawn(move || stdin.write_all(text.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.success(), "containment.py: {}", output.status);
    let verdicts: Vec<String> =
        String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect();
    assert_eq!(verdicts.len(), lines.len());
    verdicts
}

fn problems() -> Vec<Hard> {
    let choices: Vec<Choice> = CHOICES.into_iter().chain(NORMALIZATIONS).collect();
    let mut problems = Vec::new();
    for family in 0..FAMILIES.len() {
        for number in 0..PROBLEMS {
            let seed = number + 100 * family as u64;
            let mut random = Random::new(seed);
            let shape = [
                2 + random.below(6),
                1 + random.below(20),
                1 + random.below(12),
                24 + random.below(24),
            ];
            let chosen = match (number as usize).checked_sub(1) {
                None => Vec::new(),
                Some(at) if at < choices.len() => vec![choices[at]],
                Some(_) => choices.iter().copied().filter(|_| random.unit() < 0.3).collect(),
            };
            problems.push(Hard::new(family, seed, shape, &chosen));
        }
    }
    problems
}

/// Outputs, weights and logarithms that the script found in their balls, over all problems.
#[expect(clippy::print_stdout, reason = "a test says how much it looked at")]
fn held(python: &str, problems: &[&Hard], balls: fn(&Hard) -> Balls) -> [usize; 3] {
    let lines: Vec<String> =
        problems.iter().map(|problem| line(problem, &balls(problem))).collect();
    let mut held = [0; 3];
    for verdict in verdicts(python, &lines) {
        let counts = verdict
            .strip_prefix("ok ")
            .map(|counts| counts.split(' ').map(|count| count.parse().unwrap()));
        let counts: Vec<usize> = counts.unwrap_or_else(|| panic!("{verdict}")).collect();
        held.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
    }
    let [outputs, weights, lse] = held;
    println!(
        "{} balls: {outputs} outputs, {weights} weights, {lse} row sums",
        held.iter().sum::<usize>()
    );
    held
}

#[test]
fn arb_finds_the_exact_number_in_every_enclosure() {
    let Some(python) = python() else { return };
    let problems = problems();
    let held = held(&python, &problems.iter().collect::<Vec<_>>(), enclosed);
    assert!(
        held.iter().sum::<usize>() >= 100_000 && held.iter().all(|count| *count > 0),
        "{held:?}"
    );
}

#[test]
fn arb_finds_the_exact_number_in_every_ball_of_arbitrary_precision() {
    let Some(python) = python() else { return };
    let problems = problems();
    let is_known = |problem: &&Hard| problem.normalization == Normalization::OverKeys;
    let held = held(&python, &problems.iter().filter(is_known).collect::<Vec<_>>(), precise);
    assert!(
        held.iter().sum::<usize>() >= 100_000 && held.iter().all(|count| *count > 0),
        "{held:?}"
    );
}

#[test]
fn arb_finds_a_ball_that_is_off() {
    let Some(python) = python() else { return };
    let problem = Hard::new(0, 0, [2, 4, 3, 2], &[Choice::Sink]);
    let moved = |part: fn(&mut Balls) -> &mut Vec<f64>, at: usize| {
        let mut balls = precise(&problem);
        let mid = &mut part(&mut balls)[2 * at];
        *mid = mid.next_up().next_up();
        line(&problem, &balls)
    };
    let lines = [
        line(&problem, &precise(&problem)),
        moved(|balls| &mut balls.output, 0),
        moved(|balls| &mut balls.output, 3),
        moved(|balls| &mut balls.weights, 6),
        moved(|balls| &mut balls.lse, 1),
    ];
    let got = verdicts(&python, &lines);
    assert_eq!(got[0], "ok 4 8 2");
    let expected = ["output [0, 0]: ", "output [1, 1]: ", "weights [1, 2]: ", "row sum [1, 0]: "];
    for (got, place) in got[1..].iter().zip(expected) {
        assert!(got.starts_with(&format!("wrong gauss float64 {place}")), "{got}");
    }
}
