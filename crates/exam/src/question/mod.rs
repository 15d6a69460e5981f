//! Questions and problem sets as data: what a YAML file says, read and checked as a whole.

mod answer;
mod check;
mod credit;
mod domain;
mod error;
mod keep;
mod library;
mod mistake;
mod place;
mod prose;
mod room;
#[cfg(feature = "schema")]
mod schema;
mod set;
mod tolerance;

use indexmap::IndexMap;
use qkvet_spec::Formula;
use serde::{Deserialize, Serialize};

pub use answer::{
    AnswerSpec, Choice, Expression, Largest, Ordering, Proof, Property, Statement, Statements,
    Text, Value,
};
pub use check::{CheckedPart, CheckedQuestion};
pub use credit::Credit;
pub use domain::{Domain, Size};
pub(crate) use error::Misfit;
pub use keep::{Keep, KeepWord};
pub use library::Library;
pub use mistake::{CheckedMistake, MistakeEffect, MistakeSpec};
pub(crate) use place::{line_of, span_of};
pub use prose::{Drawing, Paragraph, Piece, Plot, prose};
#[cfg(feature = "schema")]
pub use schema::generate_schemas;
pub use set::{Item, Order, ProblemSet};
pub use tolerance::{Band, Tolerance};

/// One question with its parts; one file in `specs/exams/questions/`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// The id, equal to the file name.
    pub question: String,
    /// What stands above it.
    pub title: String,
    /// What who solves it has shown to be able to do.
    pub goal: String,
    /// From 1 (recall) to 5 (design).
    pub difficulty: u8,
    /// Where questions like it were asked.
    #[serde(default)]
    pub sources: Vec<String>,
    /// Extents, each a number or a range `2..4`.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(with = "IndexMap<String, schema::Plain>"))]
    pub sizes: IndexMap<String, Formula>,
    /// Parameters and the domains that they are drawn from.
    #[serde(default)]
    pub draw: IndexMap<String, Formula>,
    /// Abbreviations, in order: the steps of the worked solution.
    #[serde(default, rename = "let")]
    pub lets: IndexMap<String, Formula>,
    /// Conditions on the numbers, under which the question is a good one.
    #[serde(default)]
    pub keep: Vec<Formula>,
    /// The band of the load of an instance, a range `30..44`, which keeps variants equally hard;
    /// absent: any.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(with = "Option<schema::Plain>"))]
    pub load: Option<Formula>,
    /// Extents and parameters of the instance that the source printed.
    #[serde(default)]
    pub example: IndexMap<String, ExampleValue>,
    /// What stands before the parts.
    #[serde(default)]
    pub prompt: Option<Formula>,
    /// What is asked.
    pub parts: Vec<Part>,
}

/// One thing that is asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// The question, in words and formulas.
    pub prompt: Formula,
    /// What a full answer is worth.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 1000)))]
    pub points: u32,
    /// What is the answer, and how it is given.
    pub answer: AnswerSpec,
    /// Formulas of the worked solution that are shown with their values: abbreviations.
    #[serde(default)]
    pub steps: Vec<String>,
    /// Words of the worked solution.
    #[serde(default)]
    pub because: Option<Formula>,
    /// Mistakes that people make here; each must show in the answer.
    #[serde(default)]
    pub mistakes: Vec<MistakeSpec>,
    /// The rule of partial credit.
    #[serde(default)]
    pub credit: Credit,
    /// How far numbers may be off; absent: as the problem set says.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(with = "Option<schema::OneOrMore<Band>>"))]
    pub tolerance: Option<Tolerance>,
}

impl Part {
    /// Decimals that a number is asked to; absent: none, or no number.
    pub(crate) fn places(&self) -> Option<usize> {
        if let AnswerSpec::Value(value) = &self.answer { value.places } else { None }
    }

    /// How far numbers may be off.
    pub(crate) fn tolerance(&self) -> &Tolerance {
        static NONE: Tolerance = Tolerance(Vec::new());
        self.tolerance.as_ref().unwrap_or(&NONE)
    }
}

/// A parameter as it is written down.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum ExampleValue {
    /// A number, an extent, or an index counted from 1.
    Number(f64),
    /// A matrix, by rows.
    Matrix(Vec<Vec<f64>>),
}
