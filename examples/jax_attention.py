"""JAX's own attention under qkvet; what it does differently is declared in qkvet.yaml."""

import jax
import jax.numpy as jnp


def attention(query, key, value, scale=None, is_causal=False, mask=None, bias=None, window=None, key_value_seq_lengths=None):
    n_q, n_k = query.shape[2], key.shape[2]
    if value.shape[3] != key.shape[3]:
        raise NotImplementedError("values of another width than keys")
    if window is not None and (n_q != n_k or key_value_seq_lengths is not None):
        raise NotImplementedError("a window that counts from the last key")  # JAX's counts from the first
    if window is not None:
        window = tuple(n_k if side is None else min(side, n_k) for side in window)
    q, k, v = (jnp.swapaxes(x, 1, 2) for x in (query, key, value))  # JAX puts the heads after the positions
    # query_seq_lengths is left out: JAX gives padded queries 0, but the mean of the values to
    # others that see no key.
    output = jax.nn.dot_product_attention(
        q,
        k,
        v,
        bias=bias,
        mask=mask,
        scale=scale,
        is_causal=is_causal,
        key_value_seq_lengths=key_value_seq_lengths,
        local_window_size=window,
    )
    return jnp.swapaxes(output, 1, 2)
