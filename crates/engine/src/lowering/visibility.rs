//! Which keys a query sees: causal diagonal, window, lengths, packed sequences and mask, from
//! choices to spans of keys.

use qkvet_spec::{
    Anchor, Bias, CallOptions, Causal, Dims, IndexEnv, IndexExpr, IndexName, LengthAnchor, Mask,
    Meaning, Obedience, Packed, Packing, Window, WindowBounds, WindowSide,
};

use super::{Maps, broadcast_at, item_env, signed};
use crate::head::Span;

/// Keys that each query sees.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum VisibleKeys {
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
    maps: &'a Maps<'a>,
    dims: Dims,
    /// The names of this item.
    env: IndexEnv,
    /// How many of the keys exist at all.
    keys: usize,
}

impl<'a> Rules<'a> {
    pub(super) fn new(maps: &'a Maps<'a>, options: &'a CallOptions, item: usize) -> Self {
        let (meaning, dims) = (maps.meaning, maps.env.dims);
        let keys = maps.count(&meaning.keys).min(dims.n_k);
        let env = item_env(&maps.env, options, item);
        Self { meaning, options, maps, dims, env, keys }
    }

    /// The sight of all queries of head `h`, which see so many more keys.
    pub(super) fn visibility(&self, h: usize, zero_keys: &[usize]) -> VisibleKeys {
        let most = zero_keys.iter().copied().max().unwrap_or(0);
        let mask = self.options.mask.as_ref();
        let mask =
            mask.filter(|_| matches!(self.meaning.mask, Mask::TrueAttends | Mask::TrueHides));
        let bias = self.options.bias.as_ref().filter(|_| self.meaning.bias == Bias::NonzeroHides);
        let spans = || (0..self.dims.n_q).map(|i| self.span(h, i));
        let Meaning { unseen, shown, .. } = self.meaning;
        let is_plain = unseen.text() == "0" && shown.text() == "0";
        if mask.is_none() && bias.is_none() && most == 0 && is_plain {
            let all = Span::prefix(self.dims.n_k);
            return if spans().all(|span| span == all) {
                VisibleKeys::All
            } else {
                VisibleKeys::Spans(spans().collect())
            };
        }
        let attends = self.meaning.mask == Mask::TrueAttends;
        let mut seen = Vec::with_capacity(self.dims.n_q * (self.dims.n_k + most));
        for (i, span) in spans().enumerate() {
            let mask = mask.map(|mask| (&mask.data, self.mask_row(&mask.shape, h, i)));
            let bias = bias.map(|bias| (&bias.data, self.bias_row(&bias.shape, h, i)));
            let sees = |j: usize| {
                span.contains(j)
                    && mask.as_ref().is_none_or(|(data, at)| data[at(j)] == attends)
                    && bias.as_ref().is_none_or(|(data, at)| data[at(j)] == 0.0)
            };
            if is_plain {
                seen.extend((0..self.dims.n_k).map(sees));
            } else {
                let here = self.here(h, i, 0);
                let [mut shown, mut unseen] = [shown, unseen].map(|it| it.along_keys(&here));
                let holds = |value: Option<i64>| value.is_some_and(|value| value != 0);
                seen.extend(
                    (0..self.dims.n_k).map(|j| holds(shown(j)) || sees(j) && !holds(unseen(j))),
                );
            }
            seen.extend((0..most).map(|number| zero_keys.get(i).is_some_and(|n| number < *n)));
        }
        VisibleKeys::Mask(seen)
    }

    fn here(&self, h: usize, i: usize, j: usize) -> IndexEnv {
        IndexEnv { h: signed(h), i: signed(i), j: signed(j), ..self.env }
    }

    /// Where a mask of this shape is read for each key of query `i`.
    pub(super) fn mask_row(&self, shape: &[usize], h: usize, i: usize) -> impl Fn(usize) -> usize {
        let Meaning { mask_item, mask_head, mask_row, mask_key, .. } = self.meaning;
        self.row_of([mask_item, mask_head, mask_row, mask_key], shape, h, i)
    }

    /// Where a bias of this shape is read for each key of query `i`.
    pub(super) fn bias_row(&self, shape: &[usize], h: usize, i: usize) -> impl Fn(usize) -> usize {
        let Meaning { bias_item, bias_head, bias_row, bias_key, .. } = self.meaning;
        self.row_of([bias_item, bias_head, bias_row, bias_key], shape, h, i)
    }

