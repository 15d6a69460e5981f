//! From a law to claims about terms: `attention` is written out for one batch item and one query head.
//!
//! Which item and head it is does not matter, so an equation that holds for all matrices holds for all of them. A key/value
//! matrix stands for that of the query head's group.

mod call;

use std::collections::BTreeMap;

use qkvet_spec::shape::Dim;
use qkvet_spec::syntax::{BinaryOp, Expr, ExprKind, UnaryOp};
use qkvet_spec::{CheckedLaw, Domain};

use crate::number::Monomial;
use crate::tree::{Shapes, Tree, shape};

/// What a claim says of its sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// They are equal.
    Equal,
    /// No element of the left side is negative; the right side is 0.
    NonNegative,
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
    let Unfolder { names, claims, .. } = unfolder;
    let claim = |(relation, left, right)| Claim { relation, left, right, names: names.clone() };
    Ok(claims.into_iter().map(claim).collect())
}

fn unknown(what: &str, got: impl Into<String>) -> NotUnfolded {
    NotUnfolded { what: what.to_owned(), got: got.into() }
}

/// At which item and head an expression is looked at.
#[derive(Clone, Default)]
struct Place {
    /// The indices of the batch item and head, where they are certain ones.
    item: Option<String>,
    /// The number of the head, among heads that the law lists.
    head: Option<usize>,
}

struct Unfolder<'a> {
    law: &'a CheckedLaw,
    names: Shapes,
    claims: Vec<(Relation, Tree, Tree)>,
}

impl<'a> Unfolder<'a> {
    fn new(law: &'a CheckedLaw) -> Result<Self, NotUnfolded> {
        let mut names = BTreeMap::new();
        let mut declare = |name: &str, rows: &Expr, cols: &Expr| {
            let dim = |expr: &Expr| Dim::from_expr(expr, &|_| true).map_err(|error| unknown(name, error.message));
            names.insert(name.to_owned(), (text(&dim(rows)?), text(&dim(cols)?)));
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
        Ok(Self { law, names, claims: Vec::new() })
    }

    fn statement(&mut self, statement: &Expr) -> Result<(), NotUnfolded> {
        match &statement.kind {
            ExprKind::Binary(BinaryOp::And, x, y) => {
                self.statement(x)?;
                self.statement(y)
            }
            ExprKind::Binary(BinaryOp::Eq | BinaryOp::SameBits, x, y) => {
                let place = Place::default();
                let (left, right) = (self.term(x, &place)?, self.term(y, &place)?);
                self.claims.push((Relation::Equal, left, right));
                Ok(())
            }
            ExprKind::Binary(BinaryOp::Ge, x, y) => {
                let place = Place::default();
                let (left, right) = (self.term(x, &place)?, self.term(y, &place)?);
                if !is_zero(&right) {
                    return Err(unknown("statement", "`>=` something other than 0 times a matrix"));
                }
                self.claims.push((Relation::NonNegative, left, right));
                Ok(())
            }
            ExprKind::Binary(op, ..) => Err(unknown("statement", format!("`{}`", op.symbol()))),
            _ => Err(unknown("statement", "no relation")),
        }
    }

    /// Rows and columns of a term of this law.
    fn shape(&self, tree: &Tree) -> Result<(String, String), NotUnfolded> {
        shape(tree, &self.names).ok_or_else(|| unknown("shape", tree.to_string()))
    }

    fn lets(&self, name: &str) -> Option<&'a Expr> {
        self.law.lets.iter().find(|(known, _)| known == name).map(|(_, expr)| expr)
    }

