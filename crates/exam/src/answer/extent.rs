//! Extents as formulas.

use qkvet_spec::syntax::{BinaryOp, Expr, ExprKind};

use super::Drawn;

/// The value of an extent: numbers, names of extents, sums, differences and products of them.
/// Nothing of what is none, or is larger than 4096.
pub(crate) fn extent(expr: &Expr, drawn: &Drawn) -> Option<usize> {
    match &expr.kind {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "checked to be a small whole number"
        )]
        ExprKind::Number(x) if x.fract() == 0.0 && (0.0..=4096.0).contains(x) => Some(*x as usize),
        ExprKind::Name(name) => drawn.size(name),
        ExprKind::Binary(op, x, y) => {
            let (x, y) = (extent(x, drawn)?, extent(y, drawn)?);
            match op {
                BinaryOp::Add => x.checked_add(y),
                BinaryOp::Sub => x.checked_sub(y),
                BinaryOp::Mul => x.checked_mul(y),
                _ => None,
            }
            .filter(|n| *n <= 4096)
        }
        _ => None,
    }
}
