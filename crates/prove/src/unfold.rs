//! From a law to claims about terms: `attention` is written out for one batch item and one query
//! head.
//!
//! Which item and head it is does not matter, so an equation that holds for all matrices holds for
//! all of them. A key/value matrix stands for that of the query head's group.

mod call;
mod extents;
mod function;
mod heads;
mod scalar;
mod statement;

pub(crate) use function::selection_name;

use std::cell::RefCell;
use std::collections::BTreeMap;

use qkvet_spec::shape::Dim;
use qkvet_spec::syntax::{BinaryOp, Expr, ExprKind, UnaryOp};
use qkvet_spec::{CheckedLaw, Domain};

use self::extents::{is_positive, leaves};
use crate::derive::Facts;
use crate::number::Monomial;
use crate::tree::{Shapes, Tree, shape};

/// What a claim says of its sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// They are equal.
    Equal,
    /// No element of the left side is negative; the right side is 0.
    NonNegative,
    /// No element of the left side is larger than that of the right side.
    AtMost,
}

/// A relation and the shapes of its names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// What it says.
    pub relation: Relation,
    /// Left side.
    pub left: Tree,
    /// Right side.
    pub right: Tree,
    /// Rows and columns of every name.
    pub names: Shapes,
    /// What the law declares of its variables.
    pub facts: Facts,
}

/// Why a law cannot be written as claims about terms.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}: expected something that has a term, got {got}")]
pub struct NotUnfolded {
    /// Where.
    pub what: String,
    /// What stands there.
    pub got: String,
}

/// The claims that a law makes.
///
/// # Errors
/// Statements other than equations, signs and inequalities, and functions that terms do not have.
pub fn unfold(law: &CheckedLaw) -> Result<Vec<Claim>, NotUnfolded> {
    let Some(expect) = &law.expect else {
        return Err(unknown("statement", "an observation"));
    };
    let mut unfolder = Unfolder::new(law)?;
    unfolder.statement(expect)?;
    let condition = unfolder.law.law.condition.as_ref();
    let Unfolder { names, claims, facts, .. } = unfolder;
    let mut extents =
        names.values().flat_map(|(rows, cols)| [rows.clone(), cols.clone()]).collect::<Vec<_>>();
    claims.iter().for_each(|(_, left, right)| {
        [left, right].into_iter().for_each(|side| leaves(side, &mut extents))
    });
    if let Some(extent) = extents.iter().find(|extent| !is_positive(extent, condition)) {
        return Err(unknown("extent", format!("`{extent}`, which may be below 1 or too large")));
    }
    let claim = |(relation, left, right)| Claim {
        relation,
        left,
        right,
        names: names.clone(),
        facts: facts.clone(),
    };
    Ok(claims.into_iter().map(claim).collect())
}

fn unknown(what: &str, got: impl Into<String>) -> NotUnfolded {
    NotUnfolded { what: what.to_owned(), got: got.into() }
}

/// At which item and head an expression is looked at.
#[derive(Clone, Default)]
struct Place {
    /// The index of the batch item, where it is a certain one.
    item: Option<String>,
    /// The index of the head, where it is a certain one.
    one_head: Option<OneHead>,
    /// The number of the head, among heads that the law lists.
    head: Option<usize>,
    /// How many abbreviations are in scope: an abbreviation sees those above it, and what it hides
    /// itself.
    lets: usize,
}

/// A certain head.
#[derive(Clone)]
struct OneHead {
    index: String,
    /// Whether the index counts the heads of the matrix that is looked at; else it counts query
    /// heads, and a key/value matrix is that of their group.
    is_own: bool,
}

impl Place {
    /// What tells the matrices of a certain item and head from those of others.
    fn suffix(&self, of_queries: bool) -> String {
        let head = self.one_head.as_ref().map(|head| {
            let what = if of_queries || head.is_own { "head" } else { "group" };
            format!("{what} {}", head.index)
        });
        let tags: Vec<String> = self.item.clone().into_iter().chain(head).collect();
        if tags.is_empty() { String::new() } else { format!("[{}]", tags.join(",")) }
    }
}

/// Larger terms are not looked at.
const MAX_NODES: usize = 5_000;

struct Unfolder<'a> {
    law: &'a CheckedLaw,
    names: Shapes,
    claims: Vec<(Relation, Tree, Tree)>,
    nodes: usize,
    /// What the law declares of its variables.
    facts: Facts,
    /// Which abbreviations, by their number, are numbers, and the sums that they are: found once,
    /// however often they are named.
    scalars: RefCell<BTreeMap<usize, bool>>,
    sums: RefCell<BTreeMap<usize, Option<Vec<Monomial>>>>,
}

/// Words of the rules, which a matrix of this name would be taken for. What else stands for
/// something of the case ends in `#`, which no name of a law does.
const RESERVED: [&str; 2] = ["all", "none"];

