//! What `qkvet probe` tells: the meaning that was recovered from a target's outputs, field by
//! field, with its evidence.

use serde::{Deserialize, Serialize};

use crate::verdict::is_zero;
use crate::{Meaning, MeaningPatch, Quoted};

/// The report of a probe.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Probe {
    /// Name and version of the program.
    pub tool: String,
    /// The target as named.
    pub target: String,
    /// What the target said of itself.
    pub environment: Vec<Quoted>,
    /// Format of query, key and value.
    pub dtype: String,
    /// Contract under which values were refuted.
    pub contract: String,
    /// Declared conventions, `field=value`, from which the probe set out.
    pub declared: Vec<String>,
    /// How many calls were made.
    pub calls: usize,
    /// One entry a field.
    pub fields: Vec<ProbedField>,
    /// Known conventions that were found: lines of `conventions:` in `qkvet.yaml`.
    pub conventions: Vec<ProbedConvention>,
    /// What differs from the standard and is no known convention.
    pub meaning: MeaningPatch,
}

/// One field of the meaning, or one fact beside it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ProbedField {
    /// Its name; that in `Meaning` where there is one.
    pub field: String,
    /// What it is, in words.
    pub about: String,
    /// How sure the answer is.
    pub certainty: Certainty,
    /// Values that fit: one if decided, several if undecided or mixed.
    pub values: Vec<String>,
    /// The standard's value.
    pub standard: String,
    /// What the values rest on, one sentence each, the most telling first.
    pub evidence: Vec<Quoted>,
    /// Which of these sentences says why the value is not the standard's, else the first.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub telling: usize,
    /// Numbers that were recovered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub measured: Vec<Measured>,
    /// What the value changes in the standard.
    #[serde(default, skip_serializing_if = "MeaningPatch::is_empty")]
    pub meaning: MeaningPatch,
}

impl ProbedField {
    /// Whether the one value that fits is the standard's.
    pub fn is_standard(&self) -> bool {
        self.values == [self.standard.as_str()]
    }
}

/// How sure the answer to a question is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Certainty {
    /// One value holds every output, each other one is refuted: a proof under the contract, among
    /// the values that are known.
    Decided,
    /// Different calls say different values: a fault.
    Mixed,
    /// No known value holds what came back.
    None,
    /// Several values hold every output.
    Undecided,
    /// The target does not offer it.
    Declined,
    /// A call ended in an error, a crash or no answer.
    Broken,
    /// Read off a computation that loses digits: likely, not proved.
    Estimate,
}

impl Certainty {
    /// The word in reports.
    pub fn word(self) -> &'static str {
        match self {
            Self::Decided => "decided",
            Self::Mixed => "mixed",
            Self::None => "none",
            Self::Undecided => "undecided",
            Self::Declined => "declined",
            Self::Broken => "broken",
            Self::Estimate => "estimate",
        }
    }
}

/// A number that was recovered: it lies strictly between two numbers that were refuted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Measured {
    /// What was measured and where.
    pub what: String,
    /// A number below it.
    pub low: f64,
    /// A number above it.
    pub high: f64,
}

/// A known convention that the target follows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ProbedConvention {
    /// The field of `conventions:`.
    pub field: String,
    /// Its value.
    pub value: String,
    /// The field of [`Probe::fields`] that shows it.
    pub shown_by: String,
}

impl MeaningPatch {
    /// The patch that leads from `base` to `other`: the fields in which they differ.
    ///
    /// # Panics
    /// Never: a meaning is a JSON object whose fields are those of the patch.
    #[expect(
        clippy::expect_used,
        reason = "both types are made of the same fields, covered by a test"
    )]
    pub fn between(base: &Meaning, other: &Meaning) -> Self {
        let object = |meaning: &Meaning| match serde_json::to_value(meaning) {
            Ok(serde_json::Value::Object(fields)) => fields,
            _ => serde_json::Map::new(),
        };
        let (base, mut other) = (object(base), object(other));
        other.retain(|field, value| base.get(field) != Some(value));
        serde_json::from_value(other.into()).expect("fields of a meaning")
    }

    /// Names and values of the fields that are set, in the order of their names.
    pub fn entries(&self) -> Vec<(String, serde_json::Value)> {
        match serde_json::to_value(self) {
            Ok(serde_json::Value::Object(fields)) => fields.into_iter().collect(),
            _ => Vec::new(),
        }
    }
}
