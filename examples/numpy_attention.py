"""Scaled dot-product attention in NumPy, following the standard of qkvet: `qkvet check examples/numpy_attention.py:attention`."""

import numpy as np


def attention(query, key, value, scale=None, causal=False, mask=None, bias=None, softcap=None, window=None, sinks=None,
              alibi_slopes=None, key_lengths=None, query_lengths=None, query_offsets=None, key_offsets=None,
              return_weights=False, return_lse=False):
    work = np.float64 if query.dtype == np.float64 else np.float32  # 16-bit inputs are computed in float32
    group = query.shape[1] // key.shape[1]  # query heads that share one key/value head
    q = query.astype(work)
    k, v = (np.repeat(x.astype(work), group, axis=1) for x in (key, value))
    n_q, n_k = q.shape[2], k.shape[2]
    i, j = np.arange(n_q)[:, None], np.arange(n_k)
    of_heads = lambda x: x.astype(work)[:, None, None]  # (h_q, 1, 1)

    # The queries of a sequence end at query_end, its keys lie between key_start and key_end.
    if query_offsets is None:  # one sequence an item of the batch, with padding behind it
        of_items = lambda lengths, n: n if lengths is None else lengths[:, None, None, None]
        query_end, key_start, key_end = of_items(query_lengths, n_q), 0, of_items(key_lengths, n_k)
    else:
        sequence = np.searchsorted(query_offsets, i, side="right") - 1
        query_end, key_start, key_end = query_offsets[sequence + 1], key_offsets[sequence], key_offsets[sequence + 1]
    position = i + key_end - query_end  # lower-right: the last query stands at the last key

    scores = (q.shape[3] ** -0.5 if scale is None else scale) * (q @ k.swapaxes(2, 3))
    if softcap is not None:
        scores = softcap * np.tanh(scores / softcap)
    if bias is not None:
        scores = scores + bias.astype(work)
    if alibi_slopes is not None:
        scores = scores - of_heads(alibi_slopes) * np.abs(position - j).astype(work)
    allowed = (i < query_end) & (key_start <= j) & (j < key_end)
    if causal:
        allowed = allowed & (j <= position)
    if window is not None:
        left, right = window
        allowed = allowed & (left is None or position - j <= left) & (right is None or j - position <= right)
    if mask is not None:
        allowed = allowed & mask
    scores = np.where(allowed, scores, -np.inf).astype(work)

    sink = -np.inf if sinks is None else of_heads(sinks)  # joins the sum, has no value
    top = np.maximum(scores.max(axis=3, keepdims=True), sink).astype(work)
    top = np.where(top == -np.inf, 0, top)
    terms = np.exp(scores - top)
    total = terms.sum(axis=3, keepdims=True) + np.exp(sink - top)
    weights = terms / np.where(total == 0, 1, total)  # a query without any key gets weights 0 and output 0
    results = [(weights @ v).astype(query.dtype)]
    if return_weights:
        results.append(weights.astype(query.dtype))
    if return_lse:
        with np.errstate(divide="ignore"):  # that of an empty sum is -inf
            results.append((top + np.log(total))[..., 0])
    return results[0] if len(results) == 1 else tuple(results)
