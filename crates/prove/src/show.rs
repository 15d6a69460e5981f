//! Terms as expressions of the law language, for printing.

use qkvet_spec::syntax::{BinaryOp, Expr, ExprKind, UnaryOp, parse};

use crate::tree::Tree;

/// The expression that a term stands for, in the names of its law.
///
/// `Option` arguments that hide or add nothing are left out: `(soft z all none)` is
/// `softmax_rows(z)`.
pub fn expression(tree: &Tree) -> Expr {
    let arg = |at: usize| expression(&tree.args[at]);
    match (&*tree.op, tree.args.len()) {
        ("*", 2) => product(tree),
        ("num", 1) => scalar(&tree.args[0].op),
        ("mul", 2) => match negated(tree) {
            Some(positive) => new(ExprKind::Unary(UnaryOp::Neg, Box::new(expression(&positive)))),
            None => binary(BinaryOp::Mul, arg(0), arg(1)),
        },
        ("norm", 1) => apply("norm_max", vec![arg(0)]),
        ("norm2", 1) => apply("norm_2", vec![arg(0)]),
        ("spread" | "exp", 1) => apply(&tree.op, vec![arg(0)]),
        ("tv", 2) => apply("total_variation", vec![arg(0), arg(1)]),
        ("colmin" | "colmax", 1) => {
            let axis = vec![("axis".to_owned(), leaf("rows"))];
            let function = if &*tree.op == "colmin" { "min" } else { "max" };
            new(ExprKind::Apply { function: function.to_owned(), args: vec![arg(0)], named: axis })
        }
        ("+", 2) => match negated(&tree.args[1]) {
            Some(subtracted) => binary(BinaryOp::Sub, arg(0), expression(&subtracted)),
            None => binary(BinaryOp::Add, arg(0), arg(1)),
        },
        ("T", 1) => new(ExprKind::Transpose(Box::new(arg(0)))),
        ("sc", 2) => match negated(tree) {
            Some(positive) => new(ExprKind::Unary(UnaryOp::Neg, Box::new(expression(&positive)))),
            None => binary(BinaryOp::Mul, scalar(&tree.args[0].op), arg(1)),
        },
        ("soft", 3) => {
            let mut named = Vec::new();
            if tree.args[1] != Tree::leaf("all") {
                named.push(("mask".to_owned(), arg(1)));
            }
            if tree.args[2] != Tree::leaf("none") {
                named.push(("sinks".to_owned(), arg(2)));
            }
            new(ExprKind::Apply { function: "softmax_rows".to_owned(), args: vec![arg(0)], named })
        }
        ("cap", 1) => apply("softcap", vec![arg(0)]),
        // `inv(c)` reads as the cap `c`.
        ("cap", 2) => {
            let inverse =
                tree.args[0].op.strip_prefix("inv(").and_then(|rest| rest.strip_suffix(')'));
            let cap = inverse.map_or_else(
                || binary(BinaryOp::Div, scalar("1"), scalar(&tree.args[0].op)),
                scalar,
            );
            apply("softcap", vec![arg(1), cap])
        }
        ("both", 2) => {
            let mut masks = Vec::new();
            all_of(tree, &mut masks);
            apply("and_mask", masks)
        }
        ("att", 1) => apply("attended", vec![arg(0)]),
        ("diag", 1) => apply("diag", vec![arg(0)]),
        ("split", 2) => apply("split_heads", vec![arg(1), scalar(&tree.args[0].op)]),
        ("comb", 2) => apply("combine_heads", vec![arg(1)]),
        ("mean", 2) => apply("mean_heads", vec![arg(1)]),
        ("hcat" | "vcat", 2) => apply(&tree.op, vec![arg(0), arg(1)]),
        ("rs", 2) => apply("scale_rows", vec![arg(0), arg(1)]),
        ("sig", 1) => apply("sigmoid", vec![arg(0)]),
        ("lse", 1) => apply("lse", vec![arg(0)]),
        ("stretch", 2) => {
            let (row, n) = tree.args[0].op.split_once(':').unwrap_or((&tree.args[0].op, "n"));
            let identity = apply("eye", vec![scalar(n)]);
            apply(
                "scale_row",
                vec![identity, leaf(name_of_selection(row)), scalar(&tree.args[1].op)],
            )
        }
        ("perm" | "orth", 1) => arg(0),
        ("sel", 1) => {
            let identity = apply("eye", vec![scalar(own_extent(&tree.args[0].op))]);
            selected(&tree.args[0].op, identity)
        }
        ("one", 1) => apply("ones", vec![scalar(&tree.args[0].op)]),
        ("eye", 1) => apply("eye", vec![scalar(&tree.args[0].op)]),
        (name, _) => leaf(name),
    }
}

