"""paddle.nn.functional.scaled_dot_product_attention on the CPU."""

import numpy as np
import paddle
import paddle.nn.functional as F

paddle.set_device("cpu")


def attention(query, key, value, causal=False, mask=None, bias=None):
    """Heads are repeated here where there are fewer for keys."""
    if causal and (mask is not None or bias is not None):
        raise NotImplementedError("is_causal together with attn_mask")
    if mask is not None and bias is not None:
        bias = np.where(mask, bias, np.array(-np.inf, bias.dtype))
    array = mask if bias is None else bias
    group = query.shape[1] // key.shape[1]
    swap = lambda x: paddle.to_tensor(np.ascontiguousarray(x.swapaxes(1, 2)))
    output = F.scaled_dot_product_attention(
        swap(query),
        swap(np.repeat(key, group, axis=1)),
        swap(np.repeat(value, group, axis=1)),
        attn_mask=None if array is None else paddle.to_tensor(np.ascontiguousarray(array)),
        is_causal=causal,
    )
    return output.numpy().swapaxes(1, 2)
