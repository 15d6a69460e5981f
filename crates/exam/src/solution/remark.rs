//! What is to be said of the steps of a solution.

use qkvet_prove::exact::NoValue;
use serde::{Serialize, Serializer};

use super::names::Mistake;

/// One thing that is to be said of a step.
#[derive(Clone, Debug, PartialEq)]
pub enum Remark {
    /// It follows from the steps before it, which are not right.
    Follows,
    /// The same, where not all of these were decided.
    FollowsUndecided,
    /// It is right, and does not follow.
    RightAlone,
    /// It has no exact value.
    Undecided(NoValue),
    /// Numbers were rounded before going on: of which steps and to how many decimals, if they are
    /// written with more.
    Rounded(Option<(&'static str, usize)>),
    /// An entry that shows it.
    FromRounded {
        /// Row and column, from 0.
        at: (usize, usize),
        /// What is written.
        written: String,
        /// What comes from numbers that are not rounded.
        right: String,
    },
    /// A mistake that gives what is written.
    Mistake {
        /// The mistake in words.
        says: &'static str,
        /// What it was made with.
        base: Base,
    },
    /// Rows and columns of another number.
    Extents {
        /// Those of the value.
        expected: (usize, usize),
        /// Those that are written.
        got: (usize, usize),
    },
    /// Rows for columns.
    Transposed,
    /// Two entries that changed places, each by row and column from 0.
    Entries([(usize, usize); 2]),
    /// Two rows or columns that changed places.
    Lines {
        /// `rows` or `columns`.
        what: &'static str,
        /// Both, from 0.
        pair: (usize, usize),
        /// The factor in which they did.
        of: Option<&'static str>,
    },
    /// A wrong entry.
    Entry {
        /// Row and column, from 0.
        at: (usize, usize),
        /// What alone explains it.
        causes: Vec<Cause>,
        /// Whether other entries have no cause, so that these are guesses.
        perhaps: bool,
        /// What is right.
        expected: String,
        /// What is written.
        got: String,
    },
    /// So many more of them.
    More(usize),
    /// Scores of a rank that no queries and keys have.
    Rank {
        /// The rank.
        rank: usize,
        /// Their width.
        width: usize,
    },
    /// A row, from 0, with a negative weight.
    Negative(usize),
    /// A row of weights with another sum than 1.
    Sum {
        /// The row, from 0.
        row: usize,
        /// The sum.
        sum: String,
    },
    /// An entry, by row and column from 0, that is no mean of the values.
    Outside((usize, usize)),
}

/// What a mistake was made with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    /// The steps before, as they are or before they were rounded.
    Steps,
    /// The steps before, as they are rounded.
    Rounded,
    /// The right values of the steps before.
    Right,
}

/// What alone explains a wrong entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// It was cut off, or rounded the other way.
    NotNearest,
    /// Its sign.
    Sign,
    /// The sign of a term, from 0.
    TermSign(usize),
    /// A term, from 0, that is missing.
    MissingTerm(usize),
    /// A term, from 0, that is there twice.
    TwiceTerm(usize),
}

impl Cause {
    /// The kind of slip.
    pub(super) fn slip(self) -> Mistake {
        match self {
            Self::NotNearest => Mistake::NotNearest,
            Self::Sign | Self::TermSign(_) => Mistake::SignError,
            Self::MissingTerm(_) | Self::TwiceTerm(_) => Mistake::TermError,
        }
    }
}

impl Serialize for Remark {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
