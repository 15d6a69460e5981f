//! What a conversation heeds and tells while it runs: the user's wish to stop, notices, warnings
//! for the report.

use std::fmt;
use std::mem::discriminant;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use qkvet_spec::Warning;

type Tell = Arc<dyn Fn(&Warning) + Send + Sync>;

/// Shared by all conversations of a run.
#[derive(Clone, Default)]
pub struct Watch {
    stop: Option<Arc<AtomicBool>>,
    tell: Option<Tell>,
    warnings: Arc<Mutex<Vec<Warning>>>,
}

impl Watch {
    /// `stop`, once set from outside, ends the call that is running, which then counts as not
    /// answered; `tell` takes what a person should know while waiting.
    pub fn new(stop: Arc<AtomicBool>, tell: impl Fn(&Warning) + Send + Sync + 'static) -> Self {
        Self { stop: Some(stop), tell: Some(Arc::new(tell)), warnings: Arc::default() }
    }

    /// What happened so far that did not change a verdict and should be known.
    pub fn warnings(&self) -> Vec<Warning> {
        let warnings = self.warnings.lock().unwrap_or_else(PoisonError::into_inner);
        // A silence concerns those who wait.
        let is_lasting = |warning: &&Warning| !matches!(warning, Warning::Silence { .. });
        warnings.iter().filter(is_lasting).cloned().collect()
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed))
    }

    /// Tells a warning unless one of its kind was told before.
    pub(crate) fn warn(&self, warning: Warning) {
        let mut warnings = self.warnings.lock().unwrap_or_else(PoisonError::into_inner);
        if warnings.iter().all(|known| discriminant(known) != discriminant(&warning)) {
            if let Some(tell) = &self.tell {
                tell(&warning);
            }
            warnings.push(warning);
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
