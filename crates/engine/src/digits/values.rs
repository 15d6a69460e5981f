//! The values of a head, exactly.

use dashu_int::{IBig, UBig};

use super::dyadic::Dyadics;
use super::ratio::Ratio;
use crate::head::{EmptyRow, Head};

/// The values of a head on a common grid.
pub(super) struct Values {
    dyadics: Dyadics,
    n_k: usize,
    d_v: usize,
}

impl Values {
    pub(super) fn new(head: &Head<'_>) -> Self {
        Self { dyadics: Dyadics::new(head.value), n_k: head.n_k, d_v: head.d_v }
    }

    /// Number of columns.
    pub(super) fn width(&self) -> usize {
        self.d_v
    }

    /// Power of two that the sums count.
    pub(super) fn exponent(&self) -> i64 {
        self.dyadics.exponent
    }

    /// `Σ_j v_jc`, on the grid of the values; the sink, number `n_k`, has none.
    pub(super) fn sum(&self, keys: &[usize], c: usize) -> IBig {
        let keys = keys.iter().filter(|j| **j < self.n_k);
        keys.map(|j| &self.dyadics.integers[j * self.d_v + c]).sum()
    }

    /// Column `c` of the output of a query that sees no key.
    pub(super) fn of_empty_row(&self, empty_row: EmptyRow, c: usize) -> Ratio {
        if empty_row != EmptyRow::Mean || self.n_k == 0 {
            return Ratio::new(IBig::ZERO, UBig::ONE, 0);
        }
        let keys: Vec<usize> = (0..self.n_k).collect();
        Ratio::new(self.sum(&keys, c), UBig::from(self.n_k), self.exponent())
    }
}
