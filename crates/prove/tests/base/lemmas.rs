//! Lemmas of derivations.

use std::collections::BTreeMap;

use qkvet_prove::derive::{LEMMAS, Lemma, Need};
use qkvet_prove::tree::Tree;

use crate::base::terms::{Matrix, Meant, Words, matrix};

/// Random values for which what the lemma needs is so.
fn draw(lemma: &Lemma, words: &mut Words) -> BTreeMap<String, Meant> {
    let parts: Vec<&str> = lemma.shapes.split_whitespace().collect();
    let needs = |wanted: &dyn Fn(&Need) -> bool| lemma.needs.iter().any(wanted);
    // Rows that are apart are cut from one order.
    let is_apart = needs(&|need| matches!(need, Need::Apart(..)));
    let mut common = Vec::new();
    let mut names = BTreeMap::new();
    for part in parts.chunks(3) {
        let (name, rows, cols): (String, usize, usize) =
            (format!("?{}", part[0]), part[1].parse().unwrap(), part[2].parse().unwrap());
        let is = |other: &str| name == other;
        let is_average = needs(&|need| matches!(need, Need::Averages(a) if is(a)));
        let is_partial = needs(&|need| matches!(need, Need::PartialAverages(a) if is(a)));
        let is_weights = is_average
            || is_partial
            || needs(&|need| matches!(need, Need::NonNegative(a) if is(a)));
        let is_selection = lemma.left.contains(&format!("(sel {name})"))
            || lemma.right.contains(&format!("(sel {name})"));
        let meant = if is_selection {
            if common.len() < rows || !is_apart {
                common = words.order(cols);
            }
            let order: Vec<usize> = common.drain(..rows).collect();
            Meant::Matrix(Matrix::new(rows, cols, |i, j| f64::from(u8::from(order[i] == j))))
        } else if rows > 0 && cols == 0 {
            Meant::Extent(rows)
        } else if cols == 0 {
            let x = words.real();
            Meant::Number(if needs(&|need| matches!(need, Need::NonNegativeNumber(k) if is(k))) {
                x.abs()
            } else {
                x
            })
        } else if is_weights {
            // Weights that are often 0, so that averages can be far apart.
            let m = Matrix::new(rows, cols, |_, _| words.real().max(0.0) + 1e-9);
            let sum = |i: usize| (0..cols).map(|j| m.at(i, j)).sum::<f64>();
            let share = if is_partial { words.real().abs() / 2.0 } else { 1.0 };
            Meant::Matrix(Matrix::new(rows, cols, |i, j| share * m.at(i, j) / sum(i)))
        } else {
            Meant::Matrix(Matrix::new(rows, cols, |_, _| words.real()))
        };
        names.insert(name, meant);
    }
    for need in lemma.needs {
        let (Need::Separated(z, row, t) | Need::Opposed(z, row, t)) = need else { continue };
        let margin = margin(&names, z, row, matches!(need, Need::Opposed(..)));
        names.insert((*t).to_owned(), Meant::Number(margin));
    }
    names
}

/// By how much the score selected exceeds the others in every row, or the one left out lies below
/// them.
fn margin(names: &BTreeMap<String, Meant>, z: &str, row: &str, is_opposed: bool) -> f64 {
    let (Meant::Matrix(z), Meant::Matrix(rows)) = (&names[z], &names[row]) else {
        panic!("no matrices")
    };
    let selected = |j: usize| (0..rows.rows).any(|i| rows.at(i, j) > 0.0);
    let j = (0..z.cols).find(|j| selected(*j) != is_opposed).unwrap();
    let sign = if is_opposed { -1.0 } else { 1.0 };
    let others =
        |i: usize| (0..z.cols).filter(move |other| *other != j).map(move |other| (i, other));
    (0..z.rows)
        .flat_map(others)
        .map(|(i, other)| sign * (z.at(i, j) - z.at(i, other)))
        .fold(f64::MAX, f64::min)
}

/// The largest excess of the left side over the right.
fn excess(left: &str, right: &str, names: &BTreeMap<String, Meant>) -> f64 {
    let (x, y) =
        (matrix(&Tree::parse(left).unwrap(), names), matrix(&Tree::parse(right).unwrap(), names));
    assert_eq!((x.rows, x.cols), (y.rows, y.cols));
    x.data.iter().zip(&y.data).map(|(x, y)| x - y).fold(f64::MIN, f64::max)
}

/// Values are below a thousand: what exceeds by less is rounding.
#[test]
fn lemmas_hold_and_their_wrong_variants_do_not() {
    let mut words = Words(2);
    for lemma in LEMMAS {
        let mut refuted = 0;
        for _ in 0..400 {
            let names = draw(lemma, &mut words);
            let over = excess(lemma.left, lemma.right, &names);
            assert!(over < 1e-10, "{}: {over:e}", lemma.name);
            refuted += usize::from(excess(lemma.left, lemma.wrong, &names) > 1e-3);
        }
        assert!(refuted > 0, "{}: its wrong variant passes", lemma.name);
    }
}
