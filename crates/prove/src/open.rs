//! Why a law is neither proved nor refuted.

use crate::{derive, moments, rewrite, unfold};

/// Why a law is open.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Open {
    /// Of nothing everything is true.
    #[error("no extents were found of which its condition (`where`) holds")]
    SaysNothing,
    /// Its extents or conditions begin too high.
    #[error("no small instance of it was found: its extents or conditions begin above 3")]
    NoInstance,
    /// Small instances do not decide it.
    #[error("none of {undecided} small instances has exact values on both sides")]
    Undecided {
        /// How many there are.
        undecided: usize,
    },
    /// Instances with a soft cap have no exact values.
    #[error("soft caps have no exact values; it held on {instances} small instances without one")]
    SoftCap {
        /// How many there are without.
        instances: usize,
    },
    /// It is not written out.
    #[error(transparent)]
    Unfolded(#[from] unfold::NotUnfolded),
    /// No rule gives the sign of a side.
    #[error("the sign of {of} is not known")]
    Sign {
        /// The side, printed.
        of: String,
    },
    /// An inequality, for a method of equations.
    #[error("rewriting says nothing of inequalities")]
    Inequality,
    /// Rules that lead no further.
    #[error("the rules say nothing more, which is no disproof")]
    Saturated,
    /// A search that ended at its limits.
    #[error("no proof within the limits of the search")]
    Limit,
    /// Rules that prove two different numbers equal.
    #[error("the rules contradict each other")]
    Unsound,
    /// The checker refuses the chain.
    #[error(transparent)]
    Chain(#[from] rewrite::CheckError),
    /// A search for lemmas that ended at its limits.
    #[error("no chain of lemmas within the limits of the search, which is no disproof")]
    NoLemmas,
    /// The checker refuses the derivation.
    #[error(transparent)]
    Derivation(#[from] derive::CheckError),
    /// Moments do not decide it.
    #[error(transparent)]
    Moments(#[from] moments::Reason),
    /// The checker refuses the steps.
    #[error(transparent)]
    Steps(#[from] moments::CheckError),
}