    fn row_of(
        &self,
        maps: [&'a IndexExpr; 4],
        shape: &[usize],
        h: usize,
        i: usize,
    ) -> impl Fn(usize) -> usize {
        let at = move |j: usize| broadcast_at(shape, self.maps.place(maps, &self.here(h, i, j)));
        let [item, head, row, key] = maps;
        let is_apart = [item, head, row].iter().all(|map| !map.mentions(IndexName::Key));
        // Then the keys lie side by side.
        let first = (is_apart && key.is(IndexName::Key)).then(|| at(0));
        let step = usize::from(shape.last() != Some(&1));
        move |j| first.map_or_else(|| at(j), |first| first + j * step)
    }

    /// Where query 0 stands among the keys as far as ALiBi is concerned.
    pub(super) fn alibi_offset(&self) -> i64 {
        self.alibi_position(0)
    }

    /// By how much the queries stand elsewhere than `i + offset`; `None` if none does.
    pub(super) fn alibi_shifts(&self, offset: i64) -> Option<Vec<i64>> {
        let shifts: Vec<i64> =
            (0..self.dims.n_q).map(|i| self.alibi_position(i) - signed(i) - offset).collect();
        shifts.iter().any(|shift| *shift != 0).then_some(shifts)
    }

    /// Where query `i` stands among the keys as far as ALiBi is concerned.
    pub(super) fn alibi_position(&self, i: usize) -> i64 {
        let sequence = self.sequence(i);
        signed(sequence.keys.start) + position(&sequence, i, self.meaning.alibi_anchor)
    }

    /// The keys that query `i` of head `h` sees, masks aside.
    fn span(&self, h: usize, i: usize) -> Span {
        let sequence = self.sequence(i);
        if !sequence.queries.contains(i) {
            return Span::default();
        }
        let (mut low, mut high) = (i64::MIN, i64::MAX);
        let mut at_most = |end: i64| high = high.min(end);
        let anchor = match self.meaning.causal {
            Causal::LowerRight if self.options.causal => Some(Anchor::LowerRight),
            Causal::UpperLeft if self.options.causal => Some(Anchor::UpperLeft),
            Causal::Always => Some(Anchor::LowerRight),
            Causal::LowerRight | Causal::UpperLeft | Causal::Ignored => None,
        };
        if let Some(anchor) = anchor {
            let row = &self.meaning.causal_row;
            let row = if row.is(IndexName::Query) {
                i
            } else {
                self.maps.value(row, self.here(h, i, 0), self.dims.n_q)
            };
            at_most(position(&sequence, row, anchor) + self.meaning.causal_offset);
        }
        if let Some(Window { left, right }) = self.options.window
            && self.meaning.window != WindowBounds::Ignored
        {
            let at = position(&sequence, i, self.meaning.window_anchor);
            let inner = i64::from(self.meaning.window == WindowBounds::Exclusive);
            let right_side = side(self.meaning.window_right, right, left);
            right_side.into_iter().for_each(|right| at_most(at.saturating_add(right) - inner));
            let left_side = side(self.meaning.window_left, left, right);
            left_side.into_iter().for_each(|left| low = at.saturating_sub(left) + inner);
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
            && self.meaning.packed != Packing::Ignored
        {
            let spans = |offsets: &[usize]| -> Vec<Span> {
                match (self.meaning.packed, offsets) {
                    (Packing::FirstBoundary, [start, end, .., last]) => {
                        vec![Span { start: *start, end: *end }, Span { start: *end, end: *last }]
                    }
                    _ => offsets
                        .windows(2)
                        .map(|pair| Span { start: pair[0], end: pair[1] })
                        .collect(),
                }
            };
            let own = spans(query_offsets)
                .into_iter()
                .zip(spans(key_offsets))
                .find(|(queries, _)| queries.contains(i));
            return own.map_or(sequence(Span::default(), Span::default()), |(queries, keys)| {
                sequence(queries, keys)
            });
        }
        let item = self.maps.value(&self.meaning.length_item, self.here(0, 0, 0), self.dims.b);
        let length = |lengths: &Option<Vec<usize>>, obedience, offset: i64, all: usize| match (
            lengths, obedience,
        ) {
            (Some(lengths), Obedience::Used) => {
                usize::try_from(signed(lengths[item]).saturating_add(offset)).unwrap_or(0).min(all)
            }
            _ => all,
        };
        let queries =
            Span::prefix(length(&self.options.query_lengths, self.meaning.query_lengths, 0, n_q));
        let offset = self.meaning.key_length_offset;
        let keys =
            Span::prefix(length(&self.options.key_lengths, self.meaning.key_lengths, offset, n_k));
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

/// How far a side of a window reaches; `None`: without limit.
fn side(reach: WindowSide, own: Option<usize>, other: Option<usize>) -> Option<i64> {
    let keys = own.map(signed);
    match reach {
        WindowSide::Used => keys,
        WindowSide::Ignored => None,
        WindowSide::OneMore => keys.map(|n| n.saturating_add(1)),
        WindowSide::OneFewer => keys.map(|n| n - 1),
        WindowSide::OfOtherSide => other.map(signed),
        WindowSide::ZeroMeansAll => keys.filter(|n| *n != 0),
    }
}
