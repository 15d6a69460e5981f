//! What a law declares of its variables, and what follows from how a term is built.

use std::collections::{BTreeMap, BTreeSet};

use qkvet_spec::shape::DIMENSIONS;
use qkvet_spec::{CheckedLaw, Domain, IndexName};

use super::lemmas::Need;
use crate::number::Monomial;
use crate::rewrite::When;
use crate::tree::{Shapes, Tree, is_non_negative, shape};
use crate::unfold::selection_name;

/// What a law declares of its variables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Scores, a row of the identity and a margin.
    pub separated: Vec<[Tree; 3]>,
    /// Scores, the other rows of the identity and a margin.
    pub opposed: Vec<[Tree; 3]>,
    /// Numbers that are not negative.
    pub non_negative: BTreeSet<String>,
    /// Extents: whole numbers, and what each is at least.
    pub extents: BTreeMap<String, i64>,
}

impl Facts {
    /// What the law declares; `scores` are those of its queries and keys.
    pub(crate) fn of(law: &CheckedLaw, scores: &Tree) -> Self {
        let least = |name: &str| Some(law.law.condition.as_ref()?.least(IndexName::named(name)?));
        let extents =
            DIMENSIONS.map(|name| (name.to_owned(), least(name).unwrap_or(1).max(1))).into();
        let mut facts = Self { extents, ..Self::default() };
        for given in &law.given {
            let row = |name: &str| Tree::leaf(&selection_name(law, name, "n_k"));
            match &given.domain {
                Domain::Separated { j, margin } => {
                    facts.separated.push([scores.clone(), row(j), Tree::leaf(margin)]);
                }
                Domain::Opposed { j, margin } => {
                    facts.opposed.push([
                        scores.clone(),
                        row(&format!("not-{j}")),
                        Tree::leaf(margin),
                    ]);
                }
                Domain::Real { low, .. } if *low == 0.0 => {
                    facts.non_negative.extend(given.names.iter().cloned());
                }
                Domain::Real { low, .. } if *low < 0.0 => {}
                // So is what is divided by them.
                Domain::Real { .. } | Domain::Positive => {
                    let inverses = given.names.iter().map(|name| format!("inv({name})"));
                    facts.non_negative.extend(given.names.iter().cloned().chain(inverses));
                }
                Domain::Dim { low, .. } => {
                    let low = i64::try_from(*low).unwrap_or(1);
                    facts.extents.extend(given.names.iter().map(|name| (name.clone(), low)));
                }
                _ => {}
            }
        }
        facts
    }

    /// Whether a number is not negative, by its factors.
    pub(crate) fn is_non_negative_number(&self, text: &str) -> bool {
        Monomial::parse(text).is_some_and(|number| {
            number.ratio().0 >= 0
                && number.symbols().iter().all(|symbol| self.is_non_negative_symbol(symbol))
        })
    }

    fn is_non_negative_symbol(&self, symbol: &str) -> bool {
        let divisor = symbol.strip_prefix("inv(").and_then(|rest| rest.strip_suffix(')'));
        self.non_negative.contains(symbol) || self.extents.contains_key(divisor.unwrap_or(symbol))
    }
}

/// The names that the law's declarations give in every way that meets a need, beside those that are
/// bound; empty if it is not met.
///
/// `bound` gives what a name of the lemma stands for, and whether a term of the declaration is
/// that.
pub(crate) fn meets(
    need: Need,
    facts: &Facts,
    names: &Shapes,
    bound: &dyn Fn(&str) -> Option<Tree>,
    is: &dyn Fn(&str, &Tree) -> bool,
) -> Vec<Vec<(&'static str, Tree)>> {
    let yes = |holds: bool| if holds { vec![Vec::new()] } else { Vec::new() };
    let term = |name: &str, holds: &dyn Fn(&Tree) -> bool| {
        yes(bound(name).is_some_and(|tree| holds(&tree)))
    };
    match need {
        Need::Averages(a) => term(a, &is_average),
        Need::PartialAverages(a) => term(a, &is_partial_average),
        Need::NonNegative(a) => term(a, &is_non_negative),
        Need::NonNegativeNumber(k) => term(k, &|tree| facts.is_non_negative_number(&tree.op)),
        Need::Column(a) => term(a, &|tree| shape(tree, names).is_some_and(|(_, cols)| cols == "1")),
        Need::Row(a) => term(a, &|tree| shape(tree, names).is_some_and(|(rows, _)| rows == "1")),
        Need::Apart(i, j) => match (bound(i), bound(j)) {
            (Some(x), Some(y)) => yes(When::Apart(i, j).holds(&x.op, &y.op)),
            _ => Vec::new(),
        },
        Need::Separated(z, j, t) => declared(&facts.separated, [z, j, t], is),
        Need::Opposed(z, r, t) => declared(&facts.opposed, [z, r, t], is),
    }
}

