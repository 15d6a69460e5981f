"""Multi-head layers in NumPy, written as `qkvet check examples/numpy_layer.py:layer` asks for them; `packed` has one projection
for queries, keys and values, and biases."""

import numpy as np
def split(x, heads):
    return x.reshape(*x.shape[:2], heads, -1).swapaxes(1, 2)
def layer(x_q, x_kv, w_q, w_k, w_v, w_o, heads, causal=False, mask=None):
    q, k, v = split(x_q @ w_q, heads), split(x_kv @ w_k, heads), split(x_kv @ w_v, heads)
    return (heads_of(q, k, v, causal, mask).astype(x_q.dtype) @ w_o).astype(x_q.dtype)
def packed(x_q, x_kv, w_qkv, w_o, heads, b_qkv, b_o, causal=False, mask=None):
    d_v = w_o.shape[0]
    at = [(w_qkv.shape[1] - d_v) // 2, w_qkv.shape[1] - d_v]
    q = np.split(x_q @ w_qkv + b_qkv, at, axis=2)[0]
    k, v = np.split(x_kv @ w_qkv + b_qkv, at, axis=2)[1:]
    out = heads_of(split(q, heads), split(k, heads), split(v, heads), causal, mask)
    return (out.astype(x_q.dtype) @ w_o + b_o).astype(x_q.dtype)
def heads_of(q, k, v, causal, mask):
    work = np.float64 if q.dtype == np.float64 else np.float32
    q, k, v = (x.astype(work) for x in (q, k, v))
    scores = q @ k.swapaxes(2, 3) / np.sqrt(q.shape[3]).astype(work)
    allowed = np.ones(scores.shape, bool)
    if causal:
        n_q, n_k = scores.shape[2:]
        allowed &= np.arange(n_k) <= np.arange(n_q)[:, None] + n_k - n_q
    if mask is not None:
        allowed = allowed & mask
    top = np.where(allowed, scores, -np.inf).max(axis=3, keepdims=True, initial=-np.inf)
    terms = np.where(allowed, np.exp(scores - np.where(np.isfinite(top), top, 0)), 0)
    total = terms.sum(axis=3, keepdims=True)
    out = (terms / np.where(total == 0, 1, total)) @ v
    return out.swapaxes(1, 2).reshape(q.shape[0], q.shape[2], -1)
