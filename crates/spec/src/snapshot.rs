//! Snapshots: what the cases of a target came to, kept for later runs to be compared with. No
//! number in it is finer than a power of two.

use std::fmt;
use std::str::FromStr;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use crate::Verdict;

/// Name and version of the format.
pub const SNAPSHOT_FORMAT: &str = "qkvet-snapshot/2";

/// The one before, which does not say how many cases there are.
const OLD_FORMAT: &str = "qkvet-snapshot/1";

/// The whole file.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Snapshot {
    /// `qkvet-snapshot/2`; `qkvet-snapshot/1` has neither `total` nor `end`.
    pub format: String,
    /// The target that was recorded, as the user wrote it.
    pub target: String,
    /// A part for each format, by device, suite, seed, contract and conventions.
    pub parts: Vec<SnapshotPart>,
    /// `true`, on the last line: a file without it is cut off.
    #[serde(default)]
    pub end: bool,
}

impl Snapshot {
    /// Whether it was read from a file of the format before.
    pub fn is_old(&self) -> bool {
        self.format == OLD_FORMAT
    }
}

/// Cases that were run in the same way.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SnapshotPart {
    /// Device of the target, or the name given to the machine.
    pub device: String,
    /// Suite id.
    pub suite: String,
    /// Seed of the suite.
    pub seed: u64,
    /// Number format.
    pub dtype: String,
    /// Contract by which the cases were judged.
    pub contract: String,
    /// Conventions declared, `field=value`.
    pub conventions: Vec<String>,
    /// Version of qkvet that wrote it last.
    pub qkvet: String,
    /// Codes of findings below, with their titles.
    #[serde(default)]
    pub findings: IndexMap<String, String>,
    /// How many cases the file says that follow; who writes it counts them.
    #[serde(default)]
    pub total: Option<usize>,
    /// By law: case id → `VERDICT BAND FINDING sha256:DIGEST`, all but the verdict as far as there
    /// is one.
    pub cases: IndexMap<String, IndexMap<String, SnapshotEntry>>,
}

/// Largest distance over bound among the numbers of a case, as the least power of two that is not
/// below it: `2^-3`, or `0`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Band {
    /// Nothing was off.
    Zero,
    /// At most two to this power, and more than half of it.
    Power(i32),
}

impl Band {
    /// Bands below this are written as this: so far inside its bound nothing is told by how far.
    pub const LOWEST: i32 = -20;
    /// The highest that is written.
    const HIGHEST: i32 = 1100;

    /// The band of a ratio; `None` for what is negative or no number.
    pub fn of(ratio: f64) -> Option<Self> {
        if ratio == 0.0 {
            return Some(Self::Zero);
        }
        if !(ratio > 0.0 && ratio.is_finite()) {
            return None;
        }
        // Exact: the exponent of the number, one more unless it is a power of two.
        let bits = ratio.to_bits();
        let exponent = i32::try_from(bits >> 52).unwrap_or(0) - 1023;
        let is_power = bits & ((1 << 52) - 1) == 0;
        let power = if is_power { exponent } else { exponent + 1 };
        Some(Self::Power(power.max(Self::LOWEST)))
    }

    /// The power, the lowest for what was not off.
    pub fn power(self) -> i32 {
        match self {
            Self::Zero => Self::LOWEST,
            Self::Power(power) => power,
        }
    }
}

impl fmt::Display for Band {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Zero => f.write_str("0"),
            Self::Power(power) => write!(f, "2^{power}"),
        }
    }
}

/// What a case came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "String", into = "String")]
#[cfg_attr(feature = "schema", schemars(with = "String"))]
pub struct SnapshotEntry {
    /// How it ended.
    pub verdict: Verdict,
    /// How far out it was, if something was measured.
    pub band: Option<Band>,
    /// What it shows: codes joined by `+`, else the title in lower case with hyphens.
    pub finding: Option<String>,
    /// Hash of the bits of all outputs, if it was asked for.
    pub digest: Option<String>,
}

/// Mark in front of a digest.
const DIGEST: &str = "sha256:";

impl fmt::Display for SnapshotEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.verdict.word())?;
        if let Some(band) = self.band {
            write!(f, " {band}")?;
        }
        if let Some(finding) = &self.finding {
            write!(f, " {finding}")?;
        }
        if let Some(digest) = &self.digest {
            write!(f, " {DIGEST}{digest}")?;
        }
        Ok(())
    }
}

impl From<SnapshotEntry> for String {
    fn from(entry: SnapshotEntry) -> Self {
        entry.to_string()
    }
}

/// A text that is no entry of a snapshot.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected `VERDICT BAND FINDING`, such as `FAIL 2^3 QK221`, got `{text:.60}`")]
pub struct NoEntry {
    /// The text.
    pub text: String,
}

impl TryFrom<String> for SnapshotEntry {
    type Error = NoEntry;

