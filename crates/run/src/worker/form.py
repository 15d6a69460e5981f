# Multi-head layers by the names of their parameters: three projections of the inputs, or one.

SEPARATE = ("x_q", "x_kv", "w_q", "w_k", "w_v", "w_o", "heads")
JOINED = ("x_q", "x_kv", "w_qkv", "w_o", "heads")
LAYERS = "a layer begins with (%s) or with (%s)" % (", ".join(SEPARATE), ", ".join(JOINED))
# The biases that each form may take.
BIASES = {SEPARATE: ("b_q", "b_k", "b_v", "b_o"), JOINED: ("b_qkv", "b_o")}


def layer_form(names):
    """The form of a layer by the names of its parameters, and the biases that it takes; None for anything else."""
    for form in (SEPARATE, JOINED):
        if tuple(names[: len(form)]) == form:
            return form, tuple(name for name in BIASES[form] if name in names)
    return None
