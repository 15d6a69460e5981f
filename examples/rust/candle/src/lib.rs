//! Attention with the kernel that candle publishes for the CPU, one batch item after the other.

use candle_core::{DType, Result, Tensor, WithDType, bail};
use candle_nn::attention::{AttnMask, flash_attn};

/// `(b, h_q, n_q, d)` of query `(b, h_q, n_q, d)`, key and value `(b, h_k, n_k, d)`. Causal masking
/// is aligned lower right; the bias is one `(n_q, n_k)` for all heads, with −∞ where a key is
/// hidden.
///
/// # Errors
/// What candle does not take: widths that differ, causal masking with more queries than keys or
/// beside a bias, and its own errors.
pub fn attention(
    query: &Tensor,
    key: &Tensor,
    value: &Tensor,
    scale: f32,
    causal: bool,
    bias: Option<&Tensor>,
) -> Result<Tensor> {
    let (n_q, n_k) = (query.dim(2)?, key.dim(2)?);
    if query.dim(3)? != value.dim(3)? {
        bail!("value has the width of query and key, (B, KV_S, KV_H, D)");
    }
    let mask = || match (bias, causal) {
        (None, false) => Ok(AttnMask::None),
        (None, true) if n_k < n_q => bail!("the number of keys before the queries is not negative"),
        (None, true) => Ok(AttnMask::causal_with_offset(n_k - n_q)),
        (Some(_), true) => bail!("AttnMask is a mask or causal"),
        (Some(bias), false) => Ok(AttnMask::Mask(bias.to_dtype(query.dtype())?)),
    };
    let item = |at: usize| -> Result<Tensor> {
        let of = |tensor: &Tensor| tensor.narrow(0, at, 1)?.transpose(1, 2)?.contiguous();
        let (q, k, v) = (of(query)?, of(key)?, of(value)?);
        match query.dtype() {
            DType::F32 => call::<f32>(&q, &k, &v, scale, mask()?),
            DType::F16 => call::<half::f16>(&q, &k, &v, scale, mask()?),
            other => bail!("no attention for {other:?}"),
        }?
        .to_dtype(query.dtype())
    };
    Tensor::cat(&(0..query.dim(0)?).map(item).collect::<Result<Vec<_>>>()?, 0)
}

fn call<T: WithDType + num_traits::Float>(
    q: &Tensor,
    k: &Tensor,
    v: &Tensor,
    scale: f32,
    mask: AttnMask,
) -> Result<Tensor> {
    flash_attn::<T>(q, k, v, scale, mask, None, None)
}
