//! Sums in one form: summands in one order, those that are multiples of one term together, nothing
//! that is 0.
//!
//! Sums are commutative, but a rule that says so would make every order of every sum: instead a sum
//! has one form.

use std::collections::BTreeSet;

use crate::number::Monomial;
use crate::tree::{Shapes, Tree, is_zero, shape};

/// The term with every sum in it, of matrices, in its one form; equal to the term.
pub(crate) fn collected(term: &Tree, names: &Shapes) -> Tree {
    if is_zero(term) {
        return zero(term, names);
    }
    let term = Tree::new(&term.op, term.args.iter().map(|arg| collected(arg, names)));
    if is_zero(&term) {
        return zero(&term, names);
    }
    match (&*term.op, term.args.as_slice()) {
        ("+", [_, _]) if !crate::derive::is_scalar(&term) => of_sum(&term, names),
        ("sc", [_, _]) => {
            let mut summands = Vec::new();
            summand(&term, Monomial::ONE, &mut summands);
            match summands.as_slice() {
                [one] => multiple(one),
                _ => term,
            }
        }
        _ => term,
    }
}

/// Whether a sum in one of two terms loses a matrix when they are collected: what cancels only
/// leads a search astray.
pub(crate) fn cancels(terms: [&Tree; 2], collected: [&Tree; 2]) -> bool {
    let named = |terms: [&Tree; 2]| {
        let mut names = BTreeSet::new();
        terms.iter().for_each(|term| leaves(term, &mut names));
        names.len()
    };
    named(collected) < named(terms)
}

fn leaves<'a>(tree: &'a Tree, names: &mut BTreeSet<&'a str>) {
    match (&*tree.op, tree.args.as_slice()) {
        ("sc", [_, matrix]) => leaves(matrix, names),
        ("one", _) => {}
        (name, []) => _ = names.insert(name),
        (_, args) => args.iter().for_each(|arg| leaves(arg, names)),
    }
}

/// Whether zeros stand in a term.
pub(crate) fn has_zeros(term: &Tree) -> bool {
    is_zero(term) || term.args.iter().any(has_zeros)
}

/// The matrix of zeros of a term's shape.
fn zero(term: &Tree, names: &Shapes) -> Tree {
    let zeros = |ones: Tree| Tree::new("sc", [Tree::leaf("0"), ones]);
    match shape(term, names) {
        Some((rows, cols)) => {
            let ones = |extent: &str| Tree::new("one", [Tree::leaf(extent)]);
            zeros(Tree::new("*", [ones(&rows), Tree::new("T", [ones(&cols)])]))
        }
        None => term.clone(),
    }
}

fn of_sum(sum: &Tree, names: &Shapes) -> Tree {
    let mut summands = Vec::new();
    summand(sum, Monomial::ONE, &mut summands);
    // By the term, then by its symbols, so that multiples that can be added stand side by side.
    summands.sort_by_cached_key(|(factor, term)| (term.to_string(), factor.symbols().to_vec()));
    let mut merged: Vec<(Monomial, Tree)> = Vec::new();
    for (factor, term) in summands {
        match merged
            .last_mut()
            .filter(|(_, last)| *last == term)
            .and_then(|(known, _)| Some((known.plus(&factor)?, known)))
        {
            Some((both, known)) => *known = both,
            None => merged.push((factor, term)),
        }
    }
    let left =
        merged.iter().filter(|(factor, term)| !factor.is_zero() && !is_zero(term)).map(multiple);
    left.reduce(|sum, next| Tree::new("+", [sum, next])).unwrap_or_else(|| zero(sum, names))
}

/// The summands of `factor · term`, numbers in front multiplied out.
fn summand(term: &Tree, factor: Monomial, into: &mut Vec<(Monomial, Tree)>) {
    match (&*term.op, term.args.as_slice()) {
        ("+", [x, y]) => {
            summand(x, factor.clone(), into);
            summand(y, factor, into);
        }
        ("sc", [number, matrix]) => {
            match Monomial::parse(&number.op).and_then(|number| number.times(&factor)) {
                Some(factor) => summand(matrix, factor, into),
                None => into.push((factor, term.clone())),
            }
        }
        _ => into.push((factor, term.clone())),
    }
}

fn multiple((factor, term): &(Monomial, Tree)) -> Tree {
    if *factor == Monomial::ONE {
        term.clone()
    } else {
        Tree::new("sc", [Tree::leaf(&factor.to_string()), term.clone()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_sums_have_one_form() {
        let names: Shapes =
            ["A", "B", "V"].map(|name| (name.to_owned(), ("n".to_owned(), "d".to_owned()))).into();
        let of = |text: &str| collected(&Tree::parse(text).unwrap(), &names).to_string();
        assert_eq!(of("(+ B A)"), "(+ A B)");
        assert_eq!(of("(+ V (+ V A))"), "(+ A (sc 2 V))");
        assert_eq!(
            of("(+ (sc g (+ A B)) (sc -1 (sc g (+ B A))))"),
            "(sc 0 (* (one n) (T (one d))))"
        );
        assert_eq!(of("(soft (+ A (sc 0 B)) all none)"), "(soft A all none)");
        assert_eq!(of("(+ (sc 1/2 A) (sc -1/3 A))"), "(sc 1/6 A)");
        assert_eq!(of("(+ (sc g A) (sc h A))"), "(+ (sc g A) (sc h A))");
        assert_eq!(of("(* A (T (sc 0 B)))"), "(sc 0 (* (one n) (T (one n))))");
        assert_eq!(of("(+ (norm B) (norm A))"), "(+ (norm B) (norm A))");
    }
}
