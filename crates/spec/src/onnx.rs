//! What `qkvet onnx run` tells of a backend: the words between the runner and its reporters.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::tally::tally;
use crate::verdict::is_false;
use crate::{FindingDocument, RunInfo};

/// How a backend did on one case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum OnnxOutcome {
    /// Within the certified bound.
    Ok,
    /// The backend does not offer the operator, the version or the format.
    Unsupported,
    /// The backend refused a valid model or input.
    Refused,
    /// Outside the certified bound and outside what ONNX's own runner allows.
    Disagrees,
    /// Outside the certified bound, and inside what ONNX's own runner allows.
    WithinAllowance,
    /// The backend raised something else, died or did not answer.
    Broke,
    /// Nothing was decided: the contract allows any number, or the run was stopped.
    Undecided,
}

impl OnnxOutcome {
    /// All, in the order of reports.
    pub const ALL: [Self; 7] = [
        Self::Ok,
        Self::Unsupported,
        Self::Refused,
        Self::Disagrees,
        Self::WithinAllowance,
        Self::Broke,
        Self::Undecided,
    ];

    /// The word in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Unsupported => "unsupported",
            Self::Refused => "refused",
            Self::Disagrees => "disagrees",
            Self::WithinAllowance => "within-allowance",
            Self::Broke => "broke",
            Self::Undecided => "undecided",
        }
    }
}

/// One case and how it went.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct OnnxCase {
    /// Name of the test, as it is exported.
    pub test: String,
    /// Hash of its content.
    pub id: String,
    /// Extents and options in one line.
    pub call: String,
    /// How it went.
    pub outcome: OnnxOutcome,
    /// The reason of who declined; else where it is off and how far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// The whole outcome of `qkvet onnx run`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct OnnxReport {
    /// What was run.
    pub run: RunInfo,
    /// Version of the operators.
    pub opset: i64,
    /// Cases of each outcome.
    #[serde(deserialize_with = "tally")]
    pub counts: BTreeMap<String, usize>,
    /// Reasons of the outcomes that have some, with how many cases each.
    pub reasons: BTreeMap<String, BTreeMap<String, usize>>,
    /// Why cases could not be stated in the operator, with how many each: they were not run.
    #[serde(deserialize_with = "tally")]
    pub left_out: BTreeMap<String, usize>,
    /// What explains the cases that disagree, and how to see it again.
    pub findings: Vec<FindingDocument<'static>>,
    /// Every case that was run.
    pub cases: Vec<OnnxCase>,
    /// Whether the run was stopped early, and why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<crate::Stopped>,
    /// Whether the user stopped it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub interrupted: bool,
}

impl OnnxReport {
    /// How many cases went so.
    pub fn count(&self, outcome: OnnxOutcome) -> usize {
        self.counts.get(outcome.word()).copied().unwrap_or(0)
    }
}
