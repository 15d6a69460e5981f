//! One file a command.

mod check;
mod contracts;
mod doctor;
mod explain;
mod frozen;
mod launch;
mod list;
mod merge;
mod own_laws;
mod prove;
mod replay;
mod schema;
mod setup;

use std::process::ExitCode;

use crate::args::{Args, Command};
use crate::exit::Failure;

pub(crate) fn run(args: Args) -> Result<ExitCode, Failure> {
    match args.command {
        Command::Check(args) => check::check(&args),
        Command::Merge(args) => merge::merge(&args),
        Command::Replay(args) => replay::replay(&args),
        Command::Export(args) => frozen::export(&args),
        Command::Judge(args) => frozen::judge(&args),
        Command::Doctor(args) => doctor::doctor(&args),
        Command::Prove(args) => prove::prove(&args),
        Command::List { what } => list::list(what),
        Command::Explain { name } => explain::explain(&name),
        Command::Schema { name, list } => schema::schema(name.as_deref(), list),
    }
}
