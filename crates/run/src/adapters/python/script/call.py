

def array(tensor, swapped=False):
    x = make(*tensor)
    return swap(x) if swapped else x


def laid(call, name, strided):
    """An input as it lay in memory."""
    x = array(call[name], SWAPPED != strided)
    return x.swapaxes(1, 2) if strided else x


def is_tensor(x):
    return isinstance(x, tuple) and len(x) == 3  # format, shape and numbers; a window has two sides


def bits(x):
    """Format, shape and numbers, the sign of zero among them."""
    try:
        values = content(x)
    except RuntimeError:  # a jax array that was donated is gone
        return None
    return form(x), struct.pack("<%dd" % len(values), *values)


def answered(x, swapped):
    """Format, shape and numbers of a result; the name of its type where it is not an array."""
    found = form(x)
    if found is None:
        return type(x).__name__, None, None
    if swapped and len(found[1]) == 4:
        x = swap(x)
        found = form(x)
    return found[0], found[1], content(x)


HELD = {}  # inputs by name: each object comes twice in a row, the second time with other numbers


def placed(name, x):
    held = HELD.pop(name, None)
    try:
        if held is not None and overwritten(held, x):
            return held
    except Exception:
        pass
    HELD[name] = x
    return x


def overwritten(x, other):
    """Whether the numbers of the other array could be put into the first."""
    if x.dtype != other.dtype or x.shape != other.shape:
        return False
    if hasattr(x, "copy_"):
        if x.requires_grad or x.stride() != other.stride():
            return False
        x.copy_(other)
        return True
    if x.strides != other.strides:
        return False
    x[...] = other
    return True


CHANGED = []  # whether a layer wrote into its own inputs


def put(call, strided):
    """The inputs, their bits before the call, and what the function returned."""
    CHANGED.clear()
    place = (lambda _, x: x) if "layered" in globals() else placed
    inputs = [place(name, laid(call, name, strided)) for name in ("query", "key", "value")]
    options = {name: place(name, array(x)) if is_tensor(x) else x for name, x in call["options"].items()}
    inputs += [x for name, x in options.items() if is_tensor(call["options"][name])]
    before = [bits(x) for x in inputs]
    if LIMIT is not None:
        faulthandler.dump_traceback_later(LIMIT, exit=True)
    try:
        return inputs, before, function(*inputs[:3], **options)
    finally:
        faulthandler.cancel_dump_traceback_later()


def ask(call):
    """One call, exactly as qkvet made it: a function that raises an exception on views is given contiguous inputs."""
    strided = call.get("strided", False)
    try:
        inputs, before, result = put(call, strided)
    except (Exception, SystemExit):
        if not strided:
            raise
        inputs, before, result = put(call, False)
    results = list(result) if isinstance(result, (tuple, list)) else [result]
    answer = {"output": answered(results[0] if results else result, SWAPPED)}
    asked = [result["name"] for result in call["results"]]
    for name, x in zip([name for name in ("weights", "lse") if name in asked], results[1:]):
        answer[name] = answered(x, False)
    answer["changed"] = any(CHANGED) or [bits(x) for x in inputs] != before
    return answer


def start():
    global function
    function = load()
    for part in FUNCTION.split("."):
        function = getattr(function, part)
    if "layered" in globals():
        function = layered(function, list(inspect.signature(function).parameters))