impl<'a> Unfolder<'a> {
    fn new(law: &'a CheckedLaw) -> Result<Self, NotUnfolded> {
        let variables = law
            .given
            .iter()
            .flat_map(|given| &given.names)
            .chain(law.lets.iter().map(|(name, _)| name));
        if let Some(name) = variables.into_iter().find(|name| RESERVED.contains(&name.as_str())) {
            return Err(unknown("name", format!("`{name}`, which is a word of the rules")));
        }
        let mut names = BTreeMap::new();
        let mut declare = |name: &str, rows: &Expr, cols: &Expr| {
            names.insert(name.to_owned(), (text(&extent(name, rows)?), text(&extent(name, cols)?)));
            Ok(())
        };
        let symbol = |name: &str| Expr { kind: ExprKind::Name(name.to_owned()), span: 0..0 };
        for (name, rows, cols) in [("Q", "n_q", "d_k"), ("K", "n_k", "d_k"), ("V", "n_k", "d_v")] {
            declare(name, &symbol(rows), &symbol(cols))?;
        }
        for given in &law.given {
            match &given.domain {
                Domain::Permutation(n) => declare(&given.names[0], n, n)?,
                Domain::Matrix(rows, cols)
                | Domain::Tensor(rows, cols)
                | Domain::Grid(rows, cols) => declare(&given.names[0], rows, cols)?,
                _ => {}
            }
        }
        let facts = Facts::of(law, &scores(Tree::leaf("Q"), Tree::leaf("K"), "scale#"));
        let (scalars, sums) = (RefCell::default(), RefCell::default());
        Ok(Self { law, names, claims: Vec::new(), nodes: 0, facts, scalars, sums })
    }

