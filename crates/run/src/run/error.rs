//! Why a run could not be made.

use qkvet_engine::law::EvaluationError;
use qkvet_engine::selftest::SelfTestError;
use qkvet_gen::GenError;
use qkvet_spec::{SpecError, Unexpected};

use crate::process::StartError;

/// Why a run could not be made.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The target could not be started.
    #[error(transparent)]
    Start(#[from] StartError),
    /// A specification is wrong.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// A name or a file is wrong.
    #[error(transparent)]
    Unexpected(#[from] Unexpected),
    /// A case is not well-formed.
    #[error(transparent)]
    Gen(#[from] GenError),
    /// A case could not be made from the suite.
    #[error("case of law {law}: {error}")]
    Case {
        /// The law.
        law: String,
        /// What the generator says.
        error: GenError,
    },
    /// A law has no value on a case.
    #[error(transparent)]
    Evaluation(#[from] EvaluationError),
    /// Two numbers that must agree do not: this machine or this build cannot be trusted.
    #[error("self-test: {0}")]
    SelfTest(#[from] SelfTestError),
}
