import numpy as np


def make(dtype, shape, data):
    """An array from numbers that are exact in the format, or from its storage bits in base64."""
    if dtype == "bfloat16":
        import ml_dtypes

        kind = np.dtype(ml_dtypes.bfloat16)
    else:
        kind = np.dtype(dtype)
    if isinstance(data, str):
        flat = np.frombuffer(base64.b64decode(data), dtype=kind)
    else:
        flat = np.array(data, dtype=np.float64).astype(kind)
    return flat.reshape(shape).copy()


def swap(x):
    return np.ascontiguousarray(np.swapaxes(x, 1, 2))


def form(x):
    """Format and shape of an array; None for anything else."""
    return (x.dtype.name, x.shape) if isinstance(x, np.ndarray) else None


def content(x):
    return np.asarray(x).astype(np.float64).ravel().tolist()
