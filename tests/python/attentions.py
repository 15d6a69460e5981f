"""Functions of torch: one that is right, one with a wrong head map."""

import torch
from torch.nn.functional import scaled_dot_product_attention


def right(query, key, value, scale=None):
    return scaled_dot_product_attention(query, key, value, scale=scale, enable_gqa=True)


def modulo(query, key, value, scale=None):
    """Query head h reads key/value head h % h_k."""
    heads = torch.arange(query.shape[1]) % key.shape[1]
    return scaled_dot_product_attention(query, key[:, heads], value[:, heads], scale=scale)
