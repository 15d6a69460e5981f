//! From a law to claims about terms: `attention` is written out for one batch item and one query head.
//!
//! Which item and head it is does not matter, so an equation that holds for all matrices holds for all of them. A key/value
//! matrix stands for that of the query head's group.

mod call;
mod heads;
mod scalar;

use std::collections::BTreeMap;

use qkvet_spec::shape::Dim;
use qkvet_spec::syntax::{BinaryOp, Expr, ExprKind, UnaryOp};
use qkvet_spec::{CheckedLaw, Domain, IndexExpr};

use crate::derive::{Facts, grows, is_scalar};
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
#[error("{what}: expected something that rewriting knows, got {got}")]
pub struct NotUnfolded {
    /// Where.
    pub what: String,
    /// What stands there.
    pub got: String,
}

/// The claims that a law makes.
///
/// # Errors
/// Statements other than equations and signs, and functions that terms do not have.
pub fn unfold(law: &CheckedLaw) -> Result<Vec<Claim>, NotUnfolded> {
    let Some(expect) = &law.expect else {
        return Err(unknown("statement", "an observation"));
    };
    let mut unfolder = Unfolder::new(law)?;
    unfolder.statement(expect)?;
    let condition = unfolder.law.law.condition.as_ref();
    let scores = unfolder.scores(Tree::leaf("Q"), Tree::leaf("K"), "scale#");
    let facts = Facts::of(law, &scores);
    let Unfolder { names, claims, .. } = unfolder;
    let mut extents = names.values().flat_map(|(rows, cols)| [rows.clone(), cols.clone()]).collect::<Vec<_>>();
    claims.iter().for_each(|(_, left, right)| [left, right].into_iter().for_each(|side| leaves(side, &mut extents)));
    if let Some(extent) = extents.iter().find(|extent| !is_positive(extent, condition)) {
        return Err(unknown("extent", format!("`{extent}`, which may be below 1 or too large")));
    }
    let claim = |(relation, left, right)| Claim { relation, left, right, names: names.clone(), facts: facts.clone() };
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
    /// How many abbreviations are in scope: an abbreviation sees those above it, and what it hides itself.
    lets: usize,
}

/// A certain head.
#[derive(Clone)]
struct OneHead {
    index: String,
    /// Whether the index counts the heads of the matrix that is looked at; else it counts query heads, and a key/value matrix is
    /// that of their group.
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
}

/// Words of the rules, which a matrix of this name would be taken for. What else stands for something of the case ends in `#`, which
/// no name of a law does.
const RESERVED: [&str; 2] = ["all", "none"];

