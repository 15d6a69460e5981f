//! One file a command.

mod check;
mod doctor;
mod explain;
mod list;
mod replay;
mod schema;
mod setup;

use std::process::ExitCode;

use crate::args::{Args, Command};
use crate::exit::Failure;

pub(crate) fn run(args: Args) -> Result<ExitCode, Failure> {
    match args.command {
        Command::Check(args) => check::check(&args),
        Command::Replay(args) => replay::replay(&args),
        Command::Doctor(args) => doctor::doctor(&args),
        Command::List { what } => list::list(what),
        Command::Explain { name } => explain::explain(&name),
        Command::Schema { name, list } => schema::schema(name.as_deref(), list),
    }
}
