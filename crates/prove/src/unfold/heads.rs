//! Functions that look at all heads at once. A term is that of one head, whichever it is; these say
//! how many there are.

use qkvet_spec::Domain;
use qkvet_spec::syntax::{Expr, ExprKind};

use super::{NotUnfolded, Place, Unfolder, domain, extent, text, unknown};
use crate::number::Monomial;
use crate::tree::Tree;

impl Unfolder<'_> {
    /// The mean over the heads that the law lists, one by one, or over all heads of a matrix.
    pub(super) fn mean_heads(&mut self, of: &Expr, place: &Place) -> Result<Tree, NotUnfolded> {
        let mut counts = Vec::new();
        listed_heads(of, &mut counts);
        let count = match counts.as_slice() {
            [] => return self.over_heads("mean", of, place),
            [count, others @ ..] if *count > 0 && others.iter().all(|other| other == count) => {
                *count
            }
            _ => return Err(unknown("mean_heads", "heads that are not listed once")),
        };
        let heads = (0..count).map(|head| {
            let place = Place { head: Some(head), ..place.clone() };
            self.term(of, &place)
        });
        let sum =
            heads.collect::<Result<Vec<_>, _>>()?.into_iter().reduce(|x, y| Tree::new("+", [x, y]));
        let share = i64::try_from(count).ok().and_then(|count| Monomial::fraction(1, count));
        match (sum, share) {
            (Some(sum), Some(share)) => Ok(Tree::new("sc", [Tree::leaf(&share.to_string()), sum])),
            _ => Err(unknown("mean_heads", "no heads")),
        }
    }

    /// `(comb heads matrix)` or `(mean heads matrix)`, the matrix being that of any one head.
    pub(super) fn over_heads(
        &mut self,
        op: &str,
        of: &Expr,
        place: &Place,
    ) -> Result<Tree, NotUnfolded> {
        any_head(place)?;
        let heads = self.heads(of, place)?.ok_or_else(|| unknown("heads", "one matrix for all"))?;
        Ok(Tree::new(op, [Tree::leaf(&heads), self.term(of, place)?]))
    }

    pub(super) fn split_heads(
        &mut self,
        of: &Expr,
        heads: &Expr,
        place: &Place,
    ) -> Result<Tree, NotUnfolded> {
        any_head(place)?;
        let heads = Tree::extent(&extent("split_heads", heads)?);
        Ok(Tree::new("split", [heads, self.term(of, place)?]))
    }

    /// How many heads an expression has; `None` for one matrix for all. Where query heads meet
    /// key/value heads it has those of queries.
    fn heads(&self, expr: &Expr, place: &Place) -> Result<Option<String>, NotUnfolded> {
        let parts: Vec<&Expr> = match &expr.kind {
            ExprKind::Name(name) => {
                if let Some((expr, lets)) = self.abbreviation(name, place) {
                    return self.heads(expr, &Place { lets, ..place.clone() });
                }
                let own = match (domain(self.law, name), name.as_str()) {
                    (Some(Domain::Tensor(..) | Domain::Grid(..)), _) | (None, "K" | "V") => {
                        Some("h_k")
                    }
                    (Some(Domain::Mask | Domain::Bias), _)
                    | (None, "Q" | "attended" | "visible") => Some("h_q"),
                    (Some(Domain::Separated { .. } | Domain::Opposed { .. }), "K") => Some("h_k"),
                    (Some(Domain::Separated { .. } | Domain::Opposed { .. }), _) => Some("h_q"),
                    _ => None,
                };
                return Ok(own.map(str::to_owned));
            }
            ExprKind::Apply { function, args, named } => match (function.as_str(), args.as_slice())
            {
                ("combine_heads" | "mean_heads", _) => return Ok(None),
                ("split_heads", [_, heads]) => return Ok(Some(text(&extent(function, heads)?))),
                ("repeat_heads", _) => return Ok(Some("h_q".to_owned())),
                ("heads" | "head", _) => return Err(unknown("heads", "certain ones")),
                // Without a query head of their own, calls take over the options of the case, which
                // are of query heads.
                ("attention" | "exact" | "weights", _) => {
                    args.iter().chain(named.iter().map(|(_, value)| value)).collect()
                }
                _ => args.iter().collect(),
            },
            ExprKind::Unary(_, x) | ExprKind::Transpose(x) => vec![x],
            ExprKind::Binary(_, x, y) => vec![x, y],
            _ => Vec::new(),
        };
        let mut heads: Option<String> = None;
        for part in parts {
            let of_part = self.heads(part, place)?;
            heads = match (heads, of_part) {
                (Some(x), Some(y)) if x == y => Some(x),
                (Some(x), Some(y))
                    if [x.as_str(), &y] == ["h_k", "h_q"] || [x.as_str(), &y] == ["h_q", "h_k"] =>
                {
                    Some("h_q".to_owned())
                }
                (Some(_), Some(_)) => return Err(unknown("heads", "different ones")),
                (x, y) => x.or(y),
            };
        }
        Ok(heads)
    }
}

/// A certain head has no others beside it.
fn any_head(place: &Place) -> Result<(), NotUnfolded> {
    if place.head.is_some() || place.one_head.is_some() {
        Err(unknown("heads", "a certain one"))
    } else {
        Ok(())
    }
}

/// How many heads each `heads(...)` of an expression lists; 0 for what looks at heads otherwise.
fn listed_heads(expr: &Expr, counts: &mut Vec<usize>) {
    match &expr.kind {
        ExprKind::Apply { function, args, named } => {
            match function.as_str() {
                "heads" => counts.push(args.len()),
                "mean_heads" | "head" | "repeat_heads" => counts.push(0),
                _ => {}
            }
            args.iter()
                .chain(named.iter().map(|(_, value)| value))
                .for_each(|arg| listed_heads(arg, counts));
        }
        ExprKind::Unary(_, x) | ExprKind::Transpose(x) => listed_heads(x, counts),
        ExprKind::Binary(_, x, y) => {
            listed_heads(x, counts);
            listed_heads(y, counts);
        }
        _ => {}
    }
}
