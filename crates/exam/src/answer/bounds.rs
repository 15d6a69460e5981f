//! The single inequalities that one bound on a largest entry stands for.

use qkvet_spec::syntax::{BinaryOp, Expr, ExprKind};

use crate::expr::apply;

/// One inequality: a block of the matrix whose largest entry is bounded.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Bounded {
    /// What may be so much at most.
    pub(crate) of: Expr,
    /// The same as it is read: a number without the matrix of one that it stands in, and without
    /// its magnitude.
    pub(crate) shown: Expr,
}

/// The inequalities that together say `distance ≤ most`: of
/// `norm_max(hcat(A, vcat(x * ones(1, 1), C)))` those of `A`, `x` and `C`.
pub(crate) fn bounded(distance: &Expr) -> Vec<Bounded> {
    let mut all = Vec::new();
    match &distance.kind {
        ExprKind::Apply { function, args, .. } if function == "norm_max" && args.len() == 1 => {
            blocks(&args[0], &mut all)
        }
        _ => all.push(Bounded { of: distance.clone(), shown: distance.clone() }),
    }
    all
}

fn blocks(matrix: &Expr, all: &mut Vec<Bounded>) {
    match &matrix.kind {
        ExprKind::Apply { function, args, .. } if matches!(function.as_str(), "hcat" | "vcat") => {
            args.iter().for_each(|block| blocks(block, all));
        }
        kind => {
            let of = apply("norm_max", vec![matrix.clone()]);
            let shown = match kind {
                ExprKind::Binary(BinaryOp::Mul, number, one) if is_one(one) => (**number).clone(),
                _ => of.clone(),
            };
            all.push(Bounded { of, shown });
        }
    }
}

/// Whether it is `ones(1, 1)`.
fn is_one(expr: &Expr) -> bool {
    let is_1 = |expr: &Expr| matches!(expr.kind, ExprKind::Number(1.0));
    matches!(&expr.kind, ExprKind::Apply { function, args, .. } if function == "ones" && args.len() == 2 && args.iter().all(is_1))
}

#[cfg(test)]
mod tests {
    use qkvet_prove::render::{Style, render};
    use qkvet_spec::syntax::parse;

    use super::*;

    #[test]
    fn a_bound_is_one_for_each_block() {
        let shown = |text: &str| -> Vec<String> {
            let expr = parse(text).unwrap_or_else(|error| panic!("{text}: {error:?}"));
            bounded(&expr).iter().map(|one| render(&one.shown, Style::Unicode)).collect()
        };
        let plain = |text: &str| {
            render(&parse(text).unwrap_or_else(|error| panic!("{error:?}")), Style::Unicode)
        };
        assert_eq!(
            shown("norm_max(hcat(2 * x * ones(1, 1), vcat(A, B)))"),
            [plain("2 * x"), plain("norm_max(A)"), plain("norm_max(B)")]
        );
        assert_eq!(shown("norm_max(A @ B)"), [plain("norm_max(A @ B)")]);
        assert_eq!(shown("spread(hcat(A, B))"), [plain("spread(hcat(A, B))")]);
    }
}
