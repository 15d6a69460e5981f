//! Relations: what a law says of its sides, link by link.

use qkvet_spec::syntax::{BinaryOp, Expr, ExprKind};

use super::{NotUnfolded, Place, Relation, Unfolder, unknown};
use crate::derive::{grows, is_scalar};
use crate::tree::{Tree, is_zero};

impl Unfolder<'_> {
    pub(super) fn statement(&mut self, statement: &Expr) -> Result<(), NotUnfolded> {
        let place = Place { lets: self.law.lets.len(), ..Place::default() };
        match &statement.kind {
            ExprKind::Binary(BinaryOp::And, x, y) => {
                self.statement(x)?;
                self.statement(y)
            }
            ExprKind::Binary(
                op @ (BinaryOp::Eq | BinaryOp::SameBits | BinaryOp::Le | BinaryOp::Ge),
                x,
                y,
            ) => {
                // The proof passes what the law names, link by link.
                let passed: Vec<&Expr> =
                    [&**x].into_iter().chain(&self.law.through).chain([&**y]).collect();
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
                    let first = self.claims.len();
                    self.at_most(&args[0], x, &place)?;
                    self.at_most(x, &args[1], &place)?;
                    self.claims[first..]
                        .iter()
                        .try_for_each(|(_, left, right)| self.is_said_of_all(left, right))
                }
                _ => Err(unknown("statement", "`in` something without ends")),
            },
            ExprKind::Binary(op, ..) => Err(unknown("statement", format!("`{}`", op.symbol()))),
            _ => Err(unknown("statement", "no relation")),
        }
    }

    /// Whether what holds for the numbers of every item and head holds for those of all of them:
    /// the largest of norms is then at most a number that grows with what is larger for all.
    fn is_said_of_all(&self, smallest: &Tree, largest: &Tree) -> Result<(), NotUnfolded> {
        let is_one_norm = smallest.is("norm", 1) || smallest.is("spread", 1);
        if is_scalar(smallest) && !(is_one_norm && grows(largest, &self.facts)) {
            return Err(unknown(
                "statement",
                "`<=` that is not one norm below what grows with norms",
            ));
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
}
