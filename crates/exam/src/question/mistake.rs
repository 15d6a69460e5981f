//! Mistakes that people make, as changes of the way to the answer.

use indexmap::IndexMap;
use qkvet_spec::syntax::Expr;
use qkvet_spec::{CheckedLaw, Formula, Meaning};
use serde::{Deserialize, Serialize};

/// A mistake: a fault of `specs/faults/` in `check`, other formulas for some steps, steps that are
/// rounded, or another answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct MistakeSpec {
    /// The fault whose patch it is.
    #[serde(default)]
    pub fault: Option<String>,
    /// What is written for abbreviations instead.
    #[serde(default)]
    pub with: IndexMap<String, Formula>,
    /// Abbreviations that are rounded to so many decimals before going on.
    #[serde(default)]
    pub rounds: IndexMap<String, usize>,
    /// What comes out.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(with = "Option<super::schema::Plain>"))]
    pub gives: Option<Formula>,
    /// The mistake in words; a fault has its own.
    #[serde(default)]
    pub says: Option<String>,
    /// The share of the points that it leaves; absent: that of the part.
    #[serde(default)]
    pub credit: Option<f64>,
}

/// A mistake, parsed and checked.
#[derive(Clone, Debug)]
pub struct CheckedMistake {
    /// What is done wrong, in words.
    pub says: String,
    /// The share of the points that it leaves, where it has its own.
    pub credit: Option<f64>,
    /// How it changes the way to the answer.
    pub slip: MistakeEffect,
}

/// How a mistake changes the way to the answer.
#[derive(Clone, Debug)]
pub enum MistakeEffect {
    /// Another meaning of every call.
    Fault(Box<Meaning>),
    /// Other steps: the law with them in it, and what is rounded on the way.
    Steps {
        /// Abbreviations of the question, some of them changed.
        law: Box<CheckedLaw>,
        /// Decimals that abbreviations are rounded to.
        rounds: IndexMap<String, usize>,
        /// All abbreviations whose values are others then.
        anew: Vec<String>,
    },
    /// Another answer.
    Answer(Expr),
}
