"""How functions are read and called: the very source that `qkvet check` runs in a process of its own."""

from __future__ import annotations

import functools
import json
import operator
import os
import sys
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

from . import _native

__all__ = ["answered", "arrays_of", "bits", "bound", "listed"]


def _caller() -> ModuleType:
    module = ModuleType("qkvet._caller_source")
    exec(compile(_native.CALLER, "<qkvet caller>", "exec"), module.__dict__)
    return module


source = _caller()


def listed(value: str | Iterable[str] | None) -> list[str]:
    """One name or several as a list."""
    if value is None:
        return []
    return [value] if isinstance(value, str) else [str(one) for one in value]


LAYOUTS = ("bhnd", "bnhd", "bnd", "nd")


def known_layout(layout: str | None) -> str | None:
    """A layout, or none: what the axes tell."""
    if layout is not None and layout not in LAYOUTS:
        raise ValueError(f"layout: expected one of {', '.join(LAYOUTS)}, got {layout}")
    return layout


def bits(name: str, value: Any, layout: str | None = "bhnd") -> _native.Bits:
    """Format, shape and storage bits of an array, in axes `bhnd`. Without a layout three axes are `bnd` and two are `nd`."""
    array = _known(name, value)
    swap = layout == "bnhd"
    if isinstance(array, memoryview):
        dtype, shape, raw = _of_buffer(name, array)
        if swap:
            raise TypeError(f"{name}: expected an array of a library for layout bnhd, got a buffer")
    else:
        dtype, shape = source.shape_of(array)
        swap = swap and len(shape) == 4
        raw = source.read(array, swap)
    if swap:
        shape[1], shape[2] = shape[2], shape[1]
    return dtype, source.whole(shape, layout or {3: "bnd", 2: "nd"}.get(len(shape))), raw


def _known(name: str, value: Any) -> Any:
    """The array itself if its library is known, else what DLPack, the array interface or the buffer protocol make of it."""
    if source.shape_of(value) is not None:
        return value
    loaded = sys.modules.get
    torch, numpy = loaded("torch"), loaded("numpy")
    if type(value).__module__.split(".")[0] == "cupy":
        return value.get()
    if hasattr(value, "__dlpack__"):
        for library in (torch, numpy):
            try:
                if library is not None:
                    return library.from_dlpack(value)
            except (TypeError, RuntimeError, BufferError, ValueError):
                pass
    if numpy is not None and hasattr(value, "__array_interface__"):
        return numpy.asarray(value)
    try:
        return memoryview(value)
    except TypeError:
        what = type(value).__name__
        raise TypeError(f"{name}: expected an array of NumPy, PyTorch, JAX or CuPy, or a buffer, got {what}") from None


_FORMATS = {"d": "float64", "f": "float32", "e": "float16", "?": "bool"}


def _of_buffer(name: str, view: memoryview) -> _native.Bits:
    code = view.format.lstrip("@=<")
    if code not in _FORMATS:
        raise TypeError(f"{name}: expected a buffer of format {', '.join(_FORMATS)}, got {view.format}")
    raw = view.tobytes()
    if sys.byteorder == "big":
        size = view.itemsize
        raw = b"".join(raw[at : at + size][::-1] for at in range(0, len(raw), size))
    return _FORMATS[code], list(view.shape or ()), raw


def numbers(name: str, value: Any) -> list[int]:
    """Whole numbers of a list or of an array."""
    try:
        found = [operator.index(one) for one in (value.tolist() if hasattr(value, "tolist") else value)]
    except TypeError:
        raise TypeError(f"{name}: expected a list of whole numbers, got {value!r:.60}") from None
    if any(one < 0 for one in found):
        raise ValueError(f"{name}: expected numbers that are not negative, got {value!r:.60}")
    return found


def arrays_of(function: Callable[..., Any]) -> str | None:
    """The array library that a function stands on: those among the modules that its own module names."""
    inner = function
    while isinstance(inner, functools.partial) or hasattr(inner, "__wrapped__"):
        inner = inner.func if isinstance(inner, functools.partial) else inner.__wrapped__
    names = [getattr(inner, "__module__", None) or type(inner).__module__, type(inner).__module__]
    spaces = [getattr(inner, "__globals__", {}), getattr(getattr(inner, "forward", None), "__globals__", {})]
    names += [value.__name__ for space in spaces for value in space.values() if isinstance(value, ModuleType)]
    names += [getattr(value, "__module__", None) or "" for space in spaces for value in space.values()]
    roots = {name.split(".")[0] for name in names if isinstance(name, str)}
    return next((library for library in ("torch", "jax", "numpy") if library in roots), None)


def bound(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    """The caller of a function."""
    if not callable(function):
        raise TypeError(f"target: expected a function, got {type(function).__name__}")
    hello = dict(options)
    if hello.get("arrays") is None:
        hello["arrays"] = arrays_of(function)
    known_layout(hello.get("layout"))
    try:
        caller = source.Caller(function, getattr(function, "__name__", type(function).__name__), os.getcwd(), hello)
    except source.LoadError as error:
        hint = f"\nhint: {error.hint}" if error.hint else ""
        raise ValueError(f"target: {error.message}{hint}") from None
    caller.layout = _native.layout(answered(caller), info_of(caller))
    return caller


def answered(caller: Any) -> Callable[..., Any]:
    """What the bindings call: tensors and, as JSON, numbers and what is wanted in, an answer out."""

    def asked(
        tensors: dict[str, _native.Bits], params: str, case: str | None, lies: str | None, layout: str | None
    ) -> dict[str, Any]:
        return source.answered(caller, tensors, *json.loads(params), case, lies, layout)

    return asked


def name_of(function: Callable[..., Any]) -> str:
    """`module:function`, as the command line names it."""
    name = getattr(function, "__qualname__", type(function).__qualname__)
    module = getattr(function, "__module__", None)
    return f"{module}:{name}" if module else name


def info_of(caller: Any) -> str:
    """Versions, arrays and argument mapping as JSON."""
    return json.dumps(caller.info())
