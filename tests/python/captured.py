"""Calls of a running function are kept, and read back."""

import pathlib
import sys
import warnings

import numpy as np
import qkvet

warnings.simplefilter("error")
rng = np.random.default_rng(0)
q, k, v = (rng.standard_normal((1, 2, 4, 8), dtype=np.float32) for _ in range(3))


def attention(query, key, value, attn_mask=None, is_causal=False, *, scale=None, dropout_p=0.0):
    """What it computes does not matter here."""
    query[...] = 0.0
    return value


folder, few_folder = (pathlib.Path(sys.argv[1]) / name for name in ("captured", "few"))
kept = qkvet.capture(attention, folder)
assert kept.__name__ == "attention"
before = q.copy()
assert kept(q, k, v) is v and not q.any(), "the function is called with what it was given"
q[...] = before
for _ in range(3):
    kept(before.copy(), k, v, None, True, scale=0.5)
kept(before.copy(), k, value=v, attn_mask=np.tri(4, dtype=bool))
kept(before.copy(), k, v, np.zeros((4, 4), np.float32))
files = sorted(folder.glob("*.npz"))
assert len(files) == 4, files
calls = [np.load(path) for path in files]
assert all((call["query"] == before).all() for call in calls), "kept as it was before the call"
assert sorted(",".join(sorted(set(call) - {"query", "key", "value", "dtype"})) for call in calls) == ["", "bias", "causal,scale", "mask"]

few = qkvet.capture(attention, few_folder, most=1)
few(q, k, v)
few(q, k, v, scale=1.0)
assert len(list(few_folder.glob("*"))) == 1
for wrong, told in (({"dropout_p": 0.5}, "no dropout"), ({"attn_mask": "x"}, "mask")):
    try:
        qkvet.capture(attention, few_folder)(q, k, v, **wrong)
    except RuntimeWarning as warning:
        assert told in str(warning), warning
    else:
        raise SystemExit(f"{wrong}: expected a warning")
print("kept", len(files))
