"""keras.layers.MultiHeadAttention on JAX as a layer: `qkvet check examples/keras_multihead.py:layer --suite even`."""

import os

os.environ["KERAS_BACKEND"] = "jax"

import jax.numpy as jnp
import keras


def layer(x_q, x_kv, w_q, w_k, w_v, w_o, heads, causal=False, mask=None, return_weights=False):
    d_k, d_v = w_q.shape[1] // heads, w_v.shape[1] // heads
    module = keras.layers.MultiHeadAttention(heads, d_k, d_v, use_bias=False, output_shape=w_o.shape[1], dtype=x_q.dtype.name)
    module.build(x_q.shape, x_kv.shape, x_kv.shape)
    of_heads = [w.reshape(w.shape[0], heads, -1) for w in (w_q, w_k, w_v)]
    module.set_weights([*of_heads, w_o.reshape(heads, d_v, -1)])

    # True attends, for each item of the batch and each head.
    mask = mask if mask is None else jnp.broadcast_to(mask, (x_q.shape[0], heads, x_q.shape[1], x_kv.shape[1]))
    return module(x_q, x_kv, attention_mask=mask, use_causal_mask=causal, return_attention_scores=return_weights)
