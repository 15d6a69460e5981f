//! Numbers that are made of norms, spreads and exponentials: one form for equal ones, and their
//! signs.

use std::collections::BTreeMap;

use dashu_int::IBig;
use dashu_ratio::RBig;

use super::facts::Facts;
use crate::number::Monomial;
use crate::tree::Tree;

/// Whether a term is a number rather than a matrix, by its operators.
pub(crate) fn is_scalar(tree: &Tree) -> bool {
    match (&*tree.op, tree.args.len()) {
        ("num" | "norm" | "norm2" | "spread" | "exp", 1) | ("mul" | "tv", 2) => true,
        ("+", 2) => tree.args.iter().all(is_scalar),
        _ => false,
    }
}

/// A sum of products of names, numbers in front. What stands in norms, spreads and distances is not
/// looked into.
pub(crate) type Polynomial = BTreeMap<Vec<String>, RBig>;

/// The polynomial that a number is; `None` for a term that is no number.
pub(crate) fn polynomial(tree: &Tree) -> Option<Polynomial> {
    match (&*tree.op, tree.args.as_slice()) {
        ("num", [number]) => {
            let number = Monomial::parse(&number.op)?;
            let (numerator, denominator) = number.ratio();
            let ratio = RBig::from(IBig::from(numerator)) / RBig::from(IBig::from(denominator));
            Some(term(number.symbols().to_vec(), ratio))
        }
        ("+", [x, y]) => {
            let mut sum = polynomial(x)?;
            polynomial(y)?.into_iter().for_each(|(names, factor)| add(&mut sum, names, factor));
            Some(sum)
        }
        ("mul", [x, y]) => {
            let (x, y) = (polynomial(x)?, polynomial(y)?);
            let mut product = Polynomial::new();
            for (left, k) in &x {
                for (right, l) in &y {
                    let mut names = [left.as_slice(), right.as_slice()].concat();
                    names.sort();
                    add(&mut product, names, k * l);
                }
            }
            Some(product)
        }
        ("exp", [x]) => Some(term(vec![format!("exp({:?})", polynomial(x)?)], RBig::ONE)),
        _ => is_scalar(tree).then(|| term(vec![tree.to_string()], RBig::ONE)),
    }
}

fn term(names: Vec<String>, factor: RBig) -> Polynomial {
    let mut one = Polynomial::new();
    add(&mut one, names, factor);
    one
}

fn add(sum: &mut Polynomial, names: Vec<String>, factor: RBig) {
    let entry = sum.entry(names.clone()).or_insert(RBig::ZERO);
    *entry += factor;
    if entry.is_zero() {
        sum.remove(&names);
    }
}

/// Whether two numbers are equal whatever their names stand for.
pub(crate) fn are_equal(x: &Tree, y: &Tree) -> bool {
    polynomial(x).is_some_and(|left| Some(left) == polynomial(y))
}

/// Whether `x ≤ y` because what `y` has more, which is something, is a sum of products of what is
/// not negative.
pub(crate) fn is_at_most(x: &Tree, y: &Tree, facts: &Facts) -> bool {
    let (Some(x), Some(mut more)) = (polynomial(x), polynomial(y)) else { return false };
    x.into_iter().for_each(|(names, factor)| add(&mut more, names, -factor));
    let is_known = |name: &String| {
        // Norms, spreads, distances and exponentials stand as terms in parentheses.
        name.contains('(') && !name.starts_with("inv(") || facts.is_non_negative_number(name)
    };
    !more.is_empty()
        && more.iter().all(|(names, factor)| *factor > RBig::ZERO && names.iter().all(is_known))
}

/// Whether a number is not negative, by how it is built.
pub(crate) fn is_non_negative(tree: &Tree, facts: &Facts) -> bool {
    match (&*tree.op, tree.args.as_slice()) {
        ("num", [number]) => facts.is_non_negative_number(&number.op),
        ("norm" | "norm2" | "spread" | "exp" | "tv", _) => true,
        ("mul", [x, y]) => is_non_negative(x, facts) && is_non_negative(y, facts),
        ("+", [x, less]) if let Some(less) = whole(less).filter(|less| *less < 0) => {
            least(x, facts) >= -less
        }
        ("+", [x, y]) => is_non_negative(x, facts) && is_non_negative(y, facts),
        _ => false,
    }
}

