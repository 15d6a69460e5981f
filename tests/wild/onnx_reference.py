"""Attention as the evaluator of the package onnx computes it, in the newest version of the operator that it knows."""

import onnx
from onnx.reference import ReferenceEvaluator
from onnx_attention import forms, model


def run(version, feeds, attributes):
    return ReferenceEvaluator(model(version, feeds, attributes)).run(None, feeds)[0]


attention, cached, padded, three_axes, any_scale = forms(run, onnx.defs.get_schema("Attention").since_version)
