//! Calls that the kernel refuses.

use qkvet_spec::{Call, Dtype, Packed};

/// What does not fit.
#[derive(Debug, thiserror::Error)]
pub(super) enum Rejected {
    #[error("no kernel for {0}")]
    Format(Dtype),
    #[error("shapes do not fit together: query {query:?}, key {key:?}, value {value:?}")]
    Shapes { query: Vec<usize>, key: Vec<usize>, value: Vec<usize> },
    #[error("{name}: {len} elements for shape {shape:?}")]
    Elements { name: &'static str, len: usize, shape: Vec<usize> },
    #[error("{name} of shape {shape:?} does not broadcast to {scores:?}")]
    Broadcast { name: &'static str, shape: Vec<usize>, scores: [usize; 4] },
    #[error("softcap: {cap} is not a positive number")]
    Softcap { cap: f64 },
    #[error("{name} of shape {shape:?} for {h_q} query heads")]
    PerHead { name: &'static str, shape: Vec<usize>, h_q: usize },
    #[error("{name} {lengths:?} for {b} items of at most {n}")]
    Lengths { name: &'static str, lengths: Vec<usize>, b: usize, n: usize },
    #[error("lengths of sequences that are packed")]
    PackedLengths,
    #[error("offsets {queries:?} and {keys:?} for {n_q} queries and {n_k} keys")]
    Offsets { queries: Vec<usize>, keys: Vec<usize>, n_q: usize, n_k: usize },
}

/// Whether the tensors of a call fit together, and its options fit them.
pub(super) fn check_call(call: &Call) -> Result<(), Rejected> {
    let (q, k, v) = (&call.query.shape, &call.key.shape, &call.value.shape);
    let four_axes = q.len() == 4 && k.len() == 4 && v.len() == 4;
    if !four_axes
        || k[..3] != v[..3]
        || q[0] != k[0]
        || q[3] != k[3]
        || k[1] == 0
        || q[1] % k[1] != 0
    {
        let [query, key, value] = [q, k, v].map(Vec::clone);
        return Err(Rejected::Shapes { query, key, value });
    }
    let scores = [q[0], q[1], q[2], k[2]];
    let masks = call.options.mask.as_ref().map(|mask| ("mask", &mask.shape, mask.data.len()));
    let biases = call.options.bias.as_ref().map(|bias| ("bias", &bias.shape, bias.data.len()));
    for (name, shape, len) in masks.into_iter().chain(biases) {
        if shape.iter().product::<usize>() != len {
            return Err(Rejected::Elements { name, len, shape: shape.clone() });
        }
        let fits = shape.len() <= 4
            && shape.iter().rev().zip(scores.iter().rev()).all(|(n, m)| n == m || *n == 1);
        if !fits {
            return Err(Rejected::Broadcast { name, shape: shape.clone(), scores });
        }
    }
    check_options(call)
}

fn check_options(call: &Call) -> Result<(), Rejected> {
    let (dims, options) = (call.dims(), &call.options);
    if let Some(cap) = options.softcap.filter(|cap| !(cap.is_finite() && *cap > 0.0)) {
        return Err(Rejected::Softcap { cap });
    }
    for (name, tensor) in [("sinks", &options.sinks), ("alibi_slopes", &options.alibi_slopes)] {
        if let Some(tensor) =
            tensor.as_ref().filter(|x| x.shape != [dims.h_q] || x.data.len() != dims.h_q)
        {
            return Err(Rejected::PerHead { name, shape: tensor.shape.clone(), h_q: dims.h_q });
        }
    }
    for (name, lengths, n) in [
        ("key_lengths", &options.key_lengths, dims.n_k),
        ("query_lengths", &options.query_lengths, dims.n_q),
    ] {
        if let Some(lengths) =
            lengths.as_ref().filter(|x| x.len() != dims.b || x.iter().any(|length| *length > n))
        {
            return Err(Rejected::Lengths { name, lengths: lengths.clone(), b: dims.b, n });
        }
    }
    let Some(Packed { query_offsets, key_offsets }) = &options.packed else { return Ok(()) };
    if options.key_lengths.is_some() || options.query_lengths.is_some() {
        return Err(Rejected::PackedLengths);
    }
    let ascends = |offsets: &[usize], n| {
        offsets.first() == Some(&0) && offsets.last() == Some(&n) && offsets.is_sorted()
    };
    if query_offsets.len() != key_offsets.len()
        || !ascends(query_offsets, dims.n_q)
        || !ascends(key_offsets, dims.n_k)
    {
        let [queries, keys] = [query_offsets, key_offsets].map(Vec::clone);
        return Err(Rejected::Offsets { queries, keys, n_q: dims.n_q, n_k: dims.n_k });
    }
    Ok(())
}
