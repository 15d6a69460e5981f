//! What the wire costs: `cargo bench -p qkvet-run --bench wire -- PROGRAM [ARGUMENT...]`. A number,
//! never a verdict.
//!
//! Sends small cases to a program that speaks qkvet-wire/1 and prints the total, the program's own
//! account of its calls (`nanoseconds` of its answers) and what a case costs beside that.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program that measures"
)]

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use qkvet_run::adapters::ExecConfig;
use qkvet_run::process::Limits;
use qkvet_spec::{Call, CallOptions, Dtype, Response, Target, Tensor};

const CASES: usize = 1000;
/// The first calls pay for caches and page faults.
const WARM_UP: usize = 50;

fn main() -> ExitCode {
    // Cargo adds `--bench`.
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    if words.is_empty() {
        println!("wire: no program to measure; give one after `--`");
        return ExitCode::SUCCESS;
    }
    match measure(&words) {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

fn measure(words: &[String]) -> Result<String, String> {
    let command = shell_words::join(words);
    let config = ExecConfig::new(&command, Path::new(".")).map_err(|error| error.to_string())?;
    let mut target = config.start(&Limits::default()).map_err(|error| error.to_string())?;
    let tensor = |n: usize, d: usize| Tensor {
        dtype: Dtype::Float32,
        shape: vec![1, 1, n, d],
        data: (0..n * d).map(|at| (at % 7) as f64 / 8.0).collect(),
    };
    let call = Call {
        query: tensor(3, 4),
        key: tensor(3, 4),
        value: tensor(3, 4),
        return_weights: false,
        return_lse: false,
        options: CallOptions::default(),
    };
    let mut ask = |times: usize| {
        for _ in 0..times {
            if let other @ (Response::Crash(_) | Response::Timeout(_) | Response::Broken(_)) =
                target.call(&call)
            {
                return Err(format!("{other:?}"));
            }
        }
        Ok(target.nanoseconds())
    };
    let before = ask(WARM_UP)?;
    let start = Instant::now();
    let own = (ask(CASES)? - before) as f64 / 1e3;
    let total = start.elapsed().as_secs_f64() * 1e6;
    let each = (total - own) / CASES as f64;
    let own = if own > 0.0 {
        format!("{:.1} ms in the calls", own / 1e3)
    } else {
        "calls not timed".to_owned()
    };
    Ok(format!(
        "wire: {CASES} cases 1x1x3x4 in {:.1} ms, {own}, {each:.1} µs a case beside them",
        total / 1e3
    ))
}
