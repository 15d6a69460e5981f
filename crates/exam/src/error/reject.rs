//! Why there is no instance of a question.

use std::fmt;
use std::ops::Range;

use qkvet_prove::exact::NoValue;
use qkvet_spec::{Formula, located};

use crate::answer::{AnswerError, Parameter};
use crate::question::span_of;

/// Why extents or parameters are not those of a question.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum DrawError {
    /// Rows, columns or indices that are no extent.
    #[error("`{name}`: expected an extent")]
    NoExtent {
        /// The parameter.
        name: String,
    },
    /// All indices are those of other parameters.
    #[error("`{name}`: expected an index that is free, got none")]
    NoFree {
        /// The parameter.
        name: String,
    },
    /// An example of something that the question does not draw.
    #[error("example of `{name}`: expected an extent or a parameter")]
    Unknown {
        /// The name.
        name: String,
    },
    /// An example of an extent that is none.
    #[error("example of `{name}`: expected an extent, got {got}")]
    NotWhole {
        /// The extent.
        name: String,
        /// Its value.
        got: f64,
    },
    /// An example of an index that is none.
    #[error("example of `{name}`: expected 1 to {limit}, got {got}")]
    NoIndex {
        /// The parameter.
        name: String,
        /// The greatest.
        limit: usize,
        /// Its value.
        got: f64,
    },
    /// Others than the question draws.
    #[error("parameters: expected {sizes:?} and {parameters:?}, got {got:?}")]
    Names {
        /// The extents of the question.
        sizes: Vec<String>,
        /// Its parameters.
        parameters: Vec<String>,
        /// The names instead, extents first.
        got: Vec<String>,
    },
    /// An extent out of its range.
    #[error("extent `{name}`: expected {low} to {high}, got {got}")]
    Extent {
        /// The extent.
        name: String,
        /// The least.
        low: usize,
        /// The greatest.
        high: usize,
        /// The value instead.
        got: usize,
    },
    /// A parameter out of its domain.
    #[error("parameter `{name}`: expected one of its domain, got {got}")]
    Parameter {
        /// The parameter.
        name: String,
        /// The value instead.
        got: Box<Parameter>,
    },
}

/// A mistake of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MistakeOf {
    /// The part, from 0.
    pub part: usize,
    /// Its number in the part, from 0.
    pub mistake: usize,
    /// The mistake in words.
    pub says: String,
}

/// Why numbers that were drawn are thrown away.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Reject {
    /// A domain without values.
    #[error(transparent)]
    Draw(#[from] DrawError),
    /// Another variant has them.
    #[error("the same numbers as an earlier variant")]
    Seen,
    /// A step or a condition without a value.
    #[error(transparent)]
    NoValue(#[from] NoValue),
    /// A condition of the question.
    #[error("`{}` does not hold", condition.text)]
    Condition {
        /// The condition.
        condition: Formula,
    },
    /// More or less work than asked.
    #[error("a load of {load}, not of {low} to {high}")]
    Load {
        /// The load.
        load: usize,
        /// The least.
        low: usize,
        /// The greatest.
        high: usize,
    },
    /// A number that tells nothing.
    #[error("part {}: a number that is not 0 rounds to 0", part + 1)]
    Vanishes {
        /// The part, from 0.
        part: usize,
    },
    /// A row without a largest entry.
    #[error("columns {first} and {second} of a row are equal")]
    Equal {
        /// The part, from 0.
        part: usize,
        /// From 1.
        first: usize,
        /// From 1.
        second: usize,
    },
    /// Two options that cannot be told apart.
    #[error("two options say `{words}`")]
    Alike {
        /// The part, from 0.
        part: usize,
        /// What they say.
        words: String,
    },
    /// A mistake that has no value.
    #[error("mistake `{}`: {reason}", of.says)]
    Mistake {
        /// The mistake.
        of: MistakeOf,
        /// Why.
        reason: Box<AnswerError>,
    },
    /// A mistake that nobody sees.
    #[error("mistake `{}` gives {}the key", of.says, if *nearly { "nearly " } else { "" })]
    Key {
        /// The mistake.
        of: MistakeOf,
        /// Whether a digit tells it from the key.
        nearly: bool,
    },
    /// A mistake that the tolerance of the part takes for the key.
    #[error("the tolerance admits mistake `{}`", of.says)]
    Admitted {
        /// The mistake.
        of: MistakeOf,
    },
    /// Two mistakes that cannot be told apart.
    #[error("mistakes `{}` and `{other}` give the same", of.says)]
    Same {
        /// One.
        of: MistakeOf,
        /// The other in words.
        other: String,
    },
    /// A key that the engine cannot confirm.
    #[error("{reason}")]
    Undecided {
        /// Why.
        reason: AnswerError,
    },
}

impl Reject {
    /// The reason without the numbers of one draw.
    pub(crate) fn kind(&self) -> String {
        match self {
            Self::Load { low, high, .. } => format!("the load is not {low} to {high}"),
            Self::Equal { part, .. } => {
                format!("part {}: two columns of a row are equal", part + 1)
            }
            Self::Alike { part, .. } => format!("part {}: two options say the same", part + 1),
            Self::Undecided { .. } => "the engine cannot confirm the key".to_owned(),
            other => other.to_string(),
        }
    }

    /// Where its reason stands in the file of the question.
    pub(crate) fn span(&self, source: &str) -> Range<usize> {
        let part = |at: &usize| format!("parts.{}", at + 1);
        let path = match self {
            Self::Condition { condition } => {
                return located(source, condition, 0..condition.text.len())
                    .unwrap_or_else(|| span_of(source, "keep"));
            }
            Self::Load { .. } => "load".to_owned(),
            Self::Vanishes { part: at } | Self::Equal { part: at, .. } => part(at),
            Self::Alike { part: at, .. } => part(at),
            Self::Mistake { of, .. }
            | Self::Key { of, .. }
            | Self::Admitted { of }
            | Self::Same { of, .. } => {
                format!("{}.mistakes.{}.says", part(&of.part), of.mistake + 1)
            }
            Self::Draw(_) | Self::Seen | Self::NoValue(_) | Self::Undecided { .. } => {
                "draw".to_owned()
            }
        };
        span_of(source, &path)
    }
}

/// What of a question contradicts itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// Its steps.
    Steps,
    /// The instance that its source printed.
    Example,
    /// A part, from 0.
    Part(usize),
}

