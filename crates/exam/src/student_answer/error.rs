//! Why an answer is not read for certain.

use std::fmt;

use qkvet_prove::exact::NotExact;

use super::Token;
use super::value::{MAX_POWER, MAX_SCALE};

/// Why an answer is left to a person.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ReadError {
    /// More of something than is read.
    #[error("expected at most {most} {what}, got {got}")]
    TooMany {
        /// How many are read.
        most: usize,
        /// Of what.
        what: &'static str,
        /// How many there are.
        got: usize,
    },
    /// The same, where nobody counted to the end.
    #[error("expected at most {most} {what}, got more")]
    More {
        /// How many are read.
        most: usize,
        /// Of what.
        what: &'static str,
    },
    /// No number where one begins.
    #[error("expected a number, got {got}")]
    NoNumber {
        /// What stands there.
        got: Token,
    },
    /// Something behind a number.
    #[error("expected the end, got {got}")]
    NotTheEnd {
        /// What stands there.
        got: Token,
    },
    /// A word that may change what is meant.
    #[error("expected an answer without `{}`", got.escape_debug())]
    Word {
        /// The word.
        got: String,
    },
    /// Several numbers for one, or one for several.
    #[error("expected the numbers that are asked for, got {got}")]
    Several {
        /// How many.
        got: usize,
    },
    /// Members of a chain of equations that are not the same number.
    #[error("expected equal numbers on both sides of `=`")]
    Chain,
    /// A side of an equation that is no name.
    #[error("expected a name before `=`, got {got}")]
    NoLabel {
        /// What stands there.
        got: Token,
    },
    /// Rows of different length, or names that leave gaps.
    #[error("expected rows of the same length")]
    Ragged,
    /// As many numbers as asked, in other rows.
    #[error("expected {rows} rows of {cols} numbers, got as many in another layout")]
    Layout {
        /// Rows asked.
        rows: usize,
        /// Columns asked.
        cols: usize,
    },
    /// Digits above the line that are no exponent.
    #[error("expected an exponent, got `{got}`")]
    NoExponent {
        /// The same on the line.
        got: String,
    },
    /// A fraction of one sign behind what is no whole number.
    #[error("expected a whole number before a fraction, got {got}")]
    NotWhole {
        /// What stands before it.
        got: Token,
    },
    /// Two numbers side by side.
    #[error("expected a sign between two numbers")]
    NoOperator,
    /// `1/2e`.
    #[error("expected brackets or `*` behind a division, as in 1/(2*e)")]
    NoBrackets,
    /// An open bracket.
    #[error("expected a closing bracket")]
    Unclosed,
    /// A root of many digits.
    #[error("expected the root of a shorter number")]
    LongRoot,
    /// An exponent that is no small fraction.
    #[error("expected a rational {of} with numbers up to {}, got `{got}`", MAX_POWER)]
    NotRational {
        /// What of.
        of: Raised,
        /// The exponent.
        got: String,
    },
    /// An exponent for which there is no root.
    #[error("expected a {of} that is a whole number or a half, got `{got}`")]
    NotHalf {
        /// What of.
        of: Raised,
        /// The exponent.
        got: String,
    },
    /// A number too large or too small.
    #[error("expected a number from 1e-{0} to 1e{0}, got another", MAX_SCALE)]
    Scale,
    /// `1e999`.
    #[error("expected a power of ten up to {}, got more", MAX_SCALE)]
    PowerOfTen,
    /// `e^999`.
    #[error("expected a power of e from -230 to 230")]
    PowerOfE,
    /// No exact form.
    #[error(transparent)]
    NotExact(#[from] NotExact),
    /// No answer.
    #[error("expected an answer, got nothing")]
    Nothing,
    /// Lists that are no rows.
    #[error("expected rows of numbers, got lists of different depth")]
    Depth,
    /// A name that the question does not have.
    #[error("expected one of {}, got `{}`", names.join(", "), got.escape_debug())]
    UnknownName {
        /// The name.
        got: String,
        /// Those of the question.
        names: Vec<String>,
    },
    /// Letters that may be several names.
    #[error("expected one name, got `{got}`, which may be {} or {}", ways[0].join(" "), ways[1].join(" "))]
    Ambiguous {
        /// The letters.
        got: String,
        /// Two ways to read them.
        ways: [Vec<String>; 2],
    },
}

/// What an exponent belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Raised {
    /// A power.
    Power,
    /// A logarithm, whose factor it is.
    Logarithm,
}

impl fmt::Display for Raised {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Power => "power",
            Self::Logarithm => "factor on a logarithm",
        })
    }
}
