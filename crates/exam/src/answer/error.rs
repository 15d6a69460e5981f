//! Why there are no numbers, or others than are printed.

use qkvet_engine::law::Undefined;
use qkvet_prove::exact::NoValue;
use qkvet_spec::SpecError;

/// What is wrong with the numbers of an answer.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum AnswerError {
    /// A formula without an exact value.
    #[error(transparent)]
    NoValue(#[from] NoValue),
    /// No contract for binary64.
    #[error(transparent)]
    Spec(Box<SpecError>),
    /// A formula that the engine cannot enclose.
    #[error(transparent)]
    NotEnclosed(#[from] Undefined),
    /// A matrix for each of several heads.
    #[error("expected one matrix, got several heads")]
    Heads,
    /// A set of indices.
    #[error("expected numbers, got a set of indices")]
    Indices,
    /// A number that has no end, where the exact one is asked.
    #[error("expected a rational number or `places`, got {got}")]
    Irrational {
        /// The number.
        got: String,
    },
    /// An enclosure whose ends are rounded to different decimals.
    #[error("expected one decimal, got {low} and {high}")]
    Decimals {
        /// The least.
        low: String,
        /// The greatest.
        high: String,
    },
    /// A number where a matrix is asked.
    #[error("expected a matrix")]
    NoMatrix,
    /// An answer without the formulas that its kind has.
    #[error("expected a formula")]
    NoFormula,
    /// Printed numbers that are more or fewer than those enclosed.
    #[error("expected a table of other extents")]
    Extents,
    /// A printed number that is not the one enclosed.
    #[error("row {row}, column {column}: expected {expected:.12}, got {got}")]
    Other {
        /// From 1.
        row: usize,
        /// From 1.
        column: usize,
        /// The middle of the enclosure.
        expected: f64,
        /// What is printed.
        got: String,
    },
    /// An enclosure that cannot tell whether a printed number is right.
    #[error("row {row}, column {column}: expected an enclosure narrow enough for {printed}")]
    Wide {
        /// From 1.
        row: usize,
        /// From 1.
        column: usize,
        /// The number.
        printed: String,
    },
}

impl From<SpecError> for AnswerError {
    fn from(error: SpecError) -> Self {
        Self::Spec(Box::new(error))
    }
}
