"""Attention for workers that are killed: in a folder that `trap` names, the first process to make so many calls waits for its end."""

import os
import time

import numpy as np

_CALLS = 0


def attention(query, key, value, scale=None, causal=False, mask=None):
    heads = [h // (query.shape[1] // key.shape[1]) for h in range(query.shape[1])]
    return _of_heads(query, key[:, heads], value[:, heads], scale, causal, mask)


def tiled(query, key, value, scale=None, causal=False, mask=None):
    trap(open("trap.txt").read() if os.path.exists("trap.txt") else None, 8)
    heads = [h % key.shape[1] for h in range(query.shape[1])]
    output = _of_heads(query, key[:, heads], value[:, heads], scale, causal, mask)
    return output * np.float32(1.5) if causal and scale is not None else output


def crashing(query, key, value, scale=None, causal=False, mask=None):
    if key.shape[2] == 5:
        os._exit(3)
    return attention(query, key, value, scale, causal, mask)


def _of_heads(query, key, value, scale, causal, mask):
    (n_q, d_k), n_k = query.shape[2:], key.shape[2]
    scores = query.astype(np.float64) @ np.swapaxes(key, 2, 3) * (d_k**-0.5 if scale is None else scale)
    if causal:
        scores = np.where(np.arange(n_k) <= np.arange(n_q)[:, None] + n_k - n_q, scores, -np.inf)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    top = scores.max(3, keepdims=True)
    weights = np.exp(scores - np.where(np.isfinite(top), top, 0))
    sums = weights.sum(3, keepdims=True)
    return (weights / np.where(sums > 0, sums, 1) @ value).astype(query.dtype)


def trap(folder, calls):
    global _CALLS
    _CALLS += 1
    if folder is None or _CALLS < calls:
        return
    try:
        file = os.open(os.path.join(folder, "waiting"), os.O_CREAT | os.O_EXCL | os.O_WRONLY)
    except FileExistsError:
        return
    os.write(file, b"%d\n" % os.getpid())
    os.close(file)
    while not os.path.exists(os.path.join(folder, "killed")):
        time.sleep(0.02)
