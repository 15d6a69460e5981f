# The loop: JSON lines of qkvet-wire/1 in, one answer each. Launched as `python -u -c <source>`.

class Target:
    """The loaded function with what it takes."""

    def __init__(self, request):
        hello = request["python"]
        self.scratch = request["scratch"]
        self.answered = []
        module, self.folder = load_module(hello)
        name = hello["function"]
        self.function = find_function(module, name)
        mask_takes_bias = bool(hello.get("mask_takes_bias"))
        self.arguments, self.always = match_arguments(name, self.function, hello.get("supports"), mask_takes_bias)
        self.library, self.note = choose_arrays(hello.get("arrays"), hello.get("device"))
        self.swapped = hello.get("layout") == "bnhd"
        sys.argv = [hello["target"].get("file") or hello["target"]["module"]]

    def info(self):
        versions = {"python": "%d.%d.%d" % sys.version_info[:3]}
        for name in ("numpy", "torch", "jax", "ml_dtypes"):
            version = getattr(sys.modules.get(name), "__version__", None)
            if version is not None:
                versions[name] = str(version)
        python = {
            "arrays": self.library.name,
            "versions": versions,
            "arguments": self.arguments,
            "always": self.always,
            "notes": [self.note] if self.note else [],
        }
        # Everything is asked of the worker: what the function has no argument for is declined call by call.
        supports = {"payloads": ["inline", "file"], "outputs": ["output", "weights", "lse"]}
        supports["options"] = ["packed"] + [name for name in OPTIONS if not name.startswith("return_")]
        return {"ok": True, "wire": 1, "name": "qkvet worker", "language": "python", "supports": supports, "python": python}

    def keywords(self, request, tensors):
        """The keyword arguments of the call; an option that is absent is not passed unless the signature needs it."""
        params = dict(request.get("params", {}))
        given = {name: array for name, array in tensors.items() if name not in ("query", "key", "value")}
        for name in ("scale", "softcap"):
            exact, number = params.pop(name + "_hex", None), params.pop(name, None)
            if exact is not None or number is not None:
                given[name] = float(number) if exact is None else float.fromhex(exact)
        window = params.pop("window", None)
        if window is not None:
            given["window"] = (window.get("left"), window.get("right"))
        if params.pop("causal", False):
            given["causal"] = True
        given.update({"return_" + name: True for name in request.get("want", ()) if name != "output"})
        for option in list(given) + list(params):
            if option not in self.arguments:
                raise Unsupported("no argument for %s" % option)
        if {"mask", "bias"} <= set(given) and self.arguments["mask"] == self.arguments["bias"]:
            raise Unsupported("mask and bias share the argument %s" % self.arguments["mask"])
        width = request["tensors"]["query"]["shape"][-1]
        absent = {"scale": 1 / math.sqrt(width or 1), "window": (None, None)}
        absent.update(dict.fromkeys(("causal", "return_weights", "return_lse"), False))
        named = {self.arguments[option]: absent.get(option) for option in self.always}
        named.update({self.arguments[option]: value for option, value in given.items()})
        return named

    def bits(self, tensor):
        if "data" in tensor:
            return base64.b64decode(tensor["data"])
        with open(os.path.join(self.scratch, tensor["file"]), "rb") as file:
            file.seek(tensor.get("offset", 0))
            return file.read(math.prod(tensor["shape"]) * SIZES[tensor["dtype"]])

    def tensor(self, name, seq, dtype, shape, raw):
        """The wire form: by file what is large, as long as there is room for files."""
        tensor = {"dtype": dtype, "shape": shape}
        if len(raw) > INLINE_LIMIT:
            path = os.path.join(self.scratch, "%d-%s.bin" % (seq, name))
            self.answered.append(path)
            try:
                with open(path, "wb") as file:
                    file.write(raw)
                return dict(tensor, file=os.path.basename(path))
            except OSError:
                pass
        return dict(tensor, data=base64.b64encode(raw).decode("ascii"))

    def forget(self):
        for path in self.answered:
            try:
                os.remove(path)
            except OSError:
                pass
        self.answered = []

    def run(self, request):
        self.forget()
        raws, tensors = {}, {}
        for name, tensor in request["tensors"].items():
            raws[name], dtype = self.bits(tensor), tensor["dtype"]
            if dtype == "int64":
                raws[name], dtype = narrowed(name, raws[name]), "int32"
            tensors[name] = self.library.make(dtype, tensor["shape"], raws[name])
            if self.swapped and name in ("query", "key", "value"):
                tensors[name] = self.library.swap(tensors[name])
        forms = {name: shape_of(array) for name, array in tensors.items()}
        named = self.keywords(request, tensors)
        inputs = [tensors[name] for name in ("query", "key", "value")]
        try:
            result = self.function(*inputs, **named)
        except NotImplementedError as error:
            words = " ".join(str(error).split())[:600]
            return {"status": "unsupported", "reason": words or text(error) + place(error, self.folder)}
        except (ValueError, TypeError) as error:
            return {"status": "refused", "reason": text(error) + place(error, self.folder)}
        except BaseException as error:
            return self.failed(error)
        try:
            answer = {"status": "ok", "tensors": self.collect(result, request)}
            answer["inputs_unchanged"] = all(
                self.unchanged(name, tensors[name], forms[name], raws[name]) for name in tensors
            )
            return answer
        except Malformed as error:
            return {"status": "malformed", "reason": str(error)}
        except BaseException as error:  # work that a device does late fails here
            return self.failed(error, "reading the result raised ")

    def failed(self, error, before=""):
        reason = text(error)
        answer = {"status": "error", "reason": before + reason + place(error, self.folder)}
        if "CUDA error" in reason or "device-side assert" in reason:
            answer["fatal"] = True  # such an error poisons every later call of the process
        return answer

    def collect(self, result, request):
        beside = [name for name in ("weights", "lse") if name in request.get("want", ())]
        if beside and not (isinstance(result, (tuple, list)) and len(result) > len(beside)):
            count = " of %d" % len(result) if isinstance(result, (tuple, list)) else ""
            raise Malformed("expected a tuple (output, %s), got %s" % (", ".join(beside), type(result).__name__ + count))
        if isinstance(result, (tuple, list)):
            if not result:
                raise Malformed("output: expected an array, got an empty %s" % type(result).__name__)
            if shape_of(result[0]) is None:
                first = type(result[0]).__name__
                raise Malformed("output: expected an array, got a %s of %s" % (type(result).__name__, first))
        else:
            result = [result]
        found = {"output": result_tensor("output", result[0], self.swapped)}
        found.update({name: result_tensor(name, value, False) for name, value in zip(beside, result[1:])})
        return {name: self.tensor(name, request["seq"], *tensor) for name, tensor in found.items()}

    def unchanged(self, name, array, form, raw):
        swap = self.swapped and name in ("query", "key", "value")
        try:
            return shape_of(array) == form and read(array, swap) == raw
        except (Malformed, RuntimeError):  # a jax array that was donated is gone
            return False


