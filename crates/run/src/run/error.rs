//! Why a run could not be made.

use qkvet_engine::ball::Ball;
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
    /// What the proofs assume of this machine does not hold.
    #[error("self-test: {0}")]
    SelfTest(#[from] SelfTestError),
    /// The two routes to one exact number differ: this machine or this build cannot be trusted.
    #[error(transparent)]
    Contradiction(Box<Contradiction>),
}

/// What the enclosure and arbitrary precision say of one number.
#[derive(Debug, thiserror::Error)]
#[error(
    "{case}, {result} of {call} at [b={}, h={}, i={}, c={column}]: expected {:e} ± {:e} as the enclosure says, got {:e} ± {:e} in arbitrary precision; this is an error of qkvet, not of the target: please report it with the case",
    place[0], place[1], place[2], enclosed.mid, enclosed.rad, precise.mid, precise.rad
)]
pub struct Contradiction {
    /// The id of the case.
    pub case: String,
    /// The call, as the law names it.
    pub call: String,
    /// Which result.
    pub result: &'static str,
    /// Item, head and query.
    pub place: [usize; 3],
    /// Column.
    pub column: usize,
    /// What the verdict rests on.
    pub enclosed: Ball,
    /// What came by the other route.
    pub precise: Ball,
}
