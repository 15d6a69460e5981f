//! The calls that the doctor makes: tiny, so that a person can follow, and one that is too large for a line.

use qkvet_spec::wire::INLINE_LIMIT;
use qkvet_spec::{BoolTensor, Call, Dtype, Tensor};

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
        scale: None,
        causal: false,
        mask: None,
        bias: None,
        return_weights: false,
    }
}

/// The plain call under a mask that leaves each query a key, in its short form.
pub(super) fn masked(dtype: Dtype) -> Call {
    let mask = BoolTensor { shape: vec![2, 3], data: vec![true, false, true, false, true, true] };
    Call { mask: Some(mask), ..plain(dtype) }
}

/// The plain call with a bias, in its short form.
pub(super) fn biased(dtype: Dtype) -> Call {
    Call { bias: Some(tensor(dtype, &[2, 3], 4)), ..plain(dtype) }
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