    /// Counts a term, so that abbreviations of abbreviations end.
    fn count(&mut self) -> Result<(), NotUnfolded> {
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            return Err(unknown("statement", format!("more than {MAX_NODES} terms")));
        }
        Ok(())
    }

    /// 1 over an extent or a whole number.
    fn inverse(&self, divisor: &Expr) -> Result<Monomial, NotUnfolded> {
        let inverse = match &divisor.kind {
            #[expect(
                clippy::cast_possible_truncation,
                reason = "checked to be a small whole number"
            )]
            ExprKind::Number(n) if n.fract() == 0.0 && n.abs() < 1e9 => {
                Monomial::fraction(1, *n as i64)
            }
            _ => Dim::from_expr(divisor, &|_| true)
                .ok()
                .map(|extent| Monomial::inverse(&text(&extent))),
        };
        inverse.ok_or_else(|| unknown("quotient", "a divisor that is no extent"))
    }

    /// Rows and columns of a term of this law.
    fn shape(&self, tree: &Tree) -> Result<(String, String), NotUnfolded> {
        shape(tree, &self.names).ok_or_else(|| unknown("shape", tree.to_string()))
    }

    /// An abbreviation in scope, and how many are in its own.
    fn abbreviation(&self, name: &str, place: &Place) -> Option<(&'a Expr, usize)> {
        let at = self.law.lets[..place.lets].iter().rposition(|(known, _)| known == name)?;
        Some((&self.law.lets[at].1, at))
    }

    fn term(&mut self, expr: &Expr, place: &Place) -> Result<Tree, NotUnfolded> {
        self.count()?;
        match &expr.kind {
            ExprKind::Name(name) => self.name(name, place),
            ExprKind::Unary(UnaryOp::Neg, x) => {
                Ok(Tree::new("sc", [Tree::leaf("-1"), self.term(x, place)?]))
            }
            ExprKind::Transpose(x) => Ok(Tree::new("T", [self.term(x, place)?])),
            ExprKind::Binary(BinaryOp::Add, x, y) => {
                Ok(Tree::new("+", [self.term(x, place)?, self.term(y, place)?]))
            }
            ExprKind::Binary(BinaryOp::Sub, x, y) => {
                let minus = Tree::new("sc", [Tree::leaf("-1"), self.term(y, place)?]);
                Ok(Tree::new("+", [self.term(x, place)?, minus]))
            }
            ExprKind::Binary(BinaryOp::MatMul, x, y) => {
                let factors = [self.term(x, place)?, self.term(y, place)?];
                Ok(Tree::new("*", factors))
            }
            ExprKind::Binary(BinaryOp::Mul, x, y) => {
                let (numbers, of) = match (self.numbers(x, place), self.numbers(y, place)) {
                    (Some(numbers), _) => (numbers, y),
                    (None, Some(numbers)) => (numbers, x),
                    (None, None) => {
                        return Err(unknown(
                            "product",
                            "a factor that is no sum of products of numbers",
                        ));
                    }
                };
                let of = self.term(of, place)?;
                // Sums are multiplied out.
                self.nodes += size(&of) * (numbers.len() - 1);
                self.count()?;
                let multiples = numbers
                    .iter()
                    .map(|k| Tree::new("sc", [Tree::leaf(&k.to_string()), of.clone()]));
                let sum = multiples.reduce(|sum, next| Tree::new("+", [sum, next]));
                sum.ok_or_else(|| unknown("product", "no number"))
            }
            ExprKind::Binary(BinaryOp::Div, x, y) => {
                let inverse = self.inverse(y)?;
                Ok(Tree::new("sc", [Tree::leaf(&inverse.to_string()), self.term(x, place)?]))
            }
            ExprKind::Apply { function, args, named } => self.apply(function, args, named, place),
            _ => Err(unknown("expression", "something without rows and columns")),
        }
    }

    fn name(&mut self, name: &str, place: &Place) -> Result<Tree, NotUnfolded> {
        if let Some((expr, lets)) = self.abbreviation(name, place) {
            return self.term(expr, &Place { lets, ..place.clone() });
        }
        match domain(self.law, name) {
            Some(Domain::Permutation(_)) => return Ok(Tree::new("perm", [Tree::leaf(name)])),
            Some(Domain::Mask) => return Ok(self.of_case(&Domain::Mask, "mask#", place)),
            Some(Domain::Bias) => return Ok(self.of_case(&Domain::Bias, "bias#", place)),
            Some(Domain::Matrix(..)) => return Ok(Tree::leaf(name)),
            Some(Domain::Tensor(..) | Domain::Grid(..)) => {}
            Some(Domain::Separated { .. } | Domain::Opposed { .. })
                if matches!(name, "Q" | "K") => {}
            Some(_) => return Err(unknown("name", name)),
            None if matches!(name, "attended" | "visible") => {
                let mask = self.visible(None, ("n_q", "n_k"), place)?;
                let n_q = Dim::symbol("n_q");
                return Ok(match (name, mask == Tree::leaf("all")) {
                    ("attended", true) => Tree::ones(&n_q),
                    ("attended", false) => Tree::new("att", [mask]),
                    (_, true) => Tree::all_ones(&n_q, &Dim::symbol("n_k")),
                    (_, false) => mask,
                });
            }
            None if matches!(name, "Q" | "K" | "V") => {}
            None => return Err(unknown("name", name)),
        }
        let (rows, cols) = self.names.get(name).cloned().ok_or_else(|| unknown("name", name))?;
        Ok(self.own(name, (&rows, &cols), place, name == "Q"))
    }

    /// The case's mask or bias, by the name that the law has for it, if it has one.
    fn of_case(&mut self, domain: &Domain, otherwise: &str, place: &Place) -> Tree {
        let named = self.law.given.iter().find(|given| given.domain == *domain);
        let name = named.map_or(otherwise, |given| &given.names[0]);
        self.own(name, ("n_q", "n_k"), place, true)
    }

    /// A matrix that every item and head has of its own, `of_queries` if the heads are those of
    /// queries.
    fn own(
        &mut self,
        name: &str,
        (rows, cols): (&str, &str),
        place: &Place,
        of_queries: bool,
    ) -> Tree {
        let own = name.to_owned() + &place.suffix(of_queries);
        self.names.insert(own.clone(), (rows.to_owned(), cols.to_owned()));
        Tree::leaf(&own)
    }
}

/// `scale · QKᵀ`.
fn scores(query: Tree, key: Tree, scale: &str) -> Tree {
    Tree::new("sc", [Tree::leaf(scale), Tree::new("*", [query, Tree::new("T", [key])])])
}

/// The domain of a variable of the law.
fn domain<'a>(law: &'a CheckedLaw, name: &str) -> Option<&'a Domain> {
    law.given
        .iter()
        .find(|given| given.names.iter().any(|known| known == name))
        .map(|given| &given.domain)
}

/// The name of an index or a set of them: an abbreviation could be another, or a set without
/// elements.
fn variable(law: &CheckedLaw, expr: &Expr) -> Result<String, NotUnfolded> {
    let ExprKind::Name(name) = &expr.kind else {
        return Err(unknown("index", "no name"));
    };
    match domain(law, name) {
        Some(Domain::Index { .. } | Domain::Subset(_)) => Ok(name.clone()),
        _ => Err(unknown("index", format!("`{name}`, which is no variable"))),
    }
}

fn size(tree: &Tree) -> usize {
    1 + tree.args.iter().map(size).sum::<usize>()
}

/// The extent that an expression stands for; its names were checked with the law.
fn extent(what: &str, expr: &Expr) -> Result<Dim, NotUnfolded> {
    Dim::from_expr(expr, &|_| true).map_err(|error| unknown(what, error.message))
}

/// An extent as it stands in leaves.
fn text(dim: &Dim) -> String {
    dim.to_string().replace(' ', "")
}
