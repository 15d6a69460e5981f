"""torch.nn.MultiheadAttention as a layer: `qkvet check examples/torch_multihead.py:layer --convention empty-row=nan`."""

import torch


def layer(x_q, x_kv, w_q, w_k, w_v, w_o, heads, b_q, b_k, b_v, b_o, mask=None, bias=None, return_weights=False):
    width = w_q.shape[1]
    if w_v.shape[1] != width:
        raise NotImplementedError("one width for queries, keys and values")
    module = torch.nn.MultiheadAttention(
        width, heads, kdim=x_kv.shape[2], vdim=x_kv.shape[2], batch_first=True,
        device=x_q.device, dtype=x_q.dtype,
    ).eval()
    weights = {"q_proj_weight": w_q, "k_proj_weight": w_k, "v_proj_weight": w_v, "out_proj.weight": w_o}
    weights = {name: w.T.contiguous() for name, w in weights.items()}  # it multiplies by the transpose
    biases = {"in_proj_bias": torch.cat([b_q, b_k, b_v]), "out_proj.bias": b_o}
    module.load_state_dict(weights | biases)

    (b, n_q), n_k = x_q.shape[:2], x_kv.shape[1]
    of_heads = lambda x: x.expand(b, heads, n_q, n_k).reshape(b * heads, n_q, n_k)
    if mask is not None and bias is not None:
        raise NotImplementedError("one argument for mask and bias")
    hidden = of_heads(~mask) if mask is not None else None if bias is None else of_heads(bias)  # true hides
    with torch.no_grad():
        # Without weights it runs another function, which gives 0 where a query sees no key; this
        # one gives NaN.
        output, weights = module(
            x_q, x_kv, x_kv, attn_mask=hidden, need_weights=True, average_attn_weights=False
        )
    return (output, weights) if return_weights else output
