"""The operator Attention on the CPU of onnxruntime, versions 23 and 24 of it."""

import numpy as np
import onnxruntime
from onnx_attention import forms, model

SESSIONS = {}
onnxruntime.set_default_logger_severity(4)


def as_given(version, feeds, attributes):
    """A session serves all calls with the same node: extents are free."""
    if attributes.get("scale") == 0:
        raise NotImplementedError("onnxruntime: scale must be greater than 0 if specified")
    kind = (version, *((name, x.dtype, x.ndim) for name, x in feeds.items()), *sorted(attributes.items()))
    if kind not in SESSIONS:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        proto = model(version, feeds, attributes).SerializeToString()
        SESSIONS[kind] = onnxruntime.InferenceSession(proto, options, providers=["CPUExecutionProvider"])
    return SESSIONS[kind].run(["output"], feeds)[0]


def run(version, feeds, attributes):
    """As given but for masks, which are written out in their last two axes."""
    if "attn_mask" in feeds:
        mask = feeds["attn_mask"]
        tokens = lambda name: feeds[name].shape[-2 if feeds[name].ndim == 4 else 1] if name in feeds else 0
        extents = (tokens("query"), tokens("key") + tokens("past_key"))
        feeds["attn_mask"] = np.ascontiguousarray(np.broadcast_to(mask, mask.shape[:-2] + extents))
    return as_given(version, feeds, attributes)


attention23, cached23, _, three_axes23, _ = forms(run, 23)
attention24, cached24, padded24, three_axes24, _ = forms(run, 24)
mask_as_given24, _, _, _, _ = forms(as_given, 24)
