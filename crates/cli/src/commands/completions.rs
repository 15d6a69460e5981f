//! `qkvet completions SHELL`: what a shell needs to complete commands and flags.

use std::process::ExitCode;

use clap::CommandFactory;
use clap_complete::Shell;

use crate::args::Args;
use crate::exit::{Failure, HELD};
use crate::out::write_text;

pub(super) fn completions(shell: Shell) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "qkvet", &mut script);
    write_text(&String::from_utf8_lossy(&script))?;
    Ok(ExitCode::from(HELD))
}
