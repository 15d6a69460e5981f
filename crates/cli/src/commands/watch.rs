//! `qkvet check --watch`: the same runs again whenever a file changes.

#![allow(clippy::disallowed_methods, reason = "when a file changed is no result of a run")]

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant, SystemTime};

use qkvet_run::record::nearby;
use qkvet_spec::Catalog;

use super::launch::stop_on_interrupt;
use super::setup;
use crate::args::CheckArgs;
use crate::exit::{Failure, INTERRUPTED};

/// How often it is looked.
const EVERY: Duration = Duration::from_millis(300);

/// When files changed last, and how long they are; `None` of one that is not there.
type States = BTreeMap<PathBuf, Option<(SystemTime, u64)>>;

/// Runs again and again, until an interrupt. Its exit code is that of an interrupt, or of the first
/// run where there is no file that could change.
pub(super) fn watch(runs: &[CheckArgs], mut run: impl FnMut() -> Result<u8, Failure>) -> u8 {
    let catalog = match Catalog::embedded() {
        Ok(catalog) => catalog,
        Err(error) => return Failure::from(error).tell(),
    };
    let states = || states(runs, &catalog);
    let stop = stop_on_interrupt();
    let is_stopped = || stop.load(Ordering::Relaxed);
    loop {
        let start = Instant::now();
        let before = states();
        // Looking takes a tenth of the time at most.
        let pause = EVERY.max(10 * start.elapsed());
        let code = run().unwrap_or_else(|failure| failure.tell());
        if before.is_empty() {
            tell!(
                "notice: no file of these targets lies in this folder or is named in a path: --watch ends"
            );
            return code;
        }
        if is_stopped() {
            return INTERRUPTED;
        }
        tell!("waiting for a change of {}; Ctrl-C ends", shown(&before));
        let mut now = states();
        while now == before {
            std::thread::sleep(pause);
            if is_stopped() {
                return INTERRUPTED;
            }
            now = states();
        }
        // Whoever writes it may not be done.
        loop {
            std::thread::sleep(pause);
            let next = states();
            if next == now || is_stopped() {
                break;
            }
            now = next;
        }
    }
}

/// Files by the first, and how many there are.
fn shown(states: &States) -> String {
    let first = states.keys().next().map_or_else(String::new, |path| path.display().to_string());
    match states.len() {
        1 => first,
        n => format!("{first} and {} more", n - 1),
    }
}

fn states(runs: &[CheckArgs], catalog: &Catalog) -> States {
    let state = |path: PathBuf| {
        let about = std::fs::metadata(&path).ok();
        let state = about.and_then(|about| Some((about.modified().ok()?, about.len())));
        (path, state)
    };
    runs.iter().flat_map(|run| files(run, catalog)).map(state).collect()
}

/// The files that a run depends on: those near the target, and what is said of it.
fn files(args: &CheckArgs, catalog: &Catalog) -> Vec<PathBuf> {
    let Ok(home) = setup::home(&args.target, args.on.process.config.as_deref()) else {
        return Vec::new();
    };
    let said = home.file.iter().cloned().chain(home.known_file());
    let target = setup::dtypes(&args.dtype)
        .map_err(Failure::from)
        .and_then(|dtypes| setup::target(&home, &args.target, &args.on, None, &dtypes, catalog));
    let own = target.map(|target| target.adapter.files()).unwrap_or_default();
    said.chain(nearby(&own).0).collect()
}
