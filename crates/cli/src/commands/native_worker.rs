//! `qkvet native-worker`: the other side of a `lib:` target. Not for people.

use std::ffi::OsString;
use std::process::ExitCode;

use qkvet_run::adapters::library::NativeWorker;
use qkvet_spec::Unexpected;

pub(super) fn native_worker(words: &[OsString]) -> Result<ExitCode, Unexpected> {
    let worker = NativeWorker::from_arguments(words)
        .ok_or_else(|| Unexpected::at("native-worker", "to be started for a lib: target"))?;
    worker.serve().map_err(|error| Unexpected::within("native-worker", error))?;
    Ok(ExitCode::SUCCESS)
}
