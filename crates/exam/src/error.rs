//! What can be wrong with an exam.

use qkvet_spec::SpecError;

/// Why there is no exam.
#[derive(Clone, Debug, thiserror::Error)]
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
        what: String,
        /// Why.
        reason: String,
    },
    /// No numbers were found that make a good question.
    #[error(
        "variant {variant} of question `{question}`: expected numbers with one clear answer, got none in {tries} draws; last: {last}\nhint: {hint}"
    )]
    NoVariant {
        /// The question.
        question: String,
        /// Number of the variant, from 1.
        variant: usize,
        /// Draws that were thrown away.
        tries: usize,
        /// Why the last one was.
        last: String,
        /// What to do.
        hint: String,
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
        reason: String,
    },
    /// An answer or a wish that a format has no place for.
    #[error("{place}: expected {expected}, got {got}\nhint: {hint}")]
    NoPlace {
        /// Format, variant and part.
        place: String,
        /// What the format can hold.
        expected: String,
        /// What it would have to.
        got: String,
        /// What to do.
        hint: String,
    },
    /// A key file that is not one.
    #[error("key: expected a key written by `qkvet exam build`, got {0}")]
    Key(String),
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
