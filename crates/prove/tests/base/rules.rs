//! Rules of rewriting.

use std::collections::BTreeMap;

use qkvet_prove::rewrite::{RULES, Rule, When};
use qkvet_prove::tree::Tree;

use crate::base::terms::{Matrix, Meant, Words, at_head, matrix};

fn draw(rule: &Rule, words: &mut Words) -> BTreeMap<String, Meant> {
    let parts: Vec<&str> = rule.shapes.split_whitespace().collect();
    let heads =
        parts.chunks(3).find(|part| part[0] == "h").map(|part| part[1].parse::<usize>().unwrap());
    // Selections that are apart or complements are cut from one order.
    let together = matches!(rule.when, Some(When::Complements(..) | When::Apart(..)));
    let mut common = Vec::new();
    let is_used = |op: &str, name: &str| rule.left.contains(&format!("({op} ?{name}"));
    let is_mask = |name: &str| {
        ["soft", "att", "both"].iter().any(|op| rule.left.contains(&format!("({op} ")))
            && matches!(name, "m" | "n")
            || rule.left.contains("(both") && matches!(name, "a" | "b")
    };
    let draw = |part: &[&str]| {
        let (name, rows, cols): (&str, usize, usize) =
            (part[0], part[1].parse().unwrap(), part[2].parse().unwrap());
        let is_selection = is_used("sel", name) || is_used("stretch", name) && cols > 0;
        let meant = if is_used("perm", name) || is_selection {
            if common.len() < rows || !together {
                common = words.order(cols);
            }
            let order: Vec<usize> = common.drain(..rows).collect();
            Meant::Matrix(Matrix::new(rows, cols, |i, j| f64::from(u8::from(order[i] == j))))
        } else if is_used("orth", name) {
            // A reflection: I − 2vvᵀ/‖v‖².
            let v: Vec<f64> = (0..rows).map(|_| words.real()).collect();
            let square: f64 = v.iter().map(|x| x * x).sum();
            let order = words.order(rows);
            let reflected =
                |i: usize, j: usize| f64::from(u8::from(i == j)) - 2.0 * v[i] * v[j] / square;
            Meant::Matrix(Matrix::new(rows, cols, |i, j| reflected(order[i], j)))
        } else if cols == 0 && rows > 0 {
            Meant::Extent(rows)
        } else if cols == 0 {
            Meant::Number(words.real())
        } else if let Some(heads) =
            heads.filter(|_| !rule.left.contains(&format!("(split ?h ?{name})")))
        {
            Meant::Heads((0..heads).map(|_| Matrix::new(rows, cols, |_, _| words.real())).collect())
        } else if is_mask(name) {
            Meant::Matrix(Matrix::new(rows, cols, |_, _| f64::from(u8::from(words.below(3) > 0))))
        } else {
            Meant::Matrix(Matrix::new(rows, cols, |_, _| words.real()))
        };
        (format!("?{name}"), meant)
    };
    parts.chunks(3).map(draw).collect()
}

/// Largest difference of both sides at any head; infinite for other shapes.
fn difference(left: &str, right: &str, names: &BTreeMap<String, Meant>) -> f64 {
    let heads = if let Some(Meant::Extent(heads)) = names.get("?h") { *heads } else { 1 };
    (0..heads).map(|head| difference_at(left, right, &at_head(names, head))).fold(0.0, f64::max)
}

fn difference_at(left: &str, right: &str, names: &BTreeMap<String, Meant>) -> f64 {
    let (x, y) =
        (matrix(&Tree::parse(left).unwrap(), names), matrix(&Tree::parse(right).unwrap(), names));
    if (x.rows, x.cols) != (y.rows, y.cols) {
        return f64::INFINITY;
    }
    x.data.iter().zip(&y.data).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max)
}

/// Differences of right rules are roundings of numbers below a thousand; those of wrong ones are
/// not.
#[test]
fn rules_hold_and_their_wrong_variants_do_not() {
    let mut words = Words(1);
    for rule in RULES.iter() {
        let mut refuted = 0;
        for _ in 0..200 {
            let names = draw(rule, &mut words);
            let right = difference(rule.left, rule.right, &names);
            assert!(right < 1e-10, "{}: {right:e}", rule.name);
            refuted += usize::from(difference(rule.left, rule.wrong, &names) > 1e-3);
        }
        assert!(refuted > 0, "{}: its wrong variant passes", rule.name);
    }
}
