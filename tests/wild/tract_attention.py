"""The operator Attention of ONNX on tract: masks of numbers only, no softcap."""

import tempfile
from pathlib import Path

import tract
from onnx_attention import forms, model

MODELS = {}
FORMATS = {"float16": "f16", "float32": "f32", "float64": "f64"}


def run(version, feeds, attributes):
    if "softcap" in attributes or any(x.dtype.name not in FORMATS for x in feeds.values()):
        raise NotImplementedError("tract: softcap is not supported, a mask must be floating point")
    kind = (*((name, x.dtype, x.shape) for name, x in feeds.items()), *sorted(attributes.items()))
    if kind not in MODELS:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "attention.onnx")
            path.write_bytes(model(version, feeds, attributes, free=False).SerializeToString())
            MODELS[kind] = tract.onnx().load(path).into_model().into_runnable()
    return MODELS[kind].run(list(feeds.values()))[0].to_numpy()


attention, cached, _, three_axes, _ = forms(run, 23)
