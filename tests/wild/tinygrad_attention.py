"""Tensor.scaled_dot_product_attention of tinygrad on its CPU."""

import numpy as np
from tinygrad import Tensor


def attention(query, key, value, causal=False, mask=None, bias=None):
    if causal and (mask is not None or bias is not None):
        raise NotImplementedError("is_causal together with attn_mask")
    if mask is not None and bias is not None:
        bias = np.where(mask, bias, np.array(-np.inf, bias.dtype))
    attn_mask = mask if bias is None else bias
    output = Tensor(query).scaled_dot_product_attention(
        Tensor(key),
        Tensor(value),
        attn_mask=None if attn_mask is None else Tensor(np.atleast_2d(attn_mask)),
        is_causal=causal,
        enable_gqa=query.shape[1] != key.shape[1],
    )
    return output.numpy()
