//! Functions of the process that qkvet itself is in.

use std::fmt;
use std::sync::Arc;

use qkvet_spec::{Fit, Meaning};

use super::adapter::{Adapter, OpenTarget};
use crate::process::StartError;

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

    pub(super) fn known_fit(&self) -> Option<Fit> {
        self.fit.clone()
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

impl Adapter for OwnTarget {
    fn open(&self, _: &Meaning) -> Result<OpenTarget, StartError> {
        Ok(OpenTarget { fit: self.known_fit(), ..(self.open)() })
    }

    fn in_process(&self) -> Option<&OwnTarget> {
        Some(self)
    }
}
