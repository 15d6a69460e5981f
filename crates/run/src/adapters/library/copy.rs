//! Copies of the worker: a function that calls `fork()` returns twice, and only one of the two may
//! answer.
#![allow(clippy::disallowed_methods, reason = "I/O, no arithmetic")]

use std::time::{Duration, Instant};

use rustix::process::{
    Signal, WaitId, WaitIdOptions, WaitOptions, getpid, kill_process, wait, waitid,
};

/// What is told of such a function.
pub(super) const FORKED: &str = "the function called fork(), and the child process returned from it too, as if it had been called twice: \
                                 a child process has to end with _exit()";

/// How long a child process is waited for: a copy returns about when the function itself does.
const PATIENCE: Duration = Duration::from_secs(1);

/// Ends this process, a copy, in a way that its parent knows it by. Nothing of the library runs any
/// more.
pub(super) fn end_copy() -> ! {
    let _ = kill_process(getpid(), Signal::KILL);
    std::process::abort()
}

/// What is known of child processes that the library started.
#[derive(Default)]
pub(super) struct Children {
    /// One lives on: it works for the library, and nobody waits for it again.
    stays: bool,
}

impl Children {
    /// Whether a copy of this process came back from the function. Costs nothing where there is no
    /// child process.
    pub(super) fn has_copy(&mut self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        let start = Instant::now();
        loop {
            match waitid(WaitId::All, options) {
                Err(_) => return false,
                Ok(Some(status)) => {
                    let is_copy = status.terminating_signal() == Some(Signal::KILL.as_raw());
                    if is_copy {
                        let _ = wait(WaitOptions::NOHANG);
                    }
                    return is_copy;
                }
                Ok(None) if self.stays => return false,
                Ok(None) if start.elapsed() > PATIENCE => self.stays = true,
                Ok(None) => std::thread::sleep(Duration::from_millis(1)),
            }
        }
    }
}
