//! The `qkvet` binary: arguments → configuration → call → exit code.

#[macro_use]
mod out;

mod args;
mod commands;
mod exit;
mod settings;

use std::process::ExitCode;

fn main() -> ExitCode {
    if let Ok(program) = std::env::current_exe() {
        qkvet_run::process::guard_by(program, vec![args::GUARD.into()]);
    }
    let done = settings::parse().and_then(commands::run);
    // What was said first, then what is wrong: both are known only when all of it is written.
    match out::written().and(done) {
        Ok(code) => code,
        Err(failure) => failure.tell().into(),
    }
}
