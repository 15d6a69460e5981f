"""Models of one node Attention, the operator of ONNX, and the ways to call it; `run` evaluates such a model."""

import numpy as np
import onnx
from onnx import helper

INPUTS = ("query", "key", "value", "attn_mask", "past_key", "past_value", "nonpad_kv_seqlen")


def model(version, feeds, attributes, free=True):
    """One node Attention of this version, for any extents if free. What is not fed is an input without a name."""
    names = [name if name in feeds else "" for name in INPUTS]
    while not names[-1]:
        names.pop()
    outputs = ["output", "present_key", "present_value"] if "past_key" in feeds else ["output"]
    node = helper.make_node("Attention", names, outputs, **attributes)
    value = lambda name, dtype, shape: helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(dtype), shape)
    inputs = [value(name, x.dtype, [None] * x.ndim if free else x.shape) for name, x in feeds.items()]
    results = [value(name, feeds["query"].dtype, [None] * feeds["query"].ndim) for name in outputs]
    graph = helper.make_graph([node], "attention", inputs, results)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", version)], ir_version=10)


def forms(run, version):
    """The operator without a cache, with one, with numbers of valid keys, with heads side by side, and with any scale."""

    def call(feeds, mask, bias, scale, causal, softcap, window, **attributes):
        if mask is not None and bias is not None:  # `attn_mask` is boolean or added: both at once is added
            bias = np.where(mask, bias, np.array(-np.inf, bias.dtype))
        if mask is not None or bias is not None:
            feeds["attn_mask"] = mask if bias is None else bias
        attributes |= {"is_causal": int(causal), "scale": scale, "softcap": softcap}
        if window is not None:
            if version < 25:
                raise NotImplementedError("Attention has a window from version 25 on")
            left, right = (-1 if size is None else size for size in window)
            attributes |= {"left_window_size": left, "right_window_size": right}
        return run(version, feeds, {name: x for name, x in attributes.items() if x is not None})

    def any_scale(query, key, value, scale=None, causal=False, mask=None, bias=None, softcap=None, window=None):
        feeds = {"query": query, "key": key, "value": value}
        return call(feeds, mask, bias, scale, causal, softcap, window)

    def not_negative(scale):
        if scale is not None and scale < 0:
            raise NotImplementedError("the operator is defined with the square root of the scale")

    def attention(query, key, value, scale=None, causal=False, mask=None, bias=None, softcap=None, window=None):
        not_negative(scale)
        return any_scale(query, key, value, scale, causal, mask, bias, softcap, window)

    def cached(query, key, value, scale=None, causal=False, mask=None, bias=None, softcap=None, window=None):
        not_negative(scale)
        past = key.shape[2] - query.shape[2]
        if past < 1:
            raise NotImplementedError("no key before those of the queries, for a cache")
        feeds = {"query": query, "key": key[:, :, past:], "value": value[:, :, past:]}
        feeds |= {"past_key": key[:, :, :past], "past_value": value[:, :, :past]}
        return call(feeds, mask, bias, scale, causal, softcap, window)

    def padded(
        query, key, value, scale=None, causal=False, mask=None, bias=None, softcap=None, window=None, key_lengths=None
    ):
        not_negative(scale)
        if version < 24:
            raise NotImplementedError("Attention has nonpad_kv_seqlen from version 24 on")
        if key_lengths is None:
            key_lengths = np.full(len(key), key.shape[2])
        feeds = {"query": query, "key": key, "value": value, "nonpad_kv_seqlen": key_lengths.astype(np.int64)}
        return call(feeds, mask, bias, scale, causal, softcap, window)

    def three_axes(query, key, value, scale=None, causal=False, mask=None, bias=None, softcap=None, window=None):
        not_negative(scale)
        flat = lambda x: np.ascontiguousarray(x.swapaxes(1, 2)).reshape(x.shape[0], x.shape[2], -1)
        feeds = {"query": flat(query), "key": flat(key), "value": flat(value)}
        heads = {"q_num_heads": query.shape[1], "kv_num_heads": key.shape[1]}
        output = call(feeds, mask, bias, scale, causal, softcap, window, **heads)
        return output.reshape(*output.shape[:2], query.shape[1], -1).swapaxes(1, 2)

    return attention, cached, padded, three_axes, any_scale
