//! How much work an instance is, so that variants of a question are equally hard.

use crate::answer::{Drawn, Numbers, Parameter};

/// The load of an instance: for each number that is drawn and not 0 its digits, one more for a
/// half, and for each entry of a key the terms of its exact form.
///
/// A 0 saves the products it stands in, long numbers make each step longer, and every exponential
/// is one more thing to compute.
pub fn load<'a>(drawn: &Drawn, keys: impl Iterator<Item = &'a Numbers>) -> usize {
    let of_drawn = |parameter: &Parameter| match parameter {
        Parameter::Matrix(rows) => rows.iter().flatten().map(|x| digits(*x)).sum(),
        Parameter::Number(x) => digits(*x),
        Parameter::Index(_) => 0,
    };
    let of_key = |key: &Numbers| key.exact.iter().flatten().map(|x| terms(x)).sum::<usize>();
    drawn.parameters.values().map(of_drawn).sum::<usize>() + keys.map(of_key).sum::<usize>()
}

/// Digits of a number that is not 0, and one more if it is not whole.
fn digits(x: f64) -> usize {
    let size = x.abs();
    let bound = std::iter::successors(Some(10.0), |bound| Some(bound * 10.0));
    let whole = 1 + bound.take_while(|bound| *bound <= size).count();
    if size == 0.0 { 0 } else { whole + usize::from(size.fract() != 0.0) }
}

/// Terms of an exact form, above and below the line: `(exp(1) + 1)/(exp(1) + 2)` has 4.
fn terms(exact: &str) -> usize {
    1 + exact.matches(" + ").count()
        + exact.matches(" - ").count()
        + usize::from(exact.contains("/("))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_and_terms_are_counted() {
        for (x, n) in [(0.0, 0), (-3.0, 1), (10.0, 2), (-99.0, 2), (0.5, 2), (12.5, 3), (100.0, 3)]
        {
            assert_eq!(digits(x), n, "{x}");
        }
        for (exact, n) in [
            ("-5/2", 1),
            ("(exp(1) + 1)/(exp(1) + 2)", 4),
            ("3*exp(2)/(exp(2) - 1)", 3),
            ("1/(exp(2) + 1)", 3),
        ] {
            assert_eq!(terms(exact), n, "{exact}");
        }
    }
}
