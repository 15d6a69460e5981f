//! Terms and rules in the words of `egg`, with the shape of every class as its analysis.

use std::sync::LazyLock;

use egg::{
    Analysis, Applier, DidMerge, EGraph, ENodeOrVar, Id, Language, Pattern, PatternAst, RecExpr,
    Rewrite, Subst, Symbol, SymbolLang, Var,
};

use super::rules::{RULES, Rule, When};
use crate::number::Monomial;
use crate::tree::{Shapes, Tree, shape_of};

pub(super) type Graph = EGraph<SymbolLang, ShapeOf>;

/// The shape of every class. Two terms of different shapes are never equal: a rule that says so is
/// unsound.
#[derive(Clone, Debug)]
pub(super) struct ShapeOf {
    names: Shapes,
    /// Whether a rule made terms of different shapes equal.
    pub(super) is_unsound: bool,
}

impl ShapeOf {
    pub(super) fn new(names: Shapes) -> Self {
        Self { names, is_unsound: false }
    }
}

impl Analysis<SymbolLang> for ShapeOf {
    type Data = Option<(String, String)>;

    fn make(graph: &mut EGraph<SymbolLang, Self>, node: &SymbolLang, _: Id) -> Self::Data {
        let args: Vec<_> = node.children.iter().map(|child| graph[*child].data.clone()).collect();
        let op = node.op.as_str();
        // Asked of few: looking through the nodes of a class takes time.
        let has_name = matches!(op, "perm" | "orth" | "sel" | "one" | "eye");
        let name = node.children.first().filter(|_| has_name).and_then(|child| leaf(graph, *child));
        let mask =
            node.children.get(1).filter(|_| op == "soft").and_then(|child| leaf(graph, *child));
        shape_of(
            op,
            (name.as_deref(), mask.as_deref() == Some("all")),
            &args,
            &graph.analysis.names,
        )
    }

    fn merge(&mut self, into: &mut Self::Data, from: Self::Data) -> DidMerge {
        self.is_unsound |= into.is_some() && from.is_some() && *into != from;
        let is_new = into.is_none() && from.is_some();
        let was_more = into.is_some() && from.is_none();
        if is_new {
            *into = from;
        }
        DidMerge(is_new, was_more)
    }
}

/// The name of a leaf of the class.
fn leaf(graph: &EGraph<SymbolLang, ShapeOf>, id: Id) -> Option<String> {
    graph[id].nodes.iter().find(|node| node.is_leaf()).map(|node| node.op.to_string())
}

/// A term as `egg` stores it.
pub(super) fn expression(tree: &Tree) -> RecExpr<SymbolLang> {
    fn add(tree: &Tree, into: &mut RecExpr<SymbolLang>) -> Id {
        let children = tree.args.iter().map(|arg| add(arg, into)).collect();
        into.add(SymbolLang::new(&*tree.op, children))
    }
    let mut expression = RecExpr::default();
    add(tree, &mut expression);
    expression
}

/// What a rule computes on its right side.
#[derive(Clone)]
enum Computed {
    Extent { of: Pattern<SymbolLang>, is_rows: bool },
    Times(Var, Var),
    Inverse(Var),
}

/// A right side in which some names are computed from what the left side met.
struct Computing {
    pattern: Pattern<SymbolLang>,
    computed: Vec<(Var, Computed)>,
    when: Option<Guard>,
}

/// A condition read.
enum Guard {
    Cols(Pattern<SymbolLang>, &'static str),
    Names(When, Var, Var),
}

impl Guard {
    fn read(when: When) -> Option<Self> {
        Some(match when {
            When::Cols(of, cols) => Self::Cols(pattern(&Tree::parse(of)?)?, cols),
            When::Complements(x, y) | When::Apart(x, y) => {
                Self::Names(when, x.parse().ok()?, y.parse().ok()?)
            }
        })
    }

