import torch


def make(dtype, shape, data):
    """A tensor from numbers that are exact in the format, or from its storage bits in base64."""
    kind = getattr(torch, dtype)
    if isinstance(data, str):
        flat = torch.frombuffer(bytearray(base64.b64decode(data)), dtype=kind)
    else:
        flat = torch.tensor(data, dtype=torch.float64).to(kind)
    x = flat.reshape(shape).clone()
    return x if DEVICE is None else x.to(DEVICE)


def swap(x):
    return x.transpose(1, 2).contiguous()


def form(x):
    """Format and shape of a tensor; None for anything else."""
    return (str(x.dtype).replace("torch.", ""), tuple(x.shape)) if isinstance(x, torch.Tensor) else None


def content(x):
    return x.detach().cpu().to(torch.float64).flatten().tolist()
