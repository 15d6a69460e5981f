"""flax.nnx.MultiHeadAttention as a layer: `qkvet check examples/flax_multihead.py:layer --suite even`."""

import jax.numpy as jnp
from flax import nnx


def layer(x_q, x_kv, w_q, w_k, w_v, w_o, heads, causal=False, mask=None, return_weights=False):
    width = w_q.shape[1]
    if w_v.shape[1] != width:
        raise NotImplementedError("one width for queries, keys and values")
    module = nnx.MultiHeadAttention(
        heads, x_q.shape[2], width, w_o.shape[1], in_kv_features=x_kv.shape[2], use_bias=False, decode=False,
        dtype=x_q.dtype, param_dtype=x_q.dtype, rngs=nnx.Rngs(0),
    )
    for linear, w in (module.query, w_q), (module.key, w_k), (module.value, w_v):
        linear.kernel[...] = w.reshape(w.shape[0], heads, -1)
    module.out.kernel[...] = w_o.reshape(heads, -1, w_o.shape[1])

    # True attends, for each item of the batch and each head.
    mask = mask if mask is None else jnp.broadcast_to(mask, (x_q.shape[0], heads, x_q.shape[1], x_kv.shape[1]))
    output = module(x_q, x_kv, mask=mask, is_causal=causal, sow_weights=return_weights)
    if not return_weights:
        return output
    return output, nnx.pop(module, nnx.Intermediate)["attention_weights"][0]
