# The program speaks qkvet-wire/1: one JSON object a line, on its standard input and output.

SEQ = 0  # number of the last request


def pack(dtype, data):
    """The storage bits in base64."""
    return base64.b64encode(storage(dtype, data)).decode("ascii")


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
        numbers = decoded(tensor["dtype"], base64.b64decode(tensor["data"])) if known else None
        answer[name] = tensor["dtype"], tuple(tensor["shape"]), numbers
        if known and len(numbers) != math.prod(tensor["shape"]):
            raise RuntimeError("%s: %d elements for shape %s" % (name, len(numbers), tensor["shape"]))
    return answer
