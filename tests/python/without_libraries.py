"""Buffers of the standard library: no array library is there, none is loaded."""

import array
import sys

import qkvet


def floats(values):
    return memoryview(array.array("f", values)).cast("B").cast("f", (1, 1, len(values), 1))


ones, values = floats([1, 1]), floats([1, 3])
verdict = qkvet.assert_attention(floats([2, 2]), ones, ones, values)
assert verdict.ok and verdict.verdict == "PASS", verdict
mid, rad = qkvet.reference(ones, ones, values)
assert mid.tolist() == [[[[2.0], [2.0]]]], mid.tolist()
try:
    qkvet.assert_attention(floats([2, 3]), ones, ones, values)
except AssertionError as error:
    print(error)
assert not {"numpy", "torch", "jax"} & set(sys.modules)
