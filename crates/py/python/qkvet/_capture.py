"""Calls of a running model, kept as files that `qkvet check TARGET --inputs FOLDER` asks."""

from __future__ import annotations

import functools
import inspect
import os
import pathlib
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

from ._arguments import counted, named
from ._assert import call_of
from ._caller import known_layout, source

__all__ = ["capture"]

R = TypeVar("R")

# Functions of C have no signature that Python can read.
_PARAMETERS = {
    "scaled_dot_product_attention": ("query", "key", "value", "attn_mask", "dropout_p", "is_causal", "scale", "enable_gqa")
}
_OPTIONS = [option for option in source.OPTIONS if not option.startswith("return_")]


@named
def capture(
    function: Callable[..., R], folder: str | os.PathLike[str], *, most: int = 64, layout: str | None = None
) -> Callable[..., R]:
    """The function, which from now on keeps what it is called with.

    One call of each combination of extents, format and options is written to `folder`, and `most` in all, as
    `ID.npz`. The arguments are those of a target of `qkvet check`: query, key and value by position, options by the names
    that they have there or in other libraries. An argument that is no option is left out. A call that cannot be kept is a
    `RuntimeWarning`; the function is called in any case.

    `layout` is that of query, key and value, as in :func:`qkvet.assert_attention`; files are `(b, h, n, d)`.
    """
    if not callable(function):
        raise TypeError(f"capture: expected a function, got {type(function).__name__}")
    most, layout, place = counted("most", most, 1), known_layout(layout), pathlib.Path(folder)
    kept: set[Any] = set()

    @functools.wraps(function)
    def captured(*args: Any, **kwargs: Any) -> R:
        lost = None
        if len(kept) < most:
            try:
                _keep(_named(function, args, kwargs), place, layout, kept)
            except Exception as error:  # arrays of others raise what they like
                lost = error
        result = function(*args, **kwargs)
        if lost is not None:
            warnings.warn(f"qkvet.capture: a call is not kept: {lost}", RuntimeWarning, stacklevel=2)
        return result

    return captured


def _named(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Arguments by name; the first three are query, key and value."""
    name = getattr(function, "__name__", "")
    try:
        names = [
            one.name
            for one in inspect.signature(getattr(function, "forward", function)).parameters.values()
            if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)
        ]
    except (TypeError, ValueError):
        names = list(_PARAMETERS.get(name, ("query", "key", "value")))
    if len(names) < len(args):
        raise TypeError(f"{name}: expected at most {len(names)} arguments by position, got {len(args)}")
    given = dict(zip(names, args, strict=False)) | kwargs
    missing = [one for one in names[:3] if one not in given]
    if missing or len(names) < 3:
        raise TypeError(f"{name}: expected query, key and value, got {', '.join(given) or 'nothing'}")
    return dict(zip(("query", "key", "value"), (given.pop(one) for one in names[:3]), strict=True)) | given


def _keep(given: dict[str, Any], folder: pathlib.Path, layout: str | None, kept: set[Any]) -> None:
    options: dict[str, Any] = dict.fromkeys(_OPTIONS) | {"layout": layout, "convention": ()}
    options.update((name, given[name]) for name in ("query", "key", "value"))
    for option in _OPTIONS:
        found = [given[name] for name in source.OPTIONS[option] if given.get(name) is not None]
        options[option] = found[0] if found else None
    if given.get("dropout_p"):
        raise ValueError("expected no dropout, got dropout_p={:g}".format(given["dropout_p"]))
    if any(options.pop(name) is not None for name in source.PACKED):
        raise ValueError("expected no packed sequences")
    mask = options["mask"]
    if isinstance(options["causal"], str):
        raise ValueError(f"expected causal to be true or false, got {options['causal']!r}: declare it with the check")
    if mask is not None and (source.shape_of(mask) or ("bool",))[0] != "bool":
        if options["bias"] is not None:
            raise ValueError("expected one of a mask of numbers and a bias, got both")
        options["mask"], options["bias"] = None, mask
    options["causal"] = bool(options["causal"])
    arrays = [source.shape_of(options[name]) for name in ("query", "key", "value")]
    on = [option for option in _OPTIONS if options.get(option) is not None and options[option] is not False]
    kind = str((arrays, on))
    if kind in kept:
        return
    call, _ = call_of(options)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{call.id}.npz"
    if not path.exists():
        unfinished = path.with_suffix(f".{os.getpid()}")
        unfinished.write_bytes(call.npz())
        unfinished.replace(path)
    kept.add(kind)
