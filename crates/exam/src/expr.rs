//! Formulas that are put together of others.

use qkvet_spec::syntax::{BinaryOp, Expr, ExprKind};

pub(crate) fn expr(kind: ExprKind) -> Expr {
    Expr { kind, span: 0..0 }
}

/// A name.
pub(crate) fn name(name: &str) -> Expr {
    expr(ExprKind::Name(name.to_owned()))
}

/// Two formulas with an operator between them.
pub(crate) fn binary(op: BinaryOp, left: Expr, right: Expr) -> Expr {
    expr(ExprKind::Binary(op, Box::new(left), Box::new(right)))
}

/// A function of some arguments.
pub(crate) fn apply(function: &str, args: Vec<Expr>) -> Expr {
    expr(ExprKind::Apply { function: function.to_owned(), args, named: Vec::new() })
}

/// A matrix as text of the law language, its entries as `one` writes them.
pub(crate) fn matrix(rows: &[Vec<String>], one: &dyn Fn(&String) -> String) -> String {
    let joined = |function: &str, parts: Vec<String>| {
        parts
            .into_iter()
            .reduce(|left, right| format!("{function}({left}, {right})"))
            .unwrap_or_default()
    };
    let cell = |cell: &String| format!("{} * ones(1, 1)", one(cell));
    joined("vcat", rows.iter().map(|row| joined("hcat", row.iter().map(cell).collect())).collect())
}