impl<'a> Unfolder<'a> {
    fn new(law: &'a CheckedLaw) -> Result<Self, NotUnfolded> {
        let variables = law.given.iter().flat_map(|given| &given.names).chain(law.lets.iter().map(|(name, _)| name));
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
                Domain::Matrix(rows, cols) | Domain::Tensor(rows, cols) | Domain::Grid(rows, cols) => {
                    declare(&given.names[0], rows, cols)?
                }
                _ => {}
            }
        }
        Ok(Self { law, names, claims: Vec::new(), nodes: 0 })
    }

    fn statement(&mut self, statement: &Expr) -> Result<(), NotUnfolded> {
        let place = Place { lets: self.law.lets.len(), ..Place::default() };
        match &statement.kind {
            ExprKind::Binary(BinaryOp::And, x, y) => {
                self.statement(x)?;
                self.statement(y)
            }
            ExprKind::Binary(op @ (BinaryOp::Eq | BinaryOp::SameBits | BinaryOp::Le | BinaryOp::Ge), x, y) => {
                // The proof passes what the law names, link by link.
                let passed: Vec<&Expr> = [&**x].into_iter().chain(&self.law.through).chain([&**y]).collect();
                let first = self.claims.len();
                passed.windows(2).try_for_each(|link| match op {
                    BinaryOp::Le => self.at_most(link[0], link[1], &place),
                    BinaryOp::Ge => self.at_most(link[1], link[0], &place),
                    _ => self.equal(link[0], link[1], &place),
                })?;
                let (first, last) = (&self.claims[first], &self.claims[self.claims.len() - 1]);
                match op {
                    BinaryOp::Le => self.is_said_of_all(&first.1, &last.2),
                    BinaryOp::Ge => self.is_said_of_all(&last.1, &first.2),
                    _ => Ok(()),
                }
            }
            ExprKind::Binary(BinaryOp::In, x, ends) => match &ends.kind {
                ExprKind::Apply { args, .. } if args.len() == 2 => {
                    self.at_most(&args[0], x, &place)?;
                    self.at_most(x, &args[1], &place)
                }
                _ => Err(unknown("statement", "`in` something without ends")),
            },
            ExprKind::Binary(op, ..) => Err(unknown("statement", format!("`{}`", op.symbol()))),
            _ => Err(unknown("statement", "no relation")),
        }
    }

    /// Whether what holds for the numbers of every item and head holds for those of all of them: the largest of norms is then at
    /// most a number that grows with what is larger for all.
    fn is_said_of_all(&self, smallest: &Tree, largest: &Tree) -> Result<(), NotUnfolded> {
        let is_one_norm = smallest.is("norm", 1) || smallest.is("spread", 1);
        if is_scalar(smallest) && !(is_one_norm && grows(largest, &Facts::of(self.law, &Tree::leaf("all")))) {
            return Err(unknown("statement", "`<=` that is not one norm below what grows with norms"));
        }
        Ok(())
    }

    /// `x ≤ y`, both numbers or both matrices; said of one item and head.
    fn at_most(&mut self, x: &Expr, y: &Expr, place: &Place) -> Result<(), NotUnfolded> {
        let [left, right] = match (self.is_scalar(x, place), self.is_scalar(y, place)) {
            (true, true) => [self.scalar(x, place)?, self.scalar(y, place)?],
            (false, false) => [self.term(x, place)?, self.term(y, place)?],
            (true, false) if matches!(x.kind, ExprKind::Number(0.0)) => {
                let right = self.term(y, place)?;
                [Tree::new("sc", [Tree::leaf("0"), right.clone()]), right]
            }
            _ => return Err(unknown("statement", "`<=` between a number and a matrix")),
        };
        match is_zero(&left) {
            true => self.claims.push((Relation::NonNegative, right, left)),
            false => self.claims.push((Relation::AtMost, left, right)),
        }
        Ok(())
    }

    fn equal(&mut self, x: &Expr, y: &Expr, place: &Place) -> Result<(), NotUnfolded> {
        let (left, right) = (self.term(x, place)?, self.term(y, place)?);
        self.claims.push((Relation::Equal, left, right));
        Ok(())
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
            #[expect(clippy::cast_possible_truncation, reason = "checked to be a small whole number")]
            ExprKind::Number(n) if n.fract() == 0.0 && n.abs() < 1e9 => Monomial::fraction(1, *n as i64),
            _ => Dim::from_expr(divisor, &|_| true).ok().map(|extent| Monomial::inverse(&text(&extent))),
        };
        inverse.ok_or_else(|| unknown("quotient", "a divisor that is no extent"))
    }

    /// `scale · QKᵀ`.
    fn scores(&self, query: Tree, key: Tree, scale: &str) -> Tree {
        Tree::new("sc", [Tree::leaf(scale), Tree::new("*", [query, Tree::new("T", [key])])])
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
            ExprKind::Unary(UnaryOp::Neg, x) => Ok(Tree::new("sc", [Tree::leaf("-1"), self.term(x, place)?])),
            ExprKind::Transpose(x) => Ok(Tree::new("T", [self.term(x, place)?])),
            ExprKind::Binary(BinaryOp::Add, x, y) => Ok(Tree::new("+", [self.term(x, place)?, self.term(y, place)?])),
            ExprKind::Binary(BinaryOp::Sub, x, y) => {
                let minus = Tree::new("sc", [Tree::leaf("-1"), self.term(y, place)?]);
                Ok(Tree::new("+", [self.term(x, place)?, minus]))
            }
            ExprKind::Binary(BinaryOp::MatMul, x, y) => {
                let factors = [self.term(x, place)?, self.term(y, place)?];
                Ok(Tree::new("*", factors))
            }
            ExprKind::Binary(BinaryOp::Mul, x, y) => match (number(x), number(y)) {
                (Some(k), _) => Ok(Tree::new("sc", [Tree::leaf(&k.to_string()), self.term(y, place)?])),
                (None, Some(k)) => Ok(Tree::new("sc", [Tree::leaf(&k.to_string()), self.term(x, place)?])),
                (None, None) => Err(unknown("product", "two matrices")),
            },
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
            Some(Domain::Separated { .. } | Domain::Opposed { .. }) if matches!(name, "Q" | "K") => {}
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

    /// A matrix that every item and head has of its own, `of_queries` if the heads are those of queries.
    fn own(&mut self, name: &str, (rows, cols): (&str, &str), place: &Place, of_queries: bool) -> Tree {
        let own = name.to_owned() + &place.suffix(of_queries);
        self.names.insert(own.clone(), (rows.to_owned(), cols.to_owned()));
        Tree::leaf(&own)
    }

    /// Some rows of the identity with `cols` columns, by the name of the index or set.
    fn selection(&mut self, name: &str, rows: &str, cols: &str) -> Tree {
        // One index may count rows of several extents; one that is declared to be another says so in its name.
        let own = match domain(self.law, name) {
            Some(Domain::Index { not: Some(other), .. }) => format!("{name}!={other}:{cols}"),
            _ => format!("{name}:{cols}"),
        };
        self.names.insert(own.clone(), (rows.to_owned(), cols.to_owned()));
        Tree::new("sel", [Tree::leaf(&own)])
    }

    /// The rows of a set, or of `others(set, n)`, of an identity with `cols` columns.
    fn some_rows(&mut self, set: &Expr, cols: &str, place: &Place) -> Result<Tree, NotUnfolded> {
        match &set.kind {
            ExprKind::Name(name) if let Some((expr, lets)) = self.abbreviation(name, place) => {
                self.some_rows(expr, cols, &Place { lets, ..place.clone() })
            }
            ExprKind::Apply { function, args, .. } if function == "others" => {
                let name = variable(self.law, &args[0])?;
                let all = text(&extent(function, &args[1])?);
                // A set drawn below n has not all of n, where n is not 1.
                let is_drawn_from = matches!(domain(self.law, &name), Some(Domain::Subset(n))
                    if extent(function, n).is_ok_and(|n| text(&n) == all));
                if !is_drawn_from || all != cols || least(&all, self.law.law.condition.as_ref()) < 2 {
                    return Err(unknown(function, "a set that may have everything"));
                }
                Ok(self.selection(&format!("not-{name}"), &format!("|others({name})|"), cols))
            }
            _ => {
                let name = variable(self.law, set)?;
                Ok(self.selection(&name, &format!("|{name}|"), cols))
            }
        }
    }

    fn apply(
        &mut self,
        function: &str,
        args: &[Expr],
        named: &[(String, Expr)],
        place: &Place,
    ) -> Result<Tree, NotUnfolded> {
        let law = self.law;
        let index = |expr: &Expr| variable(law, expr);
        match function {
            "attention" | "exact" | "weights" | "lse" | "exact_lse" => self.call(function, args, named, place),
            "softmax_rows" => {
                let scores = self.term(&args[0], place)?;
                Ok(Tree::new("soft", [scores, Tree::leaf("all"), Tree::leaf("none")]))
            }
            "repeat_heads" => {
                let group = place.one_head.clone().map(|head| OneHead { is_own: false, ..head });
                self.term(&args[0], &Place { one_head: group, ..place.clone() })
            }
            // A certain item or head: what belongs to it has a name of its own.
            "item" => {
                let one = index(&args[1])?;
                let one = place.item.as_ref().map_or_else(|| one.clone(), |outer| format!("{outer},{one}"));
                self.term(&args[0], &Place { item: Some(one), ..place.clone() })
            }
            "head" => {
                // Elsewhere heads of queries and of keys meet by the head map.
                let is_own = match &args[0].kind {
                    ExprKind::Name(name) => self.abbreviation(name, place).is_none(),
                    ExprKind::Apply { function, args, .. } if function == "repeat_heads" => {
                        matches!(&args[0].kind, ExprKind::Name(name) if self.abbreviation(name, place).is_none())
                    }
                    ExprKind::Apply { function, .. } => matches!(function.as_str(), "attention" | "exact" | "weights"),
                    _ => false,
                };
                if !is_own || place.one_head.is_some() || place.head.is_some() {
                    return Err(unknown("head", "an expression"));
                }
                let is_name = matches!(args[0].kind, ExprKind::Name(_));
                let one_head = Some(OneHead { index: index(&args[1])?, is_own: is_name });
                self.term(&args[0], &Place { one_head, ..place.clone() })
            }
            // One row of the identity negated: a reflection.
            "scale_row" if matches!(&args[0].kind, ExprKind::Apply { function, .. } if function == "eye") => {
                let n = self.term(&args[0], place)?;
                let (rows, _) = self.shape(&n)?;
                let factor = number(&args[2]).ok_or_else(|| unknown("scale_row", "a factor that is no number"))?;
                let index = index(&args[1])?;
                if Some(&factor) == Monomial::fraction(-1, 1).as_ref() {
                    let own = format!("flip-{index}:{rows}");
                    self.names.insert(own.clone(), (rows.clone(), rows));
                    return Ok(Tree::new("orth", [Tree::leaf(&own)]));
                }
                let row = self.selection(&index, "1", &rows);
                Ok(Tree::new("stretch", [row.args[0].clone(), Tree::leaf(&factor.to_string())]))
            }
            "scale_rows" => {
                let parts = [self.term(&args[0], place)?, self.term(&args[1], place)?];
                Ok(Tree::new("rs", parts))
            }
            "sigmoid" => Ok(Tree::new("sig", [self.term(&args[0], place)?])),
            "heads" => match place.head.and_then(|head| args.get(head)) {
                Some(arg) => self.term(arg, place),
                None => Err(unknown("heads", "no head that is looked at")),
            },
            "mean_heads" => self.mean_heads(&args[0], place),
            "split_heads" => self.split_heads(&args[0], &args[1], place),
            "combine_heads" => self.over_heads("comb", &args[0], place),
            "ones" | "zeros" => {
                let rows = extent(function, &args[0])?;
                let ones = match args.get(1) {
                    Some(cols) => Tree::all_ones(&rows, &extent(function, cols)?),
                    None => Tree::ones(&rows),
                };
                Ok(if function == "ones" { ones } else { Tree::new("sc", [Tree::leaf("0"), ones]) })
            }
            "diag" => Ok(Tree::new("diag", [self.term(&args[0], place)?])),
            "eye" => Ok(Tree::new("eye", [Tree::extent(&extent(function, &args[0])?)])),
            "row" | "drop_row" | "select" => {
                let matrix = self.term(&args[0], place)?;
                let (rows, _) = self.shape(&matrix)?;
                let selection = match function {
                    "select" => self.some_rows(&args[1], &rows, place)?,
                    "row" => self.selection(&index(&args[1])?, "1", &rows),
                    _ => self.selection(&format!("not-{}", index(&args[1])?), &format!("{rows}-1"), &rows),
                };
                Ok(Tree::new("*", [selection, matrix]))
            }
            "col" => {
                let matrix = self.term(&args[0], place)?;
                let (_, cols) = self.shape(&matrix)?;
                let selection = self.selection(&index(&args[1])?, "1", &cols);
                Ok(Tree::new("*", [matrix, Tree::new("T", [selection])]))
            }
            "indicator" => {
                let n = extent(function, &args[1])?;
                let name = index(&args[0])?;
                let count = format!("|{name}|");
                let selection = self.selection(&name, &count, &text(&n));
                let ones = Tree::new("T", [Tree::new("one", [Tree::leaf(&count)])]);
                Ok(Tree::new("*", [ones, selection]))
            }
            "sum" => {
                let matrix = self.term(&args[0], place)?;
                let (rows, cols) = self.shape(&matrix)?;
                let ones = |n: &str| Tree::new("one", [Tree::leaf(n)]);
                match named {
                    [(_, Expr { kind: ExprKind::Name(axis), .. })] if axis == "rows" => {
                        Ok(Tree::new("*", [Tree::new("T", [ones(&rows)]), matrix]))
                    }
                    _ => Ok(Tree::new("*", [matrix, ones(&cols)])),
                }
            }
            "min" | "max" => {
                let matrix = self.term(&args[0], place)?;
                let op = if function == "min" { "colmin" } else { "colmax" };
                match named {
                    [(_, Expr { kind: ExprKind::Name(axis), .. })] if axis == "rows" => Ok(Tree::new(op, [matrix])),
                    _ => {
                        let by_columns = Tree::new(op, [Tree::new("T", [matrix])]);
                        Ok(Tree::new("T", [by_columns]))
                    }
                }
            }
            "hcat" | "vcat" => {
                let parts = [self.term(&args[0], place)?, self.term(&args[1], place)?];
                Ok(Tree::new(function, parts))
            }
            other => Err(unknown("function", other)),
        }
    }
}