    fn try_from(text: String) -> Result<Self, NoEntry> {
        text.parse()
    }
}

impl FromStr for SnapshotEntry {
    type Err = NoEntry;

    fn from_str(text: &str) -> Result<Self, NoEntry> {
        let wrong = || NoEntry { text: text.to_owned() };
        let mut words = text.split(' ').peekable();
        let verdict = words.next().ok_or_else(wrong)?;
        let verdict =
            Verdict::ALL.into_iter().find(|known| known.word() == verdict).ok_or_else(wrong)?;
        let mut entry = Self { verdict, band: None, finding: None, digest: None };
        if let Some(word) = words.peek()
            && let Some(band) = band(word)
        {
            entry.band = Some(band);
            words.next();
        }
        for word in words {
            match word.strip_prefix(DIGEST) {
                Some(digest) if !digest.is_empty() && entry.digest.is_none() => {
                    entry.digest = Some(digest.to_owned())
                }
                // A band that is none is no finding either.
                None if !word.is_empty()
                    && !word.starts_with("2^")
                    && entry.finding.is_none()
                    && entry.digest.is_none() =>
                {
                    entry.finding = Some(word.to_owned());
                }
                _ => return Err(wrong()),
            }
        }
        Ok(entry)
    }
}

fn band(word: &str) -> Option<Band> {
    if word == "0" {
        return Some(Band::Zero);
    }
    let power: i32 = word.strip_prefix("2^")?.parse().ok()?;
    (Band::LOWEST..=Band::HIGHEST).contains(&power).then_some(Band::Power(power))
}

/// How a case differs from its snapshot. The first four are regressions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// A worse verdict.
    Worse,
    /// The same verdict for another reason, or a case that is wrong and was not recorded.
    NewFinding,
    /// A larger error, by more than rounding explains.
    LargerError,
    /// Other bits, where bits were compared.
    OtherBits,
    /// A better verdict, or a finding that is gone.
    Better,
    /// A smaller error, by more than rounding explains.
    SmallerError,
    /// What would be a regression, in a case that is a known deviation.
    Known,
    /// An error that differs by no more than rounding explains.
    Drift,
    /// No snapshot of this case.
    New,
    /// A recorded case that the run has not, though it had all cases.
    Missing,
}

impl Change {
    /// Every kind, in the order of reports.
    pub const ALL: [Self; 10] = [
        Self::Worse,
        Self::NewFinding,
        Self::LargerError,
        Self::OtherBits,
        Self::Better,
        Self::SmallerError,
        Self::Known,
        Self::Drift,
        Self::New,
        Self::Missing,
    ];

    /// Whether it fails.
    pub fn is_regression(self) -> bool {
        matches!(self, Self::Worse | Self::NewFinding | Self::LargerError | Self::OtherBits)
    }

    /// Whether it is progress.
    pub fn is_improvement(self) -> bool {
        matches!(self, Self::Better | Self::SmallerError)
    }

    /// Two or three words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Worse => "worse verdict",
            Self::NewFinding => "new finding",
            Self::LargerError => "larger error",
            Self::OtherBits => "other bits",
            Self::Better => "better",
            Self::SmallerError => "smaller error",
            Self::Known => "known",
            Self::Drift => "drift",
            Self::New => "new case",
            Self::Missing => "missing case",
        }
    }
}

/// A case that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CaseChange {
    /// How.
    pub change: Change,
    /// Law.
    pub law: String,
    /// Format.
    pub dtype: String,
    /// Case id.
    pub case: String,
    /// What was recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded: Option<SnapshotEntry>,
    /// What the run found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<SnapshotEntry>,
}

/// A part of a snapshot in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PartCount {
    /// Device, suite and seed where they are not those of the run; format and contract;
    /// conventions.
    pub part: String,
    /// How many cases it has.
    pub cases: usize,
}

/// What is different from a snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SnapshotOutcome {
    /// The file.
    pub file: String,
    /// Device by which its parts were looked up.
    pub device: String,
    /// Whether bits were compared.
    pub exact: bool,
    /// Cases of the run that the snapshot has.
    pub compared: usize,
    /// Recorded cases that the run left out of the parts that it had: it had only some laws or a
    /// shard, or was stopped.
    pub left_out: usize,
    /// Recorded parts that the run did not have at all, by what tells them from the run:
    /// `float16 under f16`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_asked: Vec<PartCount>,
    /// Parts of the run that are not recorded at all, in the same words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_recorded: Vec<PartCount>,
    /// Numbers of findings of the run that the snapshot has for each of their cases, from 0.
    pub recorded_findings: Vec<usize>,
    /// Every difference, in order of kind, then of the run.
    pub changes: Vec<CaseChange>,
}

impl SnapshotOutcome {
    /// How many cases changed so.
    pub fn count(&self, is: impl Fn(Change) -> bool) -> usize {
        self.changes.iter().filter(|one| is(one.change)).count()
    }
}
