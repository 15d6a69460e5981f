"""With torch: the assertion catches a wrong head map and names it, in every format."""

import sys
from pathlib import Path

import torch

import qkvet
from attentions import modulo, right

generator = torch.Generator().manual_seed(0)
for dtype in (torch.float64, torch.float32, torch.bfloat16, torch.float16):
    q = torch.randn(2, 4, 5, 16, generator=generator).to(dtype)
    k, v = (torch.randn(2, 2, 7, 16, generator=generator).to(dtype) for _ in range(2))
    qkvet.assert_attention(right(q, k, v), q, k, v)
    try:
        qkvet.assert_attention(modulo(q, k, v), q, k, v)
    except AssertionError as error:
        print(error)
    else:
        raise SystemExit("the wrong head map was not caught in %s" % dtype)

report = qkvet.check(modulo, dtype="float32", law="weights-row-stochasticity")
assert not report.findings and report.counts.keys() <= {"UNSUPPORTED"} and not report.ok, report
report = qkvet.check(modulo, dtype="float32")
print(report)
assert not report.ok and report.findings and "findings" in report.to_dict()
assert "<li>" in report._repr_html_()
head_map = next(one for one in report.findings if "h % h_k" in one.title)
again = eval(head_map.replay, {"qkvet": qkvet, "function": modulo})
assert again.verdict == "FAIL", again
assert qkvet.check(modulo, dtype="float32", convention="head-map=tiled").counts["PASS"] > 20
probe = qkvet.probe(modulo)
assert probe.conventions == ["head-map=tiled"], probe.conventions

# What is not checked of a layer is said of one in this process too.
sys.path.append(str(Path(__file__).parents[2] / "examples"))
from numpy_layer import layer  # noqa: E402

unchecked = qkvet.check(layer, law="value", dtype="float64").to_dict()["coverage"]["unchecked"]
assert "weights other than 0 and 1" in unchecked, unchecked
