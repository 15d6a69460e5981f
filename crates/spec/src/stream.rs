//! A report as a stream: one JSON document a line, each an object with one key that says what it
//! is.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::tally::tally;
use crate::verdict::is_false;
use crate::{
    CaseRecord, Coverage, FindingDocument, KnownOutcome, Proposal, Quoted, RunInfo,
    SnapshotOutcome, Summary,
};

/// One line of a stream: `{"started": {…}}`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum StreamLine {
    /// The run begins: what is run.
    Started(Box<RunInfo>),
    /// Something to know while waiting; live streams only.
    Notice(#[cfg_attr(feature = "schema", schemars(with = "String"))] Quoted),
    /// Something to know when it is over, too.
    Warning(#[cfg_attr(feature = "schema", schemars(with = "String"))] Quoted),
    /// How many cases are decided; live streams only.
    Progress {
        /// Cases decided so far.
        done: usize,
        /// Cases in all.
        total: usize,
    },
    /// A finding that is proposed, or one that was and is revised or withdrawn; live streams only.
    Proposal(Box<Proposal>),
    /// One decided case, in order of the suite.
    Case(Box<CaseRecord>),
    /// One finding.
    Finding(Box<FindingDocument<'static>>),
    /// The run is over: the last line.
    Finished(Box<Outcome>),
}

/// What a run came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Outcome {
    /// Cases of each verdict.
    #[serde(deserialize_with = "tally")]
    pub counts: BTreeMap<String, usize>,
    /// Number of findings.
    pub findings: usize,
    /// What was checked.
    pub coverage: Coverage,
    /// Whether the run was stopped early, and why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<crate::Stopped>,
    /// Whether the user stopped it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub interrupted: bool,
    /// Whether a file that the run was configured by was another one in the end.
    #[serde(default, skip_serializing_if = "is_false")]
    pub other_configuration: bool,
    /// What came of the known deviations, if there is a file of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known: Option<KnownOutcome>,
    /// What is different from a snapshot, if it was compared with one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<SnapshotOutcome>,
}

impl Outcome {
    /// The outcome of a run.
    pub fn of(summary: &Summary) -> Self {
        Self {
            counts: summary.counts.clone(),
            findings: summary.findings.len(),
            coverage: summary.coverage.clone(),
            stopped: summary.stopped.clone(),
            interrupted: summary.interrupted,
            other_configuration: summary.other_configuration,
            known: summary.known.clone(),
            snapshot: summary.snapshot.clone(),
        }
    }
}