/// The domain of a variable of the law.
fn domain<'a>(law: &'a CheckedLaw, name: &str) -> Option<&'a Domain> {
    law.given.iter().find(|given| given.names.iter().any(|known| known == name)).map(|given| &given.domain)
}

/// The name of an index or a set of them: an abbreviation could be another, or a set without elements.
fn variable(law: &CheckedLaw, expr: &Expr) -> Result<String, NotUnfolded> {
    let ExprKind::Name(name) = &expr.kind else {
        return Err(unknown("index", "no name"));
    };
    match domain(law, name) {
        Some(Domain::Index { .. } | Domain::Subset(_)) => Ok(name.clone()),
        _ => Err(unknown("index", format!("`{name}`, which is no variable"))),
    }
}

/// The extents of ones and identities in a term.
fn leaves(tree: &Tree, extents: &mut Vec<String>) {
    if tree.is("one", 1) || tree.is("eye", 1) {
        extents.push(tree.args[0].op.to_string());
    } else {
        tree.args.iter().for_each(|arg| leaves(arg, extents));
    }
}

/// Whether an extent is at least 1 when all that it is made of is and the condition holds, and its numbers are of a size that was
/// not cut off.
fn is_positive(extent: &str, condition: Option<&IndexExpr>) -> bool {
    let mut numbers = extent.split(|c: char| !c.is_ascii_digit()).filter(|digits| !digits.is_empty());
    let is_one_less = |(whole, less): (&str, &str)| less == "1" && least(whole, condition) >= 2;
    extent != "0"
        && (!extent.contains('-') || extent.split_once('-').is_some_and(is_one_less))
        && numbers.all(|digits| digits.len() < 10)
}

