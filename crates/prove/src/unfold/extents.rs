//! Extents of terms: they count from 1.

use qkvet_spec::{IndexExpr, IndexName};

use crate::tree::Tree;

/// The extents of ones and identities in a term.
pub(super) fn leaves(tree: &Tree, extents: &mut Vec<String>) {
    if tree.is("one", 1) || tree.is("eye", 1) {
        extents.push(tree.args[0].op.to_string());
    } else {
        tree.args.iter().for_each(|arg| leaves(arg, extents));
    }
}

/// Whether an extent is at least 1 when all that it is made of is and the condition holds, and its
/// numbers are of a size that was not cut off.
pub(super) fn is_positive(extent: &str, condition: Option<&IndexExpr>) -> bool {
    let mut numbers =
        extent.split(|c: char| !c.is_ascii_digit()).filter(|digits| !digits.is_empty());
    let is_one_less = |(whole, less): (&str, &str)| less == "1" && least(whole, condition) >= 2;
    extent != "0"
        && (!extent.contains('-') || extent.split_once('-').is_some_and(is_one_less))
        && numbers.all(|digits| digits.len() < 10)
}

/// What an extent is at least: itself, if it is a number, or what a condition says, or 1.
pub(super) fn least(extent: &str, condition: Option<&IndexExpr>) -> i64 {
    let said = || Some(condition?.least(IndexName::named(extent)?));
    extent.parse().unwrap_or_else(|_| said().unwrap_or(1).max(1))
}
