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
        self.number, self.paths, self.setters = 1, set(), []

    def set(self, number):
        if number == self.number == 1:
            return
        self.number = number
        if "torch" in sys.modules:
            sys.modules["torch"].set_num_threads(number)
        with open("/proc/self/maps") as maps:
            paths = {line.split(None, 5)[5].rstrip() for line in maps if ".so" in line}
        for path in paths - self.paths:
            try:
                library = ctypes.CDLL(path, os.RTLD_NOLOAD | os.RTLD_NOW)
            except OSError:
                continue
            self.setters += [getattr(library, name) for name in THREAD_SETTERS if hasattr(library, name)]
        self.paths |= paths
        for setter in self.setters:
            setter(number)


def set_threads(request, threads=Threads()):
    if request.get("threads") == "library":
        threads.set(max(2, len(os.sched_getaffinity(0))))
    else:
        threads.set(1)
