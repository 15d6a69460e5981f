# Parameters of a function, by which multi-head layers are told from attention: they have three
# projections of the inputs, or one.

SEPARATE = ("x_q", "x_kv", "w_q", "w_k", "w_v", "w_o", "heads")
JOINED = ("x_q", "x_kv", "w_qkv", "w_o", "heads")
LAYERS = "a layer begins with (%s) or with (%s)" % (", ".join(SEPARATE), ", ".join(JOINED))
# The biases that each form may take.
BIASES = {SEPARATE: ("b_q", "b_k", "b_v", "b_o"), JOINED: ("b_qkv", "b_o")}


def parameters(function):
    """The parameters, or None where Python cannot tell."""
    forward = getattr(function, "forward", None)  # a torch module hides its signature behind **kwargs
    for candidate in (function, forward):
        try:
            found = list(inspect.signature(candidate).parameters.values())
        except (TypeError, ValueError):
            continue
        if any(p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in found) or forward is None:
            return found
    return None


def layer_of(function):
    """The form of a layer and the biases that it takes, by the names of its parameters; None for anything else."""
    names = [p.name for p in parameters(function) or ()]
    for form in (SEPARATE, JOINED):
        if tuple(names[: len(form)]) == form:
            return form, tuple(name for name in BIASES[form] if name in names)
    return None
