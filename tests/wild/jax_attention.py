"""jax.nn.dot_product_attention on the CPU, through XLA."""

import inspect

import jax
import jax.numpy as jnp

TAKES = inspect.signature(jax.nn.dot_product_attention).parameters


def attention(
    query,
    key,
    value,
    scale=None,
    is_causal=False,
    mask=None,
    bias=None,
    window=None,
    key_value_seq_lengths=None,
    query_seq_lengths=None,
):
    options = {"is_causal": is_causal, "implementation": "xla"}
    lengths = {"key_value_seq_lengths": key_value_seq_lengths, "query_seq_lengths": query_seq_lengths}
    options |= {name: x for name, x in lengths.items() if x is not None}
    if window is not None:
        if None in window:
            raise NotImplementedError("a window has two ends")
        options["local_window_size"] = tuple(window)
    if not options.keys() <= TAKES.keys():
        raise NotImplementedError("not in this version")
    if scale is not None:
        options["scale"] = scale
    for name, x in (("mask", mask), ("bias", bias)):
        if x is not None:  # of four axes
            options[name] = x.reshape((1,) * (4 - x.ndim) + x.shape)
    swap = lambda x: jnp.swapaxes(x, 1, 2)
    return swap(jax.nn.dot_product_attention(swap(query), swap(key), swap(value), **options))
