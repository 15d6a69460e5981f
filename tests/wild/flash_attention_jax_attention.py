"""flash-attention-jax on the CPU."""

import jax.numpy as jnp
from flash_attention_jax import causal_flash_attention, flash_attention


def attention(query, key, value, causal=False, mask=None):
    if query.shape[1] != key.shape[1]:
        raise NotImplementedError("as many key heads as query heads")
    if causal:
        if mask is not None or query.shape[2] != key.shape[2]:
            raise NotImplementedError("causal for as many queries as keys, without a mask")
        return causal_flash_attention(query, key, value)
    if mask is None:
        mask = jnp.ones((key.shape[0], 1, 1, key.shape[2]), bool)
    if mask.ndim != 4 or mask.shape[1:3] != (1, 1):
        raise NotImplementedError("a mask of keys")
    return flash_attention(query, key, value, mask[:, 0, 0])
