//! A report as it is written: the facts, and sentences beside them for people.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::verdict::is_false;
use crate::{
    CaseRecord, ClaimOutcome, Coverage, Dialect, Finding, KnownOutcome, RunInfo, Sentence,
    SnapshotOutcome, Summary, Words,
};

/// Name and version of the format. New kinds of causes and notes do not raise it.
pub const REPORT_FORMAT: &str = "qkvet-report/2";

/// Sentences of a finding, for people. They may change from version to version.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Sentences {
    /// What is wrong, in one line.
    pub title: Sentence,
    /// What explains it and how well, and what else is to be known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<Sentence>,
    /// What to do: a declaration, a fix, an explanation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<Sentence>,
    /// Where the witness is wrong.
    pub place: Sentence,
    /// What was expected there.
    pub expected: Sentence,
    /// What came there.
    pub got: Sentence,
}

impl Sentences {
    /// Those of a finding, as these words say it where hints are followed so.
    pub fn of(finding: &Finding, words: &dyn Words, dialect: Dialect) -> Self {
        let Finding { cause, notes, evidence, .. } = finding;
        Self {
            title: words.title(cause),
            cause: words.cause(cause, notes),
            hint: words.hint(cause, notes, dialect),
            place: evidence.format_place(),
            expected: evidence.format_expected(),
            got: evidence.format_got(),
        }
    }
}

/// A finding as it is written.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FindingDocument<'a> {
    /// `QK221`, or `QK221+QK310` of two that come together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// `gqa-modulo`, or the ids of two with `+` between them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
    /// `causal=upper-left`, of an undeclared convention.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub convention: Option<String>,
    /// For people.
    #[serde(skip_deserializing)]
    pub sentences: Option<Sentences>,
    /// The facts.
    #[serde(flatten)]
    pub finding: Cow<'a, Finding>,
}

impl<'a> FindingDocument<'a> {
    /// A finding with its sentences.
    pub fn new(finding: &'a Finding, words: &dyn Words) -> Self {
        let faults = finding.cause.faults();
        let all = |of: fn(&crate::FaultRef) -> &str| {
            (!faults.is_empty()).then(|| faults.iter().map(of).collect::<Vec<_>>().join("+"))
        };
        Self {
            code: all(|fault| &fault.code),
            fault: all(|fault| &fault.fault),
            convention: finding.cause.convention(),
            sentences: Some(Sentences::of(finding, words, Dialect::CommandLine)),
            finding: Cow::Borrowed(finding),
        }
    }

    /// The same with a finding of its own.
    pub fn into_owned(self) -> FindingDocument<'static> {
        let Self { code, fault, convention, sentences, finding } = self;
        let finding = Cow::Owned(finding.into_owned());
        FindingDocument { code, fault, convention, sentences, finding }
    }
}

/// A whole report as it is written.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SummaryDocument<'a> {
    /// `qkvet-report/2`.
    pub format: &'static str,
    /// What was run.
    pub run: &'a RunInfo,
    /// Cases of each verdict.
    pub counts: &'a BTreeMap<String, usize>,
    /// Findings: conventions, then wrong results by number of cases, then what broke.
    pub findings: Findings<'a>,
    /// What was checked.
    pub coverage: &'a Coverage,
    /// Whether the run was stopped early, and why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped: &'a Option<crate::Stopped>,
    /// Whether the user stopped it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub interrupted: bool,
    /// Whether a file that the run was configured by was another one in the end.
    #[serde(default, skip_serializing_if = "is_false")]
    pub other_configuration: bool,
    /// What did not change a verdict and should be known, such as lines on the protocol's pipe that
    /// were no messages.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<String>"))]
    pub warnings: Vec<Sentence>,
    /// What came of the known deviations, if there is a file of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub known: &'a Option<KnownOutcome>,
    /// What is different from a snapshot, if it was compared with one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snapshot: &'a Option<SnapshotOutcome>,
    /// What came of a file of deviations, if it was held against one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claim: &'a Option<ClaimOutcome>,
    /// Every case, in order of the suite.
    pub records: &'a [CaseRecord],
}

impl<'a> SummaryDocument<'a> {
    /// A report with its sentences.
    pub fn new(summary: &'a Summary, words: &'a dyn Words) -> Self {
        Self {
            format: REPORT_FORMAT,
            run: &summary.run,
            counts: &summary.counts,
            findings: Findings { findings: &summary.findings, words },
            coverage: &summary.coverage,
            stopped: &summary.stopped,
            interrupted: summary.interrupted,
            other_configuration: summary.other_configuration,
            warnings: summary.warnings.iter().map(|warning| words.warning(warning)).collect(),
            known: &summary.known,
            snapshot: &summary.snapshot,
            claim: &summary.claim,
            records: &summary.records,
        }
    }
}

/// Findings that get their sentences while they are written, one after the other.
#[derive(Clone, Copy, Debug)]
pub struct Findings<'a> {
    findings: &'a [Finding],
    words: &'a dyn Words,
}

impl Serialize for Findings<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(
            self.findings.iter().map(|finding| FindingDocument::new(finding, self.words)),
        )
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Findings<'_> {
    fn schema_name() -> Cow<'static, str> {
        "Findings".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        Vec::<FindingDocument<'static>>::json_schema(generator)
    }
}
