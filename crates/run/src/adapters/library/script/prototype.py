def start():
    global function
    function = getattr(ctypes.CDLL(os.path.abspath(FILE)), SYMBOL)
    function.restype = RETURNS
    function.argtypes = [kind for _, kind in PARAMETERS]


def heads_first(shape, data):
    """Numbers of (b, n, h, d) as those of (b, h, n, d)."""
    b, h, n, d = shape
    rows = [data[at : at + d] for at in range(0, len(data), d)] if d else []
    return [x for item in range(b) for head in range(h) for i in range(n) for x in rows[(item * n + i) * h + head]] if d else []


def asked(call, is_spoiled):
    given, memory = [], []
    for name, _ in PARAMETERS:
        x = call["options"][name]
        x = call[x] if isinstance(x, str) else x
        if isinstance(x, tuple):
            raw = storage(x[0], x[2]) if len(x) > 2 else None
            memory.append(Memory(name, x[0], x[1], spoiled(x[0], raw) if raw and is_spoiled else raw))
            x = memory[-1].address
        given.append(x)
    code = invoked(given, memory)
    if code:
        raise RuntimeError("%s returned %d" % (SYMBOL, code))
    answer = {"changed": any(buffer.raw is not None and buffer.bytes() != buffer.raw for buffer in memory)}
    for buffer in memory:
        if buffer.raw is None:
            dtype, shape, data = buffer.result()
            if SWAPPED and data is not None and RESULTS[buffer.name] == "output":
                data = heads_first(shape, data)
            answer[RESULTS[buffer.name]] = dtype, shape, data
    return answer
