//! Verdicts: kinds of not passing never share a word.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Dims;

/// How one case ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "UPPERCASE")]
pub enum Verdict {
    /// Not refuted; every number lay within its derived bound.
    Pass,
    /// Within the proved bound, beyond the probabilistic one.
    Suspect,
    /// Every bound is infinite, or what any weights leave: nothing was decided about weights.
    Inconclusive,
    /// Proved wrong under the contract.
    Fail,
    /// The same call gave different results.
    Nondet,
    /// The target raised an exception on a valid input, or answered what is not of the protocol.
    Error,
    /// The target's process died.
    Crash,
    /// The target did not answer in time.
    Timeout,
    /// A call that nobody should make got numbers in place of a refusal. No result of another call is
    /// wrong by it.
    Unguarded,
    /// The target does not offer what the case needs.
    Unsupported,
    /// The target refused a valid input.
    Refused,
    /// Not run, or not to its end: the run was stopped before.
    Skipped,
}

impl Verdict {
    /// Every verdict, in the order of reports.
    pub const ALL: [Self; 12] = [
        Self::Pass,
        Self::Suspect,
        Self::Inconclusive,
        Self::Fail,
        Self::Nondet,
        Self::Error,
        Self::Crash,
        Self::Timeout,
        Self::Unguarded,
        Self::Unsupported,
        Self::Refused,
        Self::Skipped,
    ];

    /// The word in reports.
    pub fn word(self) -> &'static str {
        match self {
            Self::Pass => "PASS",
            Self::Suspect => "SUSPECT",
            Self::Inconclusive => "INCONCLUSIVE",
            Self::Fail => "FAIL",
            Self::Nondet => "NONDET",
            Self::Error => "ERROR",
            Self::Crash => "CRASH",
            Self::Timeout => "TIMEOUT",
            Self::Unguarded => "UNGUARDED",
            Self::Unsupported => "UNSUPPORTED",
            Self::Refused => "REFUSED",
            Self::Skipped => "SKIPPED",
        }
    }

    /// Whether it makes the run exit with 1.
    pub fn fails(self) -> bool {
        matches!(self, Self::Fail | Self::Nondet | Self::Error | Self::Crash | Self::Timeout)
    }

    /// Whether it is told as a finding: what fails, and what a strict run fails by.
    pub fn is_finding(self) -> bool {
        self.fails() || self == Self::Unguarded
    }

    /// Whether something was checked.
    pub fn is_checked(self) -> bool {
        self.is_finding() || matches!(self, Self::Pass | Self::Suspect | Self::Inconclusive)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

/// A ratio in few digits, never rounded down to nothing: `0.07`, `0.003`, `26.21`, `4.0e4`.
pub fn format_ratio(x: f64) -> String {
    match x {
        x if x >= 1000.0 || (x > 0.0 && x < 0.001) => format!("{x:.1e}"),
        x if x > 0.0 && x < 0.01 => format!("{x:.3}"),
        x => format!("{x:.2}"),
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
pub(crate) fn is_false(value: &bool) -> bool {
    !value
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
pub(crate) fn is_zero(value: &usize) -> bool {
    *value == 0
}

/// The smallest input found that still shows the finding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Witness {
    /// Case id: the hash of its content.
    pub case: String,
    /// Extents, format and options in one line.
    pub call: String,
    /// Extents.
    pub dims: Dims,
    /// Inputs small enough to print, one a line: `Q = [[1]]`.
    pub inputs: Vec<String>,
    /// The whole case in one line, if it is small enough: `qk1:value;float32;Q=1x1x1x1:0;…`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
}
