//! What is wrong with a key or with the files of an exam.

use std::fmt;

use super::{DrawError, ExamError};
use crate::answer::AnswerError;
use crate::plural::counted;

/// Something wrong in a key.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Wrong {
    /// In a question.
    #[error("{place}: {what}")]
    At {
        /// Where.
        place: Place,
        /// What.
        what: Untrue,
    },
    /// A variant that the exam does not have.
    #[error("its number: expected one of {}", counted(*variants, "variant"))]
    Number {
        /// How many it has.
        variants: usize,
    },
    /// More or fewer questions.
    #[error(
        "its questions: expected {expected}, got {got}: expected what its seed gives, got another key"
    )]
    Questions {
        /// How many the exam has.
        expected: usize,
        /// How many the key has.
        got: usize,
    },
}

/// A place in a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Number of the question, from 1.
    pub number: usize,
    /// Its id.
    pub question: String,
    /// Number of the part in the question, from 1.
    pub part: Option<usize>,
    /// What of the part.
    pub within: Option<Within>,
}

/// Something in a part of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Within {
    /// An option, from 1.
    Option(usize),
    /// A mistake in words.
    Mistake(String),
}

impl Place {
    /// A question, by its number from 0.
    pub(crate) fn question(at: usize, question: &str) -> Self {
        Self { number: at + 1, question: question.to_owned(), part: None, within: None }
    }

    /// Something wrong there.
    pub(crate) fn is(&self, what: impl Into<Untrue>) -> Wrong {
        Wrong::At { place: self.clone(), what: what.into() }
    }

    /// Something wrong with what is in it.
    pub(crate) fn within(&self, within: Within, what: impl Into<Untrue>) -> Wrong {
        Self { within: Some(within), ..self.clone() }.is(what)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "question {} ({})", self.number, self.question)?;
        if let Some(part) = self.part {
            write!(f, ", part {part}")?;
        }
        match &self.within {
            Some(Within::Option(at)) => write!(f, ", option {at}"),
            Some(Within::Mistake(says)) => write!(f, ", mistake `{says}`"),
            None => Ok(()),
        }
    }
}

/// What does not come out again.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Untrue {
    /// A question that is not known.
    #[error("expected a known question")]
    Question,
    /// A part that the question does not have.
    #[error("expected a part of the question")]
    Part,
    /// Numbers that the question does not draw.
    #[error(transparent)]
    Drawn(#[from] DrawError),
    /// Another load.
    #[error("expected a load of {expected}, got {got}")]
    Load {
        /// That of its numbers.
        expected: usize,
        /// That of the key.
        got: usize,
    },
    /// Other points.
    #[error("expected {expected} points, got {got}")]
    Points {
        /// Those of the question.
        expected: u32,
        /// Those of the key.
        got: u32,
    },
    /// Other numbers, or numbers that cannot be derived.
    #[error(transparent)]
    Answer(#[from] AnswerError),
    /// More or fewer decimals.
    #[error("expected {}, got {}", decimals(expected), decimals(got))]
    Places {
        /// Those of the question; nothing: exact numbers.
        expected: Option<usize>,
        /// Those of the key.
        got: Option<usize>,
    },
    /// Options of which none or several are right.
    #[error("expected the key once among the options, got it {got} times")]
    Options {
        /// How many.
        got: usize,
    },
    /// An option that nothing gives.
    #[error("expected the key or what a mistake gives")]
    Option,
    /// Statements that are not those of the question.
    #[error("expected {pick} different statements of the question")]
    Statements {
        /// How many it asks.
        pick: usize,
    },
    /// An order that is none.
    #[error("expected an order of {n}, got {got:?}")]
    Order {
        /// Of how many.
        n: usize,
        /// The order.
        got: Vec<usize>,
    },
    /// An answer to something else.
    #[error("expected an answer of the question's own kind")]
    Kind,
    /// A formula that is not equal to what is asked.
    #[error("expected equal sides, got others")]
    Sides,
    /// An example without the property.
    #[error("expected the example to have the property")]
    Example,
    /// More or fewer columns than rows.
    #[error("expected {expected} columns, got {got}")]
    Columns {
        /// Rows.
        expected: usize,
        /// Columns.
        got: usize,
    },
    /// A column that is not that of the largest entry.
    #[error("row {row}: expected the column of the largest entry, got {got}")]
    Largest {
        /// From 1.
        row: usize,
        /// From 1.
        got: usize,
    },
    /// More or fewer mistakes.
    #[error("expected {expected} mistakes")]
    Mistakes {
        /// Those of the question.
        expected: usize,
    },
    /// A mistake of other words.
    #[error("expected its own words")]
    Words,
    /// Numbers that a mistake does not give.
    #[error("expected other numbers")]
    Numbers,
    /// Another question than the seed gives.
    #[error("expected what its seed gives, got another key")]
    Seed,
}

fn decimals(places: &Option<usize>) -> String {
    places.map_or_else(|| "exact numbers".to_owned(), |places| counted(places, "decimal"))
}

/// A file of an exam that is not as its key makes it.
#[derive(Debug, thiserror::Error)]
pub enum WrongFile {
    /// Other bytes, or none.
    #[error(
        "{path}: expected what its seed gives, got {}",
        if *is_missing { "no file: it is missing" } else { "other bytes" }
    )]
    Bytes {
        /// The file.
        path: String,
        /// Whether it is not there.
        is_missing: bool,
    },
    /// An exam that cannot be built again.
    #[error("rebuilt: {0}")]
    Build(#[from] ExamError),
    /// A stranger beside sheets.
    #[error(
        "{path}: expected nothing but sheets in the folder that is handed out, got another file"
    )]
    NoSheet {
        /// The file.
        path: String,
    },
    /// A stranger beside keys.
    #[error("{path}: expected the keys of {}, got another one", counted(*variants, "variant"))]
    NoKey {
        /// The file.
        path: String,
        /// How many variants there are.
        variants: usize,
    },
}
