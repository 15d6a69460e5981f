//! What to start and for how long to wait.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use qkvet_spec::Threads;
use qkvet_spec::wire::WIRE;

use super::watch::Watch;

/// How long to wait for a process, and who may end the wait.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Longest time for one call.
    pub timeout: Duration,
    /// Longest time from the start to the answer to `hello`.
    pub start_timeout: Duration,
    /// Memory that a process may hold, in MiB, where the system says how much it holds (Linux).
    pub memory: u64,
    /// What is heeded and told meanwhile.
    pub watch: Watch,
}

/// How long a run may wait in all for calls that do not answer.
const MAX_WAITING: Duration = Duration::from_secs(300);

impl Limits {
    /// Longest time for one call, unless another is chosen.
    pub const TIMEOUT: Duration = Duration::from_secs(30);
    /// Longest time for loading, unless another is chosen.
    pub const START_TIMEOUT: Duration = Duration::from_secs(180);

    /// Memory of a process, unless another is chosen: 16 GiB.
    pub const MEMORY: u64 = 16 << 10;

    /// After how many calls without an answer a run is stopped: as many as make five minutes, three
    /// at least, and not more than there are restarts. A number of calls, not a time, so that it is
    /// the same everywhere.
    pub(crate) fn most_timeouts(&self, max_restarts: u32) -> usize {
        let fit = MAX_WAITING.as_millis() / self.timeout.as_millis().max(1);
        usize::try_from(fit).unwrap_or(usize::MAX).min(max_restarts as usize).max(3)
    }
}

/// [`TIMEOUT`](Limits::TIMEOUT) a call, [`START_TIMEOUT`](Limits::START_TIMEOUT) to start,
/// [`MEMORY`](Limits::MEMORY), nobody to tell.
impl Default for Limits {
    fn default() -> Self {
        let (timeout, start_timeout) = (Self::TIMEOUT, Self::START_TIMEOUT);
        Self { timeout, start_timeout, memory: Self::MEMORY, watch: Watch::default() }
    }
}

/// Whose program is started: what an error suggests depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Program {
    /// The Python worker of this project.
    Python,
    /// A user's.
    User,
    /// This binary, with a user's library.
    Library,
}

/// A process to start and what it is told first.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The target as it was given.
    pub(crate) name: String,
    pub(crate) whose: Program,
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<OsString>,
    /// Folder that it runs in; absent: the current one.
    pub(crate) folder: Option<PathBuf>,
    /// The `python` object of `hello`.
    pub(crate) python: Option<serde_json::Map<String, serde_json::Value>>,
    pub(crate) limits: Limits,
    /// How often a child that died or was ended is replaced in one case.
    pub(crate) max_restarts: u32,
    /// On how many threads its libraries compute from the start.
    pub(crate) threads: Threads,
}

/// What libraries read when they are loaded.
const THREAD_VARIABLES: [&str; 3] = ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"];

/// Whether threads of OpenMP that have nothing to do wait or sleep.
const WAIT_POLICY: &str = "OMP_WAIT_POLICY";

/// Whether the number of threads is ours to choose: a user who set one of the variables chose.
pub(crate) fn limits_threads() -> bool {
    THREAD_VARIABLES.iter().all(|name| std::env::var_os(name).is_none())
}

impl Launch {
    /// Whether a running process can be told how many threads to use. The worker finds the
    /// libraries of its process where Linux lists them.
    pub(crate) fn tells_threads(&self) -> bool {
        self.whose == Program::Python && cfg!(target_os = "linux")
    }

    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).env("QKVET_WIRE", WIRE.to_string());
        // Where there is one processor, libraries choose one thread, which hides races.
        let alone = std::thread::available_parallelism().is_ok_and(|n| n.get() == 1);
        let number = match self.threads {
            Threads::One => Some("1"),
            Threads::Library => alone.then_some("2"),
        };
        if let Some(number) = number.filter(|_| limits_threads()) {
            command.envs(THREAD_VARIABLES.map(|name| (name, number)));
        }
        // Threads that wait for the next call would take a processor from what judges this one.
        if std::env::var_os(WAIT_POLICY).is_none() {
            command.env(WAIT_POLICY, "PASSIVE");
        }
        if let Some(folder) = &self.folder {
            command.current_dir(folder);
        }
        command
    }
}
