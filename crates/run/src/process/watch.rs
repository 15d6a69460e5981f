//! What a conversation heeds and tells while it runs: the user's wish to stop, notices, warnings
//! for the report.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

type Tell = Arc<dyn Fn(&str) + Send + Sync>;

/// Shared by all conversations of a run.
#[derive(Clone, Default)]
pub struct Watch {
    stop: Option<Arc<AtomicBool>>,
    tell: Option<Tell>,
    warnings: Arc<Mutex<Vec<(Warning, String)>>>,
}

/// Kinds of warnings; a run has each of them once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Warning {
    /// Lines on the protocol's pipe that were no messages.
    Strays,
    /// Names in what the program offers that are not known here.
    Unknown,
    /// A long silence.
    Silence,
}

impl Watch {
    /// `stop`, once set from outside, ends the call that is running, which then counts as not
    /// answered; `tell` takes what a person should know while waiting.
    pub fn new(stop: Arc<AtomicBool>, tell: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self { stop: Some(stop), tell: Some(Arc::new(tell)), warnings: Arc::default() }
    }

    /// What happened so far that did not change a verdict and should be known.
    pub fn warnings(&self) -> Vec<String> {
        let warnings = self.warnings.lock().unwrap_or_else(PoisonError::into_inner);
        // A silence concerns those who wait.
        warnings
            .iter()
            .filter(|(kind, _)| *kind != Warning::Silence)
            .map(|(_, text)| text.clone())
            .collect()
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed))
    }

    /// Tells a warning unless one of its kind was told before.
    pub(crate) fn warn(&self, kind: Warning, text: impl FnOnce() -> String) {
        let mut warnings = self.warnings.lock().unwrap_or_else(PoisonError::into_inner);
        if warnings.iter().all(|(known, _)| *known != kind) {
            let text = text();
            if let Some(tell) = &self.tell {
                tell(&text);
            }
            warnings.push((kind, text));
        }
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch")
            .field("stop", &self.stop)
            .field("warnings", &self.warnings)
            .finish_non_exhaustive()
    }
}
