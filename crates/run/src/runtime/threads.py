# How many threads the libraries of this process use. It was started with one, for starting more
# takes longer than a small call does; now and then a call gets as many as there are processors, for
# one thread hides races.

# OpenMP, OpenBLAS, also as SciPy builds it, and MKL.
THREAD_SETTERS = ("omp_set_num_threads", "MKL_Set_Num_Threads") + tuple(
    prefix + "openblas_set_num_threads" + suffix for prefix in ("", "scipy_") for suffix in ("", "64_")
)


class Threads:
    """What sets the number in each library that is loaded."""

    def __init__(self):
        self.number, self.is_targets, self.paths, self.setters, self.modules = 1, False, set(), [], 0

    def set(self, number):
        # A call that imports something may load a library, whose number is set before the next call.
        if self.is_targets or (number == self.number and (number == 1 or len(sys.modules) == self.modules)):
            return
        torch = sys.modules.get("torch")
        if torch is not None:
            if self.number == 1 and torch.get_num_threads() != 1:
                self.is_targets = True  # it set another number by itself, and keeps it
                return
            torch.set_num_threads(number)
        self.number, self.modules = number, len(sys.modules)
        paths = self.loaded() if number > 1 else self.paths
        for path in paths - self.paths:
            try:
                library = ctypes.CDLL(path, os.RTLD_NOLOAD | os.RTLD_NOW)
            except OSError:
                continue
            self.setters += [getattr(library, name) for name in THREAD_SETTERS if hasattr(library, name)]
        self.paths |= paths
        for setter in self.setters:
            setter(number)

    def loaded(self):
        """The libraries of this process. Reading them takes as long as some calls."""
        with open("/proc/self/maps") as maps:
            return {line.split(None, 5)[5].rstrip() for line in maps if ".so" in line}


def set_threads(request, threads=Threads()):
    if "threads" not in request:
        return  # the user chose
    try:
        threads.set(max(2, len(os.sched_getaffinity(0))) if request["threads"] == "library" else 1)
    except Exception:  # a system that does not show what is loaded, or a library that refuses
        pass
