//! Matrices of exact numbers, with the batch and head extents of the law language.

use super::number::{Exact, NotExact};
use super::real::Real;

/// Matrices `(batch?, heads?, rows, cols)`, row-major.
#[derive(Clone, Debug)]
pub struct ExactMatrices {
    /// Batch extent; absent: one for all items.
    pub batch: Option<usize>,
    /// Head extent; absent: one for all heads.
    pub heads: Option<usize>,
    /// Rows.
    pub rows: usize,
    /// Columns.
    pub cols: usize,
    /// `batch · heads · rows · cols` numbers.
    pub data: Vec<Real>,
}

/// Where an element stands: batch item, head, row, column.
pub(super) type Place = [usize; 4];

/// Batch and head extents.
pub(super) type Lead = (Option<usize>, Option<usize>);

impl ExactMatrices {
    /// The matrix whose element at row `i`, column `j` is `f(i, j)`; one for all items and heads.
    pub fn plain(rows: usize, cols: usize, f: impl Fn(usize, usize) -> i64) -> Self {
        let data = (0..rows)
            .flat_map(|i| (0..cols).map(move |j| (i, j)))
            .map(|(i, j)| f(i, j).into())
            .collect();
        Self { batch: None, heads: None, rows, cols, data }
    }

    /// Matrices from a function of the place.
    pub(super) fn build(
        (batch, heads): Lead,
        rows: usize,
        cols: usize,
        mut f: impl FnMut(Place) -> Result<Real, NotExact>,
    ) -> Result<Self, NotExact> {
        let mut data = Vec::new();
        for b in 0..batch.unwrap_or(1) {
            for h in 0..heads.unwrap_or(1) {
                for i in 0..rows {
                    for j in 0..cols {
                        data.push(f([b, h, i, j])?);
                    }
                }
            }
        }
        Ok(Self { batch, heads, rows, cols, data })
    }

    pub(super) fn lead(&self) -> Lead {
        (self.batch, self.heads)
    }

    /// The element at a place of a result of `heads` heads; a matrix of fewer heads is read by
    /// groups, `h / (h_q / h_k)`.
    pub(super) fn at(&self, [b, h, i, j]: Place, heads: Option<usize>) -> &Real {
        let item = if self.batch.is_some() { b } else { 0 };
        let head = match (self.heads, heads) {
            (Some(own), Some(all)) => h / (all / own),
            (Some(_), None) => h,
            (None, _) => 0,
        };
        &self.data[((item * self.heads.unwrap_or(1) + head) * self.rows + i) * self.cols + j]
    }

    /// Each element mapped.
    pub(super) fn each(
        &self,
        f: impl Fn(&Real) -> Result<Real, NotExact>,
    ) -> Result<Self, NotExact> {
        let data = self.data.iter().map(f).collect::<Result<_, _>>()?;
        Ok(Self { data, ..*self })
    }

    /// The element at `place`, read from rows and columns of the caller's choice.
    pub(super) fn pick(&self, rows: usize, cols: usize, from: impl Fn(Place) -> Place) -> Self {
        let read = |place| Ok(self.at(from(place), self.heads).clone());
        Self::build(self.lead(), rows, cols, read).unwrap_or_else(|_| self.clone())
    }

    pub(super) fn transpose(&self) -> Self {
        self.pick(self.cols, self.rows, |[b, h, i, j]| [b, h, j, i])
    }

    /// The rows with these numbers.
    pub(super) fn select(&self, rows: &[usize]) -> Self {
        self.pick(rows.len(), self.cols, |[b, h, i, j]| [b, h, rows[i], j])
    }

    /// `f` over the rows (one row is left) of every matrix that has any.
    pub(super) fn over_rows(
        &self,
        f: impl Fn(&Real, &Real) -> Result<Real, NotExact>,
    ) -> Result<Self, NotExact> {
        Self::build(self.lead(), 1, self.cols, |[b, h, _, j]| {
            let mut folded = self.at([b, h, 0, j], self.heads).clone();
            for i in 1..self.rows {
                folded = f(&folded, self.at([b, h, i, j], self.heads))?;
            }
            Ok(folded)
        })
    }

    /// `x @ y` over the batch and heads of both.
    pub(super) fn matmul(&self, other: &Self, lead: Lead) -> Result<Self, NotExact> {
        Self::build(lead, self.rows, other.cols, |[b, h, i, j]| {
            let pair = |t| match (self.at([b, h, i, t], lead.1), other.at([b, h, t, j], lead.1)) {
                (Real::Plain(x), Real::Plain(y)) => Some((x, y)),
                _ => None,
            };
            if let Some(sum) = Exact::weighted((0..self.cols).map(pair)) {
                return Ok(sum.short()?.into());
            }
            let mut sum = Real::from(0);
            for t in 0..self.cols {
                sum = sum
                    .plus(&self.at([b, h, i, t], lead.1).times(other.at([b, h, t, j], lead.1))?)?;
            }
            Ok(sum)
        })
    }

    /// The element at a place as a number.
    pub(super) fn plain_at(&self, place: Place, heads: Option<usize>) -> Result<&Exact, NotExact> {
        self.at(place, heads).plain()
    }

    /// Whether there are as many elements as the extents say.
    pub(super) fn is_whole(&self) -> bool {
        let extents = [self.batch.unwrap_or(1), self.heads.unwrap_or(1), self.rows, self.cols];
        extents.into_iter().try_fold(1usize, usize::checked_mul) == Some(self.data.len())
    }
}

/// The batch and heads of a combination; `None` if they do not fit.
pub(super) fn join(x: Lead, y: Lead) -> Option<Lead> {
    let batch = match (x.0, y.0) {
        (Some(m), Some(n)) if m != n => return None,
        (m, n) => m.or(n),
    };
    let heads = match (x.1, y.1) {
        (Some(m), Some(n)) => {
            let (few, many) = (m.min(n), m.max(n));
            if few == 0 || many % few != 0 {
                return None;
            }
            Some(many)
        }
        (m, n) => m.or(n),
    };
    Some((batch, heads))
}