    fn given(&self, name: &str) -> Option<&'a Domain> {
        self.law.given.iter().find(|given| given.names.iter().any(|known| known == name)).map(|given| &given.domain)
    }

    fn term(&mut self, expr: &Expr, place: &Place) -> Result<Tree, NotUnfolded> {
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
                let inverse = match &y.kind {
                    #[expect(clippy::cast_possible_truncation, reason = "checked to be a small whole number")]
                    ExprKind::Number(n) if n.fract() == 0.0 && n.abs() < 1e9 => Monomial::fraction(1, *n as i64),
                    _ => Dim::from_expr(y, &|_| true).ok().map(|extent| Monomial::inverse(&text(&extent))),
                };
                let inverse = inverse.ok_or_else(|| unknown("quotient", "a divisor that is no extent"))?;
                Ok(Tree::new("sc", [Tree::leaf(&inverse.to_string()), self.term(x, place)?]))
            }
            ExprKind::Apply { function, args, named } => self.apply(function, args, named, place),
            _ => Err(unknown("expression", "something without rows and columns")),
        }
    }

    fn name(&mut self, name: &str, place: &Place) -> Result<Tree, NotUnfolded> {
        if let Some(expr) = self.lets(name) {
            return self.term(expr, place);
        }
        match self.given(name) {
            Some(Domain::Permutation(_)) => return Ok(Tree::new("perm", [Tree::leaf(name)])),
            Some(Domain::Mask) => return Ok(self.case_mask(place)),
            Some(Domain::Bias) => return Ok(self.case_bias(place)),
            Some(Domain::Matrix(..)) => return Ok(Tree::leaf(name)),
            Some(Domain::Tensor(..) | Domain::Grid(..)) => {}
            Some(Domain::Separated { .. } | Domain::Opposed { .. }) if matches!(name, "Q" | "K") => {}
            Some(_) => return Err(unknown("name", name)),
            None if name == "attended" => {
                let mask = self.visible(None, ("n_q", "n_k"), place)?;
                let sees_all = mask == Tree::leaf("all");
                return Ok(if sees_all { Tree::ones(&Dim::symbol("n_q")) } else { Tree::new("att", [mask]) });
            }
            None if name == "visible" => {
                let mask = self.visible(None, ("n_q", "n_k"), place)?;
                let sees_all = mask == Tree::leaf("all");
                let all = || Tree::all_ones(&Dim::symbol("n_q"), &Dim::symbol("n_k"));
                return Ok(if sees_all { all() } else { mask });
            }
            None if matches!(name, "Q" | "K" | "V") => {}
            None => return Err(unknown("name", name)),
        }
        // A matrix of each item: at a certain item it is one of its own.
        let Some(item) = &place.item else {
            return Ok(Tree::leaf(name));
        };
        let own = format!("{name}[{item}]");
        if let Some(shape) = self.names.get(name).cloned() {
            self.names.insert(own.clone(), shape);
        }
        Ok(Tree::leaf(&own))
    }

    /// The case's mask, by the name that the law has for it.
    fn case_mask(&mut self, place: &Place) -> Tree {
        let name = self.law.given.iter().find(|given| given.domain == Domain::Mask).map(|given| given.names[0].clone());
        self.own(name.as_deref().unwrap_or("mask"), ("n_q", "n_k"), place)
    }

    /// The case's bias, by the name that the law has for it.
    fn case_bias(&mut self, place: &Place) -> Tree {
        let name = self.law.given.iter().find(|given| given.domain == Domain::Bias).map(|given| given.names[0].clone());
        self.own(name.as_deref().unwrap_or("bias"), ("n_q", "n_k"), place)
    }

    /// A matrix that every item has of its own.
    fn own(&mut self, name: &str, (rows, cols): (&str, &str), place: &Place) -> Tree {
        let own = place.item.as_ref().map_or_else(|| name.to_owned(), |item| format!("{name}[{item}]"));
        self.names.insert(own.clone(), (rows.to_owned(), cols.to_owned()));
        Tree::leaf(&own)
    }

    /// Some rows of the identity with `cols` columns, by the name of the index or set.
    fn selection(&mut self, name: &str, rows: &str, cols: &str) -> Tree {
        // One index may count rows of several extents.
        let own = format!("{name}:{cols}");
        self.names.insert(own.clone(), (rows.to_owned(), cols.to_owned()));
        Tree::new("sel", [Tree::leaf(&own)])
    }

    fn apply(
        &mut self,
        function: &str,
        args: &[Expr],
        named: &[(String, Expr)],
        place: &Place,
    ) -> Result<Tree, NotUnfolded> {
        let index = |expr: &Expr| match &expr.kind {
            ExprKind::Name(name) => Ok(name.clone()),
            _ => Err(unknown("index", "no name")),
        };
        match function {
            "attention" | "exact" | "weights" => self.call(function, args, named, place),
            "softmax_rows" => {
                let scores = self.term(&args[0], place)?;
                Ok(Tree::new("soft", [scores, Tree::leaf("all"), Tree::leaf("none")]))
            }
            "repeat_heads" => self.term(&args[0], place),
            // A certain item or head: what belongs to it has a name of its own.
            "item" | "head" => {
                let one = index(&args[1])?;
                let one = place.item.as_ref().map_or_else(|| one.clone(), |outer| format!("{outer},{one}"));
                self.term(&args[0], &Place { item: Some(one), ..place.clone() })
            }
            // One row of the identity negated: a reflection.
            "scale_row" if matches!(&args[0].kind, ExprKind::Apply { function, .. } if function == "eye") => {
                let n = self.term(&args[0], place)?;
                let (rows, _) = self.shape(&n)?;
                if number(&args[2]) != Monomial::fraction(-1, 1) {
                    return Err(unknown("scale_row", "a factor other than -1"));
                }
                let own = format!("flip-{}:{rows}", index(&args[1])?);
                self.names.insert(own.clone(), (rows.clone(), rows));
                Ok(Tree::new("orth", [Tree::leaf(&own)]))
            }
            "heads" => match place.head.and_then(|head| args.get(head)) {
                Some(arg) => self.term(arg, place),
                None => Err(unknown("heads", "no head that is looked at")),
            },
            "mean_heads" => {
                let count = listed_heads(&args[0]).ok_or_else(|| unknown("mean_heads", "heads that are not listed"))?;
                let heads = (0..count).map(|head| {
                    let place = Place { head: Some(head), ..place.clone() };
                    self.term(&args[0], &place)
                });
                let sum = heads.collect::<Result<Vec<_>, _>>()?.into_iter().reduce(|x, y| Tree::new("+", [x, y]));
                let share = i64::try_from(count).ok().and_then(|count| Monomial::fraction(1, count));
                match (sum, share) {
                    (Some(sum), Some(share)) => Ok(Tree::new("sc", [Tree::leaf(&share.to_string()), sum])),
                    _ => Err(unknown("mean_heads", "no heads")),
                }
            }
            "ones" => {
                let dim = |expr: &Expr| Dim::from_expr(expr, &|_| true).map_err(|error| unknown("ones", error.message));
                let rows = dim(&args[0])?;
                match args.get(1) {
                    Some(cols) => Ok(Tree::all_ones(&rows, &dim(cols)?)),
                    None => Ok(Tree::ones(&rows)),
                }
            }
            "eye" => {
                let n = Dim::from_expr(&args[0], &|_| true).map_err(|error| unknown("eye", error.message))?;
                Ok(Tree::new("eye", [Tree::extent(&n)]))
            }
            "row" | "drop_row" | "select" => {
                let matrix = self.term(&args[0], place)?;
                let (rows, _) = self.shape(&matrix)?;
                let name = index(&args[1])?;
                let selection = match function {
                    "row" => self.selection(&name, "1", &rows),
                    "select" => self.selection(&name, &format!("|{name}|"), &rows),
                    _ => self.selection(&format!("not-{name}"), &format!("{rows}-1"), &rows),
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
                let n = Dim::from_expr(&args[1], &|_| true).map_err(|error| unknown("indicator", error.message))?;
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
            "hcat" | "vcat" => {
                let parts = [self.term(&args[0], place)?, self.term(&args[1], place)?];
                Ok(Tree::new(function, parts))
            }
            other => Err(unknown("function", other)),
        }
    }
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

/// How many heads an expression lists, if it lists any.
fn listed_heads(expr: &Expr) -> Option<usize> {
    match &expr.kind {
        ExprKind::Apply { function, args, .. } if function == "heads" => Some(args.len()),
        ExprKind::Apply { args, named, .. } => {
            args.iter().chain(named.iter().map(|(_, value)| value)).find_map(listed_heads)
        }
        ExprKind::Unary(_, x) | ExprKind::Transpose(x) => listed_heads(x),
        ExprKind::Binary(_, x, y) => listed_heads(x).or_else(|| listed_heads(y)),
        _ => None,
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

/// An extent as it stands in leaves.
fn text(dim: &Dim) -> String {
    dim.to_string().replace(' ', "")
}
