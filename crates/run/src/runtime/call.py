# One call of the function, from storage bits to storage bits.

INPUTS = ("query", "key", "value")


def gets_views(given):
    """By shape: what laws compare bit for bit is put alike."""
    query, key = given["query"][1], given["key"][1]
    return (query[1] > 1 < query[2] or key[1] > 1 < key[2]) and zlib.crc32(str((query, key)).encode()) >> 31


def exchanged(name):
    """Which two axes of an input lie exchanged in memory where it is a view: heads and positions, of a mask and a bias the
    last two."""
    return (1, 2) if name in INPUTS else (-2, -1)


def share(array, other):
    """Whether two arrays may share memory."""
    kind = shape_of(array) and LIBRARY_OF[type(array)]
    if kind == "torch":
        return type(other) is type(array) and array.data_ptr() == other.data_ptr() != 0
    return kind == "numpy" and sys.modules[kind].may_share_memory(array, other)


def overlaps(array, other):
    """Whether two arrays of a library may have a number in common."""
    if hasattr(array, "untyped_storage") and hasattr(other, "untyped_storage"):
        return array.untyped_storage().data_ptr() == other.untyped_storage().data_ptr()
    return shape_of(array) is not None and share(array, other)


def is_poisoned():
    """Whether an error of CUDA fails every later call of the process."""
    cuda = sys.modules.get("torch.cuda")
    if cuda is None or not cuda.is_initialized():
        return False
    try:
        cuda.synchronize()
    except BaseException:
        return True
    return False


