//! `cargo xtask`: the tasks of this repository, each doing its own set-up.
//!
//! One module per task; `step` runs the commands they are made of, `python` makes the environment
//! of the tests.
#![allow(
    clippy::disallowed_methods,
    reason = "tasks run programs, read files and the clock; no result of qkvet depends on them"
)]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "tasks talk to whoever started them")]

mod assembly;
mod bench;
mod check;
mod corpus;
mod libraries;
mod man;
mod node;
mod pictures;
mod prose;
mod python;
mod regen;
mod schemas;
mod step;
mod test;
mod tools;
mod wheel;
mod wild;

use std::path::Path;
use std::process::ExitCode;

use step::Failure;

const USAGE: &str = "\
usage: cargo xtask TASK

  test           every test; sets up Python with its wheels, and Node.js if need be
  test --all     the slow tests too
  test --fast    without Python and whole suites
  test CRATE     the tests of one crate: spec, engine, prove, gen, diagnose, run, report, exam, ...
  check          formatting, clippy, docs, dependencies, generated files, prose
  regen          write the generated files again
  assembly       look whether the inner loops of the engine keep their sums in registers
  bench          measure the release binary
  bench build    measure the first command from an empty target folder, by package
  bench check    measure a check beside its target: NumPy, PyTorch, a library and a program in C
  bench numerics [--quick] [--gate] [--width avx2] [--json FILE]
                 measure enclosures beside the peak of the machine, their products, PyTorch, NumPy and Arb
                 (--gate: fail where a bar is not met; --width avx2: hide AVX-512 from all of them)
  bench doors    measure what a call costs beside the function, and an assertion beside PyTorch
  bench memory   measure what enclosures of long contexts keep in memory
  bench exams [QUESTION...]
                 measure how many variants of each question are made in a second, and their load
  wild [ROW...]  check published packages against tests/wild/expected.json (downloads them)
  libraries [--candle]
                 write the tables of docs/libraries.md and docs/implementations.md (--candle: those of candle, which is built for it, and its tests)
  pictures       write docs/pictures, and what pages look like in a browser into target/pictures
  prose          list sentences that are hard to read: too long, or without a subject
  man [DIR]      write manual pages, by default into target/man
  wheel          build the Python package, with the command in it, into target/wheels
  corpus [DIR]   write the larger frozen cases, by default to target/corpus
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    if let Some(notes) = std::env::var_os(bench::NOTES) {
        return bench::compile(&args, Path::new(&notes)).unwrap_or_else(told);
    }
    let outcome = match args.as_slice() {
        ["test"] => test::run(test::Tier::Standard),
        ["test", "--all"] => test::run(test::Tier::All),
        ["test", "--fast"] => test::run(test::Tier::Fast),
        ["test", name] if !name.starts_with('-') => test::of_crate(name),
        ["check"] => check::run(),
        ["regen"] => regen::run(),
        ["assembly"] => assembly::run(),
        ["bench"] => bench::run(),
        ["bench", "build"] => bench::build(),
        ["bench", "check"] => bench::check(),
        ["bench", "numerics", options @ ..] => bench::numerics(options),
        ["bench", "doors"] => bench::doors(),
        ["bench", "memory"] => bench::memory(),
        ["bench", "exams", options @ ..] => bench::exams(options),
        ["libraries"] => libraries::run(libraries::Which::Wheels),
        ["libraries", "--candle"] => libraries::run(libraries::Which::Candle),
        ["corpus"] => corpus::run(None),
        ["corpus", out] => corpus::run(Some(out)),
        ["pictures"] => pictures::run(),
        ["prose"] => prose::run(),
        ["man"] => man::run(None),
        ["man", folder] => man::run(Some(folder)),
        ["wheel"] => wheel::run(),
        ["wild", rows @ ..] => wild::run(rows),
        ["help" | "-h" | "--help"] => {
            print!("{USAGE}");
            Ok(())
        }
        [] => Err(Failure::Setup(format!("no task given\n\n{USAGE}"))),
        other => Err(Failure::Setup(format!("unknown task: {}\n\n{USAGE}", other.join(" ")))),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => told(failure),
    }
}

fn told(failure: Failure) -> ExitCode {
    eprintln!("error: {failure}");
    failure.exit_code()
}
