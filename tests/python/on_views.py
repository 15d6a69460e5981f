"""What is wrong on views alone, of a function of this process."""

import numpy as np
import qkvet


def attention(query, key, value, scale=None):
    s = query @ key.swapaxes(2, 3) * (query.shape[3] ** -0.5 if scale is None else scale)
    w = np.exp(s - s.max(3, keepdims=True))
    return (w / w.sum(3, keepdims=True) @ value).astype(query.dtype)


def nothing_on_views(query, key, value, scale=None):
    if query.shape[1] != key.shape[1]:
        raise ValueError("one number of heads")
    return attention(query, key, value, scale) if key.flags.c_contiguous else None


def in_order(query, key, value, scale=None):
    b, h, n, d = key.shape
    return attention(query, key.ravel(order="K").reshape(b, n, h, d).swapaxes(1, 2), value, scale)


(found,) = qkvet.check(nothing_on_views, "core", law="value", dtype="float32").findings
assert found.title == "the result depends on how the inputs lie in memory", found
assert "views whose axes lie in another order" in found.cause and "NoneType" in found.got, found
(found,) = qkvet.check(in_order, dtype="float32").findings
assert found.title == "the result depends on how the inputs lie in memory", found
assert found.cause.startswith("the inputs lay contiguous"), found
print("views told")
