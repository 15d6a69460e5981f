//! Rows and columns as they are called: `row_i(A)`, since not everybody reads `A_{i,:}`.

use qkvet_spec::syntax::{Expr, ExprKind};

use crate::answer::{Drawn, Parameter};

/// Rows and columns of a formula under the names that sheets print.
pub(crate) fn called(expr: &mut Expr) {
    if let ExprKind::Apply { function, args, named } = &mut expr.kind
        && named.is_empty()
        && args.len() == 2
    {
        let of = match function.as_str() {
            "row" => "row_of",
            "col" => "column_of",
            "select" => "rows_of",
            own => own,
        };
        *function = of.to_owned();
    }
    expr.parts_mut().into_iter().for_each(called);
}

/// The formula with the number, from 1, of each row and column that was drawn.
pub(crate) fn numbered(mut expr: Expr, drawn: &Drawn) -> Expr {
    number(&mut expr, drawn);
    expr
}

fn number(expr: &mut Expr, drawn: &Drawn) {
    if let ExprKind::Apply { function, args, .. } = &mut expr.kind
        && matches!(function.as_str(), "row" | "col")
        && let [_, index] = args.as_mut_slice()
        && let ExprKind::Name(name) = &index.kind
        && let Some(Parameter::Index(i)) = drawn.parameters.get(name)
    {
        index.kind = ExprKind::Name((i + 1).to_string());
    }
    expr.parts_mut().into_iter().for_each(|part| number(part, drawn));
}

#[cfg(test)]
mod tests {
    use qkvet_prove::render::{Style, render};
    use qkvet_spec::syntax::parse;

    use super::*;

    #[test]
    fn rows_and_columns_are_called_so_in_every_print() {
        let mut expr = parse("row(A @ B.T, i) + 2 * col(A, j) @ row(B, k)")
            .unwrap_or_else(|error| panic!("{error}"));
        let mut drawn = Drawn::default();
        drawn.parameters.insert("i".to_owned(), Parameter::Index(2));
        expr = numbered(expr, &drawn);
        called(&mut expr);
        for (style, says) in [
            (Style::Unicode, "row₃(A Bᵀ) + 2 column_j(A) row_k(B)"),
            (Style::Words, "row 3 of open parenthesis A times B transposed close parenthesis plus"),
            (Style::Latex, r"\operatorname{row}_{3}(A \, B^{\top})"),
            (Style::Typst, "op(\"row\")_(3)"),
            (Style::MathMl, "<msub><mi>row</mi><mn>3</mn></msub>"),
        ] {
            let text = render(&expr, style).replace("http:", "");
            assert!(text.contains(says) && !text.contains(':'), "{text}");
        }
    }
}
