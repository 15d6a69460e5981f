//! The `qkvet` binary: arguments → configuration → call → exit code.

mod args;
mod commands;
mod exit;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let args = args::Args::parse();
    match commands::run(args) {
        Ok(code) => code,
        Err(failure) => failure.report(),
    }
}
