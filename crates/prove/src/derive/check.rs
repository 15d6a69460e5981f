//! The second route: walks a derivation again, knowing nothing of the search.

use std::collections::BTreeMap;

use super::facts::{Facts, meets};
use super::lemmas::{LEMMAS, Lemma};
use super::scalar::{are_equal, is_at_most, is_non_negative};
use super::{Derivation, Move, Step};
use crate::rewrite::{self, instantiated, is_step, matches};
use crate::tree::{Shapes, Tree, shape};

/// Why a derivation is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CheckError {
    /// The chain begins or ends elsewhere.
    #[error("derivation: expected to lead from {from} to {to}, got {got}")]
    Ends {
        /// The side it has to begin at.
        from: String,
        /// The side it has to end at.
        to: String,
        /// The first or the last term.
        got: String,
    },
    /// A step does not follow.
    #[error("step {step}: expected what {by} makes of the term before it, got {got}")]
    Step {
        /// Its number, from 1.
        step: usize,
        /// The move.
        by: String,
        /// The term that it does not lead to.
        got: String,
    },
}

/// Checks that a derivation shows `left ≤ right`: that it leads from one to the other and that
/// every step follows.
///
/// # Errors
/// The first step that does not follow.
pub fn check(
    derivation: &Derivation,
    (left, right): (&Tree, &Tree),
    names: &Shapes,
    facts: &Facts,
) -> Result<(), CheckError> {
    let (from, to) = if derivation.upward { (left, right) } else { (right, left) };
    let ends = |got: &Tree| CheckError::Ends {
        from: from.to_string(),
        to: to.to_string(),
        got: got.to_string(),
    };
    if derivation.start != *from {
        return Err(ends(&derivation.start));
    }
    let claimed = shape(from, names);
    let mut before = &derivation.start;
    for (at, Step { by, after }) in derivation.steps.iter().enumerate() {
        let follows = match by {
            Move::Rule { name, forward } => {
                let step =
                    rewrite::Step { rule: name.clone(), forward: *forward, after: after.clone() };
                is_step(&step, before, names)
            }
            Move::Lemma(name) => {
                LEMMAS.iter().find(|lemma| lemma.name == name).is_some_and(|lemma| {
                    let (smaller, larger) =
                        if derivation.upward { (before, after) } else { (after, before) };
                    follows(lemma, (smaller, larger), names, facts)
                })
            }
            Move::Arithmetic => are_equal(before, after),
            Move::More => {
                let (smaller, larger) =
                    if derivation.upward { (before, after) } else { (after, before) };
                is_at_most(smaller, larger, facts)
            }
        };
        if !follows || claimed.is_none() || shape(after, names) != claimed {
            return Err(CheckError::Step {
                step: at + 1,
                by: format!("{by:?}"),
                got: after.to_string(),
            });
        }
        before = after;
    }
    if before == to { Ok(()) } else { Err(ends(before)) }
}

/// Whether the terms differ in one part, by the lemma, and the whole grows with that part.
fn follows(
    lemma: &Lemma,
    (smaller, larger): (&Tree, &Tree),
    names: &Shapes,
    facts: &Facts,
) -> bool {
    let (mut smaller, mut larger) = (smaller, larger);
    loop {
        if is_instance(lemma, (smaller, larger), names, facts) {
            return true;
        }
        if smaller.op != larger.op || smaller.args.len() != larger.args.len() {
            return false;
        }
        let mut parts = (0..smaller.args.len()).filter(|at| smaller.args[*at] != larger.args[*at]);
        let (Some(at), None) = (parts.next(), parts.next()) else {
            return false;
        };
        let grows = match (&*smaller.op, smaller.args.as_slice()) {
            ("+", [_, _]) | ("exp", [_]) => true,
            ("mul", [_, _]) => is_non_negative(&smaller.args[1 - at], facts),
            _ => false,
        };
        if !grows {
            return false;
        }
        (smaller, larger) = (&smaller.args[at], &larger.args[at]);
    }
}

/// Whether the terms are the sides of the lemma, and what it needs is so.
fn is_instance(
    lemma: &Lemma,
    (smaller, larger): (&Tree, &Tree),
    names: &Shapes,
    facts: &Facts,
) -> bool {
    let (Some(left), Some(right)) = (Tree::parse(lemma.left), Tree::parse(lemma.right)) else {
        return false;
    };
    // The names of one side may be some of those of the other.
    [(&left, smaller, &right, larger), (&right, larger, &left, smaller)].into_iter().any(
        |(side, term, other, opposite)| {
            let mut bound = BTreeMap::new();
            if !matches(side, term, &mut bound) {
                return false;
            }
            let mut ways = vec![bound];
            for need in lemma.needs {
                ways = ways
                    .into_iter()
                    .flat_map(|bound| {
                        let value = |name: &str| bound.get(name).cloned();
                        let is = |name: &str, tree: &Tree| {
                            bound.get(name).is_none_or(|known| known == tree)
                        };
                        let more = meets(*need, facts, names, &value, &is);
                        more.into_iter()
                            .map(|more| bound.clone().into_iter().chain(more).collect())
                            .collect::<Vec<_>>()
                    })
                    .collect();
            }
            ways.iter().any(|bound| instantiated(other, bound, names).as_ref() == Some(opposite))
        },
    )
}
