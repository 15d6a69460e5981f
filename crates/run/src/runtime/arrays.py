# Arrays of the libraries: made from storage bits, read back.

FLOATS = ("float64", "float32", "bfloat16", "float16")
# Bytes of an element.
SIZES = {"float64": 8, "float32": 4, "bfloat16": 2, "float16": 2, "bool": 1, "int64": 8}
# Names of formats, once asked for: NumPy spells them anew each time.
NAMES = {}
# NumPy's formats by name, once asked for.
KINDS = {}
# Libraries of types, once asked for.
LIBRARY_OF = {}
# Larger tensors go by file.
INLINE_LIMIT = 2**18
# Larger results are not even read.
MOST = 2**28


class Unsupported(Exception):
    pass


class Malformed(Exception):
    pass


class Numpy:
    name = "numpy"

    def __init__(self, device):
        self.np = require("numpy")
        self.device = None
        if device is not None:
            raise LoadError("device", "numpy arrays have no device, got `%s`" % device, "choose torch or jax arrays")

    def dtype(self, name):
        if name == "bfloat16":
            try:
                return self.np.dtype(importlib.import_module("ml_dtypes").bfloat16)
            except ImportError:
                raise Unsupported("numpy has no bfloat16 (install ml_dtypes or use --arrays torch)")
        return self.np.dtype(name)

    def make(self, dtype, shape, raw):
        kind = KINDS.get(dtype)
        if kind is None:
            kind = KINDS[dtype] = self.dtype(dtype)
        return self.np.frombuffer(raw, kind).reshape(shape).copy()  # writable and aligned

    def swap(self, array, one=1, other=2):
        return self.np.ascontiguousarray(self.np.swapaxes(array, one, other))

    def overwrite(self, array, other):
        """Puts the numbers of another array into this one, if it is laid out alike; whether it did."""
        if (array.dtype, array.shape, array.strides) != (other.dtype, other.shape, other.strides):
            return False
        if not array.flags.writeable:
            return False
        array[...] = other
        return True


class Torch:
    name = "torch"

    def __init__(self, device):
        self.torch = require("torch")
        try:
            self.torch.zeros(1, device=device or "cpu")
        except Exception as error:
            raise LoadError("device", "torch cannot use device `%s`: %s" % (device, text(error)))
        self.device = device

    def make(self, dtype, shape, raw):
        torch = self.torch
        kind = getattr(torch, dtype)
        # An empty buffer is refused by frombuffer.
        flat = torch.frombuffer(bytearray(raw), dtype=kind) if raw else torch.empty(0, dtype=kind)
        array = flat.reshape(shape).clone()  # in memory that torch aligns
        return array if self.device is None else array.to(self.device)

    def swap(self, array, one=1, other=2):
        return array.transpose(one, other).contiguous()

    def overwrite(self, array, other):
        if array.requires_grad or array.grad_fn is not None or array.device != other.device:
            return False
        if (array.dtype, array.shape, array.stride()) != (other.dtype, other.shape, other.stride()):
            return False
        array.copy_(other)
        return True


class Jax(Numpy):
    name = "jax"

    def __init__(self, device):
        self.jax = require("jax")
        self.np = require("numpy")
        self.device = device
        platform, _, index = (device or "").partition(":")
        try:
            self.place = self.jax.devices(platform or None)[int(index or 0)]
        except Exception as error:
            raise LoadError("device", "jax cannot use device `%s`: %s" % (device, text(error)))

    def make(self, dtype, shape, raw):
        if dtype == "float64" and not self.jax.config.jax_enable_x64:
            raise Unsupported("jax_enable_x64 is off")
        return self.jax.device_put(Numpy.make(self, dtype, shape, raw), self.place)

    def swap(self, array):
        return self.jax.numpy.swapaxes(array, 1, 2)

    def overwrite(self, array, other):
        return False  # never written to


LIBRARIES = {"numpy": Numpy, "torch": Torch, "jax": Jax}


def require(name):
    try:
        return importlib.import_module(name)
    except BaseException as error:
        hint = "%s -m pip install %s" % (sys.executable, name)
        raise LoadError("arrays", "%s arrays are needed: importing %s raised %s" % (name, name, text(error)), hint)


