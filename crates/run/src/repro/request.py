class NoResult(Exception):
    """What came in place of results, in words."""


class Broken(NoResult):
    """The same, where it is no refusal."""


def storage(dtype, data):
    """Storage bits of numbers that are exact in the format; base64 holds them already."""
    return base64.b64decode(data) if isinstance(data, str) else encoded(dtype, data)


def requested(call):
    """The tensors of a call as (format, shape, storage bits), and its other options, as the wire has them."""
    tensors, params = {name: call[name] for name in ("query", "key", "value")}, {}
    for name, x in call["options"].items():
        if name == "window":
            params[name] = dict(zip(("left", "right"), x))
        else:
            (tensors if isinstance(x, tuple) else params)[name] = x
    for name in [name for name in ("scale", "softcap") if name in params]:
        params[name + "_hex"] = float(params[name]).hex()
    return {name: (dtype, list(shape), storage(dtype, data)) for name, (dtype, shape, data) in tensors.items()}, params


def limited(function, *arguments):
    """What a function returns; the process ends where that takes too long."""
    if LIMIT is not None:
        faulthandler.dump_traceback_later(LIMIT, exit=True)
    try:
        return function(*arguments)
    finally:
        faulthandler.cancel_dump_traceback_later()


def received(answer):
    """Results by name as (format, shape, numbers), and whether the inputs have other bits afterwards."""
    if answer["status"] != "ok":
        kind = Broken if answer["status"] == "malformed" else NoResult
        raise kind("%s: %s" % (answer["status"], answer.get("reason")))
    found = {"changed": answer.get("inputs_unchanged") is False}
    for name, (dtype, shape, raw) in answer["tensors"].items():
        numbers = decoded(dtype, raw) if dtype in LETTERS else None
        found[name] = dtype, tuple(shape), numbers
        if numbers is not None and len(numbers) != math.prod(shape):
            raise Broken("%s: %d elements for shape %s" % (name, len(numbers), shape))
    return found
