//! The search: equality saturation until both sides meet.

use egg::{FlatTerm, Runner, SimpleScheduler, StopReason, SymbolLang};

use super::language::{ShapeOf, all_rewrites, expression};
use super::check::shortened;
use super::{Chain, Step};
use crate::tree::{Shapes, Tree};

/// Nodes at which a search gives up; more than ten times what the largest law needs.
const MAX_NODES: usize = 60_000;
/// Rounds at which a search gives up.
const MAX_ROUNDS: usize = 30;

/// What a search found.
#[derive(Clone, Debug)]
pub enum Found {
    /// A chain from one side to the other; not checked yet.
    Chain(Chain),
    /// Nothing, and no rule says anything new: no disproof.
    Saturated,
    /// Nothing within the limits.
    Limit,
    /// A rule made terms of different shapes equal: an error in the rule base.
    Unsound,
}

/// Looks for a chain of rules from `left` to `right`.
///
/// No clock is read: the limits count nodes and rounds, so that the result is the same everywhere.
pub fn prove(left: &Tree, right: &Tree, names: &Shapes) -> Found {
    let (from, to) = (expression(left), expression(right));
    let (sought_from, sought_to) = (from.clone(), to.clone());
    let mut runner: Runner<SymbolLang, ShapeOf, ()> = Runner::new(ShapeOf::new(names.clone()))
        .with_explanations_enabled()
        .with_expr(&from)
        .with_expr(&to)
        .with_node_limit(MAX_NODES)
        .with_iter_limit(MAX_ROUNDS)
        .with_time_limit(std::time::Duration::MAX)
        .with_scheduler(SimpleScheduler)
        .with_hook(move |runner| {
            let graph = &runner.egraph;
            let class = |expr| graph.lookup_expr(expr).map(|id| graph.find(id));
            let (x, y) = (class(&sought_from), class(&sought_to));
            if x.is_some() && x == y { Err("met".to_owned()) } else { Ok(()) }
        })
        .run(&all_rewrites());
    if runner.egraph.analysis.is_unsound {
        return Found::Unsound;
    }
    if runner.egraph.find(runner.roots[0]) != runner.egraph.find(runner.roots[1]) {
        return match runner.stop_reason {
            Some(StopReason::Saturated) => Found::Saturated,
            _ => Found::Limit,
        };
    }
    let mut explanation = runner.explain_equivalence(&from, &to);
    let terms = explanation.make_flat_explanation();
    let steps = terms.iter().skip(1).map(|term| {
        let (rule, forward) = used(term).unwrap_or_default();
        Step { rule, forward, after: tree(term) }
    });
    Found::Chain(shortened(Chain { start: left.clone(), steps: steps.collect() }, names))
}

fn tree(term: &FlatTerm<SymbolLang>) -> Tree {
    Tree::new(term.node.op.as_str(), term.children.iter().map(tree))
}

/// The rule that led to this term. A reversed rule is the rule the other way.
fn used(term: &FlatTerm<SymbolLang>) -> Option<(String, bool)> {
    let here = match (term.forward_rule, term.backward_rule) {
        (Some(rule), _) => Some((rule, true)),
        (None, Some(rule)) => Some((rule, false)),
        (None, None) => None,
    };
    match here {
        Some((rule, forward)) => match rule.as_str().strip_suffix("-rev") {
            Some(name) => Some((name.to_owned(), !forward)),
            None => Some((rule.to_string(), forward)),
        },
        None => term.children.iter().find_map(used),
    }
}
