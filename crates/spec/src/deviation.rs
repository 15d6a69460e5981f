//! Deviations: what a wrong target computes, as a formula with a condition that is in no file of the
//! atlas.

mod twist;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use self::twist::{
    CountOf, DenominatorForm, Grid, InputForm, LazySlip, LogitForm, LseForm, MaskJoin, PartWeight,
    ScaleForm, SoftcapForm, Step, StubForm, TileFactor, TileForm, TileMax, TilePlace, Twist,
    WeightForm,
};
use crate::{IndexExpr, MeaningPatch, ResultName};

/// What a deviation changes: fields of the meaning, and at most one twist beyond them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeviationFormula {
    /// What it changes in the exact function.
    #[serde(default, skip_serializing_if = "MeaningPatch::is_empty")]
    pub meaning: MeaningPatch,
    /// What it changes beyond that.
    #[serde(default, skip_serializing_if = "Option::is_none", flatten)]
    pub twist: Option<Twist>,
    /// The one result that it changes; absent: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<ResultName>,
}

impl DeviationFormula {
    /// Whether it changes nothing.
    pub fn is_empty(&self) -> bool {
        self.meaning.is_empty() && self.twist.is_none()
    }
}

/// Whether a deviation is a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// It explains every wrong result where it holds, and foretold fresh calls.
    Named,
    /// It explains some of the wrong results.
    Partly,
}

/// What a wrong target computes: a formula, where it holds, and what was counted for and against it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Deviation {
    /// Whether it is a name.
    pub standing: Standing,
    /// What is computed.
    pub formula: DeviationFormula,
    /// Where, by the call, or by `item`, `h`, `i` and `c`; absent: wherever it makes a difference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<IndexExpr>,
    /// Wrong calls that the formula explains.
    pub explained: usize,
    /// Wrong calls to which it applies.
    pub of: usize,
    /// Right calls that it would make wrong, all of them outside of the condition.
    pub outside: usize,
    /// Fresh calls, put to the target after the formula was found, that it foretold.
    pub foretold: usize,
    /// How many were put.
    pub fresh: usize,
    /// Calls that were put on the way, by reason.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub asked: BTreeMap<Reason, usize>,
}

/// Why a target is asked once more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// Explanations predict different results.
    Rivals,
    /// Where a condition ends.
    Edge,
    /// Whether a formula foretells what comes.
    Confirm,
}

/// What came of holding a target against a file of deviations.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ClaimOutcome {
    /// The file as it was named.
    pub file: String,
    /// Cases with wrong results that are what it says: they pass.
    pub explained: usize,
    /// Cases with right results of which it says something else, which fails.
    pub contradicted: usize,
    /// Id of the first of these.
    pub first: Option<String>,
}

impl ClaimOutcome {
    /// Whether no case tells what the file says from attention.
    pub fn is_open(&self) -> bool {
        self.explained == 0 && self.contradicted == 0
    }
}
