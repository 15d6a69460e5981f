"""ScaledDotProductAttention, operation 13 of OpenVINO, on its CPU plugin."""

import numpy as np
import openvino as ov
from openvino import opset13

CORE = ov.Core()
COMPILED = {}


def attention(query, key, value, scale=None, causal=False, mask=None, bias=None):
    """Heads are repeated here: the operation has as many key heads as query heads."""
    if mask is not None and bias is not None:
        bias = np.where(mask, bias, np.array(-np.inf, bias.dtype))
    array = mask if bias is None else bias
    if causal and array is not None:
        raise NotImplementedError("attention_mask is ignored if causal")
    group = query.shape[1] // key.shape[1]
    feeds = [query, np.repeat(key, group, axis=1), np.repeat(value, group, axis=1)]
    if array is None and scale is not None:
        array = np.zeros((1, 1), query.dtype)  # the scale is the input behind the mask
    if array is not None:
        feeds.append(array)
    if scale is not None:
        feeds.append(np.array(scale, query.dtype))
    kind = (causal, *((x.dtype, x.shape) for x in feeds))
    if kind not in COMPILED:
        inputs = [opset13.parameter(list(x.shape), x.dtype) for x in feeds]
        node = opset13.scaled_dot_product_attention(*inputs, causal=causal)
        precision = {"INFERENCE_PRECISION_HINT": "f32"}
        COMPILED[kind] = CORE.compile_model(ov.Model([node], inputs), "CPU", precision)
    return COMPILED[kind](feeds)[0]
