//! Right attention in Python, with a place for a fault.

/// In NumPy; `# here` is a line for a fault, with `o` the output, `work` its format and `CALLS` the
/// number of calls so far.
pub const NUMPY: &str = "\
import os, time
import numpy as np
CALLS = 0
def attention(query, key, value, softmax_scale, causal=False, mask=None):
    global CALLS
    CALLS += 1
    work = np.float64 if query.dtype == np.float64 else np.float32
    q, k, v = (x.astype(work) for x in (query, key, value))
    k, v = (np.repeat(x, q.shape[1] // k.shape[1], axis=1) for x in (k, v))
    n_q, n_k = q.shape[2], k.shape[2]
    allowed = np.tril(np.ones((n_q, n_k), bool), n_k - n_q if causal else n_k)
    if mask is not None:
        allowed = allowed & mask
    s = np.where(allowed, q @ k.swapaxes(2, 3) * softmax_scale, -np.inf)
    top = s.max(3, keepdims=True)
    w = np.exp(s - np.where(top == -np.inf, 0, top))
    total = w.sum(3, keepdims=True)
    o = (w / np.where(total == 0, 1, total) @ v).astype(query.dtype)
    # here
    return o
";

/// In PyTorch, tensors as `(batch, length, heads, width)`; `# here` as in [`NUMPY`].
pub const TORCH: &str = "\
import torch
def attention(query, key, value, scale=None, is_causal=False, attn_mask=None):
    q, k, v = (x.transpose(1, 2) for x in (query, key, value))
    k, v = (torch.repeat_interleave(x, q.shape[1] // k.shape[1], dim=1) for x in (k, v))
    s = q @ k.transpose(2, 3) * (q.shape[3] ** -0.5 if scale is None else scale)
    n_q, n_k = s.shape[2:]
    if is_causal:
        s = s.masked_fill(torch.ones(n_q, n_k).tril(n_k - n_q) == 0, float('-inf'))
    if attn_mask is not None:
        s = s.masked_fill(~attn_mask, float('-inf'))
    o = torch.nan_to_num(torch.softmax(s, 3)) @ v
    # here
    return o.transpose(1, 2)
";
