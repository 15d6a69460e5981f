//! One file a command.

mod adequacy;
mod check;
mod doctor;
mod exam;
mod explain;
mod frozen;
mod init;
mod launch;
mod list;
mod merge;
mod native_worker;
mod own_laws;
mod probe;
mod prove;
mod replay;
mod schema;
mod setup;

use std::process::ExitCode;

use crate::args::{Args, Begun, Command};
use crate::exit::Failure;

pub(crate) fn run(args: Args) -> Result<ExitCode, Failure> {
    match args.command {
        Command::Check(args) => check::check(&args),
        Command::Merge(args) => merge::merge(&args),
        Command::Replay(args) => replay::replay(&args),
        Command::Export(args) => frozen::export(&args),
        Command::Judge(args) => frozen::judge(&args),
        Command::Doctor(args) => doctor::doctor(&args),
        Command::Probe(args) => probe::probe(&args),
        Command::Prove(args) => prove::prove(&args),
        Command::Exam { what } => exam::exam(&what),
        Command::Adequacy(args) => adequacy::adequacy(&args),
        Command::List { what } => list::list(what),
        Command::Explain { name } => explain::explain(&name),
        Command::Init { what: Begun::Harness(args) } => init::harness(&args),
        Command::NativeWorker { words } => native_worker::native_worker(&words),
        Command::Schema { name, list } => schema::schema(name.as_deref(), list),
    }
}