    fn holds(&self, graph: &Graph, subst: &Subst) -> Option<bool> {
        Some(match self {
            Self::Cols(of, cols) => pattern_shape(graph, &of.ast, subst)?.1 == *cols,
            Self::Names(when, x, y) => {
                when.holds(&leaf(graph, subst[*x])?, &leaf(graph, subst[*y])?)
            }
        })
    }
}

impl Computing {
    fn compute(&self, graph: &mut Graph, subst: &Subst) -> Option<Subst> {
        if let Some(guard) = &self.when
            && !guard.holds(graph, subst)?
        {
            return None;
        }
        let mut subst = subst.clone();
        for (name, computed) in &self.computed {
            let text = match computed {
                Computed::Extent { of, is_rows } => {
                    let (rows, cols) = pattern_shape(graph, &of.ast, &subst)?;
                    if *is_rows { rows } else { cols }
                }
                Computed::Inverse(extent) => {
                    Monomial::inverse(&leaf(graph, subst[*extent])?).to_string()
                }
                Computed::Times(x, y) => {
                    let factor = |var: &Var| {
                        leaf(graph, subst[*var]).and_then(|text| Monomial::parse(&text))
                    };
                    factor(x)?.times(&factor(y)?)?.to_string()
                }
            };
            let id = graph.add(SymbolLang::leaf(text));
            subst.insert(*name, id);
        }
        Some(subst)
    }
}

/// The shape of a pattern whose names are bound.
fn pattern_shape(
    graph: &Graph,
    ast: &PatternAst<SymbolLang>,
    subst: &Subst,
) -> Option<(String, String)> {
    let mut shapes: Vec<Option<(String, String)>> = Vec::new();
    let nodes: Vec<&ENodeOrVar<SymbolLang>> = ast.as_ref().iter().collect();
    for node in &nodes {
        shapes.push(match node {
            ENodeOrVar::Var(var) => graph[subst[*var]].data.clone(),
            ENodeOrVar::ENode(node) => {
                let args: Vec<_> =
                    node.children.iter().map(|child| shapes[usize::from(*child)].clone()).collect();
                let name =
                    node.children.first().and_then(|child| match nodes[usize::from(*child)] {
                        ENodeOrVar::Var(var) => leaf(graph, subst[*var]),
                        ENodeOrVar::ENode(leaf) => leaf.is_leaf().then(|| leaf.op.to_string()),
                    });
                // Extents are asked of names, permutations and selections alone.
                shape_of(node.op.as_str(), (name.as_deref(), false), &args, &graph.analysis.names)
            }
        });
    }
    shapes.pop().flatten()
}

impl Applier<SymbolLang, ShapeOf> for Computing {
    fn apply_one(
        &self,
        graph: &mut Graph,
        id: Id,
        subst: &Subst,
        searched: Option<&PatternAst<SymbolLang>>,
        name: Symbol,
    ) -> Vec<Id> {
        let Some(subst) = self.compute(graph, subst) else {
            return Vec::new();
        };
        let Some(searched) = searched else {
            return self.pattern.apply_one(graph, id, &subst, None, name);
        };
        let (into, is_new) = graph.union_instantiations(searched, &self.pattern.ast, &subst, name);
        if is_new { vec![into] } else { Vec::new() }
    }
}

/// A rule read, in one or both directions; `None` for one that cannot be read, which a test rules
/// out.
pub(super) fn rewrites(rule: &Rule) -> Option<Vec<Rewrite<SymbolLang, ShapeOf>>> {
    let left = Tree::parse(rule.left)?;
    let mut computed = Vec::new();
    let right = without_computed(&Tree::parse(rule.right)?, &mut computed)?;
    let when = match rule.when {
        Some(when) => Some(Guard::read(when)?),
        None => None,
    };
    let applier = Computing { pattern: pattern(&right)?, computed, when };
    let mut all = vec![Rewrite::new(rule.name, pattern(&left)?, applier).ok()?];
    if rule.both_ways {
        all.push(
            Rewrite::new(format!("{}-rev", rule.name), pattern(&right)?, pattern(&left)?).ok()?,
        );
    }
    Some(all)
}

/// Every rule, in its own direction alone or in both where it has both; read once.
pub(super) fn all_rewrites(forward_only: bool) -> &'static [Rewrite<SymbolLang, ShapeOf>] {
    static FORWARD: LazyLock<Vec<Rewrite<SymbolLang, ShapeOf>>> = LazyLock::new(|| {
        RULES.iter().filter_map(rewrites).flat_map(|rule| rule.into_iter().take(1)).collect()
    });
    static ALL: LazyLock<Vec<Rewrite<SymbolLang, ShapeOf>>> =
        LazyLock::new(|| RULES.iter().filter_map(rewrites).flatten().collect());
    if forward_only { &FORWARD } else { &ALL }
}

fn pattern(tree: &Tree) -> Option<Pattern<SymbolLang>> {
    tree.to_string().parse().ok()
}

/// The term with a new name in place of everything computed.
fn without_computed(tree: &Tree, computed: &mut Vec<(Var, Computed)>) -> Option<Tree> {
    let var = |tree: &Tree| tree.op.parse::<Var>().ok();
    let what = match (&*tree.op, tree.args.as_slice()) {
        ("rows" | "cols", [of]) => {
            Computed::Extent { of: pattern(of)?, is_rows: &*tree.op == "rows" }
        }
        ("times", [x, y]) => Computed::Times(var(x)?, var(y)?),
        ("inverse", [extent]) => {
            let extent = without_computed(extent, computed)?;
            Computed::Inverse(var(&extent)?)
        }
        _ => {
            let args = tree
                .args
                .iter()
                .map(|arg| without_computed(arg, computed))
                .collect::<Option<Vec<_>>>()?;
            return Some(Tree::new(&tree.op, args));
        }
    };
    let name = format!("?computed{}", computed.len());
    computed.push((name.parse().ok()?, what));
    Some(Tree::leaf(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_can_be_read() {
        for rule in RULES.iter() {
            // A condition is one on the left side's names.
            assert!(rule.when.is_none() || !rule.both_ways, "{}", rule.name);
            let n = rewrites(rule).map(|all| all.len());
            assert_eq!(n, Some(1 + usize::from(rule.both_ways)), "{}", rule.name);
        }
    }
}
