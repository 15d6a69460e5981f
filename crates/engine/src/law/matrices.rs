//! Ball matrices with optional batch and head axes: the values that laws compute with.

use std::sync::Arc;

use qkvet_spec::{Element, Matrices};

use super::product::push_product;
use crate::ball::Ball;

/// `(batch?, heads?, rows, cols)` balls, row-major.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct BallMatrices {
    pub(super) batch: Option<usize>,
    pub(super) heads: Option<usize>,
    pub(super) rows: usize,
    pub(super) cols: usize,
    /// Shared: a name is read several times.
    pub(super) data: Arc<Vec<Ball>>,
}

impl BallMatrices {
    /// One matrix for all items and heads.
    pub(super) fn plain(rows: usize, cols: usize, entry: impl Fn(usize, usize) -> f64) -> Self {
        let data: Vec<_> =
            (0..rows * cols).map(|at| Ball::exact(entry(at / cols, at % cols))).collect();
        Self { batch: None, heads: None, rows, cols, data: data.into() }
    }

    /// The exact numbers of a binding.
    pub(super) fn exact(m: &Matrices) -> Self {
        Self {
            batch: m.batch,
            heads: m.heads,
            rows: m.rows,
            cols: m.cols,
            data: Arc::new(m.data.iter().map(|x| Ball::exact(*x)).collect()),
        }
    }

    /// Number of matrices along batch and heads.
    pub(super) fn leads(&self) -> (usize, usize) {
        (self.batch.unwrap_or(1), self.heads.unwrap_or(1))
    }

    /// Matrix of item `b` and head `h`; an absent axis is the same for all.
    pub(super) fn at(&self, b: usize, h: usize) -> &[Ball] {
        let b = if self.batch.is_some() { b } else { 0 };
        let h = if self.heads.is_some() { h } else { 0 };
        let size = self.rows * self.cols;
        let at = (b * self.heads.unwrap_or(1) + h) * size;
        &self.data[at..at + size]
    }

    /// Same leads, new matrices from old ones.
    pub(super) fn map(
        &self,
        rows: usize,
        cols: usize,
        make: impl Fn(&[Ball], &mut Vec<Ball>),
    ) -> Self {
        let (batch, heads) = self.leads();
        let mut data = Vec::with_capacity(batch * heads * rows * cols);
        for b in 0..batch {
            for h in 0..heads {
                make(self.at(b, h), &mut data);
            }
        }
        Self { batch: self.batch, heads: self.heads, rows, cols, data: data.into() }
    }

    /// Entry by entry.
    pub(super) fn each(&self, f: impl Fn(Ball) -> Ball) -> Self {
        Self { data: Arc::new(self.data.iter().map(|x| f(*x)).collect()), ..*self }
    }

    /// The rows of the given numbers.
    pub(super) fn select(&self, rows: &[usize]) -> Self {
        let cols = self.cols;
        self.map(rows.len(), cols, |m, out| {
            rows.iter().for_each(|i| out.extend_from_slice(&m[i * cols..(i + 1) * cols]))
        })
    }

    /// The column of the given number.
    pub(super) fn column(&self, c: usize) -> Self {
        self.map(self.rows, 1, |m, out| out.extend((0..self.rows).map(|i| m[i * self.cols + c])))
    }

    pub(super) fn transpose(&self) -> Self {
        let (rows, cols) = (self.rows, self.cols);
        self.map(cols, rows, |m, out| {
            out.extend((0..rows * cols).map(|at| m[(at % rows) * cols + at / rows]))
        })
    }

    /// Folds each column into one entry.
    pub(super) fn over_rows(&self, f: impl Fn(Ball, Ball) -> Ball) -> Self {
        let cols = self.cols;
        self.map(1, cols, |m, out| {
            out.extend((0..cols).map(|c| {
                m.iter().skip(c).step_by(cols).copied().reduce(&f).unwrap_or(Ball::exact(0.0))
            }));
        })
    }

