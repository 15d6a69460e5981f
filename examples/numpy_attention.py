"""Scaled dot-product attention in NumPy, following the standard of qkvet: `qkvet check examples/numpy_attention.py:attention`."""

import numpy as np


def attention(query, key, value, scale=None, causal=False, mask=None, bias=None, return_weights=False):
    work = np.float64 if query.dtype == np.float64 else np.float32  # 16-bit inputs are computed in float32
    group = query.shape[1] // key.shape[1]  # query heads that share one key/value head
    q = query.astype(work)
    k, v = (np.repeat(x.astype(work), group, axis=1) for x in (key, value))
    n_q, n_k = q.shape[2], k.shape[2]

    scores = (q.shape[3] ** -0.5 if scale is None else scale) * (q @ k.swapaxes(2, 3))
    if bias is not None:
        scores = scores + bias.astype(work)
    allowed = np.ones((n_q, n_k), dtype=bool)
    if causal:
        allowed = np.tril(allowed, n_k - n_q)  # lower-right: the last query sees every key
    if mask is not None:
        allowed = allowed & mask
    scores = np.where(allowed, scores, -np.inf)

    top = scores.max(axis=3, keepdims=True)
    terms = np.exp(scores - np.where(top == -np.inf, 0, top))
    total = terms.sum(axis=3, keepdims=True)
    weights = terms / np.where(total == 0, 1, total)  # a query without any key gets weights 0 and output 0
    output = (weights @ v).astype(query.dtype)
    return (output, weights.astype(query.dtype)) if return_weights else output
