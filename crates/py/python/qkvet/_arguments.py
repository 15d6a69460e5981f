"""Arguments that cannot be meant: an error names the one that is wrong, and the name that it goes by here."""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable, Mapping
from typing import Any, ParamSpec, TypeVar

__all__ = ["counted", "mapped", "named", "seeded", "worded"]

P = ParamSpec("P")
R = TypeVar("R")

# Names of other libraries -> what to write here.
_MEANT = {
    "is_causal": 'causal=True is aligned lower right; causal="upper-left" is what is_causal of PyTorch means',
    "attn_mask": "mask= takes truth values, true attends; bias= takes numbers, which are added",
    "attn_bias": "bias=",
    "attention_mask": "mask= takes truth values, true attends; bias= takes numbers, which are added",
    "dropout_p": "leave it out: an output is judged without dropout",
    "dropout": "leave it out: an output is judged without dropout",
    "enable_gqa": "leave it out: there may always be fewer key/value heads than query heads",
    "softmax_scale": "scale=",
    "sm_scale": "scale=",
    "window_size": "window=",
    "sliding_window": "window=(left, right)",
    "logits_soft_cap": "softcap=",
    "cache_seqlens": "key_lengths=",
    "key_padding_mask": "mask= of four axes, true attends, or key_lengths=",
    "tensor_layout": 'layout="bhnd", "bnhd", "bnd" or "nd"',
    "rtol": "leave it out: what is allowed is derived, contract= says from what",
    "atol": "leave it out: what is allowed is derived, contract= says from what",
    "conventions": "convention=",
    "contracts": "contract=",
    "laws": "law=",
    "dtypes": "dtype=",
    "workers": "num_workers=",
    "num_shards": "shards=",
    "num_cpus": 'resources={"CPU": 1}',
    "num_gpus": 'resources={"GPU": 1}',
    "ray_address": "address=",
    "timeout": "patience=",
}


def named(function: Callable[P, R]) -> Callable[P, R]:
    """The function; an argument that it does not have is an error that says what it is called here."""
    known = set(inspect.signature(function).parameters)
    name = function.__name__

    @functools.wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        __tracebackhide__ = True
        for one in kwargs:
            if one not in known:
                hint = _MEANT.get(one) or "known: " + ", ".join(sorted(known))
                raise TypeError(f"{name}: expected no argument {one!r}\nhint: {hint}")
        return function(*args, **kwargs)

    return checked


def seeded(seed: Any) -> int:
    """A seed, from 0 to 2**64 - 1."""
    try:
        number = operator.index(seed)
    except TypeError:
        raise TypeError(f"seed: expected a whole number, got {seed!r:.60}") from None
    if not 0 <= number < 1 << 64:
        raise ValueError(f"seed: expected a number from 0 to 2**64 - 1, got {seed!r:.60}")
    return number


def counted(name: str, value: Any, least: int) -> int:
    """A whole number, from `least`."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name}: expected a whole number, got {value!r:.60}") from None
    if number < least:
        raise ValueError(f"{name}: expected a number from {least}, got {value!r:.60}")
    return number


def mapped(name: str, value: Any) -> Mapping[str, Any] | None:
    """Values by their names, or nothing."""
    if value is not None and not isinstance(value, Mapping):
        raise TypeError(f"{name}: expected a mapping of names to values, got {value!r:.60}")
    return value


def worded(name: str, value: Any) -> str:
    """A name, as text."""
    if not isinstance(value, str):
        raise TypeError(f"{name}: expected a name, got {value!r:.60}")
    return value
