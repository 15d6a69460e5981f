//! What differs from kind to kind of a target.

use std::fmt;
use std::path::PathBuf;

use qkvet_spec::{Meaning, SourcePlace, Warning};

use super::open::{OpenTarget, OwnTarget};
use super::python::source_place;
use super::settings::StoredCall;
use crate::process::{Launch, Limits, StartError, Watch, limits_threads};

/// A target of one kind before it is started.
pub trait Adapter: fmt::Debug + Send + Sync {
    /// Starts it. `declared` is what it claims to compute.
    ///
    /// # Errors
    /// A target that cannot be loaded.
    fn open(&self, declared: &Meaning, limits: &Limits) -> Result<OpenTarget, StartError>;

    /// Starts it once more, told that it computes something else than before.
    ///
    /// # Errors
    /// A target that cannot be loaded.
    fn open_again(&self, declared: &Meaning, limits: &Limits) -> Result<OpenTarget, StartError> {
        self.open(declared, limits)
    }

    /// How often a process that died or was ended is replaced in one case; a run is stopped after
    /// as many cases that ended one. `None` if it runs no foreign code, which may crash, hang or
    /// change.
    fn max_restarts(&self) -> Option<u32> {
        None
    }

    /// How it is called, to be written down.
    fn stored_call(&self) -> StoredCall {
        StoredCall::default()
    }

    /// The function of this process that answers, or that answered what was recorded.
    fn in_process(&self) -> Option<&OwnTarget> {
        None
    }

    /// Whether it is called: outputs that were computed elsewhere are looked up.
    fn is_called(&self) -> bool {
        true
    }

    /// Whether its calls differ in their number of threads.
    fn has_threads(&self) -> bool {
        self.max_restarts().is_some() && limits_threads()
    }

    /// After how many calls without an answer a run is stopped; each costs the user its time.
    fn most_timeouts(&self, limits: &Limits) -> usize {
        self.max_restarts().map_or(1, |n| limits.most_timeouts(n))
    }

    /// After how many broken processes a run is stopped; each costs a new one.
    fn most_ends(&self) -> usize {
        self.max_restarts().map_or(1, |n| n as usize)
    }

    /// Whether calls without a mask are put with one that is true everywhere.
    fn fills_masks(&self) -> bool {
        false
    }

    /// What happened so far that did not change a verdict and should be known.
    fn warnings(&self, watch: &Watch) -> Vec<Warning> {
        watch.warnings()
    }

    /// The files that it names and that may change between two runs.
    fn files(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    /// Where it is defined, for one of this name.
    fn source(&self, name: &str) -> Option<SourcePlace> {
        source_place(name)
    }

    /// The program that `qkvet doctor` talks to.
    fn peer(&self, _limits: &Limits) -> Peer {
        Peer::None("one that is built in")
    }
}

/// The program behind a target.
pub enum Peer {
    /// One that speaks the wire, or why it cannot be told what to load.
    Wire(Result<Launch, StartError>),
    /// None that speaks the wire, and what the target is instead.
    None(&'static str),
}
