//! Which keys a query sees once `−∞` biases are taken into account.

use std::borrow::Cow;
use std::ops::Range;

use crate::head::{Head, Span, Visible};

/// The visible keys of every row.
pub(super) struct VisibleKeys<'a> {
    n_k: usize,
    rows: Rows<'a>,
}

enum Rows<'a> {
    All,
    Spans(&'a [Span]),
    Mask(Cow<'a, [bool]>),
}

impl<'a> VisibleKeys<'a> {
    pub(super) fn new(head: &Head<'a>) -> Self {
        let n_k = head.n_k;
        let hidden_by_bias = head.biases().filter(|bias| bias.contains(&f64::NEG_INFINITY));
        let rows = match (hidden_by_bias, head.visible) {
            (Some(bias), visible) => {
                let sees = |index: usize| match visible {
                    Visible::All => true,
                    Visible::Spans(spans) => spans[index / n_k].contains(index % n_k),
                    Visible::Mask(mask) => mask[index],
                };
                let entries = bias.iter().enumerate();
                Rows::Mask(
                    entries.map(|(index, b)| sees(index) && *b != f64::NEG_INFINITY).collect(),
                )
            }
            (None, Visible::All) => Rows::All,
            (None, Visible::Spans(spans)) => Rows::Spans(spans),
            (None, Visible::Mask(mask)) => Rows::Mask(Cow::Borrowed(mask)),
        };
        Self { n_k, rows }
    }

    /// Row `i` sees no key outside of this window.
    pub(super) fn window(&self, i: usize) -> Range<usize> {
        match &self.rows {
            Rows::Spans(spans) => spans[i].start..spans[i].end,
            Rows::All | Rows::Mask(_) => 0..self.n_k,
        }
    }

    /// No row of the block sees a key outside of this window.
    pub(super) fn window_of_rows(&self, rows: Range<usize>) -> Range<usize> {
        let windows = rows.map(|i| self.window(i)).filter(|window| !window.is_empty());
        windows.reduce(|a, b| a.start.min(b.start)..a.end.max(b.end)).unwrap_or(0..0)
    }

    /// Which keys of its window row `i` sees; all of them without a mask.
    pub(super) fn mask(&self, i: usize) -> Option<&[bool]> {
        match &self.rows {
            Rows::Mask(mask) => Some(&mask[i * self.n_k..(i + 1) * self.n_k]),
            Rows::All | Rows::Spans(_) => None,
        }
    }

    /// Whether the keys that rows see are neighbors.
    pub(super) fn is_spans(&self) -> bool {
        !matches!(self.rows, Rows::Mask(_))
    }

    /// Whether row `i` sees key `j`.
    pub(super) fn sees(&self, i: usize, j: usize) -> bool {
        let window = self.window(i);
        window.contains(&j) && self.mask(i).is_none_or(|mask| mask[j - window.start])
    }

    /// Which keys at least one of `n_q` rows sees.
    pub(super) fn seen_keys(&self, n_q: usize) -> Vec<bool> {
        match &self.rows {
            Rows::Mask(_) => (0..self.n_k).map(|j| (0..n_q).any(|i| self.sees(i, j))).collect(),
            Rows::All => vec![n_q > 0; self.n_k],
            Rows::Spans(spans) => {
                let mut ends = vec![0usize; self.n_k + 1];
                spans.iter().for_each(|span| ends[span.start] = ends[span.start].max(span.end));
                let furthest = ends.iter().scan(0, |furthest, end| {
                    *furthest = (*furthest).max(*end);
                    Some(*furthest)
                });
                furthest.take(self.n_k).enumerate().map(|(j, furthest)| j < furthest).collect()
            }
        }
    }

    /// How many keys row `i` sees.
    pub(super) fn count(&self, i: usize) -> usize {
        self.mask(i).map_or(self.window(i).len(), |mask| mask.iter().filter(|sees| **sees).count())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_seen_if_some_span_covers_it() {
        let spans =
            [(3, 5), (0, 1), (4, 4), (3, 4), (7, 8)].map(|(start, end)| Span { start, end });
        let visibility = VisibleKeys { n_k: 9, rows: Rows::Spans(&spans) };
        let by_rows: Vec<bool> = (0..9).map(|j| (0..5).any(|i| visibility.sees(i, j))).collect();
        assert_eq!(visibility.seen_keys(5), by_rows);
        assert_eq!(by_rows.iter().filter(|seen| **seen).count(), 4);
        assert_eq!(visibility.window_of_rows(0..3), 0..5);
        assert_eq!(visibility.window_of_rows(2..3), 0..0);
    }
}
