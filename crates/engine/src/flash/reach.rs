//! How far a query reaches among the keys: sequences, padding, causal diagonal and window, as two
//! ends.

use qkvet_spec::{CallOptions, Dims, Packed, Window};

/// Keys that a query may attend to, masks aside, and where it stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reach {
    pub(super) first: usize,
    /// Behind the last one.
    pub(super) end: usize,
    /// The key that the query stands at: the last query of a sequence stands at its last key.
    pub(super) position: i64,
}

impl Reach {
    /// Of query `i` of batch item `item`.
    pub(super) fn new(dims: Dims, options: &CallOptions, item: usize, i: usize) -> Self {
        let (query_end, keys) = match &options.packed {
            Some(Packed { query_offsets, key_offsets }) => {
                let next = query_offsets.partition_point(|start| *start <= i);
                (query_offsets[next], key_offsets[next - 1]..key_offsets[next])
            }
            None => {
                let length = |lengths: &Option<Vec<usize>>, n| {
                    lengths.as_ref().map_or(n, |lengths| lengths[item])
                };
                (
                    length(&options.query_lengths, dims.n_q),
                    0..length(&options.key_lengths, dims.n_k),
                )
            }
        };
        let position = whole(i) + whole(keys.end) - whole(query_end);
        if i >= query_end {
            return Self { first: 0, end: 0, position };
        }
        let (mut first, mut end) = (whole(keys.start), whole(keys.end));
        if options.causal {
            end = end.min(position + 1);
        }
        if let Some(Window { left, right }) = options.window {
            first = left.map_or(first, |left| first.max(position.saturating_sub(whole(left))));
            end = right.map_or(end, |right| {
                end.min(position.saturating_add(whole(right)).saturating_add(1))
            });
        }
        let end = end.max(first);
        Self {
            first: usize::try_from(first).unwrap_or(0),
            end: usize::try_from(end).unwrap_or(0),
            position,
        }
    }

    /// How far key `j` is from the query.
    pub(super) fn distance(self, j: usize) -> u64 {
        self.position.abs_diff(whole(j))
    }
}

fn whole(n: usize) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}
