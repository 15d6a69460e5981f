//! Attention with burn's module for it, on the CPU.

use burn_tensor::module::attention as module;
use burn_tensor::ops::AttentionModuleOptions;
use burn_tensor::{Bool, Tensor};

/// `(b, h_q, n_q, d_v)` of query `(b, h_q, n_q, d_k)`, key `(b, h_k, n_k, d_k)` and value
/// `(b, h_k, n_k, d_v)`. Causal masking is aligned lower right; of the mask, true hides; both it
/// and the bias are `(b, h_q, n_q, n_k)`. burn has one key head for each query head: those of key
/// and value are repeated.
#[must_use]
pub fn attention(
    query: Tensor<4>,
    key: Tensor<4>,
    value: Tensor<4>,
    hidden: Option<Tensor<4, Bool>>,
    bias: Option<Tensor<4>>,
    options: AttentionModuleOptions,
) -> Tensor<4> {
    let group = query.dims()[1] / key.dims()[1];
    module(query, repeated(key, group), repeated(value, group), hidden, bias, options)
}

/// Each head `group` times, one behind the other.
fn repeated(tensor: Tensor<4>, group: usize) -> Tensor<4> {
    let [b, heads, n, d] = tensor.dims();
    tensor.reshape([b, heads, 1, n, d]).repeat_dim(2, group).reshape([b, heads * group, n, d])
}
