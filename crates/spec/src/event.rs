//! Events: the only interface between the runner and the reporters.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::tally::{cases, tally};
use crate::verdict::is_false;
use crate::{
    CallOption, ClaimOutcome, Dims, Evidence, Finding, Fit, KnownOutcome, Notice, Proposal, Quoted,
    SnapshotOutcome, Verdict, Warning,
};

/// What a reporter sees.
#[derive(Clone, Debug)]
pub enum Event {
    /// The run begins.
    Started(Box<RunInfo>),
    /// Something a person should know while waiting.
    Notice(Notice),
    /// Something a person must know when it is over, too; the verdicts do not depend on it.
    Warning(Warning),
    /// One more case is decided.
    Case {
        /// Cases decided so far.
        done: usize,
        /// Cases in all.
        total: usize,
        /// How it ended.
        verdict: Verdict,
    },
    /// A finding that is proposed, or one that was and is revised or withdrawn.
    Proposal(Box<Proposal>),
    /// The run is over.
    Finished(Box<Summary>),
}

/// What was run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RunInfo {
    /// Name and version of the tool.
    pub tool: String,
    /// The target as the user wrote it.
    pub target: String,
    /// What the target said of itself: libraries, versions, argument mapping.
    pub environment: Vec<Quoted>,
    /// Suite id.
    pub suite: String,
    /// Version of the suite.
    #[serde(default = "crate::suite::one")]
    pub suite_version: usize,
    /// Seed of the suite.
    pub seed: u64,
    /// Conventions declared, `field=value`.
    pub conventions: Vec<String>,
    /// Contract for each format, by id.
    pub contracts: BTreeMap<String, String>,
    /// Number of cases.
    pub cases: usize,
    /// Where the target is defined, where its name says so and the file is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<SourcePlace>,
    /// The device that the target was told to use or says that it uses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<Quoted>,
    /// Whether the target is a multi-head layer, which takes weights besides.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_layer: bool,
    /// Which of the suite's cases were left out by choice: laws, formats or a shard.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub chosen: Vec<Chosen>,
    /// What every case of the suite was made to fit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fit: Option<Fit>,
    /// How much of the suite that is, where it was made to fit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub takes: Option<Takes>,
    /// Files of configuration and of known deviations by path, with `sha256:` and the hash of each.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub configuration: BTreeMap<String, String>,
}

impl RunInfo {
    /// The suite with its version: `core@2`.
    pub fn suite_name(&self) -> String {
        crate::suite_name(&self.suite, self.suite_version)
    }

    /// Whether cases of every law and format may have been left out: a shard, or those that failed
    /// before.
    pub fn is_part(&self) -> bool {
        self.chosen.iter().any(|chosen| matches!(chosen, Chosen::Shard | Chosen::Failed))
    }
}

/// By what only some of a suite's cases were chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Chosen {
    /// Only some laws.
    Laws,
    /// Only some formats.
    Dtypes,
    /// One shard of several.
    Shard,
    /// Those that did not hold in the run before.
    Failed,
    /// Those whose calls have few combinations of extents, format and options.
    Shapes {
        /// So many at most.
        most: usize,
    },
    /// None: of each call only some rows are looked at, drawn by the seed, and only in laws that say
    /// what a call returns.
    Rows {
        /// So many.
        n: usize,
    },
    /// The first ones, in the order in which they are put.
    First {
        /// How many there are in all.
        of: usize,
    },
}

/// How much of a suite the target takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Takes {
    /// Cases of the suite that the target takes as they are.
    pub cases: usize,
    /// Cases of the suite, made to fit nothing.
    pub of: usize,
}

/// A line of a source file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SourcePlace {
    /// The file as the target's name writes it, with `/` between folders.
    pub path: String,
    /// Line, from 1.
    pub line: usize,
}

/// One decided case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CaseRecord {
    /// Hash of its content.
    pub id: String,
    /// Law.
    pub law: String,
    /// Format.
    pub dtype: String,
    /// Extents and options in one line.
    pub call: String,
    /// Extents.
    pub dims: Dims,
    /// Options in use.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<CallOption>,
    /// How it ended.
    pub verdict: Verdict,
    /// Largest distance over bound among the numbers checked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub margin: Option<f64>,
    /// Why it did not pass.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Evidence>,
    /// The command that shows it again, for cases that stand for what a contract left undecided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<String>,
    /// The finding that it shows: its number in the list, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finding: Option<usize>,
    /// Whether it is a known deviation.
    #[serde(default, skip_serializing_if = "is_false")]
    pub known: bool,
    /// Hash of the bits of all outputs, if it was asked for and the case passed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}

