def start():
    """The function, loaded as qkvet loads it."""
    global caller
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # not an exception, which would be the function's
    sys.dont_write_bytecode, sys.argv = True, list(HELLO["target"].values())
    caller = load(HELLO)


def ask(call):
    """One call, exactly as qkvet made it."""
    tensors, params = requested(call)
    lies = "transposed" if call.get("strided") else "contiguous"
    return received(limited(answered, caller, tensors, params, call["want"], CASE, lies))
