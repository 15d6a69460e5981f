//! Query heads that share keys and values: one head with the rows of all, so that what is known of
//! keys and values, and their copies, is there once.

use std::ops::Range;

use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use super::logits::are_plain;
use super::{Detail, HeadEnclosure, enclose_as};
use crate::gemm::Products;
use crate::head::{Head, Normalization, Span, Visible};

/// Rows that are worked on together at most: with more, copies of keys and values cost little, and
/// results of all heads would have to be there at once.
const MAX_ROWS: usize = 4096;

/// Weights of a head below which another thread is not worth its while.
pub(crate) const MIN_WEIGHTS: usize = 1 << 12;

/// [`enclose_as`] of each head, in parallel unless all are small; neighbors that share keys and values as one.
///
/// Which heads are one depends on the heads alone, so results do not depend on the number of
/// threads. With [`Products::FixedOrder`] every head is on its own.
///
/// # Panics
/// As [`enclose_as`].
pub fn enclose_together(
    heads: &[Head<'_>],
    products: Products,
    detail: Detail,
) -> Vec<HeadEnclosure> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for (at, head) in heads.iter().enumerate() {
        match runs.last_mut() {
            Some(run)
                if products == Products::Faer
                    && share(&heads[run.start], head)
                    && (run.len() + 1) * head.n_q <= MAX_ROWS =>
            {
                run.end = at + 1;
            }
            _ => runs.push(at..at + 1),
        }
    }
    let of_run = |run: &Range<usize>| match &heads[run.clone()] {
        [one] => vec![enclose_as(one, products, detail)],
        several => enclose_one(several, products, detail),
    };
    let is_small = heads.iter().all(|head| head.n_q * head.n_k < MIN_WEIGHTS);
    if is_small || runs.len() == 1 {
        runs.iter().flat_map(of_run).collect()
    } else {
        runs.par_iter().flat_map_iter(of_run).collect()
    }
}

/// Whether two heads differ in their queries and in what these see alone.
fn share(a: &Head<'_>, b: &Head<'_>) -> bool {
    let is_plain = |head: &Head<'_>| {
        are_plain(head)
            && head.sink.is_none()
            && matches!(head.normalization, Normalization::OverKeys)
            && !matches!(head.visible, Visible::Mask(_))
    };
    let same = |a: &[f64], b: &[f64]| std::ptr::eq(a, b);
    let form = |head: &Head<'_>| (head.n_q, head.n_k, head.d_k, head.d_v);
    is_plain(a)
        && is_plain(b)
        && same(a.key, b.key)
        && same(a.value, b.value)
        && form(a) == form(b)
        && a.factor() == b.factor()
        && a.stages == b.stages
        && a.empty_row == b.empty_row
}

/// Heads that share all but queries and spans.
fn enclose_one(heads: &[Head<'_>], products: Products, detail: Detail) -> Vec<HeadEnclosure> {
    let (n_q, d_v) = (heads[0].n_q, heads[0].d_v);
    let query: Vec<f64> = heads.iter().flat_map(|head| head.query).copied().collect();
    let mut spans: Vec<Span> = Vec::new();
    if heads.iter().any(|head| !matches!(head.visible, Visible::All)) {
        for head in heads {
            match head.visible {
                Visible::Spans(of_head) => spans.extend(of_head),
                _ => spans.extend(std::iter::repeat_n(Span::prefix(head.n_k), n_q)),
            }
        }
    }
    let visible = if spans.is_empty() { Visible::All } else { Visible::Spans(&spans) };
    let all = Head { n_q: n_q * heads.len(), query: &query, visible, ..heads[0] };
    let mut all = enclose_as(&all, products, detail);
    let mut each: Vec<HeadEnclosure> =
        heads.iter().rev().map(|_| all.split_last(n_q, d_v)).collect();
    each.reverse();
    each
}

impl HeadEnclosure {
    /// Its last rows.
    fn split_last(&mut self, n_q: usize, d_v: usize) -> Self {
        // What is not computed has length 0.
        let last = |xs: &mut Vec<f64>| xs.split_off(xs.len().saturating_sub(n_q * d_v));
        Self {
            mid: last(&mut self.mid),
            rad: last(&mut self.rad),
            abar: last(&mut self.abar),
            deviation: last(&mut self.deviation),
            product_norm: last(&mut self.product_norm),
            value_abs_sum: last(&mut self.value_abs_sum),
            rows: self.rows.split_off(self.rows.len().saturating_sub(n_q)),
        }
    }
}
