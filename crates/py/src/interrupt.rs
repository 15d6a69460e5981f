//! Work that Ctrl-C ends: it is done by another thread, and the one that Python called from looks
//! for signals.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::Builder;
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// A signal is looked for this often.
pub(crate) const SIGNALS_EVERY: Duration = Duration::from_millis(50);

/// What `work` gives. A signal that raises, such as Ctrl-C, is raised at once; `work` then ends on
/// its own, heard by nobody.
pub(crate) fn interruptible<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> PyResult<T> + Send + 'static,
) -> PyResult<T> {
    py.detach(|| {
        let (send, receive) = channel();
        let work = move || {
            // Nobody listens any more after a signal.
            let _ = send.send(work());
        };
        Builder::new().name("qkvet".to_owned()).stack_size(STACK).spawn(work)?;
        loop {
            match receive.recv_timeout(SIGNALS_EVERY) {
                Ok(result) => return result,
                Err(RecvTimeoutError::Timeout) => Python::attach(|py| py.check_signals())?,
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(PyRuntimeError::new_err(
                        "expected a result, got a thread that ended without one",
                    ));
                }
            }
        }
    })
}

/// As much as a main thread has: expressions are walked recursively.
const STACK: usize = 8 << 20;