    /// Folds each row into one entry.
    pub(super) fn over_cols(&self, f: impl Fn(Ball, Ball) -> Ball) -> Self {
        self.map(self.rows, 1, |m, out| {
            let fold = |row: &[Ball]| row.iter().copied().reduce(&f).unwrap_or(Ball::exact(0.0));
            if self.cols == 0 {
                out.extend((0..self.rows).map(|_| Ball::exact(0.0)))
            } else {
                out.extend(m.chunks_exact(self.cols).map(fold))
            }
        })
    }

    /// Combines entry by entry; leads must already agree or be absent.
    pub(super) fn zip(&self, other: &Self, f: impl Fn(Ball, Ball) -> Ball) -> Self {
        let (batch, heads) = (self.batch.or(other.batch), self.heads.or(other.heads));
        let mut data =
            Vec::with_capacity(batch.unwrap_or(1) * heads.unwrap_or(1) * self.rows * self.cols);
        for b in 0..batch.unwrap_or(1) {
            for h in 0..heads.unwrap_or(1) {
                data.extend(self.at(b, h).iter().zip(other.at(b, h)).map(|(x, y)| f(*x, *y)));
            }
        }
        Self { batch, heads, rows: self.rows, cols: self.cols, data: data.into() }
    }

    /// The matrix product; leads must already agree or be absent.
    pub(super) fn matmul(&self, other: &Self) -> Self {
        let (batch, heads) = (self.batch.or(other.batch), self.heads.or(other.heads));
        let (rows, inner, cols) = (self.rows, self.cols, other.cols);
        let size = batch.unwrap_or(1) * heads.unwrap_or(1) * rows * cols;
        let mut data = Vec::with_capacity(size);
        for b in 0..batch.unwrap_or(1) {
            for h in 0..heads.unwrap_or(1) {
                push_product(&mut data, (self.at(b, h), other.at(b, h)), (rows, inner, cols));
            }
        }
        Self { batch, heads, rows, cols, data: data.into() }
    }

    /// `(n, h·d)` as `h` heads of `(n, d)`: head `h` has the columns from `h·d` on.
    pub(super) fn split_heads(&self, heads: usize) -> Self {
        let width = self.cols / heads;
        let mut data = Vec::with_capacity(self.data.len());
        for b in 0..self.batch.unwrap_or(1) {
            for h in 0..heads {
                let rows = self.at(b, 0).chunks_exact(self.cols.max(1));
                rows.for_each(|row| data.extend_from_slice(&row[h * width..(h + 1) * width]));
            }
        }
        Self {
            batch: self.batch,
            heads: Some(heads),
            rows: self.rows,
            cols: width,
            data: data.into(),
        }
    }

    /// The heads side by side: `h` heads of `(n, d)` as `(n, h·d)`.
    pub(super) fn combine_heads(&self) -> Self {
        let (batch, heads) = self.leads();
        let mut data = Vec::with_capacity(self.data.len());
        for b in 0..batch {
            for i in 0..self.rows {
                (0..heads).for_each(|h| {
                    data.extend_from_slice(&self.at(b, h)[i * self.cols..(i + 1) * self.cols])
                });
            }
        }
        Self {
            batch: self.batch,
            heads: None,
            rows: self.rows,
            cols: heads * self.cols,
            data: data.into(),
        }
    }

    /// The largest root of the sum of squares of the elements of a matrix, over items and heads.
    pub(super) fn norm_2(&self) -> Ball {
        let root = |one: &[Ball]| {
            one.iter().map(|x| *x * *x).fold(Ball::exact(0.0), |sum, x| sum + x).sqrt()
        };
        self.data
            .chunks_exact((self.rows * self.cols).max(1))
            .map(root)
            .reduce(Ball::max)
            .unwrap_or(Ball::exact(0.0))
    }

    /// Index of entry `at`.
    pub(super) fn element(&self, at: usize) -> Element {
        let (heads, size) = (self.heads.unwrap_or(1), self.rows * self.cols);
        let (lead, within) = (at / size, at % size);
        Element {
            b: self.batch.map(|_| lead / heads),
            h: self.heads.map(|_| lead % heads),
            i: within / self.cols,
            c: within % self.cols,
        }
    }
}
