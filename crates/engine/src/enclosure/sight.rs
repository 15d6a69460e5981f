//! Which keys a query sees once `−∞` biases are taken into account.

use std::borrow::Cow;

use crate::head::{Head, Visible};

/// The visible keys of every row.
pub(super) struct Sight<'a> {
    n_k: usize,
    rows: Rows<'a>,
}

enum Rows<'a> {
    All,
    Prefix(&'a [usize]),
    Mask(Cow<'a, [bool]>),
}

impl<'a> Sight<'a> {
    pub(super) fn new(head: &Head<'a>) -> Self {
        let n_k = head.n_k;
        let hidden_by_bias = head.bias.filter(|bias| bias.values.contains(&f64::NEG_INFINITY));
        let rows = match (hidden_by_bias, head.visible) {
            (Some(bias), visible) => {
                let sees = |index: usize| match visible {
                    Visible::All => true,
                    Visible::Prefix(prefix) => index % n_k < prefix[index / n_k],
                    Visible::Mask(mask) => mask[index],
                };
                let entries = bias.values.iter().enumerate();
                Rows::Mask(entries.map(|(index, b)| sees(index) && *b > f64::NEG_INFINITY || b.is_nan()).collect())
            }
            (None, Visible::All) => Rows::All,
            (None, Visible::Prefix(prefix)) => Rows::Prefix(prefix),
            (None, Visible::Mask(mask)) => Rows::Mask(Cow::Borrowed(mask)),
        };
        Self { n_k, rows }
    }

    /// Row `i` sees no key `j ≥ limit`.
    pub(super) fn limit(&self, i: usize) -> usize {
        match &self.rows {
            Rows::Prefix(prefix) => prefix[i].min(self.n_k),
            Rows::All | Rows::Mask(_) => self.n_k,
        }
    }

    /// The mask of row `i`; without one it sees every key below its limit.
    pub(super) fn mask(&self, i: usize) -> Option<&[bool]> {
        match &self.rows {
            Rows::Mask(mask) => Some(&mask[i * self.n_k..(i + 1) * self.n_k]),
            Rows::All | Rows::Prefix(_) => None,
        }
    }

    /// Whether row `i` sees key `j`.
    pub(super) fn sees(&self, i: usize, j: usize) -> bool {
        j < self.limit(i) && self.mask(i).is_none_or(|mask| mask[j])
    }

    /// Which keys at least one of `n_q` rows sees.
    pub(super) fn seen_keys(&self, n_q: usize) -> Vec<bool> {
        match &self.rows {
            Rows::Mask(_) => (0..self.n_k).map(|j| (0..n_q).any(|i| self.sees(i, j))).collect(),
            Rows::All | Rows::Prefix(_) => {
                let limit = (0..n_q).map(|i| self.limit(i)).max().unwrap_or(0);
                (0..self.n_k).map(|j| j < limit).collect()
            }
        }
    }

    /// How many keys row `i` sees.
    pub(super) fn count(&self, i: usize) -> usize {
        self.mask(i).map_or(self.limit(i), |mask| mask.iter().filter(|sees| **sees).count())
    }
}
