//! Lengths and packed sequences.

use qkvet_spec::{Dims, Packed};

use crate::source::{Draws, Source};

/// Numbers of keys (`variable` `key_lengths`) or queries that exist, one for each item, of `n`.
///
/// Different ones as far as there are any: one that is neither 0 nor `n` first, then 0 and `n`, in
/// an order that is drawn.
pub(crate) fn draw_lengths(variable: &str, items: usize, n: usize, source: Source) -> Vec<usize> {
    let mut draws = source.draws(variable);
    let mut all: Vec<usize> = (1..n).collect();
    draws.shuffle(&mut all);
    let mut ends = [0, n];
    draws.shuffle(&mut ends);
    all.splice(all.len().min(1)..all.len().min(1), ends);
    let mut lengths: Vec<usize> = (0..items).map(|item| all[item % all.len()]).collect();
    draws.shuffle(&mut lengths);
    lengths
}

/// The same of lengths at their ends: all of `n`, all but one and none, beginning anywhere; once in
/// four times all of them in every item.
pub(crate) fn draw_ends(variable: &str, items: usize, n: usize, source: Source) -> Vec<usize> {
    let mut draws = source.draws(variable);
    let mut ends = [n, n - n.min(1), 0];
    draws.shuffle(&mut ends);
    if draws.one_in(4) {
        ends = [n; 3];
    }
    (0..items).map(|item| ends[item % ends.len()]).collect()
}

/// Two to four sequences whose lengths differ, as far as rows go round; of three or four one is
/// empty: it lacks queries, or keys, or both.
pub(crate) fn draw_packed(dims: &Dims, source: Source) -> Packed {
    let mut draws = source.draws("packed");
    let count = draws.between(2, 4);
    let empty = draws.below(count);
    let lacks = draws.below(3);
    let without = |lacking: bool| (count > 2 && lacking).then_some(empty);
    let query_offsets = offsets(dims.n_q, count, without(lacks != 1), &mut draws);
    let key_offsets = offsets(dims.n_k, count, without(lacks != 2), &mut draws);
    Packed { query_offsets, key_offsets }
}

/// Where `count` sequences of `n` rows begin and end; the sequence `empty` has none, the others
/// have some if they can.
fn offsets(n: usize, count: usize, empty: Option<usize>, draws: &mut Draws) -> Vec<usize> {
    let parts = count - usize::from(empty.is_some());
    let mut lengths = if n < parts {
        (0..parts).map(|at| usize::from(at < n)).collect()
    } else {
        let mut ends: Vec<usize> =
            draws.subset(n - 1, parts - 1).into_iter().map(|at| at + 1).collect();
        ends.push(n);
        let starts = std::iter::once(0).chain(ends.iter().copied());
        starts.zip(&ends).map(|(start, end)| end - start).collect::<Vec<usize>>()
    };
    if lengths.iter().all(|length| *length == lengths[0]) && lengths[0] > 1 {
        lengths[0] -= 1;
        lengths[parts - 1] += 1;
    }
    if let Some(at) = empty {
        lengths.insert(at, 0);
    }
    let mut offsets = vec![0];
    offsets.extend(lengths.iter().scan(0, |end, length| {
        *end += length;
        Some(*end)
    }));
    offsets
}
