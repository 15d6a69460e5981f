//! Known deviations: `qkvet.known.yaml`, and what came of its entries in a run.

use serde::{Deserialize, Serialize};

/// The whole file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct KnownFile {
    /// Deviations that are known, in any order.
    pub known: Vec<KnownDeviation>,
}

/// A deviation that somebody looked at: which cases, what is found there, and why it may stay for
/// now. Patterns know `*` and `?`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct KnownDeviation {
    /// Pattern of the target's name, as it is called or as `qkvet.yaml` names it; absent: every
    /// target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// The suite whose runs say whether the entry is stale; absent: every run. It covers what it
    /// covers in other runs too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suite: Option<String>,
    /// Pattern of the law's id; absent: every law.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub law: Option<String>,
    /// Pattern of the case's id; absent: every case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub case: Option<String>,
    /// Pattern of an option that the case's call uses, such as `causal`; absent: whatever it uses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub option: Option<String>,
    /// Pattern of the format; absent: every format.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dtype: Option<String>,
    /// Pattern of what is found: a code such as `QK221`, a title, or a verdict such as `CRASH`.
    pub finding: String,
    /// Why it may stay.
    pub reason: String,
    /// Where it is followed up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
    /// The last day on which the entry holds, `2027-01-31`; absent: it holds until the finding is
    /// gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<String>,
}

impl KnownDeviation {
    /// The entry in a line: `law causal-*, float16: QK221`.
    pub fn describe(&self) -> String {
        let part = |name: &str, value: &Option<String>| {
            value.as_ref().map(|value| format!("{name} {value}"))
        };
        let parts = [
            part("target", &self.target),
            part("law", &self.law),
            part("case", &self.case),
            part("option", &self.option),
            part("format", &self.dtype),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        let place = if parts.is_empty() { "every case".to_owned() } else { parts.join(", ") };
        format!("{place}: {}", self.finding)
    }
}

/// What a run says of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum KnownState {
    /// Cases show it.
    Holds,
    /// Its cases were checked, and none shows it any more.
    Gone,
    /// No case of the run is one of its cases.
    Unmatched,
    /// Its last day is over.
    Expired,
    /// The run says nothing: it has not all cases that the entry is about.
    NotAsked,
}

impl KnownState {
    /// Whether somebody has to change the entry.
    pub fn is_stale(self) -> bool {
        matches!(self, Self::Gone | Self::Unmatched | Self::Expired)
    }
}

/// An entry and what the run says of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct KnownStatus {
    /// The entry.
    pub entry: KnownDeviation,
    /// What the run says.
    pub state: KnownState,
    /// Cases that show it.
    pub cases: usize,
}

/// What came of a file of known deviations.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct KnownOutcome {
    /// The file as it was named or found.
    pub file: String,
    /// Other names of the target, by which entries may name it too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// Its entries, in order.
    pub entries: Vec<KnownStatus>,
}

impl KnownOutcome {
    /// Whether there are entries that have to be changed.
    pub fn is_stale(&self) -> bool {
        self.stale().next().is_some()
    }

    /// Entries that have to be changed.
    pub fn stale(&self) -> impl Iterator<Item = &KnownStatus> {
        self.entries.iter().filter(|status| status.state.is_stale())
    }
}
