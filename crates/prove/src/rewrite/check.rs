//! The second route: walks a chain again with a matcher of its own, knowing nothing of the search.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::collect::collected;
use super::rules::{RULES, Rule, When};
use super::{Chain, Step};
use crate::number::Monomial;
use crate::tree::{Shapes, Tree, shape};

/// The name of the step that leads from a term to one with the same sums, written in another order
/// or collected.
pub const COLLECTED: &str = "sums-collected";

/// Why a chain is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CheckError {
    /// The chain ends elsewhere.
    #[error("chain: expected to end at {expected}, got {got}")]
    End {
        /// The right side of the claim.
        expected: String,
        /// The last term.
        got: String,
    },
    /// No such rule, or not in this direction.
    #[error("step {step}: expected a rule, got `{rule}`")]
    Rule {
        /// Its number, from 1.
        step: usize,
        /// What was named.
        rule: String,
    },
    /// The rule does not lead there.
    #[error("step {step}: expected what `{rule}` makes of the term before it, got {got}")]
    Step {
        /// Its number, from 1.
        step: usize,
        /// The rule.
        rule: String,
        /// The term that it does not lead to.
        got: String,
    },
    /// A term has no shape, or another one than the claim.
    #[error("step {step}: expected a term of the shape of the claim, got {got}")]
    Shape {
        /// Its number, from 0.
        step: usize,
        /// The term.
        got: String,
    },
}

/// A rule as terms.
struct Read {
    left: Tree,
    right: Tree,
    when: Option<When>,
}

impl Read {
    fn of(rule: &Rule) -> Option<Self> {
        Some(Self {
            left: Tree::parse(rule.left)?,
            right: Tree::parse(rule.right)?,
            when: rule.when,
        })
    }
}

thread_local! {
    /// The rules by name, read once by this side alone.
    static READ: BTreeMap<&'static str, Rc<Read>> =
        RULES.iter().filter_map(|rule| Some((rule.name, Rc::new(Read::of(rule)?)))).collect();
}

/// Checks that every step follows from its rule, that all terms have one shape, and that the chain
/// ends at `end`.
///
/// # Errors
/// The first step that does not follow.
pub fn check(chain: &Chain, end: &Tree, names: &Shapes) -> Result<(), CheckError> {
    let claimed = shape(&chain.start, names);
    let has_shape = |step: usize, tree: &Tree| {
        let fits = claimed.is_some() && shape(tree, names) == claimed;
        if fits { Ok(()) } else { Err(CheckError::Shape { step, got: tree.to_string() }) }
    };
    has_shape(0, &chain.start)?;
    let mut before = &chain.start;
    for (at, one @ Step { rule, after, .. }) in chain.steps.iter().enumerate() {
        let step = at + 1;
        if known(rule).is_none() && rule != COLLECTED {
            return Err(CheckError::Rule { step, rule: rule.clone() });
        }
        if !is_step(one, before, names) {
            return Err(CheckError::Step { step, rule: rule.clone(), got: after.to_string() });
        }
        has_shape(step, after)?;
        before = after;
    }
    if before == end {
        Ok(())
    } else {
        Err(CheckError::End { expected: end.to_string(), got: before.to_string() })
    }
}

/// Leaves out detours: steps that the next one does without, and ways back to a term that was
/// there.
pub(super) fn shortened(chain: Chain, names: &Shapes) -> Chain {
    let Chain { start, steps } = chain;
    let mut kept: Vec<Step> = Vec::new();
    for step in steps {
        if step.after == start {
            kept.clear();
            continue;
        }
        if let Some(at) = kept.iter().position(|known| known.after == step.after) {
            kept.truncate(at + 1);
            continue;
        }
        while kept.last().is_some() {
            let before = kept.iter().rev().nth(1).map_or(&start, |step| &step.after);
            if !is_step(&step, before, names) {
                break;
            }
            kept.pop();
        }
        kept.push(step);
    }
    Chain { start, steps: kept }
}

/// Whether a step follows from the term before it.
pub(crate) fn is_step(step: &Step, before: &Tree, names: &Shapes) -> bool {
    if step.rule == COLLECTED {
        return collected(before, names) == collected(&step.after, names);
    }
    // Used backwards, a rule leads from the term after it to the term before it.
    let (from, to) = if step.forward { (before, &step.after) } else { (&step.after, before) };
    known(&step.rule).is_some_and(|rule| follows(&rule, from, to, names))
}

fn known(name: &str) -> Option<Rc<Read>> {
    READ.with(|read| read.get(name).cloned())
}

/// Whether `rule`, used at one place of `from` or of the only part that differs, gives `to`.
fn follows(rule: &Read, from: &Tree, to: &Tree, names: &Shapes) -> bool {
    let (mut from, mut to) = (from, to);
    loop {
        if applied(rule, from, names).as_ref() == Some(to) {
            return true;
        }
        if from.op != to.op || from.args.len() != to.args.len() {
            return false;
        }
        let mut parts = from.args.iter().zip(&to.args).filter(|(x, y)| x != y);
        match (parts.next(), parts.next()) {
            (Some(part), None) => (from, to) = part,
            _ => return false,
        }
    }
}

/// What the rule makes of a term at its root.
fn applied(rule: &Read, term: &Tree, names: &Shapes) -> Option<Tree> {
    let mut bound = BTreeMap::new();
    if !matches(&rule.left, term, &mut bound) {
        return None;
    }
    let holds = match rule.when {
        None => true,
        Some(When::Cols(of, cols)) => {
            shape(&instantiated(&Tree::parse(of)?, &bound, names)?, names)?.1 == cols
        }
        Some(when @ (When::Complements(x, y) | When::Apart(x, y))) => {
            when.holds(&bound.get(x)?.op, &bound.get(y)?.op)
        }
    };
    if !holds {
        return None;
    }
    instantiated(&rule.right, &bound, names)
}

/// Whether a term is an instance of a pattern; binds the names of the pattern.
pub(crate) fn matches<'a>(
    pattern: &'a Tree,
    term: &Tree,
    bound: &mut BTreeMap<&'a str, Tree>,
) -> bool {
    if pattern.op.starts_with('?') {
        return bound.entry(&pattern.op).or_insert_with(|| term.clone()) == term;
    }
    pattern.op == term.op
        && pattern.args.len() == term.args.len()
        && pattern.args.iter().zip(&term.args).all(|(pattern, term)| matches(pattern, term, bound))
}

/// The pattern with what its names stand for.
pub(crate) fn instantiated(
    pattern: &Tree,
    bound: &BTreeMap<&str, Tree>,
    names: &Shapes,
) -> Option<Tree> {
    if pattern.op.starts_with('?') {
        return bound.get(&*pattern.op).cloned();
    }
    let args = pattern
        .args
        .iter()
        .map(|arg| instantiated(arg, bound, names))
        .collect::<Option<Vec<_>>>()?;
    match (&*pattern.op, args.as_slice()) {
        ("rows", [of]) => Some(Tree::leaf(&shape(of, names)?.0)),
        ("cols", [of]) => Some(Tree::leaf(&shape(of, names)?.1)),
        ("inverse", [extent]) => Some(Tree::leaf(&Monomial::inverse(&extent.op).to_string())),
        ("times", [x, y]) => {
            let product = Monomial::parse(&x.op)?.times(&Monomial::parse(&y.op)?)?;
            Some(Tree::leaf(&product.to_string()))
        }
        _ => Some(Tree::new(&pattern.op, args)),
    }
}
