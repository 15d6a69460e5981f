//! The search: equality saturation until both sides meet.

use std::collections::BTreeMap;

use egg::{
    AstSize, Extractor, FlatTerm, Id, Pattern, RecExpr, Rewrite, RewriteScheduler, Runner,
    SearchMatches, Searcher, StopReason, SymbolLang,
};

use super::check::{COLLECTED, shortened};
use super::collect::{cancels, collected, has_zeros};
use super::language::{Graph, ShapeOf, all_rewrites, expression};
use super::{Chain, Step};
use crate::tree::{Shapes, Tree};

/// Nodes at which a search gives up; several times what the largest law needs.
const MAX_NODES: usize = 30_000;
/// Rounds at which a search gives up.
const MAX_ROUNDS: usize = 30;

/// Uses of one rule in a round.
const MAX_USES: usize = 4_000;

/// Ways in which one pattern is met that are looked at: what is zero has as many forms as there are
/// terms.
const MAX_MATCHES: usize = 500;

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
    // Rules in their own direction alone, which mostly simplify, give the shorter proofs.
    let few = (MAX_NODES / 10, MAX_ROUNDS);
    let first = meet(Space::forward(&[left, right], names, few), left, right);
    if !matches!(first, Found::Saturated | Found::Limit) {
        return first;
    }
    let (from, to) = (collected(left, names), collected(right, names));
    if from == to {
        return Found::Chain(between(
            left,
            Chain { start: left.clone(), steps: Vec::new() },
            right,
        ));
    }
    // Zero has as many forms as there are terms: what it does not prove soon it does not prove.
    let all = if has_zeros(&from) || has_zeros(&to) { few } else { (MAX_NODES, MAX_ROUNDS) };
    let whole = || meet(Space::new(&[left, right], names, all), left, right);
    if from == *left && to == *right {
        return whole();
    }
    let with_sums = || {
        let spaces = [Space::forward, Space::new].into_iter().zip([few, all]);
        let mut found =
            spaces.map(|(space, limits)| meet(space(&[&from, &to], names, limits), &from, &to));
        found.find_map(|found| if let Found::Chain(chain) = found { Some(chain) } else { None })
    };
    match if cancels([left, right], [&from, &to]) { Found::Limit } else { whole() } {
        Found::Chain(chain) => Found::Chain(chain),
        otherwise => {
            with_sums().map_or(otherwise, |chain| Found::Chain(between(left, chain, right)))
        }
    }
}

fn meet(mut space: Space, left: &Tree, right: &Tree) -> Found {
    if space.runner.egraph.analysis.is_unsound {
        return Found::Unsound;
    }
    match space.chain(left, right) {
        Some(chain) => Found::Chain(chain),
        None if space.is_saturated() => Found::Saturated,
        None => Found::Limit,
    }
}

/// A chain between the collected forms of two terms, as one between the terms.
fn between(left: &Tree, Chain { start, mut steps }: Chain, right: &Tree) -> Chain {
    let collect =
        |after: &Tree| Step { rule: COLLECTED.to_owned(), forward: true, after: after.clone() };
    if start != *left {
        steps.insert(0, collect(&start));
    }
    if steps.last().map_or(left, |last| &last.after) != right {
        steps.push(collect(right));
    }
    Chain { start: left.clone(), steps }
}

/// What the rules make of some terms; of two, until they meet.
pub(crate) struct Space {
    runner: Runner<SymbolLang, ShapeOf, ()>,
    names: Shapes,
}

impl Space {
    /// By rules in both directions, where they have both.
    pub(crate) fn new(terms: &[&Tree], names: &Shapes, limits: (usize, usize)) -> Self {
        Self::of(terms, names, limits, all_rewrites(false))
    }

    /// By rules in their own direction alone.
    pub(crate) fn forward(terms: &[&Tree], names: &Shapes, limits: (usize, usize)) -> Self {
        Self::of(terms, names, limits, all_rewrites(true))
    }

