//! Enclosures and arbitrary precision against ball arithmetic of another library: FLINT/Arb, through Python.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod adversarial;

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

use adversarial::{CHOICES, Choice, FAMILIES, Hard, Random};
use qkvet_engine::digits::{Logarithm, PreciseHead, Width};
use qkvet_engine::enclosure::enclose;
use qkvet_engine::head::{EmptyRow, Stage};

/// Balls of every output and of the logarithm of every row sum.
struct Balls {
    mid: Vec<f64>,
    rad: Vec<f64>,
    /// Midpoint and radius by turns.
    lse: Vec<f64>,
}

fn enclosed(problem: &Hard) -> Balls {
    let enclosure = enclose(&problem.head());
    let lse = enclosure.rows.iter().flat_map(|row| [row.lse.mid, row.lse.rad]).collect();
    Balls { mid: enclosure.mid, rad: enclosure.rad, lse }
}

fn precise(problem: &Hard) -> Balls {
    let head = problem.head();
    let precise = PreciseHead::new(&head).unwrap();
    let mut balls = Balls { mid: Vec::new(), rad: Vec::new(), lse: Vec::new() };
    for i in 0..problem.n_q {
        for ball in precise.output(i, Width::NEAREST).unwrap() {
            balls.mid.push(ball.mid);
            balls.rad.push(ball.rad);
        }
        let lse = precise.lse(i, Logarithm::Natural, Width::NEAREST).unwrap();
        balls.lse.extend([lse.mid, lse.rad]);
    }
    balls
}

fn hex(x: f64) -> String {
    format!("\"{:016x}\"", x.to_bits())
}

fn list(xs: &[f64]) -> String {
    format!("[{}]", xs.iter().map(|x| hex(*x)).collect::<Vec<_>>().join(","))
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
    let bits = |i: usize| (0..p.n_k).map(|j| if p.sees(i, j) { '1' } else { '0' }).collect::<String>();
    let seen: Vec<String> = (0..p.n_q).map(|i| format!("\"{}\"", bits(i))).collect();
    let empty_row = if p.empty_row == EmptyRow::Mean { "mean" } else { "zero" };
    let mut line = format!("{{\"name\":\"{}\",\"empty_row\":\"{empty_row}\"", p.name());
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
        ("offset", p.alibi.map_or(0, |alibi| alibi.offset).to_string()),
        ("sink", option(p.sink.map(hex))),
        ("seen", format!("[{}]", seen.join(","))),
        ("mid", list(&balls.mid)),
        ("rad", list(&balls.rad)),
        ("lse", list(&balls.lse)),
    ] {
        write!(line, ",\"{name}\":{text}").unwrap();
    }
    line.push_str("}\n");
    line
}

/// The interpreter that `cargo xtask test` prepared. Under CI its absence is a failure, not a silent pass.
#[expect(clippy::disallowed_methods, reason = "the test runner says where its interpreter is")]
fn python() -> Option<String> {
    let python = std::env::var("QKVET_TEST_PYTHON").ok();
    assert!(python.is_some() || std::env::var_os("CI").is_none(), "no QKVET_TEST_PYTHON: run `cargo xtask test`");
    python
}

/// What the script says of each line.
fn verdicts(python: &str, lines: &[String]) -> Vec<String> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/containment.py");
    let mut child =
        Command::new(python).arg(script).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("Python");
    let mut stdin = child.stdin.take().unwrap();
    let text = lines.concat();
    // Read while writing: neither pipe may fill up.
    let writer = std::thread::spawn(move || stdin.write_all(text.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.success(), "containment.py: {}", output.status);
    let verdicts: Vec<String> = String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect();
    assert_eq!(verdicts.len(), lines.len());
    verdicts
}

fn problems() -> Vec<Hard> {
    let mut problems = Vec::new();
    for family in 0..FAMILIES.len() {
        for seed in 0..8 {
            let mut random = Random::new(seed + 100 * family as u64);
            let often = [0.0, 0.2, 0.5][seed as usize % 3];
            let choices: Vec<Choice> = CHOICES.into_iter().filter(|_| random.unit() < often).collect();
            problems.push(Hard::new(family, seed, [3, 9, 6, 7], &choices));
        }
    }
    problems
}

#[test]
fn arb_finds_the_exact_number_in_every_ball() {
    let Some(python) = python() else { return };
    let problems = problems();
    for (name, balls) in [("enclosure", enclosed as fn(&Hard) -> Balls), ("arbitrary precision", precise)] {
        let lines: Vec<String> = problems.iter().map(|problem| line(problem, &balls(problem))).collect();
        let mut count = 0;
        for verdict in verdicts(&python, &lines) {
            let elements = verdict.strip_prefix("ok ").and_then(|count| count.parse::<usize>().ok());
            assert!(elements.is_some(), "{name}: {verdict}");
            count += elements.unwrap_or(0);
        }
        println!("{name}: {count} numbers");
        assert!(count >= 4000, "{name}: {count}");
    }
}

#[test]
fn arb_finds_a_ball_that_is_off() {
    let Some(python) = python() else { return };
    let problem = Hard::new(0, 0, [2, 4, 3, 2], &[Choice::Sink]);
    let right = precise(&problem);
    let moved = |at: usize| {
        let mut balls = precise(&problem);
        balls.mid[at] = balls.mid[at].next_up().next_up();
        line(&problem, &balls)
    };
    let lse = {
        let mut balls = precise(&problem);
        balls.lse[0] = balls.lse[0].next_down().next_down();
        line(&problem, &balls)
    };
    let got = verdicts(&python, &[line(&problem, &right), moved(0), moved(3), lse]);
    assert!(got[0] == "ok 6", "{got:?}");
    assert!(got[1].starts_with("wrong gauss float64 [0, 0]") && got[2].contains("[1, 1]"), "{got:?}");
    assert!(got[3].contains("[0] row sum"), "{got:?}");
}
