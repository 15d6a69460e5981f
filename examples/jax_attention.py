"""JAX's own attention under qkvet; what it does differently is declared in qkvet.yaml."""

import jax
import jax.numpy as jnp


def attention(query, key, value, scale=None, is_causal=False, mask=None, bias=None):
    if value.shape[3] != key.shape[3]:
        raise NotImplementedError("values of another width than keys")
    q, k, v = (jnp.swapaxes(x, 1, 2) for x in (query, key, value))  # JAX puts the heads after the positions
    output = jax.nn.dot_product_attention(q, k, v, bias=bias, mask=mask, scale=scale, is_causal=is_causal)
    return jnp.swapaxes(output, 1, 2)
