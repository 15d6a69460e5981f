"""mlx.core.fast.scaled_dot_product_attention on the CPU."""

import mlx.core as mx
import numpy as np

mx.set_default_device(mx.cpu)


def attention(query, key, value, scale=None, causal=False, mask=None, bias=None, sinks=None):
    if causal and (mask is not None or bias is not None):
        raise NotImplementedError("one mask: 'causal' or an array")
    if mask is not None and bias is not None:
        bias = np.where(mask, bias, np.array(-np.inf, bias.dtype))
    array = mask if bias is None else bias
    output = mx.fast.scaled_dot_product_attention(
        *(mx.array(x) for x in (query, key, value)),
        scale=query.shape[-1] ** -0.5 if scale is None else scale,
        mask="causal" if causal else None if array is None else mx.array(array),
        sinks=None if sinks is None else mx.array(sinks),
    )
    return np.array(output)
