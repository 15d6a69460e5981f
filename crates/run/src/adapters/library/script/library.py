GUARD = 16384  # bytes before and behind each buffer, which nobody may write to
OF_GUARDS, OF_RESULTS = b"\xfd\xff", b"\xf9\xff"  # NaN in every format
COPY = 86  # exit code of a copy of this process
PID = os.getpid()
PLACES = {}  # memory by name: the same addresses hold other numbers at times


def filled(n, pair):
    return (pair * (n // 2 + 1))[:n]


class Memory:
    """A buffer between two guards; a result is full of NaN before the call."""

    def __init__(self, name, dtype, shape, raw=None):
        self.name, self.dtype, self.shape, self.raw = name, dtype, shape, raw
        n = math.prod(shape) * struct.calcsize(LETTERS[dtype])
        whole = n + 2 * GUARD + 64
        if len(PLACES.get(name, "")) < whole:
            PLACES[name] = ctypes.create_string_buffer(whole)
        base = ctypes.addressof(PLACES[name])
        self.view = memoryview(PLACES[name]).cast("B")
        self.start = GUARD + -(base + GUARD) % 64
        self.end, self.address = self.start + n, base + self.start
        self.before, self.behind = filled(self.start, OF_GUARDS), filled(len(self.view) - self.end, OF_GUARDS)
        self.view[: self.start], self.view[self.end :] = self.before, self.behind
        self.view[self.start : self.end] = filled(n, OF_RESULTS) if raw is None else raw

    def bytes(self):
        return bytes(self.view[self.start : self.end])

    def check(self):
        if self.view[: self.start] != self.before or self.view[self.end :] != self.behind:
            raise RuntimeError("wrote beyond the buffer `%s`" % self.name)

    def result(self):
        raw = self.bytes()
        if raw and raw == filled(len(raw), OF_RESULTS):
            return "nothing was written to `%s`" % self.name, None, None
        return self.dtype, self.shape, decoded(self.dtype, raw)


def once():
    """A function that calls fork() may return in two processes; the copy ends here."""
    if os.getpid() != PID:
        os._exit(COPY)
    for _ in range(100 if hasattr(os, "fork") else 0):
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            break
        if pid and os.WIFEXITED(status) and os.WEXITSTATUS(status) == COPY:
            raise RuntimeError("the function called fork(), and the child process returned from it too")
        if not pid:
            time.sleep(0.01)


def invoked(given, memory):
    """Calls the function and looks at the memory around it; gives what it returns."""
    code = limited(function, *given)
    once()
    for buffer in memory:
        buffer.check()
    return code


def ask(call):
    """One call, exactly as qkvet made it: other numbers lay in the same memory before, which shows who keeps results by address.

    In every second turn there are none: a function that keeps results by some of their numbers would keep those."""
    if TURN % 2 == 0:
        asked(call, True)
    return asked(call, False)


def spoiled(dtype, raw):
    """Other numbers in place of real ones."""
    return b"\x3c" * len(raw) if dtype in ("float64", "float32", "float16", "bfloat16") else raw
