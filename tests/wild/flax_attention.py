"""flax.nnx.dot_product_attention."""

import jax.numpy as jnp
from flax import nnx


def attention(query, key, value, mask=None, bias=None, is_causal=False):
    if query.shape[1] != key.shape[1]:
        raise NotImplementedError("as many key heads as query heads")
    swap = lambda x: jnp.swapaxes(x, 1, 2)
    four = lambda x: x if x is None else x.reshape((1,) * (4 - x.ndim) + x.shape)
    options = {"is_causal": True} if is_causal else {}
    return swap(nnx.dot_product_attention(swap(query), swap(key), swap(value), bias=four(bias), mask=four(mask), **options))
