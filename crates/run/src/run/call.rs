//! The targets of a run: opened alike, one a worker, and on how many threads each case is put to
//! them.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use qkvet_spec::{Meaning, Threads};

use super::compiled::Timed;
use super::error::RunError;
use crate::adapters::{Called, NamedTarget, OpenTarget};
use crate::config::RunConfig;
use crate::config::{meaning_of, names};
use crate::record::{KeptTarget, Sharding, hashed};
use crate::store::Store;

/// Open targets, one a worker.
pub(super) struct Workers<'r, 'a> {
    pub(super) config: &'r RunConfig<'a>,
    pub(super) store: Option<&'r Store>,
    pub(super) targets: Vec<OpenTarget>,
}

impl<'r> Workers<'r, '_> {
    /// So many targets once more, told that they follow `meaning`, by which what takes a mask in
    /// every call is given another where there is none.
    pub(super) fn open_again(&self, meaning: &Meaning, targets: usize) -> Result<Self, RunError> {
        let NamedTarget { adapter, limits, .. } = self.config.target;
        let open = || adapter.open_again(meaning, limits);
        let targets = (0..targets).map(|_| Ok(recorded(self.config, open()?, true)));
        Ok(Self { targets: targets.collect::<Result<_, RunError>>()?, ..*self })
    }

    /// Where the case is noted that a worker is about to run. Only foreign code takes everything
    /// down with it.
    pub(super) fn running(&self) -> Option<&'r Store> {
        self.store.filter(|_| self.config.target.adapter.max_restarts().is_some())
    }

    /// How a script calls the target, if it runs in a process of its own.
    pub(super) fn called(&self) -> Option<&Called> {
        self.targets.first().and_then(|target| target.called.as_ref())
    }
}

/// Starts the target of the first worker. `is_compiled` is set where it is seen to be compiled for
/// each combination of extents and options.
pub(super) fn open(
    config: &RunConfig<'_>,
    is_compiled: &Arc<AtomicBool>,
) -> Result<OpenTarget, RunError> {
    if let Some(Sharding { recording, .. }) = &config.sharding {
        // Before it is loaded: a file that changes meanwhile is no file of another version then.
        recording.set_files(hashed(config.target.adapter.files()));
    }
    if let Some(journal) = &config.journal {
        journal.look(config.target);
    }
    let open = open_one(config)?;
    if config.target.adapter.max_restarts().is_none() || config.cases.most_shapes().is_some() {
        return Ok(open);
    }
    Ok(OpenTarget { target: Box::new(Timed::new(open.target, Arc::clone(is_compiled))), ..open })
}

/// Starts those of the others, one for each worker that has a case.
pub(super) fn open_others(
    config: &RunConfig<'_>,
    first: OpenTarget,
    cases: usize,
) -> Result<Vec<OpenTarget>, RunError> {
    let others = (1..config.jobs.min(cases)).map(|_| open_one(config));
    std::iter::once(Ok(first)).chain(others).collect()
}

fn open_one(config: &RunConfig<'_>) -> Result<OpenTarget, RunError> {
    let declared = meaning_of(&config.conventions);
    Ok(recorded(config, config.target.open(&declared)?, false))
}

/// The target, its answers kept if the run is a shard or has a journal, apart from those of the
/// first if it was opened again.
fn recorded(config: &RunConfig<'_>, open: OpenTarget, is_again: bool) -> OpenTarget {
    if let Some(journal) = &config.journal {
        journal.open(config.target, names(&config.conventions), &open.environment);
        let target = KeptTarget::new(open.target, journal.clone(), is_again);
        return OpenTarget { target: Box::new(target), ..open };
    }
    let Some(Sharding { recording, .. }) = &config.sharding else { return open };
    if !is_again {
        recording.set_called(open.called.as_ref());
    }
    let target = KeptTarget::new(open.target, recording.clone(), is_again);
    OpenTarget { target: Box::new(target), ..open }
}

/// The law whose cases all run on the library's own number of threads.
pub(super) const ALWAYS: &str = "repeatability";
/// One in so many of the other cases does.
pub(super) const ONE_IN: u32 = 10;

/// The number of threads of a case. It depends on the case alone, so that shards and replays do as
/// the run did.
pub fn threads_of(id: &str, law: &str) -> Threads {
    let is_threaded = law == ALWAYS || crc32fast::hash(id.as_bytes()).is_multiple_of(ONE_IN);
    if is_threaded { Threads::Library } else { Threads::One }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_case_in_ten_runs_on_several_threads_and_all_of_repeatability() {
        let ids: Vec<String> = (0..10_000).map(|n| format!("c-{n:016x}")).collect();
        let threaded = ids.iter().filter(|id| threads_of(id, "value") == Threads::Library).count();
        assert!((800..1200).contains(&threaded), "{threaded}");
        assert!(ids.iter().all(|id| threads_of(id, ALWAYS) == Threads::Library));
    }
}
