import jax


def make_jax(dtype, shape, data):
    """The same on the device."""
    platform, _, index = (DEVICE or "").partition(":")
    return jax.device_put(make_numpy(dtype, shape, data), jax.devices(platform or None)[int(index or 0)])


make_numpy, make = make, make_jax


def swap(x):
    return jax.numpy.swapaxes(x, 1, 2)


def form(x):
    """Format and shape of an array; None for anything else."""
    return (x.dtype.name, x.shape) if isinstance(x, (jax.Array, np.ndarray)) else None
