# The program speaks qkvet-wire/1: one JSON object a line, on its standard input and output.

SEQ = 0  # number of the last request


def exchange(message):
    child.stdin.write(json.dumps(message).encode("ascii") + b"\n")
    child.stdin.flush()
    for line in iter(child.stdout.readline, b""):
        if line.startswith(b"{"):
            return json.loads(line)
    raise Broken("the program ended with exit code %d" % child.wait())


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
    tensors, params = requested(call)
    tensors = {
        name: {"dtype": dtype, "shape": shape, "data": base64.b64encode(raw).decode("ascii")}
        for name, (dtype, shape, raw) in tensors.items()
    }
    request = {"op": "run", "seq": SEQ, "case": CASE, "params": params, "want": call["want"], "tensors": tensors}
    timer = threading.Timer(LIMIT or 0, child.kill)
    if LIMIT is not None:
        timer.start()
    try:
        reply = exchange(request)
    finally:
        timer.cancel()
    if reply.get("seq") != SEQ:
        raise RuntimeError("an answer to request %s instead of %d" % (reply.get("seq"), SEQ))
    tensors = reply.get("tensors", {}).items()
    reply["tensors"] = {name: (x["dtype"], x["shape"], base64.b64decode(x["data"])) for name, x in tensors}
    return received(reply)
