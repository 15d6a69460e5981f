"""jax.nn.dot_product_attention on the CPU, in its own order of axes: positions before heads."""

import jax


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
    return_lse=False,
):
    n_k = key.shape[1]
    if window is not None:  # has two ends
        window = tuple(n_k + query.shape[1] if side is None else side for side in window)
    four_axes = lambda x: x if x is None else x.reshape((1,) * (4 - x.ndim) + x.shape)
    result = jax.nn.dot_product_attention(
        query,
        key,
        value,
        bias=four_axes(bias),
        mask=four_axes(mask),
        scale=scale,
        is_causal=is_causal,
        query_seq_lengths=query_seq_lengths,
        key_value_seq_lengths=key_value_seq_lengths,
        local_window_size=window,
        return_residual=return_lse,
    )
    return (result[0], result[1].swapaxes(1, 2)) if return_lse else result
