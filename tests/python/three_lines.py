"""Three lines with NumPy, no other library loaded."""

import sys

import numpy as np
import qkvet

q, k, v = (np.random.default_rng(seed).standard_normal((1, 2, 4, 8), dtype=np.float32) for seed in range(3))
scores = np.exp(q @ np.swapaxes(k, 2, 3) / np.sqrt(np.float32(8)))
out = scores / scores.sum(axis=3, keepdims=True) @ v

print(qkvet.assert_attention(out, q, k, v))

assert not {"torch", "jax", "pytest"} & set(sys.modules), "a library was loaded that nobody asked for"
mid, rad = qkvet.reference(q, k, v)
assert mid.dtype == np.float64 and mid.shape == (1, 2, 4, 8)
assert (np.abs(mid - out) < 1e-4).all() and (rad < 1e-12).all()
swapped = [np.swapaxes(x, 1, 2) for x in (out, q, k, v)]
assert qkvet.assert_attention(*swapped, layout="bnhd").margin == qkvet.judge_attention(out, q, k, v).margin
# Of inputs that are no numbers nothing is known, which only `strict` refuses.
unknown = np.full_like(q, np.inf)
assert qkvet.assert_attention(out, unknown, k, v).verdict == "INCONCLUSIVE"
try:
    qkvet.assert_attention(out, unknown, k, v, strict=True)
except AssertionError as error:
    assert "INCONCLUSIVE" in str(error), error
else:
    raise SystemExit("expected what is not decided to raise")
