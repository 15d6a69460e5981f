//! `qkvet exam`: problem sets to sheets and keys, keys verified, submissions graded, solutions
//! checked, exams in the formats of others.

mod build;
mod check_solution;
mod export;
mod grade;
mod list;
mod new;
mod open;
mod read;
mod results;
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
        ExamCommand::New(args) => new::new(args),
        ExamCommand::Read(args) => read::read(args),
        ExamCommand::Grade(args) => grade::grade(args),
        ExamCommand::CheckSolution(args) => check_solution::check_solution(args),
    }
}
