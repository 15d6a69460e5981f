# The program speaks qkvet-wire/1: one JSON object a line, on its standard input and output.

SEQ = 0  # number of the last request
SIZES = {"float64": "d", "float32": "f", "float16": "e", "int64": "q"}


def pack(dtype, data):
    """Storage bits in base64 of numbers that are exact in the format; what is packed already stays as it is."""
    if isinstance(data, str):
        return data
    if dtype == "bool":
        raw = bytes(data)
    elif dtype == "bfloat16":  # the upper half of float32
        raw = b"".join(struct.pack("<f", x)[2:] for x in data)
    else:
        raw = struct.pack("<%d%s" % (len(data), SIZES[dtype]), *data)
    return base64.b64encode(raw).decode("ascii")


def unpack(dtype, data):
    raw = base64.b64decode(data)
    if dtype == "bfloat16":
        return [struct.unpack("<f", b"\0\0" + raw[at : at + 2])[0] for at in range(0, len(raw), 2)]
    size = struct.calcsize("<" + SIZES[dtype])
    return list(struct.unpack("<%d%s" % (len(raw) // size, SIZES[dtype]), raw))


def exchange(message):
    child.stdin.write(json.dumps(message).encode("ascii") + b"\n")
    child.stdin.flush()
    for line in iter(child.stdout.readline, b""):
        if line.startswith(b"{"):
            return json.loads(line)
    raise EOFError("the program ended with exit code %d" % child.wait())


def start():
    global child, scratch
    scratch = tempfile.TemporaryDirectory()
    environment = dict(os.environ, QKVET_WIRE="1")
    child = subprocess.Popen(
        [PROGRAM] + ARGUMENTS, cwd=FOLDER, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    atexit.register(child.kill)
    hello = {"op": "hello", "wire": 1, "tool": "a script by qkvet", "payloads": ["inline"], "scratch": scratch.name}
    greeting = exchange(hello)
    if not greeting.get("ok"):
        raise RuntimeError(greeting.get("message"))


def ask(call):
    """One call, exactly as qkvet made it."""
    global SEQ
    SEQ += 1
    tensors = {name: call[name] for name in ("query", "key", "value")}
    params = {}
    for name, x in call["options"].items():
        if name == "window":
            params[name] = dict(zip(("left", "right"), x))
        else:
            (tensors if isinstance(x, tuple) else params)[name] = x
    for name in [name for name in ("scale", "softcap") if name in params]:
        params[name + "_hex"] = float(params[name]).hex()
    tensors = {name: {"dtype": d, "shape": list(s), "data": pack(d, x)} for name, (d, s, x) in tensors.items()}
    want = sorted({"output"} | {result["name"] for result in call["results"]})
    request = {"op": "run", "seq": SEQ, "case": CASE, "params": params, "want": want, "tensors": tensors}
    timer = threading.Timer(LIMIT or 0, child.kill)
    if LIMIT is not None:
        timer.start()
    try:
        reply = exchange(request)
    finally:
        timer.cancel()
    if reply.get("seq") != SEQ:
        raise RuntimeError("an answer to request %s instead of %d" % (reply.get("seq"), SEQ))
    if reply["status"] != "ok":
        raise RuntimeError("%s: %s" % (reply["status"], reply.get("reason")))
    answer = {"changed": reply.get("inputs_unchanged") is False}
    for name, tensor in reply["tensors"].items():
        known = tensor["dtype"] == "bfloat16" or tensor["dtype"] in SIZES
        numbers = unpack(tensor["dtype"], tensor["data"]) if known else None
        answer[name] = tensor["dtype"], tuple(tensor["shape"]), numbers
        if known and len(numbers) != math.prod(tensor["shape"]):
            raise RuntimeError("%s: %d elements for shape %s" % (name, len(numbers), tensor["shape"]))
    return answer
