# Models of ONNX: what is fed was made on the other side, named and laid out; here it is run.

ONNX_HINT = "%s -m pip install %s"
# Classes of exceptions by module: what is not offered, what declines an input, and what a kernel of
# ONNX Runtime raises when it checks its inputs.
NOT_OFFERED = (
    ("builtins", "NotImplementedError"),
    ("unittest", "SkipTest"),
    ("onnx.reference.op_run", "RuntimeImplementationError"),
    ("onnxruntime.capi.onnxruntime_pybind11_state", "NotImplemented"),
)
DECLINED = (("builtins", "ValueError"), ("builtins", "TypeError"), ("builtins", "AssertionError"))
CHECKED = tuple(("onnxruntime.capi.onnxruntime_pybind11_state", name) for name in ("InvalidArgument", "Fail", "RuntimeException"))


def needed(name):
    try:
        return importlib.import_module(name)
    except BaseException as error:
        hint = ONNX_HINT % (sys.executable, name.split(".")[0])
        raise LoadError("arrays", "%s is needed: importing it raised %s" % (name, text(error)), hint)


def is_one_of(error, classes):
    """Whether the exception is of one of the classes, as far as their modules are loaded."""
    loaded = ((sys.modules.get(module), name) for module, name in classes)
    return isinstance(error, tuple(getattr(module, name) for module, name in loaded if hasattr(module, name)))


def declined(error, status):
    """The answer for an exception: `status`, but for classes that say that something is not offered."""
    return {"status": "unsupported" if is_one_of(error, NOT_OFFERED) else status, "reason": text(error)}


class Before(Exception):
    """Raised before anything was run."""


class File:
    """A model of a file, by ONNX Runtime."""

    def __init__(self, hello):
        path, device = hello["model"], hello.get("device")
        runtime = needed("onnxruntime")
        self.versions = {"onnxruntime": runtime.__version__}
        options = runtime.SessionOptions()
        options.log_severity_level = 4
        providers = ["CPUExecutionProvider"]
        if device not in (None, "cpu"):
            platform, _, index = device.partition(":")
            wanted = {"cuda": "CUDAExecutionProvider"}.get(platform, platform)
            known = runtime.get_available_providers()
            if wanted not in known:
                message = "onnxruntime has no provider for device `%s`; known: %s" % (device, ", ".join(known))
                raise LoadError("device", message, "cpu, cuda:0 or the name of a provider")
            providers = [(wanted, {"device_id": int(index or 0)}) if index else wanted] + providers
        try:
            self.session = runtime.InferenceSession(path, options, providers=providers)
        except BaseException as error:
            raise LoadError("import-failed", "onnxruntime cannot load the model: %s" % text(error))
        self.provider = self.session.get_providers()[0]
        self.versions["provider"] = self.provider

    def run(self, given, arrays):
        names = [output["name"] for output in given["outputs"]]
        return self.session.run(names, {x["name"]: array for x, array in zip(given["feeds"], arrays)})


class Graph:
    """A model or a backend, from storage bits to storage bits."""

    def __init__(self, kind, hello):
        self.np, self.numpy, self.runner = require("numpy"), Numpy(None), kind(hello)

    def array(self, feed):
        raw = base64.b64decode(feed["data"])
        return self.numpy.make(feed["dtype"], feed["shape"], raw) if raw else self.np.empty(feed["shape"], feed["dtype"])

    def call(self, given):
        try:
            arrays = [self.array(feed) for feed in given["feeds"]]
        except Unsupported as error:
            return {"status": "unsupported", "reason": str(error)}
        raws = [array.tobytes() for array in arrays]
        try:
            results = self.runner.run(given, arrays)
        except Before as error:  # whatever is raised declines
            refuses = is_one_of(error.__cause__, DECLINED) or not given["fits"]
            return declined(error.__cause__, "refused" if refuses else "unsupported")
        except BaseException as error:
            return declined(error, "refused" if is_one_of(error, DECLINED + CHECKED) else "error")
        try:
            tensors = self.collect(given, results)
        except Malformed as error:
            return {"status": "malformed", "reason": str(error)}
        unchanged = all(array.tobytes() == raw for array, raw in zip(arrays, raws))
        return {"status": "ok", "tensors": tensors, "inputs_unchanged": unchanged}

    def collect(self, given, results):
        """The results by name; those that must be what was given are compared with it."""
        present, outputs = given.get("present", []), given["outputs"]
        if len(results) != len(outputs) + len(present):
            raise Malformed("expected %d outputs, got %d" % (len(outputs) + len(present), len(results)))
        for feed, result in zip(present, results[len(outputs) :]):
            raw, shape = base64.b64decode(feed["data"]), feed["shape"]
            if list(self.np.shape(result)) != shape or self.np.asarray(result).tobytes() != raw:
                raise Malformed("%s: expected the past and what follows it, bit by bit, got another" % feed["name"])
        found = {}
        for output, result in zip(outputs, results):
            name, heads, swap = output["role"], output.get("heads"), bool(output.get("swap"))
            if heads and getattr(result, "ndim", None) == 3 and result.shape[2] % heads == 0:
                result, swap = result.reshape(*result.shape[:2], heads, -1), True
            found[name] = result_tensor(name, result, "bnhd" if swap else None)
        return found