def answer_line(target, request):
    try:
        answer = target.run(request)
    except Unsupported as error:
        answer = {"status": "unsupported", "reason": str(error)}
    except BaseException as error:
        answer = {"status": "error", "reason": "before the call: " + text(error)}
    return dict(answer, seq=request["seq"])


def main():
    # The function may print, read and start programs: the protocol moves to descriptors of its own.
    source, sink = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    try:
        faulthandler.enable(2)
    except (OSError, ValueError):
        pass
    # Ctrl-C is for qkvet, which ends this process itself.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    process, target = os.getpid(), None
    for line in iter(source.readline, b""):
        request = json.loads(line)
        if request["op"] == "stop":
            break
        if request["op"] == "hello":
            try:
                target = Target(request)
                answer = target.info()
            except LoadError as error:
                answer = {"ok": False, "message": error.message, "hint": error.hint, "python": {"kind": error.kind}}
        else:
            answer = answer_line(target, request)
        if os.getpid() != process:
            os._exit(0)  # a forked copy that came back from the function has no say
        # The line break before ends whatever else was written there.
        sink.write(b"\n" + json.dumps(answer).encode("ascii") + b"\n")
        sink.flush()
    # Taking a library down in good order can take seconds, and nobody waits for it.
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            pass
    os._exit(0)


main()
