//! An answer as it stands in a key.

use serde::{Deserialize, Serialize};

use super::mistake::Mistaken;
use crate::answer::Numbers;

/// A part that is asked, as it stands in a key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyedPart {
    /// Its number in the question, from 1.
    pub part: usize,
    /// What it is worth.
    pub points: u32,
    /// The answer.
    pub answer: Answer,
    /// What mistakes give.
    pub mistakes: Vec<Mistaken>,
}

/// An answer, as far as it depends on the instance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// Numbers; what is offered beside them, the right one among it, or nothing.
    Numbers {
        /// The right ones.
        key: Numbers,
        /// Options in the order of the sheet.
        choices: Vec<Numbers>,
    },
    /// For each row the column of its largest entry, from 1.
    Largest(Vec<usize>),
    /// Options in the order of the sheet: 0 is the right one, others count from 1.
    Choice(Vec<usize>),
    /// Statements in the order of the sheet: whether it is a true one, and its number among those.
    Statements(Vec<(bool, usize)>),
    /// Lines in the order of the sheet, by their number; strangers count on behind the last line.
    Ordering(Vec<usize>),
    /// What the question itself says.
    AsWritten,
}

impl Answer {
    /// Whether both have the same right answer, in whatever order options stand.
    pub fn looks_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Numbers { key, .. }, Self::Numbers { key: other, .. }) => key.looks_like(other),
            _ => self == other,
        }
    }
}
