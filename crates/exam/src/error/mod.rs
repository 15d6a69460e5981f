//! What can be wrong with an exam.

mod reject;
mod wrong;

use qkvet_spec::{JsonError, SpecError};

pub(crate) use reject::Rejected;
pub use reject::{Contradiction, DrawError, MistakeOf, NoVariant, Reject, Which};
pub use wrong::{Place, Untrue, Within, Wrong, WrongFile};

use crate::target::Target;

/// Variants of one exam.
pub const MAX_VARIANTS: usize = 100_000;

/// Why there is no exam.
#[derive(Debug, thiserror::Error)]
pub enum ExamError {
    /// A question or a problem set that does not fit, with its place.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// A formula of a question that has no value for the numbers drawn.
    #[error("{what} of question `{question}`: {reason}")]
    NoValue {
        /// The question.
        question: String,
        /// Which formula.
        what: Which,
        /// Why.
        reason: Box<Contradiction>,
    },
    /// No numbers were found that make a good question.
    #[error("{none}\nhint: {}", none.hint())]
    NoVariant {
        /// Which, and why.
        none: Box<NoVariant>,
    },
    /// All numbers of a question are used up.
    #[error(
        "variant {variant} of question `{question}`: expected numbers that no other variant has, got none (different variants: {variants})\nhint: widen `draw`, loosen `keep`, or ask for {variants} at most"
    )]
    NoMore {
        /// The question.
        question: String,
        /// Number of the variant, from 1.
        variant: usize,
        /// How many variants there are.
        variants: usize,
    },
    /// A law that a question draws on is not proved.
    #[error("law `{law}` of question `{question}`: expected a proved one, got {got}")]
    Unproved {
        /// The question.
        question: String,
        /// The law.
        law: String,
        /// What is known of it.
        got: String,
    },
    /// A key whose answers are not what its numbers give.
    #[error(
        "key of variant {variant}: expected answers that can be derived again, got a wrong one in {reason}\nhint: `qkvet exam verify` lists all; build the exam again from its seed"
    )]
    Untrue {
        /// Number of the variant, from 1.
        variant: usize,
        /// The first that is wrong.
        reason: Box<Wrong>,
    },
    /// A wish that a format has no place for.
    #[error(
        "credit in {}: expected a format that gives part of the points for a mistake, got a wish for {}\nhint: moodle and qti21 give it for entries and options, prairielearn for options",
        target.name(),
        if *entered { "an entry" } else { "an option" }
    )]
    NoCredit {
        /// The format.
        target: Target,
        /// Whether it is for a number that was entered, or for an option.
        entered: bool,
    },
    /// A number that a format has no place for.
    #[error(
        "qti12 at variant {variant}, {part}{}{entry}: expected 0, or a number of 0.0001 or more in size: Canvas takes smaller ones for 0, got {got}\nhint: name the other parts of the question under `parts`, or export to another format",
        if entry.is_empty() { "" } else { ", " }
    )]
    TooSmall {
        /// The variant.
        variant: usize,
        /// The part.
        part: String,
        /// Which of its entries, if it has several.
        entry: String,
        /// The number.
        got: String,
    },
    /// A key file that is not one.
    #[error("key: expected a key written by `qkvet exam build`, got {0}")]
    Key(#[from] KeyError),
    /// JSON that cannot be written.
    #[error("JSON that cannot be written: {0}")]
    Json(#[from] serde_json::Error),
    /// A table that cannot be written.
    #[error("a table that cannot be written: {0}")]
    Table(#[from] ::csv::Error),
    /// An archive that cannot be written.
    #[error("an archive that cannot be written: {0}")]
    Archive(#[from] zip::result::ZipError),
    /// XML that cannot be written.
    #[error("XML that cannot be written: {0}")]
    Xml(#[from] std::io::Error),
    /// A PDF is wanted of a program without a typesetter.
    #[error(
        "PDF: expected a program with the feature `pdf`, got one without\nhint: build it with `cargo build --release -p qkvet-cli --features pdf`, or build the exam without `--pdf` and run `typst compile --pdf-standard ua-1 FILE.typ`"
    )]
    NoPdf,
    /// A document that the typesetter refuses.
    #[error("PDF of {what}: expected a document that PDF/UA-1 takes, got an error: {reason}")]
    Pdf {
        /// The document.
        what: String,
        /// Why.
        reason: String,
    },
}

/// What is no key, or no keys of one exam.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// No JSON of a key.
    #[error(transparent)]
    Json(#[from] JsonError),
    /// Too many variants.
    #[error("one of {got} variants, more than {}", MAX_VARIANTS)]
    Variants {
        /// How many.
        got: usize,
    },
    /// Another format.
    #[error("format `{got}`")]
    Format {
        /// Which.
        got: String,
    },
    /// A set or a question that does not fit. The key has a copy of each file, which is damaged;
    /// the file itself may be right.
    #[error("one of variant {variant} with a damaged copy: {error}")]
    Copy {
        /// The variant.
        variant: usize,
        /// What is wrong with the copy.
        error: Box<SpecError>,
    },
    /// No key at all.
    #[error("none")]
    None,
    /// Keys of several exams.
    #[error("keys of another exam beside those of `{exam}`")]
    OtherExam {
        /// The exam of the first.
        exam: String,
    },
    /// Two keys of one variant.
    #[error("two keys of variant {variant}")]
    Twice {
        /// The variant.
        variant: usize,
    },
    /// A question that nobody knows.
    #[error("unknown question `{question}`")]
    Question {
        /// Its id.
        question: String,
    },
}

impl KeyError {
    /// What is wrong with a set or a question that a key has a copy of.
    pub(crate) fn copy(variant: usize, error: impl Into<ExamError>) -> ExamError {
        match error.into() {
            ExamError::Spec(error) => Self::Copy { variant, error: error.into() }.into(),
            other => other,
        }
    }
}
