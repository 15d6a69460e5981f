//! What `qkvet replay` found: a case called again.

use serde::{Deserialize, Serialize};

use crate::{Evidence, Number, Verdict};

/// The report of a replay.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Replay {
    /// The target as named.
    pub target: String,
    /// Law.
    pub law: String,
    /// Case id.
    pub case: String,
    /// Extents and options in one line.
    pub call: String,
    /// Conventions declared, `field=value`.
    pub conventions: Vec<String>,
    /// Contract by which it was judged.
    pub contract: String,
    /// How the calls ended.
    pub verdict: Verdict,
    /// How they ended when the case was stored, where it is judged as it was then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub was: Option<Verdict>,
    /// What became of the finding, where it does not show.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub now: Option<Replayed>,
    /// Largest distance over bound among the numbers checked.
    pub margin: Number,
    /// Why it did not pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Evidence>,
}

/// What became of a finding that does not show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Replayed {
    /// Everything that decided then is right.
    Fixed,
    /// Right in so many calls, of a finding that showed at times alone.
    Unseen(usize),
    /// A call that decided then was declined.
    NotCalled,
}