/// What an extent is at least: itself, if it is a number, or what a condition says, or 1.
fn least(extent: &str, condition: Option<&IndexExpr>) -> i64 {
    extent.parse().unwrap_or_else(|_| condition.map_or(1, |condition| condition.least(extent).max(1)))
}

/// Whether a term is 0 by how it is built.
fn is_zero(tree: &Tree) -> bool {
    match (&*tree.op, tree.args.as_slice()) {
        ("sc", [factor, matrix]) => *factor == Tree::leaf("0") || is_zero(matrix),
        ("*", factors) => factors.iter().any(is_zero),
        ("+", summands) => summands.iter().all(is_zero),
        ("T", [matrix]) => is_zero(matrix),
        _ => false,
    }
}

/// The number that an expression stands for; `None` for a matrix.
fn number(expr: &Expr) -> Option<Monomial> {
    match &expr.kind {
        #[expect(clippy::cast_possible_truncation, reason = "checked to be a small whole number")]
        ExprKind::Number(x) if x.fract() == 0.0 && x.abs() < 1e9 => Monomial::fraction(*x as i64, 1),
        ExprKind::Unary(UnaryOp::Neg, x) => number(x)?.times(&Monomial::fraction(-1, 1)?),
        ExprKind::Binary(BinaryOp::Mul, x, y) => number(x)?.times(&number(y)?),
        ExprKind::Name(name) if name.chars().next().is_some_and(char::is_lowercase) => Some(Monomial::symbol(name)),
        _ => None,
    }
}

/// The extent that an expression stands for; its names were checked with the law.
fn extent(what: &str, expr: &Expr) -> Result<Dim, NotUnfolded> {
    Dim::from_expr(expr, &|_| true).map_err(|error| unknown(what, error.message))
}

/// An extent as it stands in leaves.
fn text(dim: &Dim) -> String {
    dim.to_string().replace(' ', "")
}
