//! `cargo xtask bench`: what the release binary takes, measured here and now. A number, never a
//! verdict.

mod bars;
mod build;
mod doors;
mod numerics;
mod server;

pub(crate) use build::{NOTES, compile};

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::python;
use crate::step::{self, Failure};

const TARGET: &str = "builtin:flash";
const SUITE: &str = "core";
const PROGRAM: &str = "examples/c/attention.c";
const STARTS: usize = 20;
const RUNS: usize = 3;
const NUMERICS: [&str; 6] = ["bench", "--package", "qkvet-engine", "--bench", "numerics", "--"];

pub(crate) fn run() -> Result<(), Failure> {
    step::run(&mut step::cargo(&["build", "--release", "--package", "qkvet-cli"]))?;
    let qkvet = step::qkvet("release")?;

    let (start, _) = fastest(STARTS, || {
        let mut command = step::command(&qkvet);
        command.arg("--version");
        command
    })?;
    println!("qkvet --version: {:.1} ms, fastest of {STARTS}", start.as_secs_f64() * 1e3);

    let (elapsed, report) = fastest(RUNS, || {
        let mut command = step::command(&qkvet);
        command.args(["check", TARGET, "--suite", SUITE, "--format", "json"]);
        command
    })?;
    let cases = case_count(&report)?;
    println!(
        "{SUITE} on {TARGET}: {cases} cases in {:.2} s, {:.0} cases/s, fastest of {RUNS}",
        elapsed.as_secs_f64(),
        cases / elapsed.as_secs_f64()
    );
    wire()
}

/// What the Python doors and the wire cost.
pub(crate) fn doors() -> Result<(), Failure> {
    doors::run()
}

/// The first command from a fresh clone, by package.
pub(crate) fn build() -> Result<(), Failure> {
    build::run()
}

/// Checks beside their targets.
pub(crate) fn check() -> Result<(), Failure> {
    let python = python::environment()?;
    let (program, library) = (c_program()?, c_library()?);
    // `cargo bench` starts it in the folder of its package.
    let root = step::root().display();
    let targets = [
        format!("{root}/examples/numpy_attention.py:attention"),
        format!("{root}/tests/fixtures/faulty/mask_inverted.py:attention"),
        format!("{root}/examples/torch_sdpa.py:attention"),
        format!("lib:{}", library.display()),
        format!("exec:{}", program.display()),
    ];
    let bench = ["bench", "--package", "qkvet-cli", "--bench", "check", "--"];
    for (suite, dtype) in [("core", "float32"), ("smoke", "all")] {
        step::run(step::cargo(&bench).args([suite, dtype]).arg(&python).args(&targets))?;
    }
    Ok(())
}

/// Enclosures beside their peers.
pub(crate) fn numerics(options: &[&str]) -> Result<(), Failure> {
    numerics::run(&numerics::Options::parse(options)?)
}

/// What enclosures of long contexts keep in memory; each in a process of its own.
pub(crate) fn memory() -> Result<(), Failure> {
    for which in ["long", "million", "causal"] {
        step::run(step::cargo(&NUMERICS).args(["memory", which]))?;
    }
    Ok(())
}

/// Variants of questions in a second.
pub(crate) fn exams(options: &[&str]) -> Result<(), Failure> {
    step::run(
        step::cargo(&["bench", "--package", "qkvet-exam", "--bench", "exams", "--"]).args(options),
    )
}

/// What a case costs on the wire, on the example in C, where there is a compiler for it.
fn wire() -> Result<(), Failure> {
    let source = step::root().join(PROGRAM);
    if !source.is_file() || !step::succeeds(step::command("cc").arg("--version")) {
        println!("wire: needs {PROGRAM} and a C compiler, `cc`");
        return Ok(());
    }
    let program = c_program()?;
    let bench = ["bench", "--package", "qkvet-run", "--bench", "wire", "--"];
    step::run(step::cargo(&bench).arg(&program))
}

/// The example in C as a program.
fn c_program() -> Result<PathBuf, Failure> {
    c("attention-c", &[PROGRAM])
}

/// The same as a library.
fn c_library() -> Result<PathBuf, Failure> {
    c("libattention-c.so", &["-shared", "-fPIC", "tests/fixtures/native/abi.c"])
}

fn c(name: &str, words: &[&str]) -> Result<PathBuf, Failure> {
    let made = step::target_dir()?.join(name);
    let mut compiler = step::command("cc");
    step::run(compiler.args(["-std=c99", "-O2", "-o"]).arg(&made).args(words).arg("-lm"))?;
    Ok(made)
}

/// The least time of `runs` runs, from start to exit, and the output of the last.
fn fastest(runs: usize, command: impl Fn() -> Command) -> Result<(Duration, Vec<u8>), Failure> {
    let mut least = Duration::MAX;
    let mut stdout = Vec::new();
    for _ in 0..runs {
        let mut command = command();
        command.stdin(Stdio::null());
        let started = Instant::now();
        stdout = step::output(&mut command)?;
        least = least.min(started.elapsed());
    }
    Ok((least, stdout))
}

/// The number of cases that a JSON report counts.
fn case_count(report: &[u8]) -> Result<f64, Failure> {
    let report: Value = serde_json::from_slice(report)
        .map_err(|error| Failure::Step(format!("the report is not JSON: {error}")))?;
    report
        .pointer("/run/cases")
        .and_then(Value::as_f64)
        .ok_or_else(|| Failure::Step("the report does not say how many cases it holds".to_owned()))
}
