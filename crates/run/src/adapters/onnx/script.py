

import onnxruntime


def start():
    global session
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(FILE, options, providers=PROVIDERS)


def given(tensor):
    dtype, shape, data = tensor
    return make(dtype, shape, data) if math.prod(shape) else np.empty(shape, dtype)


def run(feeds, names):
    if LIMIT is not None:
        faulthandler.dump_traceback_later(LIMIT, exit=True)
    try:
        return session.run(names, feeds)
    finally:
        faulthandler.cancel_dump_traceback_later()


def ask(call):
    """One call, exactly as qkvet made it: the inputs of the model are those of the call, as the model takes them."""
    feeds = {name: given(tensor) for name, tensor in call["options"].items()}
    before = {name: x.tobytes() for name, x in feeds.items()}
    wanted = {"output"} | {result["name"] for result in call["results"]}
    asked = [name for name in OUTPUTS if name in wanted]
    answer = {}
    for name, x in zip(asked, run(feeds, [OUTPUTS[name] for name in asked])):
        heads, swapped = call["query"][1][1], SWAPPED
        if name == "output" and SIDE_BY_SIDE and form(x) is not None and x.ndim == 3 and x.shape[2] % heads == 0:
            x, swapped = x.reshape(*x.shape[:2], heads, -1), True
        if name == "output" and swapped and form(x) is not None and x.ndim == 4:
            x = swap(x)
        answer[name] = (*form(x), content(x)) if form(x) is not None else (type(x).__name__, None, None)
    answer["changed"] = any(x.tobytes() != before[name] for name, x in feeds.items())
    return answer
