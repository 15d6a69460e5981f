//! A name that is no longer used, and the one that it leads to.

use std::fmt;

use serde::Deserialize;

/// An id or a code that leads to another one.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Redirect {
    /// The old name.
    pub from: String,
    /// The name that it has now.
    pub to: String,
    /// The first version that has the new one.
    pub since: String,
}

impl fmt::Display for Redirect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is called `{}` since version {}", self.from, self.to, self.since)
    }
}
