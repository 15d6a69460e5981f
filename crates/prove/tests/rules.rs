//! Every rule holds on random matrices, and a wrong variant of it does not.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;

use qkvet_prove::rewrite::{RULES, Rule, When};
use qkvet_prove::tree::Tree;

/// Row by row.
#[derive(Clone, Debug)]
struct Matrix {
    rows: usize,
    cols: usize,
    data: Vec<f64>,
}

impl Matrix {
    fn new(rows: usize, cols: usize, mut at: impl FnMut(usize, usize) -> f64) -> Self {
        let data = (0..rows * cols).map(|x| at(x / cols, x % cols)).collect();
        Self { rows, cols, data }
    }

    fn at(&self, i: usize, j: usize) -> f64 {
        self.data[i * self.cols + j]
    }

    fn times(&self, other: &Self) -> Self {
        assert_eq!(self.cols, other.rows);
        Self::new(self.rows, other.cols, |i, j| (0..self.cols).map(|t| self.at(i, t) * other.at(t, j)).sum())
    }

    fn transpose(&self) -> Self {
        Self::new(self.cols, self.rows, |i, j| self.at(j, i))
    }

    fn zip(&self, other: &Self, f: impl Fn(f64, f64) -> f64) -> Self {
        assert_eq!((self.rows, self.cols), (other.rows, other.cols));
        Self::new(self.rows, self.cols, |i, j| f(self.at(i, j), other.at(i, j)))
    }
}

/// Words of a linear congruence: the same test everywhere.
struct Words(u64);

impl Words {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % n
    }

    fn real(&mut self) -> f64 {
        self.below(2001) as f64 / 500.0 - 2.0
    }

    fn order(&mut self, n: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..n).collect();
        (1..n).rev().for_each(|i| order.swap(i, self.below(i + 1)));
        order
    }
}

/// What a name stands for.
#[derive(Clone)]
enum Meant {
    Matrix(Matrix),
    Number(f64),
    Extent(usize),
}

fn draw(rule: &Rule, words: &mut Words) -> BTreeMap<String, Meant> {
    let parts: Vec<&str> = rule.shapes.split_whitespace().collect();
    // Selections that are apart or complements are cut from one order.
    let together = matches!(rule.when, Some(When::Complements(..) | When::Apart(..)));
    let mut common = Vec::new();
    let is_used = |op: &str, name: &str| rule.left.contains(&format!("({op} ?{name}"));
    let is_mask = |name: &str| {
        ["soft", "att", "both"].iter().any(|op| rule.left.contains(&format!("({op} "))) && matches!(name, "m" | "n")
            || rule.left.contains("(both") && matches!(name, "a" | "b")
    };
    let draw = |part: &[&str]| {
        let (name, rows, cols): (&str, usize, usize) = (part[0], part[1].parse().unwrap(), part[2].parse().unwrap());
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
            let reflected = |i: usize, j: usize| f64::from(u8::from(i == j)) - 2.0 * v[i] * v[j] / square;
            Meant::Matrix(Matrix::new(rows, cols, |i, j| reflected(order[i], j)))
        } else if cols == 0 && rows > 0 {
            Meant::Extent(rows)
        } else if cols == 0 {
            Meant::Number(words.real())
        } else if is_mask(name) {
            Meant::Matrix(Matrix::new(rows, cols, |_, _| f64::from(u8::from(words.below(3) > 0))))
        } else {
            Meant::Matrix(Matrix::new(rows, cols, |_, _| words.real()))
        };
        (format!("?{name}"), meant)
    };
    parts.chunks(3).map(draw).collect()
}

fn number(tree: &Tree, names: &BTreeMap<String, Meant>) -> f64 {
    match (&*tree.op, tree.args.as_slice()) {
        ("times", [x, y]) => number(x, names) * number(y, names),
        ("inverse", [n]) => 1.0 / extent(n, names) as f64,
        (name, []) => match names.get(name) {
            Some(Meant::Number(x)) => *x,
            _ => name.parse().unwrap(),
        },
        _ => panic!("no number: {tree}"),
    }
}

fn extent(tree: &Tree, names: &BTreeMap<String, Meant>) -> usize {
    match (&*tree.op, tree.args.as_slice()) {
        ("rows", [of]) => matrix(of, names).rows,
        ("cols", [of]) => matrix(of, names).cols,
        (name, []) => match names.get(name) {
            Some(Meant::Extent(n)) => *n,
            _ => name.parse().unwrap(),
        },
        _ => panic!("no extent: {tree}"),
    }
}

