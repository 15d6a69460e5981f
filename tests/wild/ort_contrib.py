"""The operators MultiHeadAttention and GroupQueryAttention of onnxruntime (com.microsoft) on its CPU."""

import numpy as np
import onnxruntime
from onnx import helper

SESSIONS = {}
onnxruntime.set_default_logger_severity(4)


def run(operator, order, feeds, outputs, attributes):
    """One node; `order` has the names of its inputs, those that are not fed are left out."""
    attributes = {name: x for name, x in attributes.items() if x is not None}
    kind = (operator, *((name, x.dtype, x.ndim) for name, x in feeds.items()), *sorted(attributes.items()))
    if kind not in SESSIONS:
        names = [name if name in feeds else "" for name in order]
        while not names[-1]:
            names.pop()
        node = helper.make_node(operator, names, outputs, domain="com.microsoft", **attributes)
        value = lambda name, x, axes: helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(x.dtype), [None] * axes
        )
        inputs = [value(name, x, x.ndim) for name, x in feeds.items()]
        results = [value(name, feeds["query"], 3 if name == "output" else 4) for name in outputs]
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
        graph = helper.make_graph([node], "attention", inputs, results)
        proto = helper.make_model(graph, opset_imports=opsets, ir_version=8)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        SESSIONS[kind] = onnxruntime.InferenceSession(
            proto.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
    return SESSIONS[kind].run(["output"], feeds)[0]


def flat(x):
    """Heads side by side."""
    return np.ascontiguousarray(x.swapaxes(1, 2)).reshape(x.shape[0], x.shape[2], -1)


def apart(x, heads):
    return x.reshape(*x.shape[:2], heads, -1).swapaxes(1, 2)


def repeated(x, heads):
    """The operator has as many key heads as query heads: who has fewer repeats them."""
    return np.repeat(x, heads // x.shape[1], axis=1)


def multi_head(query, key, value, scale=None, causal=False, bias=None, key_lengths=None):
    """Lengths are its `key_padding_mask` of one axis, the bias its `attention_bias`."""
    key, value = (repeated(x, query.shape[1]) for x in (key, value))
    if scale == 0:
        raise NotImplementedError("a scale of 0 stands for the default")
    feeds = {"query": flat(query), "key": flat(key), "value": flat(value)}
    if key_lengths is not None:
        feeds["key_padding_mask"] = key_lengths.astype(np.int32)
    if bias is not None:
        extents = (query.shape[2], key.shape[2])
        bias = np.atleast_2d(bias)
        bias = np.broadcast_to(bias, bias.shape[:-2] + extents)
        feeds["attention_bias"] = np.ascontiguousarray(bias.reshape((1,) * (4 - bias.ndim) + bias.shape))
    order = ["query", "key", "value", "", "key_padding_mask", "attention_bias"]
    attributes = {"num_heads": query.shape[1], "scale": scale, "unidirectional": int(causal)}
    return apart(run("MultiHeadAttention", order, feeds, ["output"], attributes), query.shape[1])


def multi_head_mask(query, key, value, scale=None, causal=False, mask=None, bias=None):
    """The mask is its `key_padding_mask` of three axes: one for all heads."""
    if mask is None:
        return multi_head(query, key, value, scale, causal, bias)
    if bias is not None or scale == 0:
        raise NotImplementedError("a mask without bias; a scale of 0 stands for the default")
    key, value = (repeated(x, query.shape[1]) for x in (key, value))
    if mask.ndim == 4 and mask.shape[1] != 1:
        raise NotImplementedError("one mask for all heads")
    mask = mask[:, 0] if mask.ndim == 4 else mask
    mask = np.broadcast_to(mask, (query.shape[0], query.shape[2], key.shape[2]))
    feeds = {"query": flat(query), "key": flat(key), "value": flat(value)}
    feeds["key_padding_mask"] = np.ascontiguousarray(mask).astype(np.int32)
    order = ["query", "key", "value", "", "key_padding_mask"]
    attributes = {"num_heads": query.shape[1], "scale": scale, "unidirectional": int(causal)}
    return apart(run("MultiHeadAttention", order, feeds, ["output"], attributes), query.shape[1])


def group_query(query, key, value, scale=None, causal=False, bias=None, softcap=None, window=None, sinks=None):
    """Causal always, lower-right: keys before those of the queries are its past."""
    past = key.shape[2] - query.shape[2]
    if not causal or past < 0:
        raise NotImplementedError("causal only, no more queries than keys")
    if past and query.shape[0] > 1 and query.shape[2] > 1:
        raise NotImplementedError("batch_size must be 1 when sequence_length > 1 and past context is given")
    if query.shape[-1] % 8 or value.shape[-1] != key.shape[-1]:
        raise NotImplementedError("head widths that are multiples of 8, and the same for keys and values")
    if scale == 0:
        raise NotImplementedError("a scale of 0 stands for the default")
    if window is not None and (window[0] is None or window[1]):
        raise NotImplementedError("a window to the left, nothing to the right")
    n_b, n_k = query.shape[0], key.shape[2]
    feeds = {"query": flat(query), "key": flat(key[:, :, past:]), "value": flat(value[:, :, past:])}
    feeds |= {"past_key": key[:, :, :past], "past_value": value[:, :, :past]}
    feeds |= {"seqlens_k": np.full(n_b, n_k - 1, np.int32), "total_sequence_length": np.array([n_k], np.int32)}
    if bias is not None:
        bias = np.broadcast_to(bias, np.broadcast_shapes(bias.shape, (1, 1, query.shape[2], n_k)))
        feeds["attention_bias"] = np.ascontiguousarray(bias)
    if sinks is not None:
        feeds["head_sink"] = sinks
    order = ["query", "key", "value", "past_key", "past_value", "seqlens_k", "total_sequence_length"]
    order += ["", "", "", "attention_bias", "head_sink"]
    attributes = {"num_heads": query.shape[1], "kv_num_heads": key.shape[1], "scale": scale, "softcap": softcap}
    if window is not None:
        attributes["local_window_size"] = window[0] + 1
    outputs = ["output", "present_key", "present_value"]
    return apart(run("GroupQueryAttention", order, feeds, outputs, attributes), query.shape[1])
