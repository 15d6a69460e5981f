//! What terms stand for, in floating point.

use std::collections::BTreeMap;

use qkvet_prove::tree::Tree;

/// Row by row.
#[derive(Clone, Debug)]
pub(super) struct Matrix {
    pub(super) rows: usize,
    pub(super) cols: usize,
    pub(super) data: Vec<f64>,
}

impl Matrix {
    pub(super) fn new(rows: usize, cols: usize, mut at: impl FnMut(usize, usize) -> f64) -> Self {
        let data = (0..rows * cols).map(|x| at(x / cols, x % cols)).collect();
        Self { rows, cols, data }
    }

    pub(super) fn at(&self, i: usize, j: usize) -> f64 {
        self.data[i * self.cols + j]
    }

    pub(super) fn times(&self, other: &Self) -> Self {
        assert_eq!(self.cols, other.rows);
        Self::new(self.rows, other.cols, |i, j| {
            (0..self.cols).map(|t| self.at(i, t) * other.at(t, j)).sum()
        })
    }

    pub(super) fn transpose(&self) -> Self {
        Self::new(self.cols, self.rows, |i, j| self.at(j, i))
    }

    pub(super) fn zip(&self, other: &Self, f: impl Fn(f64, f64) -> f64) -> Self {
        assert_eq!((self.rows, self.cols), (other.rows, other.cols));
        Self::new(self.rows, self.cols, |i, j| f(self.at(i, j), other.at(i, j)))
    }
}

/// Words of a linear congruence: the same test everywhere.
pub(super) struct Words(pub(super) u64);

impl Words {
    pub(super) fn below(&mut self, n: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % n
    }

    pub(super) fn real(&mut self) -> f64 {
        self.below(2001) as f64 / 500.0 - 2.0
    }

    pub(super) fn order(&mut self, n: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..n).collect();
        (1..n).rev().for_each(|i| order.swap(i, self.below(i + 1)));
        order
    }
}

/// What a name stands for.
#[derive(Clone)]
pub(super) enum Meant {
    Matrix(Matrix),
    /// One matrix for each head.
    Heads(Vec<Matrix>),
    Number(f64),
    Extent(usize),
}

pub(super) fn number(tree: &Tree, names: &BTreeMap<String, Meant>) -> f64 {
    match (&*tree.op, tree.args.as_slice()) {
        ("times", [x, y]) => number(x, names) * number(y, names),
        ("rows" | "cols", [_]) => extent(tree, names) as f64,
        (name, []) if name.contains('/') => {
            let (x, y) = name.split_once('/').unwrap();
            x.parse::<f64>().unwrap() / y.parse::<f64>().unwrap()
        }
        ("inverse", [n]) => 1.0 / extent(n, names) as f64,
        (name, []) => match names.get(name) {
            Some(Meant::Number(x)) => *x,
            Some(Meant::Extent(n)) => *n as f64,
            _ => name.parse().unwrap(),
        },
        _ => panic!("no number: {tree}"),
    }
}

