//! A call of given extents to ask a target what it takes.

use qkvet_spec::{BoolTensor, Call, CallOption, CallOptions, Dims, Dtype, Tensor};

/// A call with numbers that every format holds, and with those of the options that leave the result
/// as it is: a mask that is true everywhere, a bias of zeros.
pub(crate) fn small_call(dims: Dims, dtype: Dtype, options: &[CallOption]) -> Call {
    let Dims { b, h_q, h_k, n_q, n_k, d_k, d_v } = dims;
    let tensor = |shape: [usize; 4], step: usize| {
        // Quarters below two.
        let quarters = |at: usize| f64::from(u8::try_from(at * step % 7).unwrap_or(0)) / 4.0;
        let data = (0..shape.iter().product()).map(quarters).collect();
        Tensor { dtype, shape: shape.to_vec(), data }
    };
    let has = |option: CallOption| options.contains(&option);
    let scores = [1, 1, n_q, n_k];
    let mask = has(CallOption::Mask)
        .then(|| BoolTensor { shape: scores.to_vec(), data: vec![true; n_q * n_k] });
    let bias = has(CallOption::Bias).then(|| tensor(scores, 0));
    Call {
        query: tensor([b, h_q, n_q, d_k], 1),
        key: tensor([b, h_k, n_k, d_k], 3),
        value: tensor([b, h_k, n_k, d_v], 5),
        return_weights: false,
        return_lse: false,
        options: CallOptions { mask, bias, ..CallOptions::default() },
    }
}
