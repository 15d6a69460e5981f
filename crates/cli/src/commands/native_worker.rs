//! `qkvet native-worker`: the other side of a `lib:` target. Not for people.

use std::ffi::OsString;
use std::process::ExitCode;

use qkvet_run::native::NativeWorker;

use crate::exit::Failure;

pub(super) fn native_worker(words: &[OsString]) -> Result<ExitCode, Failure> {
    let worker = NativeWorker::from_arguments(words).ok_or_else(|| {
        Failure::Usage("native-worker: expected to be started for a lib: target".to_owned())
    })?;
    worker.serve().map_err(|error| Failure::Usage(format!("native-worker: {error}")))?;
    Ok(ExitCode::SUCCESS)
}
