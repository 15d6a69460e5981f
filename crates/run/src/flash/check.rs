//! Calls that the kernel refuses.

use qkvet_spec::{Call, Packed};

/// Whether the tensors of a call fit together, and its options fit them.
pub(super) fn check_call(call: &Call) -> Result<(), String> {
    let (q, k, v) = (&call.query.shape, &call.key.shape, &call.value.shape);
    let four_axes = q.len() == 4 && k.len() == 4 && v.len() == 4;
    if !four_axes
        || k[..3] != v[..3]
        || q[0] != k[0]
        || q[3] != k[3]
        || k[1] == 0
        || q[1] % k[1] != 0
    {
        return Err(format!("shapes do not fit together: query {q:?}, key {k:?}, value {v:?}"));
    }
    let scores = [q[0], q[1], q[2], k[2]];
    let masks = call.options.mask.as_ref().map(|mask| ("mask", &mask.shape, mask.data.len()));
    let biases = call.options.bias.as_ref().map(|bias| ("bias", &bias.shape, bias.data.len()));
    for (name, shape, len) in masks.into_iter().chain(biases) {
        if shape.iter().product::<usize>() != len {
            return Err(format!("{name}: {len} elements for shape {shape:?}"));
        }
        let fits = shape.len() <= 4
            && shape.iter().rev().zip(scores.iter().rev()).all(|(n, m)| n == m || *n == 1);
        if !fits {
            return Err(format!("{name} of shape {shape:?} does not broadcast to {scores:?}"));
        }
    }
    check_options(call)
}

fn check_options(call: &Call) -> Result<(), String> {
    let (dims, options) = (call.dims(), &call.options);
    if let Some(cap) = options.softcap.filter(|cap| !(cap.is_finite() && *cap > 0.0)) {
        return Err(format!("softcap: {cap} is not a positive number"));
    }
    for (name, tensor) in [("sinks", &options.sinks), ("alibi_slopes", &options.alibi_slopes)] {
        if let Some(tensor) =
            tensor.as_ref().filter(|x| x.shape != [dims.h_q] || x.data.len() != dims.h_q)
        {
            return Err(format!("{name} of shape {:?} for {} query heads", tensor.shape, dims.h_q));
        }
    }
    for (name, lengths, n) in [
        ("key_lengths", &options.key_lengths, dims.n_k),
        ("query_lengths", &options.query_lengths, dims.n_q),
    ] {
        if let Some(lengths) =
            lengths.as_ref().filter(|x| x.len() != dims.b || x.iter().any(|length| *length > n))
        {
            return Err(format!("{name} {lengths:?} for {} items of at most {n}", dims.b));
        }
    }
    let Some(Packed { query_offsets, key_offsets }) = &options.packed else { return Ok(()) };
    if options.key_lengths.is_some() || options.query_lengths.is_some() {
        return Err("lengths of sequences that are packed".to_owned());
    }
    let ascends = |offsets: &[usize], n| {
        offsets.first() == Some(&0) && offsets.last() == Some(&n) && offsets.is_sorted()
    };
    if query_offsets.len() != key_offsets.len()
        || !ascends(query_offsets, dims.n_q)
        || !ascends(key_offsets, dims.n_k)
    {
        return Err(format!(
            "offsets {query_offsets:?} and {key_offsets:?} for {} queries and {} keys",
            dims.n_q, dims.n_k
        ));
    }
    Ok(())
}
