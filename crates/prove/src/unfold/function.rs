//! Functions of the language that are operators of terms.

use qkvet_spec::syntax::{Expr, ExprKind};
use qkvet_spec::{CheckedLaw, Domain};

use super::extents::least;
use super::{NotUnfolded, OneHead, Place, Unfolder, domain, extent, text, unknown, variable};
use crate::number::Monomial;
use crate::tree::Tree;

/// The name of a selection of rows by an index or a set, or of all others (`not-` in front).
///
/// One index may count rows of several extents; one that is declared to be another says so.
pub(crate) fn selection_name(law: &CheckedLaw, name: &str, cols: &str) -> String {
    match domain(law, name.strip_prefix("not-").unwrap_or(name)) {
        Some(Domain::Index { not: Some(other), .. }) => format!("{name}!={other}:{cols}"),
        _ => format!("{name}:{cols}"),
    }
}

impl Unfolder<'_> {
    /// Some rows of the identity with `cols` columns, by the name of the index or set.
    pub(super) fn selection(&mut self, name: &str, rows: &str, cols: &str) -> Tree {
        let own = selection_name(self.law, name, cols);
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
                if !is_drawn_from || all != cols || least(&all, self.law.law.condition.as_ref()) < 2
                {
                    return Err(unknown(function, "a set that may have everything"));
                }
                Ok(self.selection(&format!("not-{name}"), &format!("|¬{name}|"), cols))
            }
            _ => {
                let name = variable(self.law, set)?;
                Ok(self.selection(&name, &format!("|{name}|"), cols))
            }
        }
    }

    pub(super) fn apply(
        &mut self,
        function: &str,
        args: &[Expr],
        named: &[(String, Expr)],
        place: &Place,
    ) -> Result<Tree, NotUnfolded> {
        let law = self.law;
        let index = |expr: &Expr| variable(law, expr);
        match function {
            "attention" | "exact" | "weights" | "lse" | "exact_lse" => {
                self.call(function, args, named, place)
            }
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
                let one = place
                    .item
                    .as_ref()
                    .map_or_else(|| one.clone(), |outer| format!("{outer},{one}"));
                self.term(&args[0], &Place { item: Some(one), ..place.clone() })
            }
            "head" => {
                // Elsewhere heads of queries and of keys meet by the head map.
                let is_own = match &args[0].kind {
                    ExprKind::Name(name) => self.abbreviation(name, place).is_none(),
                    ExprKind::Apply { function, args, .. } if function == "repeat_heads" => {
                        matches!(&args[0].kind, ExprKind::Name(name) if self.abbreviation(name, place).is_none())
                    }
                    ExprKind::Apply { function, .. } => {
                        matches!(function.as_str(), "attention" | "exact" | "weights")
                    }
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
            "scale_row" if matches!(&args[0].kind, ExprKind::Apply { function, .. } if function == "eye") =>
            {
                let n = self.term(&args[0], place)?;
                let (rows, _) = self.shape(&n)?;
                let factor = self
                    .number(&args[2], place)
                    .ok_or_else(|| unknown("scale_row", "a factor that is no number"))?;
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
                    _ => self.selection(
                        &format!("not-{}", index(&args[1])?),
                        &format!("{rows}-1"),
                        &rows,
                    ),
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
                    [(_, Expr { kind: ExprKind::Name(axis), .. })] if axis == "rows" => {
                        Ok(Tree::new(op, [matrix]))
                    }
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
