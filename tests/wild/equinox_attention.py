"""equinox.nn's attention: dot_product_attention for one head, mapped over heads and items."""

import jax
import jax.numpy as jnp
from equinox.nn._attention import dot_product_attention


def attention(query, key, value, mask=None):
    if query.shape[1] != key.shape[1]:
        raise NotImplementedError("as many key heads as query heads")
    call = lambda q, k, v, m: dot_product_attention(q, k, v, m)
    masks = None
    if mask is not None:
        masks = jnp.broadcast_to(mask, (*query.shape[:3], key.shape[2]))
    axes = (0, 0, 0, None if masks is None else 0)
    return jax.vmap(jax.vmap(call, axes), axes)(query, key, value, masks)
