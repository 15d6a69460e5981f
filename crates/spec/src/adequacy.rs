//! The kill matrix of a suite as a document: which law notices which fault, in which format.

use serde::{Deserialize, Serialize};

use crate::Dtype;

/// How a law came out over its cases on one fault, worst last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Mark {
    /// The fault struck no call of the law.
    NotStruck,
    /// Nothing failed.
    Held,
    /// A value was wrong, the relation was not refuted.
    Value,
    /// The law's own relation was refuted.
    Refuted,
}

impl Mark {
    /// Whether the fault was noticed.
    pub fn is_kill(self) -> bool {
        self >= Self::Value
    }
}

/// Why a fault survives in a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Survival {
    /// Its file says that it makes no difference on the calls that it struck.
    Equivalent,
    /// No case holds what triggers it.
    NotStruck,
    /// The suite has a gap.
    Gap,
}

/// One fault in one format.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FaultInFormat {
    /// The format.
    pub dtype: Dtype,
    /// For each law of the document how it came out.
    pub marks: Vec<Mark>,
    /// Why no law notices it; absent where one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub survives: Option<Survival>,
}

/// One fault.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FaultMarks {
    /// Its id.
    pub fault: String,
    /// Its code.
    pub code: String,
    /// In each format of the document.
    pub formats: Vec<FaultInFormat>,
}

/// One case of a small set that notices every fault.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CoverCase {
    /// Its format.
    pub dtype: Dtype,
    /// Its law.
    pub law: String,
    /// Its id.
    pub case: String,
    /// Format, extents and options in a line.
    pub call: String,
    /// Faults that it notices and none before it did.
    pub faults: Vec<String>,
}

/// What a suite notices.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AdequacyReport {
    /// The suite.
    pub suite: String,
    /// The seed of its cases.
    pub seed: u64,
    /// Law ids, in the order of the marks.
    pub laws: Vec<String>,
    /// Every fault that was tried.
    pub faults: Vec<FaultMarks>,
    /// Cases that together notice every fault that is noticed, chosen greedily, for each format.
    pub cover: Vec<CoverCase>,
    /// Laws without which every fault is noticed as well.
    pub unneeded: Vec<String>,
    /// Cases that an implementation without a fault failed: there should be none.
    pub alarms: Vec<String>,
}

impl AdequacyReport {
    /// Faults that survive by a gap, with their formats.
    pub fn gaps(&self) -> impl Iterator<Item = (&str, Dtype)> {
        let of = |marks: &'_ FaultMarks| -> Vec<Dtype> {
            let gaps = marks
                .formats
                .iter()
                .filter(|one| matches!(one.survives, Some(Survival::Gap | Survival::NotStruck)));
            gaps.map(|one| one.dtype).collect()
        };
        self.faults
            .iter()
            .flat_map(move |marks| of(marks).into_iter().map(|dtype| (marks.fault.as_str(), dtype)))
    }
}
