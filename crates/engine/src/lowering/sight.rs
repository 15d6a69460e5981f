//! Which keys a query sees: causal diagonal, window, lengths, packed sequences and mask, from choices to spans of keys.

use qkvet_spec::{
    Anchor, BoolTensor, CallOptions, Causal, Dims, LengthAnchor, Mask, Meaning, Obedience, Packed, Window, WindowBounds,
};

use super::{broadcast_at, signed};
use crate::head::Span;

/// Keys that each query sees.
#[derive(Clone, Debug)]
pub(super) enum Sight {
    All,
    Spans(Vec<Span>),
    Mask(Vec<bool>),
}

/// The sequence that a query belongs to.
#[derive(Clone, Copy, Debug)]
struct Sequence {
    queries: Span,
    keys: Span,
    /// `n_k − n_q`, as far as positions are concerned.
    shift: i64,
}

/// What decides on the sight of the queries of one batch item.
pub(super) struct Rules<'a> {
    meaning: &'a Meaning,
    options: &'a CallOptions,
    dims: Dims,
    item: usize,
    /// How many of the keys exist at all.
    keys: usize,
}

impl<'a> Rules<'a> {
    pub(super) fn new(meaning: &'a Meaning, options: &'a CallOptions, dims: Dims, item: usize, keys: usize) -> Self {
        Self { meaning, options, dims, item, keys }
    }

    /// The sight of all queries of head `h`, with `zero_keys` more keys that every query sees.
    pub(super) fn sight(&self, h: usize, zero_keys: usize) -> Sight {
        let mask = self.options.mask.as_ref().filter(|_| self.meaning.mask != Mask::Ignored);
        let spans = || (0..self.dims.n_q).map(|i| self.span(i));
        if mask.is_none() && zero_keys == 0 {
            let all = Span::prefix(self.dims.n_k);
            return if spans().all(|span| span == all) { Sight::All } else { Sight::Spans(spans().collect()) };
        }
        let attends = self.meaning.mask == Mask::TrueAttends;
        let shown = |mask: &BoolTensor, i, j| mask.data[broadcast_at(&mask.shape, [self.item, h, i, j])] == attends;
        let mut seen = Vec::with_capacity(self.dims.n_q * (self.dims.n_k + zero_keys));
        for (i, span) in spans().enumerate() {
            seen.extend((0..self.dims.n_k).map(|j| span.contains(j) && mask.is_none_or(|mask| shown(mask, i, j))));
            seen.extend(std::iter::repeat_n(true, zero_keys));
        }
        Sight::Mask(seen)
    }

    /// Where query 0 stands among the keys as far as ALiBi is concerned.
    pub(super) fn alibi_offset(&self) -> i64 {
        self.alibi_position(0)
    }

    /// By how much the queries stand elsewhere than `i + offset`; `None` if none does.
    pub(super) fn alibi_shifts(&self, offset: i64) -> Option<Vec<i64>> {
        let shifts: Vec<i64> = (0..self.dims.n_q).map(|i| self.alibi_position(i) - signed(i) - offset).collect();
        shifts.iter().any(|shift| *shift != 0).then_some(shifts)
    }

    /// Where query `i` stands among the keys as far as ALiBi is concerned.
    pub(super) fn alibi_position(&self, i: usize) -> i64 {
        let sequence = self.sequence(i);
        signed(sequence.keys.start) + position(&sequence, i, self.meaning.alibi_anchor)
    }

    /// The keys that query `i` sees, masks aside.
    fn span(&self, i: usize) -> Span {
        let sequence = self.sequence(i);
        if !sequence.queries.contains(i) {
            return Span::default();
        }
        let (mut low, mut high) = (i64::MIN, i64::MAX);
        let mut at_most = |end: i64| high = high.min(end);
        if self.options.causal {
            let anchor = match self.meaning.causal {
                Causal::LowerRight => Some(Anchor::LowerRight),
                Causal::UpperLeft => Some(Anchor::UpperLeft),
                Causal::Ignored => None,
            };
            anchor.into_iter().for_each(|anchor| at_most(position(&sequence, i, anchor) + self.meaning.causal_offset));
        }
        if let Some(Window { left, right }) = self.options.window
            && self.meaning.window != WindowBounds::Ignored
        {
            let at = position(&sequence, i, self.meaning.window_anchor);
            let inner = i64::from(self.meaning.window == WindowBounds::Exclusive);
            right.into_iter().for_each(|right| at_most(at.saturating_add(signed(right)) - inner));
            left.into_iter().for_each(|left| low = at.saturating_sub(signed(left)) + inner);
        }
        let Span { start, end } = sequence.keys;
        let clamp = |j: i64| usize::try_from(j.clamp(0, signed(end - start))).unwrap_or(0) + start;
        let (from, to) = (clamp(low), clamp(high.saturating_add(1)).min(self.keys));
        if from < to { Span { start: from, end: to } } else { Span::default() }
    }

    /// The sequence of query `i`; without sequences and lengths, everything.
    fn sequence(&self, i: usize) -> Sequence {
        let Dims { n_q, n_k, .. } = self.dims;
        let sequence = |queries: Span, keys: Span| Sequence {
            queries,
            keys,
            shift: signed(keys.end - keys.start) - signed(queries.end - queries.start),
        };
        if let Some(Packed { query_offsets, key_offsets }) = &self.options.packed
            && self.meaning.packed == Obedience::Used
        {
            let spans = |offsets: &[usize]| -> Vec<Span> {
                offsets.windows(2).map(|pair| Span { start: pair[0], end: pair[1] }).collect()
            };
            let own = spans(query_offsets).into_iter().zip(spans(key_offsets)).find(|(queries, _)| queries.contains(i));
            return own.map_or(sequence(Span::default(), Span::default()), |(queries, keys)| sequence(queries, keys));
        }
        let length = |lengths: &Option<Vec<usize>>, obedience, all: usize| match (lengths, obedience) {
            (Some(lengths), Obedience::Used) => lengths[self.item].min(all),
            _ => all,
        };
        let queries = Span::prefix(length(&self.options.query_lengths, self.meaning.query_lengths, n_q));
        let keys = Span::prefix(length(&self.options.key_lengths, self.meaning.key_lengths, n_k));
        match self.meaning.length_anchor {
            LengthAnchor::Lengths => sequence(queries, keys),
            LengthAnchor::Extents => Sequence { queries, keys, shift: signed(n_k) - signed(n_q) },
        }
    }
}

/// Position of query `i` among the keys of its sequence.
fn position(sequence: &Sequence, i: usize, anchor: Anchor) -> i64 {
    let own = signed(i) - signed(sequence.queries.start);
    match anchor {
        Anchor::LowerRight => own + sequence.shift,
        Anchor::UpperLeft => own,
    }
}
