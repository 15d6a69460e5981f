# The struct of qkvet_abi.h.
NAMES = ["query", "key", "value", "mask", "bias", "sinks", "alibi_slopes", "key_lengths", "query_lengths"]
NAMES += ["query_offsets", "key_offsets", "output", "weights", "lse"]
# The type code of DLPack times 256, and the bits of an element.
CODES = {"float64": 576, "float32": 544, "float16": 528, "bfloat16": 1040, "bool": 1544, "int64": 64}
STATUS = {1: "unsupported", 2: "refused", 3: "an error"}


class Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("dtype", ctypes.c_uint32),
        ("n_axes", ctypes.c_uint32),
        ("shape", ctypes.c_int64 * 8),
        ("stride", ctypes.c_int64 * 8),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
    ]


class Call(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_uint64),
        *((name, Tensor) for name in NAMES),
        ("scale", ctypes.c_double),
        ("softcap", ctypes.c_double),
        ("window_left", ctypes.c_int64),
        ("window_right", ctypes.c_int64),
        ("has_scale", ctypes.c_int32),
        ("causal", ctypes.c_int32),
        ("reason", ctypes.c_void_p),
        ("reason_size", ctypes.c_uint64),
    ]


def start():
    global function
    function = ctypes.CDLL(os.path.abspath(FILE)).qkvet_attention_v1
    function.restype, function.argtypes = ctypes.c_int, [ctypes.POINTER(Call)]


def tensor(buffer, scores=None):
    """Row-major; a mask or bias has strides of 0 where it is the same along an axis."""
    own = list(buffer.shape)
    if scores and len(own) <= 4:
        own = [1] * (4 - len(own)) + own
    strides = [math.prod(max(n, 1) for n in own[axis + 1 :]) for axis in range(len(own))]
    if scores and len(own) == 4 and all(n in (1, m) for n, m in zip(own, scores)):
        strides = [stride if n == m else 0 for stride, n, m in zip(strides, own, scores)]
        own = scores
    shape, stride = (ctypes.c_int64 * 8)(*own), (ctypes.c_int64 * 8)(*strides)
    return Tensor(buffer.address, CODES[buffer.dtype], len(own), shape, stride, 1, 0)


def asked(call, is_spoiled):
    options = call["options"]
    b, h_q, n_q, d_k = call["query"][1]
    scores = [b, h_q, n_q, call["key"][1][2]]
    memory = {}
    for name in NAMES:
        x = call.get(name) or options.get(name)
        if x is not None:
            raw = storage(x[0], x[2])
            memory[name] = Memory(name, x[0], x[1], spoiled(x[0], raw) if is_spoiled else raw)
    wide = "float64" if call["query"][0] == "float64" else "float32"
    rows, own = (b, h_q, n_q), call["query"][0]
    results = {"output": (own, (*rows, call["value"][1][3])), "weights": (own, (*rows, scores[3])), "lse": (wide, rows)}
    for name in call["want"]:
        memory[name] = Memory(name, *results[name])
    reason = ctypes.create_string_buffer(256)
    none = Tensor(None, 0, 0, (ctypes.c_int64 * 8)(), (ctypes.c_int64 * 8)(), 1, 0)
    shaped = {name: tensor(x, scores if name in ("mask", "bias") else None) for name, x in memory.items()}
    left, right = options.get("window", (None, None))
    given = Call(
        ctypes.sizeof(Call),
        *(shaped.get(name, none) for name in NAMES),
        options.get("scale", 1 / math.sqrt(d_k) if d_k else inf),
        options.get("softcap", 0),
        -1 if left is None else left,
        -1 if right is None else right,
        "scale" in options,
        options.get("causal", False),
        ctypes.addressof(reason),
        256,
    )
    code = invoked([ctypes.byref(given)], memory.values())
    if code:
        why = reason.value.decode("utf-8", "replace") or "no reason was given"
        raise RuntimeError("%s: %s" % (STATUS.get(code, "it returned %d" % code), why))
    answer = {name: memory[name].result() for name in call["want"]}
    answer["changed"] = any(x.raw is not None and x.bytes() != x.raw for x in memory.values())
    return answer