impl fmt::Display for Which {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Steps => f.write_str("let"),
            Self::Example => f.write_str("example"),
            Self::Part(part) => write!(f, "part {}", part + 1),
        }
    }
}

/// How a question contradicts itself, whatever its numbers are.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Contradiction {
    /// An answer without a value.
    #[error(transparent)]
    Answer(#[from] AnswerError),
    /// Another value than by the other way.
    #[error("`of` and its check differ: {reason}")]
    Check {
        /// How.
        reason: AnswerError,
    },
    /// A right answer that is none.
    #[error("expected an `example` whose `distance` is at most `at_most`, {most}, got {distance}")]
    Example {
        /// How much may be.
        most: String,
        /// How much is.
        distance: String,
    },
    /// Another formula than is asked.
    #[error("expected `is` equal to `equals` for the numbers drawn, got another value")]
    Expression,
    /// Numbers that its source printed and that nothing can be made of.
    #[error(transparent)]
    Numbers(#[from] Reject),
}

impl From<NoValue> for Contradiction {
    fn from(reason: NoValue) -> Self {
        Self::Answer(reason.into())
    }
}

/// No numbers that make a good question.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error(
    "variant {variant} of question `{question}`: expected numbers with one clear answer, got none in {tries} draws; last: {last}"
)]
pub struct NoVariant {
    /// The question.
    pub question: String,
    /// Number of the variant, from 1.
    pub variant: usize,
    /// Draws that were thrown away.
    pub tries: usize,
    /// Why the last one was.
    pub last: Reject,
    /// The line of the mistake that gives the key in every draw.
    pub line: Option<usize>,
}

impl NoVariant {
    /// What to do.
    pub(crate) fn hint(&self) -> String {
        match self.line {
            Some(line) => format!(
                "the mistake in line {line} of question `{}` gives the key in every draw: change it, or let what it leaves out be drawn",
                self.question
            ),
            None => {
                "widen `draw`, loosen `keep`, ask for more places, or for fewer variants".to_owned()
            }
        }
    }
}

/// Why an instance is not used.
pub(crate) enum Rejected {
    /// Other numbers may do.
    Numbers(Reject),
    /// No numbers will: the question is wrong.
    Question(Which, Contradiction),
}

impl From<Reject> for Rejected {
    fn from(reason: Reject) -> Self {
        Self::Numbers(reason)
    }
}

impl From<NoValue> for Rejected {
    fn from(reason: NoValue) -> Self {
        Self::Numbers(reason.into())
    }
}