/// Cases that were declined for one reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Declined {
    /// What the target did; absent where it took the call, but no views.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// Why, in the words of the first case: others have other numbers in them.
    pub reason: Quoted,
    /// How many cases.
    #[serde(deserialize_with = "cases")]
    pub cases: usize,
}

/// What was checked and what was declined.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Coverage {
    /// Cases checked for each law.
    #[serde(deserialize_with = "tally")]
    pub laws: BTreeMap<String, usize>,
    /// Cases checked for each format.
    #[serde(deserialize_with = "tally")]
    pub dtypes: BTreeMap<String, usize>,
    /// Cases checked with each option on.
    #[serde(deserialize_with = "tally")]
    pub options: BTreeMap<String, usize>,
    /// Pairs of options that were checked, but in no case together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub apart: Vec<(CallOption, CallOption)>,
    /// Smallest and largest of each extent checked.
    pub sizes: BTreeMap<String, (usize, usize)>,
    /// What was declined, by reason.
    pub declined: Vec<Declined>,
    /// Largest distance over bound among passing cases, for each format.
    pub margins: BTreeMap<String, f64>,
    /// Rows of results by where the numbers come from that they were compared with.
    #[serde(default, deserialize_with = "tally")]
    pub references: BTreeMap<String, usize>,
    /// What the run did not check, whatever its cases: what no version so far checks, and what this
    /// target gave no results for.
    pub unchecked: Vec<String>,
}

/// The whole outcome.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Summary {
    /// Name and version of the format that it was read from, if it was.
    #[serde(default)]
    pub format: String,
    /// What was run.
    pub run: RunInfo,
    /// Cases of each verdict.
    #[serde(deserialize_with = "tally")]
    pub counts: BTreeMap<String, usize>,
    /// Findings: conventions, then wrong results by number of cases, then what broke.
    pub findings: Vec<Finding>,
    /// What was checked.
    pub coverage: Coverage,
    /// Whether the run was stopped early, and why.
    pub stopped: Option<crate::Stopped>,
    /// Whether the user stopped it.
    #[serde(default)]
    pub interrupted: bool,
    /// Whether a file that the run was configured by was another one in the end.
    #[serde(default, skip_serializing_if = "is_false")]
    pub other_configuration: bool,
    /// What did not change a verdict and should be known, such as lines on the protocol's pipe that
    /// were no messages.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<String>"))]
    pub warnings: Vec<Warning>,
    /// What came of the known deviations, if there is a file of them.
    #[serde(default)]
    pub known: Option<KnownOutcome>,
    /// What is different from a snapshot, if it was compared with one.
    #[serde(default)]
    pub snapshot: Option<SnapshotOutcome>,
    /// What came of a file of deviations, if it was held against one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<ClaimOutcome>,
    /// Every case, in order of the suite.
    pub records: Vec<CaseRecord>,
}

impl Summary {
    /// How many cases have this verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.counts.get(verdict.word()).copied().unwrap_or(0)
    }

    /// How many cases were checked.
    pub fn checked(&self) -> usize {
        Verdict::ALL
            .into_iter()
            .filter(|verdict| verdict.is_checked())
            .map(|verdict| self.count(verdict))
            .sum()
    }

    /// Whether every case of the suite was run that there is.
    pub fn is_whole(&self) -> bool {
        self.run.chosen.is_empty() && self.was_finished()
    }

    /// Whether every chosen case was run.
    pub fn was_finished(&self) -> bool {
        self.stopped.is_none()
            && self.records.iter().all(|record| record.verdict != Verdict::Skipped)
    }

    /// Under each contract the number of the record that stands for its cases of this verdict: the
    /// one farthest out in units of its bound, the first of several.
    pub fn standing_for(&self, verdict: Verdict) -> BTreeMap<&str, usize> {
        let ratio = |at: usize| {
            self.records[at].evidence.as_ref().and_then(|evidence| evidence.ratio).unwrap_or(0.0)
        };
        let mut chosen: BTreeMap<&str, usize> = BTreeMap::new();
        for (at, record) in
            self.records.iter().enumerate().filter(|(_, record)| record.verdict == verdict)
        {
            let contract = self.run.contracts.get(&record.dtype).map_or("", String::as_str);
            let best = chosen.entry(contract).or_insert(at);
            if ratio(at) > ratio(*best) {
                *best = at;
            }
        }
        chosen
    }
}
