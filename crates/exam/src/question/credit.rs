//! The rule of partial credit of a part.

use serde::{Deserialize, Serialize};

/// Shares of the points of a part, from 0 to 1, that answers get which are not quite right.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Credit {
    /// A mistake that the question names, unless the mistake has a share of its own.
    pub mistake: f64,
    /// Right numbers with fewer digits than asked, or off by less than one unit of the last one.
    pub coarse: f64,
    /// A matrix of which some entries are right: this, times their share.
    pub entries: f64,
    /// What follows from the student's own wrong answer to an earlier part.
    pub follows: f64,
}

impl Default for Credit {
    fn default() -> Self {
        Self { mistake: 0.5, coarse: 0.75, entries: 0.5, follows: 1.0 }
    }
}

impl Credit {
    /// The first share that is none, by name.
    pub(super) fn misfit(&self) -> Option<(&'static str, f64)> {
        [
            ("mistake", self.mistake),
            ("coarse", self.coarse),
            ("entries", self.entries),
            ("follows", self.follows),
        ]
        .into_iter()
        .find(|(_, share)| !(0.0..=1.0).contains(share))
    }
}
