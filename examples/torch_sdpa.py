"""PyTorch's own attention under qkvet; what it does differently is declared in qkvet.yaml."""

import torch
import torch.nn.functional as F


def attention(query, key, value, scale=None, is_causal=False, mask=None, bias=None):
    if is_causal and not (mask is None and bias is None):
        raise NotImplementedError("is_causal together with attn_mask")
    if is_causal and scale is not None and scale <= 0:
        # The CPU kernel hides keys by -inf before it scales: 0 * -inf is NaN, and a negative scale
        # turns -inf into +inf.
        raise NotImplementedError("is_causal with a scale that is not positive")
    if value.shape[2] != key.shape[2]:
        raise ValueError("as many values as keys")  # the CPU kernel takes the count of the values and reads behind the keys
    attn_mask = mask if bias is None else bias
    if mask is not None and bias is not None:
        attn_mask = torch.where(mask, bias, float("-inf"))
    return F.scaled_dot_product_attention(
        query,
        key,
        value,
        attn_mask=None if attn_mask is None else torch.atleast_2d(attn_mask),
        is_causal=is_causal,
        scale=scale,
        enable_gqa=query.shape[1] != key.shape[1],
    )