    fn of(
        terms: &[&Tree],
        names: &Shapes,
        (nodes, rounds): (usize, usize),
        rules: &[Rewrite<SymbolLang, ShapeOf>],
    ) -> Self {
        let mut runner: Runner<SymbolLang, ShapeOf, ()> = Runner::new(ShapeOf::new(names.clone()))
            .with_explanations_enabled()
            .with_node_limit(nodes)
            .with_iter_limit(rounds)
            .with_time_limit(std::time::Duration::MAX)
            .with_scheduler(Bounded { was_cut: false });
        for term in terms {
            runner = runner.with_expr(&expression(term));
        }
        if let [left, right] = terms {
            let (left, right) = (expression(left), expression(right));
            runner = runner.with_hook(move |runner| {
                let graph = &runner.egraph;
                let class = |expr| graph.lookup_expr(expr).map(|id| graph.find(id));
                let (x, y) = (class(&left), class(&right));
                if x.is_some() && x == y { Err("met".to_owned()) } else { Ok(()) }
            });
        }
        Self { runner: runner.run(rules), names: names.clone() }
    }

    fn is_saturated(&self) -> bool {
        matches!(self.runner.stop_reason, Some(StopReason::Saturated))
    }

    fn class(&self, term: &Tree) -> Option<Id> {
        self.runner.egraph.lookup_expr(&expression(term)).map(|id| self.runner.egraph.find(id))
    }

    /// Whether the rules make two terms equal.
    pub(crate) fn are_equal(&self, left: &Tree, right: &Tree) -> bool {
        let (x, y) = (self.class(left), self.class(right));
        x.is_some() && x == y
    }

    /// A chain of rules from one term to another; not checked yet.
    pub(crate) fn chain(&mut self, left: &Tree, right: &Tree) -> Option<Chain> {
        if !self.are_equal(left, right) || self.runner.egraph.analysis.is_unsound {
            return None;
        }
        let mut explanation =
            self.runner.explain_equivalence(&expression(left), &expression(right));
        let terms = explanation.make_flat_explanation();
        let steps = terms.iter().skip(1).map(|term| {
            let (rule, forward) = used(term).unwrap_or_default();
            Step { rule, forward, after: tree(term) }
        });
        Some(shortened(Chain { start: left.clone(), steps: steps.collect() }, &self.names))
    }

    /// The terms of the space, each by its smallest form.
    pub(crate) fn forms(&self) -> Forms<'_> {
        Forms { space: self, smallest: Extractor::new(&self.runner.egraph, AstSize) }
    }
}

/// The smallest forms of the terms of a space.
pub(crate) struct Forms<'a> {
    space: &'a Space,
    smallest: Extractor<'a, AstSize, SymbolLang, ShapeOf>,
}

impl Forms<'_> {
    /// What the names of a pattern stand for where it is equal to a term, each by its smallest
    /// form; the first ways of many.
    pub(crate) fn matches(&self, pattern: &Tree, term: &Tree) -> Vec<BTreeMap<String, Tree>> {
        let graph = &self.space.runner.egraph;
        let (Ok(pattern), Some(class)) =
            (pattern.to_string().parse::<Pattern<SymbolLang>>(), self.space.class(term))
        else {
            return Vec::new();
        };
        let found = pattern.search_eclass_with_limit(graph, class, MAX_MATCHES);
        let vars = pattern.vars();
        let form = |id| from_egg(&self.smallest.find_best(id).1);
        let bound = |subst: &egg::Subst| {
            vars.iter().map(|var| (var.to_string(), form(subst[*var]))).collect()
        };
        found.map(|found| found.substs.iter().map(bound).collect()).unwrap_or_default()
    }
}

/// Takes a number of uses of each rule a round, so that a round ends before the limits are looked
/// at.
struct Bounded {
    was_cut: bool,
}

impl RewriteScheduler<SymbolLang, ShapeOf> for Bounded {
    fn can_stop(&mut self, _: usize) -> bool {
        !self.was_cut
    }

    fn search_rewrite<'a>(
        &mut self,
        _: usize,
        graph: &Graph,
        rewrite: &'a Rewrite<SymbolLang, ShapeOf>,
    ) -> Vec<SearchMatches<'a, SymbolLang>> {
        let found = rewrite.search_with_limit(graph, MAX_USES);
        self.was_cut |= found.iter().map(|found| found.substs.len()).sum::<usize>() >= MAX_USES;
        found
    }
}

/// A term as it was before `egg` stored it.
fn from_egg(expression: &RecExpr<SymbolLang>) -> Tree {
    fn at(expression: &RecExpr<SymbolLang>, id: Id) -> Tree {
        let node = &expression[id];
        Tree::new(node.op.as_str(), node.children.iter().map(|child| at(expression, *child)))
    }
    at(expression, expression.root())
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
