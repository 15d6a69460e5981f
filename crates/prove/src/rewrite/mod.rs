//! Proofs by rewriting: equality saturation finds the way, [`check`] walks it again with code of
//! its own.

mod check;
mod collect;
mod language;
mod rules;
mod search;

pub use check::COLLECTED;
pub use check::{CheckError, check};
pub(crate) use check::{instantiated, is_step, matches};
pub(crate) use collect::{cancels, collected};
pub use rules::{RULES, Rule, When};
pub(crate) use search::Space;
pub use search::{Found, prove};

use crate::tree::Tree;

/// One use of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The rule's name.
    pub rule: String,
    /// Whether from left to right.
    pub forward: bool,
    /// The whole term after it.
    pub after: Tree,
}

/// A chain of equal terms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain {
    /// The left side of the claim.
    pub start: Tree,
    /// One rule after the other; the last term is the right side of the claim.
    pub steps: Vec<Step>,
}
