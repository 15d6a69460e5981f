//! The kinds of answers.

use qkvet_spec::Formula;
use serde::{Deserialize, Serialize};

use super::error::Misfit;

/// What the answer is and how it is given.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum AnswerSpec {
    /// A number or a matrix.
    Value(Value),
    /// Extents.
    Shape(Formula),
    /// For each row, the column of its largest entry.
    Largest(Largest),
    /// One of several options.
    Choice(Choice),
    /// Statements that are true or false.
    Statements(Statements),
    /// Lines of a proof, to be put in order.
    Ordering(Ordering),
    /// A formula in the question's own letters.
    Expression(Expression),
    /// Something to be proved.
    Proof(Proof),
    /// Something with a property, of which there are many.
    Design(Property),
    /// Words, marked by a rubric.
    Text(Text),
}

/// A number or a matrix.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Value {
    /// The formula.
    #[cfg_attr(feature = "schema", schemars(with = "super::schema::Plain"))]
    pub of: Formula,
    /// Decimals asked for; absent: the exact value, which must be rational.
    #[serde(default)]
    pub places: Option<usize>,
    /// The same value by another way, which is what faults patch and what is verified beside it.
    #[serde(default)]
    pub check: Option<Formula>,
    /// Whether the mistakes' values are offered beside the right one.
    #[serde(default)]
    pub choices: bool,
    /// Whether an entry may be so small that it rounds to 0.
    #[serde(default)]
    pub tiny: bool,
    /// Whether it is asked for in percent, so that a `%` behind the number says nothing.
    #[serde(default)]
    pub percent: bool,
}

/// For each row the number of its largest entry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Largest {
    /// The matrix.
    pub of: Formula,
}

/// One of several options.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Choice {
    /// The right one.
    pub right: Formula,
    /// The others.
    pub wrong: Vec<Statement>,
}

/// Statements of which some are asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Statements {
    /// How many are picked.
    pub pick: usize,
    /// True ones.
    pub right: Vec<Statement>,
    /// False ones.
    pub wrong: Vec<Statement>,
}

/// Something said, and why it is right or wrong.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Statement {
    /// What is said.
    pub says: Formula,
    /// Why it is right or wrong.
    pub because: Formula,
}

/// Lines to be put in order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Ordering {
    /// The lines in the right order.
    pub lines: Vec<Formula>,
    /// Lines that belong nowhere.
    #[serde(default)]
    pub strangers: Vec<Statement>,
    /// Pairs of lines, by number from 1, of which either may stand first.
    #[serde(default)]
    pub any_order: Vec<[usize; 2]>,
}

impl Ordering {
    /// Whether a line belongs before another, both by number from 0; lines that belong nowhere
    /// stand in no order.
    pub fn is_before(&self, line: usize, other: usize) -> bool {
        let is_free =
            |pair: &[usize; 2]| *pair == [line + 1, other + 1] || *pair == [other + 1, line + 1];
        line < other && other < self.lines.len() && !self.any_order.iter().any(is_free)
    }

    /// The lines directly before a line, from 0.
    pub fn directly_before(&self, line: usize) -> Vec<usize> {
        let is_between = |first: usize| {
            (first + 1..line).any(|at| self.is_before(first, at) && self.is_before(at, line))
        };
        (0..line).filter(|first| self.is_before(*first, line) && !is_between(*first)).collect()
    }

    /// For each line its first and its last place in a right order, from 1.
    pub fn ranges(&self) -> Vec<(usize, usize)> {
        let n = self.lines.len();
        let range = |line: usize| {
            let before = (0..line).filter(|other| self.is_before(*other, line)).count();
            let behind = (line..n).filter(|other| self.is_before(line, *other)).count();
            (before + 1, n - behind)
        };
        (0..n).map(range).collect()
    }

    /// The first pair that cannot be exchanged, and why.
    pub(crate) fn misfit(&self) -> Option<Misfit> {
        let lines = self.lines.len();
        self.any_order.iter().find_map(|&pair| {
            let (low, high) = (pair[0].min(pair[1]), pair[0].max(pair[1]));
            if low == high || low == 0 || high > lines {
                return Some(Misfit::NoPair { lines, pair });
            }
            let is_held =
                |at: &usize| self.is_before(low - 1, *at) && self.is_before(*at, high - 1);
            let held = (low..high - 1).find(is_held)?;
            Some(Misfit::Held { pair, between: held + 1 })
        })
    }
}

/// A formula.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Expression {
    /// The answer.
    pub is: Formula,
    /// What it must be equal to, whatever the numbers are.
    pub equals: Formula,
    /// The law that proves it, where the numbers alone cannot.
    #[serde(default)]
    pub law: Option<String>,
}

/// Something to be proved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Proof {
    /// The law whose derivation is the solution.
    pub law: String,
    /// What is marked.
    pub rubric: Vec<Formula>,
}

/// A property that an answer must have.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Property {
    /// Abbreviations that make up one right answer.
    pub example: Vec<String>,
    /// What it must make small.
    pub distance: Formula,
    /// How small.
    #[cfg_attr(feature = "schema", schemars(with = "super::schema::Plain"))]
    pub at_most: Formula,
    /// What is marked.
    pub rubric: Vec<Formula>,
}

/// Words.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Text {
    /// A full answer.
    pub sample: Formula,
    /// What is marked.
    pub rubric: Vec<Formula>,
    /// Lines left free on the sheet.
    #[serde(default)]
    pub lines: Option<usize>,
}
