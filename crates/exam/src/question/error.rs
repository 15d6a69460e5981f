//! What does not fit in a question.

use qkvet_spec::{SpecError, Unexpected};

use super::span_of;

/// An entry of a question that does not fit.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum Misfit {
    /// A number or a count out of its range.
    #[error("expected {low} to {high}{of}, got {got}")]
    Range {
        low: usize,
        high: usize,
        /// What is said of the range.
        of: &'static str,
        got: usize,
    },
    #[error("expected at least one, got none")]
    None,
    #[error("expected {most} parts at most, got {got}")]
    TooManyParts { most: usize, got: usize },
    #[error("expected steps of `let`, got `{got}`; known: {}", known.join(", "))]
    NoStep { got: String, known: Vec<String> },
    #[error("expected a share from 0 to 1, got {got}")]
    NoShare { got: f64 },
    #[error(
        "expected one of `absolute`, `relative`, `digits` (1 to 15) and `units`, above 0, in each band"
    )]
    Band,
    #[error(
        "expected `question`, or `pool` with two questions or more (with `parts`, `points` and `title` each) and `pick`"
    )]
    Item,
    #[error("expected questions worth the same in a pool, got {first} and {other} points")]
    Pool { first: u32, other: u32 },
    #[error("expected the same title and points wherever the set asks question `{question}`")]
    Twice { question: String },
    #[error("expected `units` beside `places` alone: an exact answer has no last decimal")]
    Units,
    #[error("expected two lines from 1 to {lines}, got {pair:?}")]
    NoPair { lines: usize, pair: [usize; 2] },
    #[error(
        "expected lines of which either may stand first, got {pair:?}, between which line {between} must stand"
    )]
    Held { pair: [usize; 2], between: usize },
    #[error("expected one of `fault`, `gives`, and `with` or `rounds`")]
    MistakeKind,
    #[error("expected a fault that students make and that patches the meaning, got `{got}`")]
    NoFaultOfStudents { got: String },
    #[error("expected `check` with a call of `attention` that `{fault}` patches")]
    NoCall { fault: String },
    #[error("expected `says`, the mistake in words")]
    NoWords,
    #[error("expected formulas of fewer brackets in brackets, got one that is too deep")]
    TooDeep,
    #[error("expected the name of the file, `{name}`, got `{got}`")]
    OtherName { name: String, got: String },
    #[error(transparent)]
    Unknown(#[from] Unexpected),
}

impl Misfit {
    /// The error with its place, a path such as `parts.2.answer.places`.
    pub(crate) fn at(&self, path: &str, source: &str, place: &str) -> SpecError {
        let message = format!("{place}: {self}");
        SpecError::at(path, source, span_of(source, place), &message, None)
    }
}
