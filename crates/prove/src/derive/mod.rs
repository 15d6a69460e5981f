//! Inequalities for all shapes: chains of equalities by rewriting and of lemmas, each used where a
//! larger part makes a larger whole.

mod check;
mod facts;
mod lemmas;
mod scalar;
mod search;

pub use check::{CheckError, check};
pub use facts::Facts;
pub use lemmas::{LEMMAS, Lemma, Need};
pub(crate) use scalar::{grows, is_scalar};
pub use search::derive;

use crate::tree::Tree;

/// What leads from one term to the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Move {
    /// A rule of rewriting: the terms are equal.
    Rule {
        /// Its name.
        name: String,
        /// Whether from left to right.
        forward: bool,
    },
    /// A lemma, by name: the terms are apart in the direction of the chain, or equal.
    Lemma(String),
    /// Numbers collected: the terms are equal.
    Arithmetic,
    /// The larger of two numbers is the smaller and what is not negative.
    More,
}

/// One step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// How.
    pub by: Move,
    /// The whole term after it.
    pub after: Tree,
}

/// A chain of terms, each no smaller than the one before it, or each no larger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Derivation {
    /// Whether terms grow.
    pub upward: bool,
    /// One side of the claim.
    pub start: Tree,
    /// One step after the other; the last term is the other side.
    pub steps: Vec<Step>,
}
