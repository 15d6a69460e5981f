//! Long formulas in pieces between which a line may end.

use qkvet_prove::render::{Style, render};
use qkvet_spec::syntax::{BinaryOp, Expr, ExprKind, UnaryOp};

use super::document::Inline;

/// Signs of a formula that fits on a line for sure.
const FITS: usize = 56;

/// The formula with relations, and the sums of long sides, in pieces; one that is short, or has
/// neither, as it is.
pub(super) fn broken(expr: &Expr) -> Vec<Inline> {
    broken_where(expr, &|expr| written(expr).chars().count() <= FITS)
}

/// The same with another measure of what fits on a line.
pub(super) fn broken_where(expr: &Expr, fits: &dyn Fn(&Expr) -> bool) -> Vec<Inline> {
    let mut all = Vec::new();
    for (sign, side) in if fits(expr) { vec![(None, expr)] } else { sides(expr) } {
        all.extend(sign.map(|sign| Inline::text(format!(" {sign} "))));
        for (sign, term) in if fits(side) { vec![(None, side)] } else { terms(side) } {
            all.extend(sign.map(|sign| Inline::text(format!(" {sign} "))));
            all.push(Inline::math(term.clone()));
        }
    }
    all
}

fn written(expr: &Expr) -> String {
    render(expr, Style::Unicode)
}

type Pieces<'a> = Vec<(Option<&'static str>, &'a Expr)>;

/// `a`, `= b`, `≤ c`.
fn sides(expr: &Expr) -> Pieces<'_> {
    let sign = |op| match op {
        BinaryOp::Eq => Some("="),
        BinaryOp::Le => Some("≤"),
        BinaryOp::Ge => Some("≥"),
        _ => None,
    };
    match &expr.kind {
        ExprKind::Binary(BinaryOp::And, x, y) => {
            let (mut all, more) = (sides(x), sides(y));
            let joins = match (all.last(), more.first()) {
                (Some((_, end)), Some((_, start))) => written(end) == written(start),
                _ => false,
            };
            // `a = b and b = c` is `a = b = c`.
            if joins && all.len() > 1 && more.len() > 1 {
                all.extend(more.into_iter().skip(1));
                return all;
            }
            vec![(None, expr)]
        }
        ExprKind::Binary(op, x, y) if sign(*op).is_some() => vec![(None, &**x), (sign(*op), &**y)],
        _ => vec![(None, expr)],
    }
}

/// `a`, `+ b`, `− c`.
fn terms(expr: &Expr) -> Pieces<'_> {
    let is_sum = |x: &Expr| matches!(&x.kind, ExprKind::Binary(BinaryOp::Add | BinaryOp::Sub, ..));
    let is_signed = |x: &Expr| matches!(&x.kind, ExprKind::Unary(UnaryOp::Neg, _));
    match &expr.kind {
        // What needs parentheses stays together with its sign.
        ExprKind::Binary(op @ (BinaryOp::Add | BinaryOp::Sub), x, y)
            if !is_sum(y) && !is_signed(y) =>
        {
            let mut all = terms(x);
            all.push((Some(if *op == BinaryOp::Add { "+" } else { "−" }), y));
            all
        }
        _ => vec![(None, expr)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(text: &str) -> Vec<String> {
        let expr = qkvet_spec::syntax::parse(text).unwrap_or_else(|error| panic!("{error}"));
        let piece = |inline: &Inline| match inline {
            Inline::Math(expr) => written(expr),
            Inline::Text(text) => text.clone(),
            other => panic!("{other:?}"),
        };
        broken(&expr).iter().map(piece).collect()
    }

    #[test]
    fn long_formulas_have_places_to_end_a_line_and_short_ones_have_none() {
        let long = ["softmax_rows(Q @ K.T / sqrt(d_k)) @ V"; 2];
        let [a, b] = long.map(|text| pieces(text).concat());
        assert_eq!(pieces("A == B").len(), 1);
        assert_eq!(
            pieces(&format!("{} == {} + {} + {}", long[0], long[1], long[0], long[0])),
            [&*a, " = ", &b, " + ", &a, " + ", &a].map(String::from)
        );
        let sum = format!("{b} + {b}");
        assert_eq!(
            pieces(&format!("A == {0} + {0} and {0} + {0} == C", long[0])),
            ["A", " = ", &*sum, " = ", "C"].map(String::from)
        );
        // Neither a difference in parentheses nor a minus of its own is taken apart.
        let kept = format!("{} - ({} - A)", long[0], long[1]);
        assert_eq!(pieces(&kept).len(), 1, "{:?}", pieces(&kept));
        assert_eq!(pieces(&format!("{} + -{}", long[0], long[1])).len(), 1);
    }
}
