//! Problem sets.

use qkvet_spec::{Formula, SpecError, Unexpected, parse_yaml};
use serde::{Deserialize, Serialize};

/// Questions in order; one file in `specs/exams/`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ProblemSet {
    /// The id, equal to the file name.
    pub exam: String,
    /// What stands at the top.
    pub title: String,
    /// What stands below it.
    #[serde(default)]
    pub intro: Option<Formula>,
    /// Where problem sets like it were given.
    #[serde(default)]
    pub sources: Vec<String>,
    /// The questions.
    pub questions: Vec<Item>,
}

/// A question of a problem set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Item {
    /// The id of the question.
    pub question: Formula,
    /// Parts that are asked, by number from 1; absent: all.
    #[serde(default)]
    pub parts: Vec<usize>,
}

impl ProblemSet {
    /// Reads one problem set.
    ///
    /// # Errors
    /// YAML errors with their place; a set without questions.
    pub fn from_yaml(path: &str, source: &str) -> Result<Self, SpecError> {
        let set: Self = parse_yaml(path, source)?;
        if set.questions.is_empty() {
            return Err(Unexpected::at_path("questions", path, "at least one").got("none").into());
        }
        if !set.exam.chars().all(|c| c.is_ascii_alphanumeric() || c == '-') || set.exam.is_empty() {
            let expected = "an id of letters, digits and `-`";
            return Err(Unexpected::at_path("exam", path, expected).quoted(set.exam).into());
        }
        Ok(set)
    }
}
