# The loop: JSON lines of qkvet-wire/1 in, one answer each. Launched as `python -u -c <source>`.

import base64
import faulthandler
import json
import signal


class Target:
    """The loaded function behind the wire."""

    def __init__(self, request):
        self.connect(request)
        hello = request["python"]
        self.caller = load(hello)
        sys.argv = list(hello["target"].values())

    def connect(self, request):
        """Opens what tensors travel by."""
        self.scratch, self.answered, self.memory, self.process = request["scratch"], [], None, os.getpid()
        paths = request.get("memory")
        if paths:
            try:
                self.memory = os.open(paths["requests"], os.O_RDONLY), os.open(paths["answers"], os.O_WRONLY)
            except OSError:  # a system that hides the files of other processes
                pass

    def payloads(self):
        return ["inline", "file"] + ["memory"] * (self.memory is not None)

    def info(self):
        # Everything is asked of the worker: what the function has no argument for is declined call
        # by call.
        supports = {"payloads": self.payloads(), "outputs": ["output", "weights", "lse"]}
        supports["options"] = ["packed"] + [x for x in OPTIONS if x not in PACKED and not x.startswith("return_")]
        answer = {"ok": True, "wire": 1, "name": "qkvet worker", "language": "python", "supports": supports}
        return dict(answer, python=self.caller.info())

    def bits(self, tensor):
        if "data" in tensor:
            return base64.b64decode(tensor["data"])
        if "file" not in tensor:
            return self.from_memory(math.prod(tensor["shape"]) * SIZES[tensor["dtype"]], tensor["offset"])
        with open(os.path.join(self.scratch, tensor["file"]), "rb") as file:
            file.seek(tensor.get("offset", 0))
            return file.read(math.prod(tensor["shape"]) * SIZES[tensor["dtype"]])

    def from_memory(self, length, offset):
        try:
            raw = os.pread(self.memory[0], length, offset)
        except OSError:
            raw = b""
        if len(raw) != length:
            raise OSError("the memory of the inputs is gone: a call closed or replaced a file descriptor of the worker")
        return raw

    def tensor(self, name, seq, dtype, shape, raw):
        """The wire form: in memory, or by file what is large, as long as there is room."""
        tensor = {"dtype": dtype, "shape": shape}
        if self.memory is not None:
            offset = self.end
            try:
                if os.pwrite(self.memory[1], raw, offset) == len(raw):
                    self.end = offset + -(-len(raw) // 64) * 64
                    return dict(tensor, offset=offset)
            except OSError:
                pass
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

    def leave(self):
        """Without a farewell: qkvet was killed, and removes nothing."""
        self.forget()
        try:
            os.rmdir(self.scratch)
        except OSError:  # it has files that are not of this process
            pass

    def answer(self, request):
        set_threads(request)
        given = {name: (x["dtype"], x["shape"], self.bits(x)) for name, x in request["tensors"].items()}
        params, want = request.get("params", {}), request.get("want", ())
        beside = (request.get(name) for name in ("case", "lies", "layout"))
        return answered(self.caller, given, params, want, *beside)

    def run(self, request):
        self.forget()
        self.end = 0
        try:
            answer = self.answer(request)
        finally:
            # A forked copy that came back from the function would write over the answers of later calls.
            if os.getpid() != self.process:
                os._exit(0)
        if "tensors" in answer:
            found = answer["tensors"].items()
            answer["tensors"] = {name: self.tensor(name, request["seq"], *tensor) for name, tensor in found}
        return answer


def answer_line(target, request):
    try:
        answer = target.run(request)
    except BaseException as error:
        answer = {"status": "error", "reason": "before the call: " + text(error)}
    return dict(answer, seq=request["seq"])


def main(kind):
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
                target = kind(request)
                answer = target.info()
            except LoadError as error:
                answer = {"ok": False, "message": error.message, "hint": error.hint, "python": {"kind": error.kind}}
        else:
            answer = answer_line(target, request)
        if os.getpid() != process:
            os._exit(0)  # a forked copy has no say
        # The line break before ends whatever else was written there.
        try:
            sink.write(b"\n" + json.dumps(answer).encode("ascii") + b"\n")
            sink.flush()
        except BrokenPipeError:
            target.leave()
            os._exit(0)
        except OSError as error:
            os.write(2, b"%r: a call closed or replaced a file descriptor of the worker\n" % error)
            os._exit(1)
    else:
        target.leave()
    # Taking a library down in good order can take seconds, and nobody waits for it.
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            pass
    os._exit(0)
