//! Targets that are started, and what starts one of this process.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use qkvet_spec::{Fit, Quoted, Target};

use super::called::Called;
use crate::process::ProcessTarget;

/// A started target and what it said of itself.
pub struct OpenTarget {
    /// The target.
    pub target: Box<dyn Target + Send>,
    /// Libraries, versions, argument mapping: one line each.
    pub environment: Vec<Quoted>,
    /// The device that its program says it runs on.
    pub device: Option<Quoted>,
    /// Whether it is a multi-head layer, which takes weights besides.
    pub is_layer: bool,
    /// Set when a call had no answer: whatever came of it decides nothing. Live targets have none.
    pub unanswered: Option<Arc<AtomicBool>>,
    /// How a script calls the target, if it runs in a process of its own.
    pub called: Option<Called>,
    /// What it takes, if that is told when it starts: some options alone, or as a layer one width
    /// and as many heads of keys as of queries.
    pub fit: Option<Fit>,
}

impl OpenTarget {
    /// A target that answers every call itself.
    pub fn live(target: impl Target + Send + 'static, environment: Vec<Quoted>) -> Self {
        Self {
            target: Box::new(target),
            environment,
            device: None,
            is_layer: false,
            unanswered: None,
            called: None,
            fit: None,
        }
    }

    /// A target that answers in the words of the wire.
    pub(super) fn of_program(target: ProcessTarget, called: Called) -> Self {
        let (environment, device, fit) = (target.describe(), target.device(), target.fit());
        Self { called: Some(called), device, fit, ..Self::live(target, environment) }
    }

    /// Whether a call since the last time had no answer.
    pub(crate) fn take_unanswered(&self) -> bool {
        self.unanswered.as_ref().is_some_and(|unanswered| unanswered.swap(false, Ordering::Relaxed))
    }
}

/// Makes targets out of what lives in this process, for callers who bring their own.
#[derive(Clone)]
pub struct OwnTarget {
    open: Arc<dyn Fn() -> OpenTarget + Send + Sync>,
    again: fn(&Again<'_>) -> String,
    takes_views: bool,
    fit: Option<Fit>,
}

/// What a case needs to be seen again.
#[derive(Clone, Debug)]
pub struct Again<'a> {
    /// The whole case.
    pub token: &'a str,
    /// Conventions that it is judged under, `field=value`.
    pub conventions: Vec<String>,
    /// Contract that it is judged by.
    pub contract: &'a str,
}

impl OwnTarget {
    /// `open` makes one target for each worker, `again` writes the line that calls it once more.
    pub fn new(
        open: impl Fn() -> OpenTarget + Send + Sync + 'static,
        again: fn(&Again<'_>) -> String,
    ) -> Self {
        Self { open: Arc::new(open), again, takes_views: false, fit: None }
    }

    /// The same target, which is handed views of query, key and value as a Python function is, if
    /// `takes_views`.
    #[must_use]
    pub fn with_views(self, takes_views: bool) -> Self {
        Self { takes_views, ..self }
    }

    /// The same target, of which it is known what it takes.
    #[must_use]
    pub fn with_fit(self, fit: Option<Fit>) -> Self {
        Self { fit, ..self }
    }

    pub(crate) fn takes_views(&self) -> bool {
        self.takes_views
    }

    pub(super) fn start(&self) -> OpenTarget {
        OpenTarget { fit: self.fit.clone(), ..(self.open)() }
    }

    pub(crate) fn again(&self, again: &Again<'_>) -> String {
        (self.again)(again)
    }
}

impl fmt::Debug for OwnTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OwnTarget")
    }
}
