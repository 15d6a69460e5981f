//! Why text is not read as numbers.

use std::fmt;

use qkvet_prove::exact::NotExact;

use super::Token;
use super::expression::{MAX_POWER, MAX_SCALE};

/// Why text is no number, or an answer none of numbers.
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
    /// Digits above the line that are no exponent.
    #[error("expected an exponent, got `{got}`")]
    NoExponent {
        /// The same on the line.
        got: String,
    },
    /// An exponent of ten that is too large.
    #[error("expected an exponent from -90 to 90, got {got}")]
    LargeExponent {
        /// The exponent.
        got: String,
    },
    /// A fraction of one sign behind a number and a space.
    #[error(
        "expected an operator between two numbers (2 + {fraction} or 2{fraction}, not 2 {fraction})"
    )]
    Apart {
        /// The fraction.
        fraction: char,
    },
    /// A fraction of one sign behind what is no whole number.
    #[error("expected a whole number before `{fraction}`, got {got}")]
    NotWhole {
        /// The fraction.
        fraction: char,
        /// What stands before it.
        got: Token,
    },
    /// `log2`, `log10`.
    #[error("expected the natural logarithm, `ln(x)`, got one to another base")]
    OtherBase,
    /// A decimal comma.
    #[error("expected a decimal point, got a comma")]
    Comma,
    /// Two numbers side by side.
    #[error("expected an operator between two numbers (5/2, not 2 1/2)")]
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
    /// `nan`, `inf`.
    #[error("expected a finite number, got `{got}`")]
    NotFinite {
        /// The word.
        got: String,
    },
    /// No exact form.
    #[error(transparent)]
    NotExact(#[from] NotExact),
    /// No answer.
    #[error("expected numbers, got nothing")]
    Nothing,
    /// Entries with names.
    #[error("expected numbers, got named entries")]
    Named,
    /// Lists that are no rows.
    #[error("expected rows of numbers, got lists of different depth")]
    Depth,
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
