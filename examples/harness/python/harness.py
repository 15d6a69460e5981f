"""Attention for `qkvet check "exec:python3 harness.py"`. Put your own into the first function; the rest does the protocol.

A function in a file is checked without any of this: `qkvet check file.py:function`. This is for an interpreter that qkvet should not
start itself, and for a function that is called in another way. Python 3 alone, little-endian.
"""

import array, base64, json, math, os, sys


def attention(query, key, value, scale, causal):
    """What is here is right and slow. Each tensor has `shape` and `data`, row-major: query (b, h_q, n_q, d_k), key (b, h_k, n_k, d_k),
    value (b, h_k, n_k, d_v); the result is the numbers of (b, h_q, n_q, d_v)."""
    (b, h_q, n_q, d_k), (_, h_k, n_k, d_v) = query.shape, value.shape
    output = []
    for item, head, i in ((item, head, i) for item in range(b) for head in range(h_q) for i in range(n_q)):
        group = item * h_k + head // (h_q // h_k)
        row = ((item * h_q + head) * n_q + i) * d_k
        scores = []
        for j in range(n_k):
            at = (group * n_k + j) * d_k
            score = sum(query.data[row + t] * key.data[at + t] for t in range(d_k)) * scale
            scores.append(-math.inf if causal and j > i + n_k - n_q else score)
        largest = max(scores, default=-math.inf)
        weights = [0.0 if score == -math.inf else math.exp(score - largest) for score in scores]
        total = math.fsum(weights)
        for c in range(d_v):
            column = math.fsum(weights[j] * value.data[(group * n_k + j) * d_v + c] for j in range(n_k))
            output.append(column / total if total else 0.0)  # a query that sees no key gives 0
    return output


# What is not listed is not asked for, and counted as declined. An option beyond these also has to
# be passed on in `run`.
SUPPORTS = {"dtypes": ["float32"], "options": ["scale", "causal"], "outputs": ["output"], "payloads": ["inline"]}
CODES = {"float32": "f", "float64": "d"}


class Tensor:
    def __init__(self, name, sent):
        if sent["dtype"] not in SUPPORTS["dtypes"]:
            raise Declined("unsupported", "%s: dtype %s" % (name, sent["dtype"]))
        self.dtype, self.shape = sent["dtype"], sent["shape"]
        self.data = array.array(CODES[self.dtype], base64.b64decode(sent["data"]))
        if len(self.data) != math.prod(self.shape):
            raise Declined("error", "%s: expected %d numbers, got %d" % (name, math.prod(self.shape), len(self.data)))


class Declined(Exception):
    def __init__(self, status, reason):
        super().__init__(reason)
        self.status = status


def run(request):
    params, sent = request.get("params", {}), request["tensors"]
    names = [name.removesuffix("_hex") for name in params]
    unknown = [name for name in names if name not in SUPPORTS["options"]]
    unknown += [name for name in sent if name not in ("query", "key", "value")]
    unknown += [name for name in request.get("want", []) if name not in SUPPORTS["outputs"]]
    if unknown:
        raise Declined("unsupported", "no " + unknown[0])
    query, key, value = (Tensor(name, sent[name]) for name in ("query", "key", "value"))
    (b, h_q, n_q, d_k), (_, h_k, n_k, _), d_v = query.shape, key.shape, value.shape[3]
    if key.shape != [b, h_k, n_k, d_k] or value.shape != [b, h_k, n_k, d_v] or h_k == 0 or h_q % h_k:
        raise Declined("refused", "shapes: query %s, key %s, value %s" % (query.shape, key.shape, value.shape))
    scale = params.get("scale", d_k**-0.5)
    output = attention(query, key, value, scale, params.get("causal", False))
    data = array.array(CODES[query.dtype], output).tobytes()
    shape = [b, h_q, n_q, d_v]
    return {"output": {"dtype": query.dtype, "shape": shape, "data": base64.b64encode(data).decode()}}


def answer(request):
    if request["op"] == "hello":
        if request["wire"] != 1:
            return {"ok": False, "message": "wire: expected 1, got %s" % request["wire"]}
        return {"ok": True, "wire": 1, "name": "mine", "language": "python", "supports": SUPPORTS}
    head = {"seq": request["seq"]}
    try:
        return {**head, "status": "ok", "tensors": run(request)}
    except Declined as declined:
        return {**head, "status": declined.status, "reason": str(declined)}
    except Exception as error:
        return {**head, "status": "error", "reason": "%s: %s" % (type(error).__name__, error)}


def main():
    answers = os.fdopen(os.dup(1), "w")  # standard output belongs to the protocol: what prints goes to standard error
    os.dup2(2, 1)
    for line in sys.stdin:
        request = json.loads(line)
        if request["op"] == "stop":
            break
        answers.write(json.dumps(answer(request)) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