def choose_arrays(wanted, device):
    """The library of the arrays, and a note where the choice was not the only one."""
    loaded = [name for name in ("torch", "jax") if name in sys.modules]
    note = None
    if wanted is None and len(loaded) == 2:
        note = "the module loads torch and jax: arrays are torch tensors; --arrays jax for the other"
    return LIBRARIES[wanted or (loaded + ["numpy"])[0]](device), note


def narrowed(name, raw):
    """Whole numbers in 32 bits, which kernels take and every library has."""
    try:
        return struct.pack("<%di" % (len(raw) // 8), *struct.unpack("<%dq" % (len(raw) // 8), raw))
    except struct.error:
        raise Unsupported("%s beyond int32" % name)


def shape_of(value):
    """`(dtype name, shape)` of an array of any of the libraries, or None."""
    library = LIBRARY_OF.get(type(value))
    if library is None:
        for library, kind in (("torch", "Tensor"), ("jax", "Array"), ("numpy", "ndarray")):
            kind = getattr(sys.modules.get(library), kind, None)
            if isinstance(kind, type) and isinstance(value, kind):
                LIBRARY_OF[type(value)] = library
                break
        else:
            return None
    name = NAMES.get(value.dtype)
    if name is None:
        name = str(value.dtype).replace("torch.", "") if library == "torch" else value.dtype.name
        NAMES[value.dtype] = name
    return name, [int(n) for n in value.shape]


def read(value, swap):
    """Storage bits of an array, little-endian, row-major; axes 1 and 2 exchanged if `swap`."""
    if type(value).__name__ == "MaskedArray":
        raise Malformed("expected a dense array, got a masked one")
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        value = value.detach()
        if value.layout != torch.strided:
            raise Malformed("expected a dense tensor, got layout %s" % value.layout)
        if swap:
            value = value.transpose(1, 2)
        value = value.cpu().resolve_conj().resolve_neg().contiguous()
        return ctypes.string_at(value.data_ptr(), value.numel() * value.element_size())
    np = sys.modules.get("numpy") or importlib.import_module("numpy")
    value = np.asarray(value)
    if value.dtype.byteorder == ">":
        value = value.astype(value.dtype.newbyteorder("<"))
    return (np.swapaxes(value, 1, 2) if swap else value).tobytes()


# Axes of (batch, heads, positions, width) that hold one and that arrays go without, by layout.
DROPPED = {"bnd": (1,), "nd": (0, 1)}


def dropped(shape, layout):
    """The shape of an input without the axes that the layout goes without."""
    first = 4 - len(shape)
    gone = [axis for axis in DROPPED.get(layout, ()) if axis >= first]
    if any(shape[axis - first] != 1 for axis in gone):
        raise Unsupported("layout %s holds one head%s" % (layout, " of one item" if len(gone) > 1 else ""))
    return [n for axis, n in enumerate(shape, first) if axis not in gone]


def whole(shape, layout, axes=4):
    """The shape with the axes that the layout goes without, if it has all others."""
    gone = DROPPED.get(layout, ())
    if len(shape) + len(gone) == axes:
        for axis in gone:
            shape.insert(axis, 1)
    return shape


def result_tensor(name, value, layout):
    """Format, shape and storage bits of one array that the function returned."""
    form = shape_of(value)
    if form is None:
        raise Malformed("%s: expected an array, got %s" % (name, type(value).__name__))
    dtype, shape = form
    if dtype not in FLOATS:
        raise Malformed("%s: expected one of %s, got dtype %s" % (name, ", ".join(FLOATS), dtype))
    size = math.prod(shape) * SIZES[dtype]
    if size > MOST:
        raise Malformed("%s: %d bytes of shape %s are too many to be checked" % (name, size, shape))
    swap = layout == "bnhd" and len(shape) == 4 and name == "output"
    if swap:
        shape[1], shape[2] = shape[2], shape[1]
    return dtype, whole(shape, layout, 3 if name == "lse" else 4), read(value, swap)
