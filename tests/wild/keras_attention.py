"""keras.layers.MultiHeadAttention with the JAX backend and projections that change nothing."""

import os

os.environ["KERAS_BACKEND"] = "jax"

import jax.numpy as jnp
import keras


def layer(query, key, value, flash=None, scores=False, causal=False, mask=None):
    heads, width = query.shape[1], query.shape[3]
    if key.shape[1] != heads or value.shape[3] != width:
        raise NotImplementedError("one width, one number of heads")
    flat = lambda x: jnp.swapaxes(x, 1, 2).reshape(x.shape[0], x.shape[2], -1)
    query, key, value = (flat(x) for x in (query, key, value))
    module = keras.layers.MultiHeadAttention(heads, width, use_bias=False, dtype="float32", flash_attention=flash)
    module.build(query.shape, value.shape, key.shape)
    eye = jnp.eye(heads * width).reshape(heads * width, heads, width)
    module.set_weights([eye, eye, eye, eye.transpose(1, 2, 0)])
    options = {"use_causal_mask": causal, "return_attention_scores": scores}
    if mask is not None:
        if mask.ndim != 4 or mask.shape[1] != 1:
            raise NotImplementedError("a mask for each item of the batch, the same for all heads")
        options["attention_mask"] = mask[:, 0]
    result = module(query, value, key, **options)
    output, weights = result if scores else (result, None)
    output = jnp.swapaxes(output.reshape(*output.shape[:2], heads, width), 1, 2)
    return (output, weights) if scores else output


def attention(query, key, value, causal=False, mask=None, return_weights=False):
    return layer(query, key, value, None, return_weights, causal, mask)


def with_scores(query, key, value, causal=False, mask=None):
    """The output when the scores are asked for, too."""
    return layer(query, key, value, None, True, causal, mask)[0]