fn declared(
    facts: &[[Tree; 3]],
    [scores, row, margin]: [&'static str; 3],
    is: &dyn Fn(&str, &Tree) -> bool,
) -> Vec<Vec<(&'static str, Tree)>> {
    let fits = facts.iter().filter(|fact| is(scores, &fact[0]) && is(row, &fact[1]));
    fits.map(|[z, j, t]| vec![(scores, z.clone()), (row, j.clone()), (margin, t.clone())]).collect()
}

/// Whether every row is of weights that add up to 1, by how the term is built.
fn is_average(tree: &Tree) -> bool {
    match (&*tree.op, tree.args.as_slice()) {
        ("soft", [_, mask, sink]) => *mask == Tree::leaf("all") && *sink == Tree::leaf("none"),
        // A column of ones has rows of one weight.
        ("perm" | "sel" | "eye" | "one", [_]) => true,
        ("*", factors) => factors.iter().all(is_average),
        ("sc", [half, sum]) if *half == Tree::leaf("1/2") && sum.is("+", 2) => {
            sum.args.iter().all(is_average)
        }
        _ => false,
    }
}

/// Whether every row is of weights whose sum is at most 1, by how the term is built.
fn is_partial_average(tree: &Tree) -> bool {
    match (&*tree.op, tree.args.as_slice()) {
        ("soft", [..]) => true,
        ("*", factors) => factors.iter().all(is_partial_average),
        _ => is_average(tree),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meets_with(need: Need, facts: &Facts, names: &[(&str, &str)]) -> bool {
        let bound = |name: &str| {
            names
                .iter()
                .find(|(known, _)| *known == name)
                .map(|(_, text)| Tree::parse(text).unwrap_or_else(|| Tree::leaf(text)))
        };
        let is = |name: &str, tree: &Tree| bound(name).is_none_or(|known| known == *tree);
        let shapes: Shapes = [("x", ("1", "n")), ("X", ("n", "1")), ("A", ("n", "n"))]
            .map(|(name, (rows, cols))| (name.to_owned(), (rows.to_owned(), cols.to_owned())))
            .into();
        !meets(need, facts, &shapes, &bound, &is).is_empty()
    }

    /// Every need is met by something and not by something else.
    #[test]
    fn needs_are_met_or_not() {
        let facts = Facts {
            separated: vec![[Tree::leaf("z"), Tree::leaf("j:n_k"), Tree::leaf("t")]],
            opposed: vec![[Tree::leaf("z"), Tree::leaf("not-j:n_k"), Tree::leaf("t")]],
            non_negative: BTreeSet::from(["t".to_owned()]),
            extents: BTreeMap::from([("n".to_owned(), 1)]),
        };
        let met = |need: Need, text: &str| meets_with(need, &facts, &[("?a", text)]);
        let averages =
            ["(soft z all none)", "(sel j)", "(* (one n) (sel j))", "(sc 1/2 (+ (sel i) (sel j)))"];
        let others = [
            "(soft z m none)",
            "(soft z all s)",
            "(sc 2 (sel j))",
            "(sc 1/2 (+ (sel i) z))",
            "z",
            "(+ (sel i) (sel j))",
        ];
        assert!(averages.iter().all(|text| met(Need::Averages("?a"), text)));
        assert!(others.iter().all(|text| !met(Need::Averages("?a"), text)));
        assert!(
            met(Need::PartialAverages("?a"), "(soft z m s)")
                && !met(Need::PartialAverages("?a"), "(sc 2 (soft z m s))")
        );
        assert!(met(Need::NonNegative("?a"), "(soft z m s)") && !met(Need::NonNegative("?a"), "z"));
        for (number, is_met) in [
            ("2", true),
            ("t", true),
            ("2*t", true),
            ("inv(n)", true),
            ("-1", false),
            ("-1*t", false),
            ("u", false),
        ] {
            assert_eq!(met(Need::NonNegativeNumber("?a"), number), is_met, "{number}");
        }
        assert!(
            met(Need::Column("?a"), "X")
                && !met(Need::Column("?a"), "x")
                && !met(Need::Column("?a"), "A")
        );
        assert!(
            met(Need::Row("?a"), "x") && !met(Need::Row("?a"), "X") && !met(Need::Row("?a"), "A")
        );
        let apart =
            |i: &str, j: &str| meets_with(Need::Apart("?i", "?j"), &facts, &[("?i", i), ("?j", j)]);
        assert!(apart("c!=a:n", "a:n") && apart("a:n", "c!=a:n"));
        assert!(
            !apart("c:n", "a:n")
                && !apart("a:n", "a:n")
                && !apart("c!=a:n", "b:n")
                && !apart("c!=a:n", "a:m")
        );
        let separated = Need::Separated("?z", "?j", "?t");
        assert!(meets_with(separated, &facts, &[("?z", "z"), ("?j", "j:n_k")]));
        assert!(!meets_with(separated, &facts, &[("?z", "y"), ("?j", "j:n_k")]));
        assert!(!meets_with(separated, &facts, &[("?z", "z"), ("?j", "i:n_k")]));
        let opposed = Need::Opposed("?z", "?r", "?t");
        assert!(meets_with(opposed, &facts, &[("?z", "z"), ("?r", "not-j:n_k")]));
        assert!(!meets_with(opposed, &facts, &[("?z", "z"), ("?r", "j:n_k")]));
    }
}