class Caller:
    """A function with what it takes. `hello`: arrays, device, layout, supports; or arguments, where they are known. A call may say
    another layout, which holds from then on."""

    def __init__(self, function, name, folder, hello):
        self.function, self.folder, self.case, self.kept, self.held = function, folder, None, None, {}
        if "arguments" in hello:
            self.arguments, self.always, others = hello["arguments"], hello["always"], []
        else:
            mask_takes_bias = bool(hello.get("mask_takes_bias"))
            self.arguments, self.always, others = match_arguments(name, function, hello.get("supports"), mask_takes_bias)
        self.library, note = choose_arrays(hello.get("arrays"), hello.get("device"))
        self.notes = [note] if note else []
        if others:
            self.notes.append("no option of qkvet, left at its default: " + ", ".join(others))
        self.layout = hello.get("layout")
        kind = layer_of(function)
        self.is_layer = kind is not None
        if kind:
            if self.layout not in (None, "bhnd"):
                raise LoadError("layout", "a layer has axes of its own, got layout " + self.layout, "leave --layout out")
            if "Layer" not in globals():
                # The worker gets it with its request: not all of them need it, and a command line
                # is only so long.
                exec(compile(hello["layers"], "<qkvet layers>", "exec"), globals())
            self.function = Layer(function, kind, self.library)

    def info(self):
        versions = {"python": "%d.%d.%d" % sys.version_info[:3]}
        for name in ("numpy", "torch", "jax", "ml_dtypes"):
            version = getattr(sys.modules.get(name), "__version__", None)
            if version is not None:
                versions[name] = str(version)
        return {
            "arrays": self.library.name,
            "versions": versions,
            "arguments": self.arguments,
            "always": self.always,
            "layer": self.is_layer,
            "layout": self.layout,
            "notes": self.notes,
        }

    def keywords(self, tensors, params, want, width):
        """The keyword arguments of the call; what is absent is passed only if the signature needs it."""
        if not (params or self.always) and len(tensors) == 3 and want == ["output"]:
            return {}
        params = dict(params)
        given = {name: array for name, array in tensors.items() if name not in INPUTS}
        for name in ("scale", "softcap"):
            exact, number = params.pop(name + "_hex", None), params.pop(name, None)
            if exact is not None or number is not None:
                given[name] = float(number) if exact is None else float.fromhex(exact)
        window = params.pop("window", None)
        if window is not None:
            given["window"] = (window.get("left"), window.get("right"))
        if params.pop("causal", False):
            given["causal"] = True
        given.update({"return_" + name: True for name in want if name != "output"})
        for option in list(given) + list(params):
            if option not in self.arguments:
                raise Unsupported("no argument for %s" % option)
        if {"mask", "bias"} <= set(given) and self.arguments["mask"] == self.arguments["bias"]:
            raise Unsupported("mask and bias share the argument %s" % self.arguments["mask"])
        named = {}
        if self.always:
            absent = {"scale": 1 / math.sqrt(width or 1), "window": (None, None)}
            absent.update(dict.fromkeys(("causal", "return_weights", "return_lse"), False))
            for option in self.always:
                if option not in given and option not in absent:
                    raise Unsupported("the function needs %s" % option)
            named = {self.arguments[option]: absent.get(option) for option in self.always}
        named.update({self.arguments[option]: value for option, value in given.items()})
        return named

    def call(self, given, params, want, case, lies, layout):
        """The answer to one call; a tensor is `(dtype, shape, bits)` here and there."""
        self.layout = layout or self.layout
        if case != self.case:
            self.case, self.kept, self.held = case, None, {}
        if lies == "contiguous" or self.is_layer or self.library.name == "jax" or not (lies or gets_views(given)):
            return self.once(given, params, want, "contiguous")
        answer = self.once(given, params, want, "transposed")
        if answer["status"] in ("ok", "malformed") or "fatal" in answer:
            return answer
        return self.once(given, params, want, "declined")

    def once(self, given, params, want, strides):
        raws, tensors, swapped = {}, {}, self.layout == "bnhd"
        for name, (dtype, shape, raw) in given.items():
            if dtype == "int64":
                dtype, raw = "int32", narrowed(name, raw)
            if name in INPUTS or name in ("mask", "bias"):
                shape = dropped(shape, self.layout)
            raws[name], tensors[name] = raw, self.library.make(dtype, shape, raw)
            if name in INPUTS and swapped:
                tensors[name] = self.library.swap(tensors[name])
            if strides == "transposed" and name in INPUTS + ("mask", "bias") and len(shape) > 1:
                one, other = exchanged(name)
                tensors[name] = self.library.swap(tensors[name], one, other).swapaxes(one, other)
            if not self.is_layer and len(raw) <= INLINE_LIMIT:
                tensors[name] = self.placed(name, tensors[name])
        forms = {name: (array.dtype, tuple(array.shape)) for name, array in tensors.items()}
        named = self.keywords(tensors, params, want, given["query"][1][-1])
        inputs = [tensors[name] for name in INPUTS]
        try:
            result = self.function(*inputs, **named)
        except Malformed as error:  # of a layer
            return {"status": "malformed", "reason": str(error)}
        except NotImplementedError as error:
            words = " ".join(str(error).split())[:600]
            return {"status": "unsupported", "reason": words or text(error) + place(error, self.folder)}
        except (ValueError, TypeError, AssertionError) as error:
            return {"status": "refused", "reason": text(error) + place(error, self.folder)}
        except BaseException as error:
            return self.failed(error)
        try:
            answer = {"status": "ok", "tensors": self.collect(result, want)}
            reuses = self.reuses(result, answer["tensors"]["output"][2])
            if self.held and any(overlaps(self.kept[0], array) for array in inputs if self.kept):
                self.held = {}  # the result is an input, which has to stay as it is
            if reuses or strides != "contiguous":
                answer["python"] = {"strides": strides, "reuses_result": reuses}
            answer["inputs_unchanged"] = getattr(self.function, "inputs_unchanged", True) and all(
                self.unchanged(name, tensors[name], forms[name], raws[name]) for name in tensors
            )
            return answer
        except Malformed as error:
            return {"status": "malformed", "reason": str(error)}
        except BaseException as error:  # work that a device does late fails here
            return self.failed(error, "reading the result raised ")

    def placed(self, name, array):
        """The array, or the one of the call before with its numbers: every object comes twice in a row, which shows who keeps
        something by it or by its address."""
        held = self.held.pop(name, None)
        try:
            if held is not None and self.library.overwrite(held, array):
                return held
        except Exception:  # the function made it what cannot be written to
            pass
        self.held[name] = array
        return array

    def failed(self, error, before=""):
        answer = {"status": "error", "reason": before + text(error) + place(error, self.folder)}
        if is_poisoned():
            answer["fatal"] = True
        return answer

    def collect(self, result, want):
        beside = [name for name in ("weights", "lse") if name in want]
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
        return {name: result_tensor(name, value, self.layout) for name, value in zip(["output", *beside], result)}

    def reuses(self, result, raw):
        """Whether the result replaced the one before, held here."""
        array = result[0] if isinstance(result, (tuple, list)) else result
        kept = self.kept
        self.kept = (array, raw) if len(raw) <= INLINE_LIMIT else None
        return kept is not None and share(array, kept[0]) and read(kept[0], self.layout == "bnhd") != kept[1]

    def unchanged(self, name, array, form, raw):
        swap = self.layout == "bnhd" and name in INPUTS
        try:
            return (array.dtype, tuple(array.shape)) == form and read(array, swap) == raw
        except (Malformed, RuntimeError):  # a jax array that was donated is gone
            return False


def load(hello):
    """The caller of the function that `hello` names."""
    module, folder = load_module(hello)
    name = hello["function"]
    return Caller(find_function(module, name), name, folder, hello)


def answered(caller, given, params, want, case=None, lies=None, layout=None):
    """The answer of the caller, whatever happens before the call."""
    try:
        return caller.call(given, params, want, case, lies, layout)
    except Unsupported as error:
        return {"status": "unsupported", "reason": str(error)}
    except BaseException as error:
        return {"status": "error", "reason": "before the call: " + text(error)}