fn matrix(tree: &Tree, names: &BTreeMap<String, Meant>) -> Matrix {
    let arg = |at: usize| matrix(&tree.args[at], names);
    match (&*tree.op, tree.args.len()) {
        ("*", 2) => arg(0).times(&arg(1)),
        ("+", 2) => arg(0).zip(&arg(1), |x, y| x + y),
        ("both", 2) => arg(0).zip(&arg(1), f64::min),
        ("T", 1) => arg(0).transpose(),
        ("sc", 2) => {
            let factor = number(&tree.args[0], names);
            let m = arg(1);
            m.zip(&m, |x, _| factor * x)
        }
        ("cap", 1) => {
            let m = arg(0);
            m.zip(&m, |x, _| x / (1.0 + x.abs()))
        }
        ("att", 1) => {
            let m = arg(0);
            Matrix::new(m.rows, 1, |i, _| f64::from(u8::from((0..m.cols).any(|j| m.at(i, j) > 0.0))))
        }
        ("soft", 3) => {
            let z = arg(0);
            let mask = if *tree.args[1].op == *"all" { z.zip(&z, |_, _| 1.0) } else { arg(1) };
            let sink = if *tree.args[2].op == *"none" { 0.0 } else { libm::exp2(number(&tree.args[2], names)) };
            let weight = |i: usize, j: usize| if mask.at(i, j) > 0.0 { libm::exp2(z.at(i, j)) } else { 0.0 };
            let sum = |i: usize| (0..z.cols).map(|j| weight(i, j)).sum::<f64>() + sink;
            Matrix::new(z.rows, z.cols, |i, j| if sum(i) > 0.0 { weight(i, j) / sum(i) } else { 0.0 })
        }
        ("hcat", 2) => {
            let (x, y) = (arg(0).transpose(), arg(1).transpose());
            above(&x, &y).transpose()
        }
        ("vcat", 2) => above(&arg(0), &arg(1)),
        ("perm" | "orth" | "sel", 1) => arg(0),
        ("stretch", 2) => {
            let (row, factor) = (arg(0), number(&tree.args[1], names));
            let on_diagonal = |j: usize| if row.at(0, j) > 0.0 { factor } else { 1.0 };
            Matrix::new(row.cols, row.cols, |i, j| if i == j { on_diagonal(i) } else { 0.0 })
        }
        ("rs", 2) => {
            let (m, factors) = (arg(0), arg(1));
            Matrix::new(m.rows, m.cols, |i, j| factors.at(i, 0) * m.at(i, j))
        }
        ("sig", 1) => {
            let m = arg(0);
            m.zip(&m, |x, _| 1.0 / (1.0 + libm::exp2(-x)))
        }
        ("lse", 1) => {
            let m = arg(0);
            let sum = |i: usize| (0..m.cols).map(|j| libm::exp2(m.at(i, j))).sum::<f64>();
            Matrix::new(m.rows, 1, |i, _| libm::log2(sum(i)))
        }
        ("one", 1) => Matrix::new(extent(&tree.args[0], names), 1, |_, _| 1.0),
        ("eye", 1) => {
            let n = extent(&tree.args[0], names);
            Matrix::new(n, n, |i, j| f64::from(u8::from(i == j)))
        }
        _ => match names.get(&*tree.op) {
            Some(Meant::Matrix(m)) => m.clone(),
            _ => panic!("no matrix: {tree}"),
        },
    }
}

fn above(x: &Matrix, y: &Matrix) -> Matrix {
    assert_eq!(x.cols, y.cols);
    Matrix::new(x.rows + y.rows, x.cols, |i, j| if i < x.rows { x.at(i, j) } else { y.at(i - x.rows, j) })
}

/// Largest difference of both sides; infinite for other shapes.
fn difference(left: &str, right: &str, names: &BTreeMap<String, Meant>) -> f64 {
    let (x, y) = (matrix(&Tree::parse(left).unwrap(), names), matrix(&Tree::parse(right).unwrap(), names));
    if (x.rows, x.cols) != (y.rows, y.cols) {
        return f64::INFINITY;
    }
    x.data.iter().zip(&y.data).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max)
}

/// Differences of right rules are roundings of numbers below a thousand; those of wrong ones are not.
#[test]
fn rules_hold_and_their_wrong_variants_do_not() {
    let mut words = Words(1);
    for rule in RULES {
        let mut refuted = 0;
        for _ in 0..40 {
            let names = draw(rule, &mut words);
            let right = difference(rule.left, rule.right, &names);
            assert!(right < 1e-10, "{}: {right:e}", rule.name);
            refuted += usize::from(difference(rule.left, rule.wrong, &names) > 1e-3);
        }
        assert!(refuted > 0, "{}: its wrong variant passes", rule.name);
    }
}