pub(super) fn extent(tree: &Tree, names: &BTreeMap<String, Meant>) -> usize {
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

pub(super) fn matrix(tree: &Tree, names: &BTreeMap<String, Meant>) -> Matrix {
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
        ("cap", 2) => {
            let (over, m) = (number(&tree.args[0], names), arg(1));
            m.zip(&m, |x, _| if over == 0.0 { x } else { libm::tanh(over * x) / over })
        }
        ("att", 1) => {
            let m = arg(0);
            Matrix::new(m.rows, 1, |i, _| {
                f64::from(u8::from((0..m.cols).any(|j| m.at(i, j) > 0.0)))
            })
        }
        ("soft", 3) => {
            let z = arg(0);
            let mask = if *tree.args[1].op == *"all" { z.zip(&z, |_, _| 1.0) } else { arg(1) };
            let sink = if *tree.args[2].op == *"none" {
                0.0
            } else {
                libm::exp(number(&tree.args[2], names))
            };
            let weight =
                |i: usize, j: usize| if mask.at(i, j) > 0.0 { libm::exp(z.at(i, j)) } else { 0.0 };
            let sum = |i: usize| (0..z.cols).map(|j| weight(i, j)).sum::<f64>() + sink;
            Matrix::new(
                z.rows,
                z.cols,
                |i, j| if sum(i) > 0.0 { weight(i, j) / sum(i) } else { 0.0 },
            )
        }
        ("hcat", 2) => {
            let (x, y) = (arg(0).transpose(), arg(1).transpose());
            above(&x, &y).transpose()
        }
        ("vcat", 2) => above(&arg(0), &arg(1)),
        ("diag", 1) => {
            let m = arg(0);
            assert_eq!(m.rows, 1);
            Matrix::new(m.cols, m.cols, |i, j| if i == j { m.at(0, j) } else { 0.0 })
        }
        ("split", 2) => {
            let (m, heads) = (arg(1), extent(&tree.args[0], names));
            let width = m.cols / heads;
            Matrix::new(m.rows, width, |i, j| m.at(i, head(names) * width + j))
        }
        ("comb", 2) => {
            let side_by_side =
                |x: Matrix, y: Matrix| above(&x.transpose(), &y.transpose()).transpose();
            of_every_head(tree, names).into_iter().reduce(side_by_side).unwrap()
        }
        ("mean", 2) => {
            let all = of_every_head(tree, names);
            let heads = all.len() as f64;
            all.into_iter()
                .reduce(|x, y| x.zip(&y, |x, y| x + y))
                .map(|m| m.zip(&m, |x, _| x / heads))
                .unwrap()
        }
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
            m.zip(&m, |x, _| 1.0 / (1.0 + libm::exp(-x)))
        }
        ("num", 1) => one(number(&tree.args[0], names)),
        ("mul", 2) => one(arg(0).at(0, 0) * arg(1).at(0, 0)),
        ("exp", 1) => one(libm::exp(arg(0).at(0, 0))),
        ("norm", 1) => one(arg(0).data.iter().fold(0.0, |most: f64, x| most.max(x.abs()))),
        ("norm2", 1) => one(arg(0).data.iter().map(|x| x * x).sum::<f64>().sqrt()),
        ("colmin" | "colmax", 1) => {
            let m = arg(0);
            let of = |j: usize| (0..m.rows).map(move |i| (i, j));
            let pick = |x: f64, y: f64| if &*tree.op == "colmin" { x.min(y) } else { x.max(y) };
            Matrix::new(1, m.cols, |_, j| of(j).map(|(i, j)| m.at(i, j)).reduce(pick).unwrap())
        }
        ("spread", 1) => {
            let m = arg(0);
            let range = |j: usize| {
                let column = || (0..m.rows).map(|i| m.at(i, j));
                column().fold(f64::MIN, f64::max) - column().fold(f64::MAX, f64::min)
            };
            one((0..m.cols).map(range).fold(0.0, f64::max))
        }
        ("tv", 2) => {
            let apart = arg(0).zip(&arg(1), |x, y| (x - y).abs() / 2.0);
            let row = |i: usize| (0..apart.cols).map(|j| apart.at(i, j)).sum::<f64>();
            one((0..apart.rows).map(row).fold(0.0, f64::max))
        }
        ("lse", 1) => {
            let m = arg(0);
            let sum = |i: usize| (0..m.cols).map(|j| libm::exp(m.at(i, j))).sum::<f64>();
            Matrix::new(m.rows, 1, |i, _| libm::log(sum(i)))
        }
        ("one", 1) => Matrix::new(extent(&tree.args[0], names), 1, |_, _| 1.0),
        ("eye", 1) => {
            let n = extent(&tree.args[0], names);
            Matrix::new(n, n, |i, j| f64::from(u8::from(i == j)))
        }
        _ => match names.get(&*tree.op) {
            Some(Meant::Matrix(m)) => m.clone(),
            Some(Meant::Heads(all)) => all[head(names)].clone(),
            _ => panic!("no matrix: {tree}"),
        },
    }
}

/// The head that is looked at, by a name that no rule has.
fn head(names: &BTreeMap<String, Meant>) -> usize {
    match names.get("head") {
        Some(Meant::Extent(head)) => *head,
        _ => 0,
    }
}

pub(super) fn at_head(names: &BTreeMap<String, Meant>, head: usize) -> BTreeMap<String, Meant> {
    names.clone().into_iter().chain([("head".to_owned(), Meant::Extent(head))]).collect()
}

/// The argument of `comb` or `mean` for each head.
fn of_every_head(tree: &Tree, names: &BTreeMap<String, Meant>) -> Vec<Matrix> {
    (0..extent(&tree.args[0], names))
        .map(|head| matrix(&tree.args[1], &at_head(names, head)))
        .collect()
}

pub(super) fn above(x: &Matrix, y: &Matrix) -> Matrix {
    assert_eq!(x.cols, y.cols);
    Matrix::new(
        x.rows + y.rows,
        x.cols,
        |i, j| if i < x.rows { x.at(i, j) } else { y.at(i - x.rows, j) },
    )
}

/// A number as a matrix.
fn one(x: f64) -> Matrix {
    Matrix::new(1, 1, |_, _| x)
}