/// A selection of rows in front of a matrix reads as `row` or `select`.
fn product(tree: &Tree) -> Expr {
    let [left, right] = tree.args.as_slice() else {
        return leaf(&tree.op);
    };
    if left.is("sel", 1) {
        return selected(&left.args[0].op, expression(right));
    }
    if let Some(index) = one_column(right) {
        return apply("col", vec![expression(left), leaf(index)]);
    }
    binary(BinaryOp::MatMul, expression(left), expression(right))
}

/// The rows of a matrix that a selection has.
fn selected(own: &str, matrix: Expr) -> Expr {
    let name = name_of_selection(own);
    let is_set = |name: &str| name.chars().next().is_some_and(char::is_uppercase);
    match name.strip_prefix("not-") {
        Some(set) if is_set(set) => {
            let others = apply("others", vec![leaf(set), scalar(own_extent(own))]);
            apply("select", vec![matrix, others])
        }
        Some(index) => apply("drop_row", vec![matrix, leaf(index)]),
        None => apply(if is_set(name) { "select" } else { "row" }, vec![matrix, leaf(name)]),
    }
}

/// The index whose column a matrix picks out of what stands before it.
fn one_column(tree: &Tree) -> Option<&str> {
    let selection = tree.is("T", 1).then(|| &tree.args[0]).filter(|row| row.is("sel", 1))?;
    let name = name_of_selection(&selection.args[0].op);
    (name.starts_with(char::is_lowercase) && !name.starts_with("not-")).then_some(name)
}

/// The masks that have to hold together.
fn all_of(tree: &Tree, masks: &mut Vec<Expr>) {
    match tree.is("both", 2) {
        true => tree.args.iter().for_each(|part| all_of(part, masks)),
        false => masks.push(expression(tree)),
    }
}

/// The extent that a selection counts in.
fn own_extent(own: &str) -> &str {
    own.rsplit_once(':').map_or("n", |(_, extent)| extent)
}

/// The name of a selection, without the extent that it counts in.
fn name_of_selection(own: &str) -> &str {
    own.split([':', '!']).next().unwrap_or(own)
}

/// `A` for `−1·A`, `k·A` for `−k·A`.
fn negated(tree: &Tree) -> Option<Tree> {
    let positive = |factor: &Tree| {
        let rest = factor.op.strip_prefix('-')?;
        Some(Tree::leaf(rest.strip_prefix("1*").unwrap_or(rest)))
    };
    match (&*tree.op, tree.args.as_slice()) {
        ("num", [number]) => Some(Tree::new("num", [positive(number)?])),
        ("mul", [factor, rest]) if factor.is("num", 1) => Some(match positive(&factor.args[0])? {
            one if one == Tree::leaf("1") => rest.clone(),
            positive => Tree::new("mul", [Tree::new("num", [positive]), rest.clone()]),
        }),
        ("sc", [factor, rest]) => Some(match positive(factor)? {
            one if one == Tree::leaf("1") => rest.clone(),
            positive => Tree::new("sc", [positive, rest.clone()]),
        }),
        _ => None,
    }
}

/// `inv(n)` is `1 / n`.
fn scalar(text: &str) -> Expr {
    let inverse = text.strip_prefix("inv(").and_then(|rest| rest.strip_suffix(')'));
    let text = inverse.map_or_else(
        || text.replace('·', "*").replace('#', ""),
        |extent| format!("1 / ({extent})"),
    );
    parse(&text).unwrap_or_else(|_| leaf(&text))
}

/// `bias[i]` is `item(bias, i)`; what stands in parentheses behind a name, its extents, is left
/// out, and so is the `#` of what is the case's.
fn leaf(name: &str) -> Expr {
    let bare = name.split_once('(').map_or(name, |(bare, _)| bare);
    let (bare, item) = match bare.split_once('[').or_else(|| name.split_once('[')) {
        Some((_, item)) if name.contains('[') => {
            (bare.split('[').next().unwrap_or(bare), item.strip_suffix(']'))
        }
        _ => (bare, None),
    };
    let symbol = new(ExprKind::Name(name_of_selection(bare).replace('-', "_").replace('#', "")));
    match item {
        Some(item) => apply("item", vec![symbol, new(ExprKind::Name(item.to_owned()))]),
        None => symbol,
    }
}

fn new(kind: ExprKind) -> Expr {
    Expr { kind, span: 0..0 }
}

fn binary(op: BinaryOp, x: Expr, y: Expr) -> Expr {
    new(ExprKind::Binary(op, Box::new(x), Box::new(y)))
}

fn apply(function: &str, args: Vec<Expr>) -> Expr {
    new(ExprKind::Apply { function: function.to_owned(), args, named: Vec::new() })
}
