

def array(tensor, swapped=False):
    x = make(*tensor)
    return swap(x) if swapped else x


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


def ask(call):
    """One call, exactly as qkvet made it."""
    inputs = [array(call[name], SWAPPED) for name in ("query", "key", "value")]
    options = {name: array(x) if isinstance(x, tuple) else x for name, x in call["options"].items()}
    inputs += [x for name, x in options.items() if isinstance(call["options"][name], tuple)]
    before = [bits(x) for x in inputs]
    if LIMIT is not None:
        faulthandler.dump_traceback_later(LIMIT, exit=True)
    try:
        result = function(*inputs[:3], **options)
    finally:
        faulthandler.cancel_dump_traceback_later()
    results = list(result) if isinstance(result, (tuple, list)) else [result]
    answer = {"output": answered(results[0] if results else result, SWAPPED)}
    if len(results) > 1 and any(result["name"] == "weights" for result in call["results"]):
        answer["weights"] = answered(results[1], False)
    answer["changed"] = [bits(x) for x in inputs] != before
    return answer


def start():
    global function
    function = load()
    for part in FUNCTION.split("."):
        function = getattr(function, part)
