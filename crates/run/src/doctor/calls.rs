//! The calls that the doctor makes: tiny, so that a person can follow, and one that is too large
//! for a line.

use qkvet_spec::wire::INLINE_LIMIT;
use qkvet_spec::{BoolTensor, Call, CallOption, CallOptions, Dtype, Packed, Tensor, Window};

/// Eighths in [−1, 1], which every format holds exactly.
fn tensor(dtype: Dtype, shape: &[usize], step: usize) -> Tensor {
    let n = shape.iter().product();
    let data = (0..n).map(|at| ((at * step + at / 5) % 17) as f64 / 8.0 - 1.0).collect();
    Tensor { dtype, shape: shape.to_vec(), data }
}

/// Two query heads, one key head, two queries, three keys.
pub(super) fn plain(dtype: Dtype) -> Call {
    Call {
        query: tensor(dtype, &[1, 2, 2, 4], 3),
        key: tensor(dtype, &[1, 1, 3, 4], 5),
        value: tensor(dtype, &[1, 1, 3, 2], 7),
        return_weights: false,
        return_lse: false,
        options: CallOptions::default(),
    }
}

/// The plain call under a mask that leaves each query a key, in its short form.
pub(super) fn masked(dtype: Dtype) -> Call {
    let mask = BoolTensor { shape: vec![2, 3], data: vec![true, false, true, false, true, true] };
    Call { options: CallOptions { mask: Some(mask), ..CallOptions::default() }, ..plain(dtype) }
}

/// The plain call with a bias, in its short form.
pub(super) fn biased(dtype: Dtype) -> Call {
    Call {
        options: CallOptions { bias: Some(tensor(dtype, &[2, 3], 4)), ..CallOptions::default() },
        ..plain(dtype)
    }
}

/// The plain call with an option that is asked only of who lists it.
pub(super) fn declared(option: CallOption, dtype: Dtype) -> Option<Call> {
    let off = CallOptions::default();
    let options = match option {
        CallOption::Scale | CallOption::Causal | CallOption::Mask | CallOption::Bias => {
            return None;
        }
        CallOption::Softcap => CallOptions { softcap: Some(0.5), ..off },
        CallOption::Window => {
            CallOptions { window: Some(Window { left: Some(1), right: Some(0) }), ..off }
        }
        CallOption::Sinks => CallOptions { sinks: Some(tensor(dtype, &[2], 9)), ..off },
        CallOption::AlibiSlopes => {
            CallOptions { alibi_slopes: Some(tensor(dtype, &[2], 9)), ..off }
        }
        CallOption::KeyLengths => CallOptions { key_lengths: Some(vec![2]), ..off },
        CallOption::QueryLengths => CallOptions { query_lengths: Some(vec![1]), ..off },
        CallOption::Packed => CallOptions {
            packed: Some(Packed { query_offsets: vec![0, 1, 2], key_offsets: vec![0, 2, 3] }),
            ..off
        },
    };
    Some(Call { options, ..plain(dtype) })
}

/// One query and so many keys that they go by file.
pub(super) fn large(dtype: Dtype) -> Call {
    let n_k = INLINE_LIMIT / (4 * dtype.size()) + 1;
    Call {
        query: tensor(dtype, &[1, 1, 1, 4], 3),
        key: tensor(dtype, &[1, 1, n_k, 4], 5),
        value: tensor(dtype, &[1, 1, n_k, 4], 7),
        ..plain(dtype)
    }
}