/// A whole number, written as one.
fn whole(tree: &Tree) -> Option<i64> {
    tree.is("num", 1).then(|| tree.args[0].op.parse().ok()).flatten()
}

/// What a number is at least, of extents and of the exponential of what is not negative; 0 of
/// others.
fn least(tree: &Tree, facts: &Facts) -> i64 {
    match (&*tree.op, tree.args.as_slice()) {
        ("num", [extent]) => {
            whole(tree).or_else(|| facts.extents.get(&*extent.op).copied()).unwrap_or(0)
        }
        ("exp", [x]) => i64::from(is_non_negative(x, facts)),
        _ => 0,
    }
}

/// Whether a number does not fall when a norm, a spread or a distance in it grows.
///
/// A statement about a whole tensor says the same of the largest over its items and heads; it
/// follows from the statement about each of them if the larger side grows with what is larger for
/// the whole.
pub(crate) fn grows(tree: &Tree, facts: &Facts) -> bool {
    match (&*tree.op, tree.args.as_slice()) {
        ("num" | "norm" | "norm2" | "spread" | "tv", _) => true,
        ("exp", [x]) => grows(x, facts),
        ("+", parts) => parts.iter().all(|part| grows(part, facts)),
        ("mul", parts) => {
            let is_constant = |part: &Tree| !mentions_matrices(part);
            parts.iter().all(|part| grows(part, facts) && is_non_negative(part, facts))
                || parts.iter().all(is_constant)
        }
        _ => false,
    }
}

fn mentions_matrices(tree: &Tree) -> bool {
    matches!(&*tree.op, "norm" | "norm2" | "spread" | "tv")
        || tree.args.iter().any(mentions_matrices)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts() -> Facts {
        Facts {
            non_negative: ["t".to_owned()].into(),
            extents: [("n".to_owned(), 1), ("m".to_owned(), 3)].into(),
            ..Facts::default()
        }
    }

    fn tree(text: &str) -> Tree {
        Tree::parse(text).unwrap_or_else(|| panic!("{text}"))
    }

    #[test]
    fn signs_are_known_or_not() {
        for text in [
            "(num t)",
            "(norm A)",
            "(+ (num n) (num -1))",
            "(+ (num m) (num -2))",
            "(+ (exp (norm A)) (num -1))",
        ] {
            assert!(is_non_negative(&tree(text), &facts()), "{text}");
        }
        for text in [
            "(num u)",
            "(num -1)",
            "(+ (num n) (num -2))",
            "(+ (exp (num u)) (num -1))",
            "(mul (num -1) (norm A))",
        ] {
            assert!(!is_non_negative(&tree(text), &facts()), "{text}");
        }
    }

    /// What falls with a norm is not said of all heads.
    #[test]
    fn what_grows_with_norms() {
        for text in [
            "(norm A)",
            "(mul (num t) (norm A))",
            "(exp (norm A))",
            "(mul (num -1) (num t))",
            "(+ (norm A) (num -1))",
        ] {
            assert!(grows(&tree(text), &facts()), "{text}");
        }
        for text in [
            "(mul (num -1) (norm A))",
            "(exp (mul (num -1) (norm A)))",
            "(mul (num u) (norm A))",
            "(mul (+ (norm A) (num -1)) (norm B))",
        ] {
            assert!(!grows(&tree(text), &facts()), "{text}");
        }
    }

    #[test]
    fn equal_numbers_have_one_form() {
        for (x, y, equal) in [
            ("(mul (num 1/2) (+ (num t) (num t)))", "(num t)", true),
            (
                "(mul (+ (num n) (num -1)) (exp (mul (num -1) (num t))))",
                "(+ (mul (num n) (exp (num -1*t))) (mul (num -1) (exp (num -1*t))))",
                true,
            ),
            ("(exp (num t))", "(exp (num 2*t))", false),
            ("(norm A)", "(norm B)", false),
            ("(num 1/2)", "(num 1/3)", false),
        ] {
            assert_eq!(are_equal(&tree(x), &tree(y)), equal, "{x} = {y}");
        }
    }
}
