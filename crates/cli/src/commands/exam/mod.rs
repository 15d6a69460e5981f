//! `qkvet exam`: problem sets to sheets and keys, keys verified, exams in the formats of others.

mod build;
mod export;
mod list;
mod verify;

use std::process::ExitCode;

use crate::args::ExamCommand;
use crate::exit::Failure;

pub(super) fn exam(command: &ExamCommand) -> Result<ExitCode, Failure> {
    match command {
        ExamCommand::Build(args) => build::build(args),
        ExamCommand::Export(args) => export::export(args),
        ExamCommand::Verify { folder } => verify::verify(folder),
        ExamCommand::List => list::list(),
    }
}
