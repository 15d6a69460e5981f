# Backends of ONNX, and models and backends behind the wire.


class Evaluator:
    """The reference evaluator of the package onnx, by the convention of backends."""

    def __init__(self, evaluator):
        self.evaluator = evaluator

    def prepare(self, model, device="CPU"):
        return Evaluator(self.evaluator(model))

    def run(self, inputs):
        return self.evaluator.run(None, dict(zip(self.evaluator.input_names, inputs)))


class Backend:
    """A backend: `prepare(model, device)` gives what has `run(inputs)`."""

    def __init__(self, hello):
        name, self.device = hello["backend"], hello.get("device") or "CPU"
        self.onnx = needed("onnx")
        self.versions = {"onnx": self.onnx.__version__}
        self.prepared = {}
        if name == "onnx.reference":
            self.backend = Evaluator(needed("onnx.reference").ReferenceEvaluator)
            return
        module, _, kind = ("onnxruntime.backend" if name == "onnxruntime" else name).partition(":")
        if name == "onnxruntime":
            self.versions["onnxruntime"] = needed("onnxruntime").__version__
            needed("onnxruntime").set_default_logger_severity(4)
        file = os.path.join(hello.get("folder") or "", module)
        where = {"file": file} if module.endswith(".py") else {"module": module}
        loaded, _ = load_module({"target": where, "folder": hello.get("folder")})
        self.backend = loaded
        for part in filter(None, kind.split(".")):
            known = [x for x in dir(self.backend) if not x.startswith("_")]
            self.backend = getattr(self.backend, part, None)
            if self.backend is None:
                raise LoadError("function-not-found", "no `%s` in %s" % (kind, module), nearest(part, known))
        if not callable(getattr(self.backend, "prepare", None)):
            hint = "a class after the convention of onnx.backend.base.Backend, as MODULE:CLASS"
            raise LoadError("signature", "expected %s to have prepare(model, device), got none" % name, hint)
        version = getattr(loaded, "__version__", None)
        if version is not None and name != "onnxruntime":
            self.versions[module] = str(version)
        supports = getattr(self.backend, "supports_device", None)
        if callable(supports) and not supports(self.device):
            raise LoadError("device", "%s does not support device `%s`" % (name, self.device))

    def rep(self, encoded):
        if encoded not in self.prepared:
            model = self.onnx.load_model_from_string(base64.b64decode(encoded))
            compatible = getattr(self.backend, "is_compatible", None)
            if callable(compatible) and not compatible(model, self.device):
                raise NotImplementedError("the backend says that the model is not compatible")
            if len(self.prepared) > 64:
                self.prepared.clear()
            self.prepared[encoded] = self.backend.prepare(model, self.device)
        return self.prepared[encoded]

    def run(self, given, arrays):
        try:
            rep = self.rep(given["model"])
        except Exception as error:
            raise Before() from error
        return list(rep.run(arrays))


class Onnx(Target):
    """What is asked of a model or a backend, behind the wire."""

    def __init__(self, request):
        self.connect(request)
        hello = request["python"]
        self.graph = Graph(Backend if "backend" in hello else File, hello)

    def info(self):
        versions = {"python": "%d.%d.%d" % sys.version_info[:3], "numpy": self.graph.np.__version__}
        versions.update(self.graph.runner.versions)
        answer = {"ok": True, "wire": 1, "name": "qkvet worker", "language": "python"}
        return dict(answer, supports={"payloads": self.payloads()}, python={"versions": versions})

    def answer(self, request):
        return self.graph.call(request["onnx"])
