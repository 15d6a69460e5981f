"""Attention of packages that stand on PyTorch, on its CPU."""

import torch


def keys_only(mask):
    """A mask of keys alone, (b, n_k)."""
    if mask is None or mask.ndim != 4 or mask.shape[1:3] != (1, 1):
        raise NotImplementedError("a mask of keys")
    return mask[:, 0, 0]


def x_transformers(query, key, value, scale=None, causal=False, mask=None, bias=None, flash=False):
    from x_transformers.attend import Attend

    four = lambda x: x if x is None else x.reshape((1,) * (4 - x.ndim) + tuple(x.shape))
    attend = Attend(causal=causal, scale=scale, flash=flash, heads=query.shape[1]).eval()
    return attend(query, key, value, mask=four(mask), attn_bias=four(bias))[0]


def x_transformers_flash(query, key, value, scale=None, causal=False, mask=None, bias=None):
    return x_transformers(query, key, value, scale, causal, mask, bias, flash=True)


def memory_efficient(query, key, value, causal=False, mask=None, bias=None):
    """memory-efficient-attention-pytorch, in buckets of 4 queries and 8 keys."""
    from memory_efficient_attention_pytorch.memory_efficient_attention import memory_efficient_attention

    if query.shape[1] != key.shape[1]:
        raise NotImplementedError("as many key heads as query heads")
    mask = None if mask is None else keys_only(mask)
    if bias is not None:
        bias = torch.broadcast_to(bias, (*query.shape[:3], key.shape[2]))
    buckets = {"q_bucket_size": 4, "k_bucket_size": 8}
    return memory_efficient_attention(query, key, value, mask=mask, causal=causal, attn_bias=bias, **buckets)


def multihead_attention(query, key, value, mask=None, bias=None, causal=False, return_weights=False, fast=False):
    """torch.nn.MultiheadAttention with projections that change nothing; its boolean mask is true where a key is hidden."""
    n_b, heads, _, width = query.shape
    if key.shape[1] != heads or value.shape[3] != width or heads == 1:
        raise NotImplementedError("one width, one number of heads")
    module = torch.nn.MultiheadAttention(heads * width, heads, bias=False, batch_first=True, dtype=query.dtype)
    eye = torch.eye(heads * width, dtype=query.dtype)
    with torch.no_grad():
        module.in_proj_weight.copy_(torch.cat([eye, eye, eye]))
        module.out_proj.weight.copy_(eye)
    module = module.eval() if fast else module.train()
    whole = lambda x: torch.broadcast_to(x, (n_b, heads, query.shape[2], key.shape[2])).flatten(0, 1)
    attn_mask = None
    if bias is not None:
        attn_mask = whole(bias if mask is None else torch.where(mask, bias, float("-inf")))
    elif mask is not None:
        attn_mask = ~whole(mask)
    if causal and attn_mask is not None:
        raise NotImplementedError("is_causal together with another attn_mask")
    if causal:
        attn_mask = torch.ones(query.shape[2], key.shape[2], dtype=torch.bool).triu(1)
    flat = lambda x: x.transpose(1, 2).flatten(2)
    with torch.no_grad():
        output, weights = module(
            *(flat(x) for x in (query, key, value)),
            attn_mask=attn_mask,
            is_causal=causal,
            need_weights=return_weights,
            average_attn_weights=False,
        )
    output = output.unflatten(2, (heads, width)).transpose(1, 2)
    return (output, weights) if return_weights else output


def multihead_attention_fast(query, key, value, mask=None, bias=None, causal=False):
    """The path that nn.MultiheadAttention takes for inference."""
    return multihead_attention(query, key, value, mask, bias, causal, fast=True)


def transformers_sdpa(query, key, value, scale=None, causal=False, mask=None, bias=None):
    """The attention function "sdpa" of transformers, for a layer with grouped heads."""
    from transformers.integrations.sdpa_attention import sdpa_attention_forward

    return from_transformers(sdpa_attention_forward, query, key, value, scale, causal, mask, bias)


def transformers_eager(query, key, value, scale=None, mask=None, bias=None):
    """The function "eager" of transformers as Llama has it: a mask is added, causal masking is in it."""
    from transformers.models.llama.modeling_llama import eager_attention_forward

    if mask is not None:
        hidden = torch.finfo(query.dtype).min
        bias = torch.where(mask, 0.0 if bias is None else bias, hidden).to(query.dtype)
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    return from_transformers(eager_attention_forward, query, key, value, scale, False, None, bias)


def from_transformers(function, query, key, value, scale, causal, mask, bias):
    layer = torch.nn.Module().eval()
    layer.num_key_value_groups = query.shape[1] // key.shape[1]
    layer.is_causal = causal
    if causal and (mask is not None or bias is not None):
        raise NotImplementedError("causal masking is in the mask, if there is one")
    if bias is not None and mask is not None:
        bias, mask = torch.where(mask, bias, float("-inf")), None
    attn_mask = mask if bias is None else bias
    if attn_mask is not None:
        attn_mask = attn_mask.reshape((1,) * (4 - attn_mask.ndim) + tuple(attn_mask.shape))
    output, _ = function(layer, query, key, value, attn_mask, scaling=scale, dropout=0.0)
    return output.transpose(1, 2)
