//! One file a command.

mod adequacy;
mod check;
mod checks;
mod compare;
mod completions;
mod configured;
mod doctor;
mod exam;
mod expected;
mod explain;
mod frozen;
mod frozen_cases;
mod init;
mod known;
mod launch;
mod list;
mod merge;
mod native_worker;
mod onnx;
mod own_laws;
mod probe;
mod prove;
mod replay;
mod report;
mod reports;
mod scale_out;
mod schema;
pub(crate) mod setup;
mod snapshot;
mod target_folder;
mod watch;

use std::process::ExitCode;

use qkvet_spec::Unexpected;

use crate::args::{Args, Begun, Command, GUARD, InitArgs, Onnx};
use crate::exit::Failure;

pub(crate) fn run(args: Args) -> Result<ExitCode, Failure> {
    match args.command {
        Command::Check(args) => checks::checks(&args),
        Command::Compare(args) => compare::compare(&args),
        Command::Merge(args) => merge::merge(&args),
        Command::Report(args) => report::report(&args),
        Command::Snapshot { what } => snapshot::snapshot(&what),
        Command::Known { what } => known::known(&what),
        Command::Replay(args) => replay::replay(&args),
        Command::Export(args) => frozen::export(&args),
        Command::Judge(args) => frozen::judge(&args),
        Command::Doctor(args) => doctor::doctor(&args),
        Command::Probe(args) => probe::probe(&args),
        Command::Prove(args) => prove::prove(&args),
        Command::Exam { what } => exam::exam(&what),
        Command::Adequacy(args) => adequacy::adequacy(&args),
        Command::Onnx { what: Onnx::Run(args) } => onnx::run_backend(&args),
        Command::List { what } => list::list(what),
        Command::Explain { name, format } => explain::explain(name.as_deref(), format),
        Command::Init(InitArgs { what: Some(Begun::Harness(args)), .. }) => init::harness(&args),
        Command::Init(InitArgs { what: Some(Begun::Ci(args)), .. }) => init::ci(&args),
        Command::Init(args) => init::config(&args),
        Command::Completions { shell } => completions::completions(shell),
        Command::Guard => {
            qkvet_run::process::guard(&mut std::io::stdin().lock())
                .map_err(|error| Unexpected::at(GUARD, "to read what there is").error(error))?;
            Ok(ExitCode::SUCCESS)
        }
        Command::NativeWorker { words } => Ok(native_worker::native_worker(&words)?),
        Command::Schema { name, list } => schema::schema(name.as_deref(), list),
    }
}
