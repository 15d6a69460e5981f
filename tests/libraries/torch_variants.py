"""Other ways to PyTorch's attention on the CPU: the math backend, causal_lower_right, flex_attention."""

import sys
from pathlib import Path

import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.attention.bias import causal_lower_right
from torch.nn.attention.flex_attention import AuxRequest, flex_attention

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))
from torch_sdpa import attention


def math(query, key, value, scale=None, is_causal=False, mask=None, bias=None):
    with sdpa_kernel([SDPBackend.MATH]):
        return attention(query, key, value, scale, is_causal, mask, bias)


def lower_right(query, key, value, scale=None, is_causal=False, mask=None, bias=None):
    if not is_causal:
        return attention(query, key, value, scale, False, mask, bias)
    if not (mask is None and bias is None):
        raise NotImplementedError("causal_lower_right is an attn_mask, of which there is one")
    diagonal = causal_lower_right(query.shape[2], key.shape[2])
    enable_gqa = query.shape[1] != key.shape[1]
    return F.scaled_dot_product_attention(query, key, value, diagonal, scale=scale, enable_gqa=enable_gqa)


def flex(query, key, value, scale=None, bias=None, return_lse=False):
    full = None if bias is None else bias.expand(*query.shape[:3], key.shape[2])
    result = flex_attention(
        query,
        key,
        value,
        score_mod=None if full is None else lambda score, b, h, i, j: score + full[b, h, i, j],
        scale=scale,
        enable_gqa=query.shape[1] != key.shape[1],
        return_aux=AuxRequest(lse=True) if return_lse else None,
    )
    return (result[0], result[1].lse) if return_lse else result
