"""One output, judged: the drop-in for `torch.testing.assert_close`, and the certified reference."""

from __future__ import annotations

import json
import operator
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from . import _native
from ._arguments import named
from ._caller import bits, known_layout, listed, numbers, source

__all__ = ["Verdict", "assert_attention", "call_of", "judge_attention", "reference"]


@dataclass(frozen=True)
class Verdict:
    """What is known of one output.

    `verdict` is the word: `PASS`, `FAIL`, `SUSPECT` or `INCONCLUSIVE`. `margin` is the largest distance over its bound; it
    is at most 1 where nothing is wrong, and `None` where an assertion about a large call (2**20 weights and more,
    float32) held without measuring it. `contract` is what it was judged by.
    """

    verdict: str
    margin: float | None
    contract: str
    elements: int
    refuted: int
    evidence: dict[str, Any] | None
    explanation: dict[str, Any] | None
    text: str

    @property
    def ok(self) -> bool:
        """Whether it was not proved wrong."""
        return self.verdict != "FAIL"

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        return self.text


def call_of(options: dict[str, Any]) -> tuple[_native.Call, list[str]]:
    """The call of these arguments, and the conventions that they declare."""
    layout = known_layout(options["layout"])
    tensors = {name: bits(name, options[name], layout) for name in ("query", "key", "value")}
    for name in ("mask", "bias", "sinks", "alibi_slopes"):
        if options[name] is not None:
            tensors[name] = bits(name, options[name])
    causal, conventions = options["causal"], []
    if isinstance(causal, str):
        conventions, causal = [f"causal={causal}"], True
    window = options["window"]
    if window is not None:
        # -1 is how FlashAttention says that a side is open.
        try:
            left, right = window
            window = tuple(None if side is None or side < 0 else operator.index(side) for side in (left, right))
        except TypeError:
            raise TypeError(f"window: expected two whole numbers, left and right, got {window!r:.60}") from None
    lengths = {
        name: None if options[name] is None else numbers(name, options[name])
        for name in ("key_lengths", "query_lengths")
    }
    scale, softcap = ((None if x is None else float(x)) for x in (options["scale"], options["softcap"]))
    call = _native.Call(tensors, scale=scale, causal=bool(causal), softcap=softcap, window=window, **lengths)
    return call, conventions + listed(options["convention"])


def _judged(out: Any, options: dict[str, Any], *, measured: bool) -> Verdict:
    call, conventions = call_of(options)
    found = call.judge(bits("out", out, options["layout"]), conventions, options["contract"], measured)
    return Verdict(**json.loads(found))


@named
def judge_attention(
    out: Any,
    query: Any,
    key: Any,
    value: Any,
    *,
    scale: float | None = None,
    causal: bool | str = False,
    mask: Any = None,
    bias: Any = None,
    window: tuple[int | None, int | None] | None = None,
    softcap: float | None = None,
    sinks: Any = None,
    alibi_slopes: Any = None,
    key_lengths: Any = None,
    query_lengths: Any = None,
    layout: str | None = None,
    contract: str | None = None,
    convention: str | Iterable[str] = (),
) -> Verdict:
    """The verdict on `out`, whatever it is. Arguments are those of :func:`assert_attention`."""
    return _judged(out, locals(), measured=True)


@named
def assert_attention(
    out: Any,
    query: Any,
    key: Any,
    value: Any,
    *,
    scale: float | None = None,
    causal: bool | str = False,
    mask: Any = None,
    bias: Any = None,
    window: tuple[int | None, int | None] | None = None,
    softcap: float | None = None,
    sinks: Any = None,
    alibi_slopes: Any = None,
    key_lengths: Any = None,
    query_lengths: Any = None,
    layout: str | None = None,
    contract: str | None = None,
    convention: str | Iterable[str] = (),
    strict: bool = False,
) -> Verdict:
    """Asserts that `out` can be the attention of these inputs, as computed under a contract.

    Shapes: `query (b, h_q, n_q, d_k)`, `key (b, h_k, n_k, d_k)`, `value (b, h_k, n_k, d_v)`, `out (b, h_q, n_q, d_v)`;
    with `layout="bnhd"` heads come after positions; arrays of three axes have one head, of two one item besides. `causal`
    is aligned lower right; `"upper-left"` declares the other one. `mask` is boolean, true attends; `bias` is added to the scaled scores; both broadcast to `(b, h_q, n_q, n_k)`
    from two or four axes.

    There is no tolerance. The exact result is enclosed, and `contract` (the loosest ordinary one of the format if absent)
    gives the error that an implementation may make: what lies outside is proved wrong. `strict` asks for a `PASS`: what is
    not decided raises too.

    :raises AssertionError: `out` is proved wrong, or has another shape or format.
    :raises ValueError: the inputs do not fit together, or a name is unknown.
    """
    __tracebackhide__ = True
    verdict = _judged(out, locals(), measured=False)
    if not verdict.ok or (strict and verdict.verdict != "PASS"):
        raise AssertionError(str(verdict))
    return verdict


@named
def reference(
    query: Any,
    key: Any,
    value: Any,
    *,
    scale: float | None = None,
    causal: bool | str = False,
    mask: Any = None,
    bias: Any = None,
    window: tuple[int | None, int | None] | None = None,
    softcap: float | None = None,
    sinks: Any = None,
    alibi_slopes: Any = None,
    key_lengths: Any = None,
    query_lengths: Any = None,
    layout: str | None = None,
    convention: str | Iterable[str] = (),
) -> tuple[Any, Any]:
    """Midpoint and radius of the exact attention: `|exact - midpoint| <= radius`, element by element, proved.

    Shape `(b, h_q, n_q, d_v)`, or `(b, n_q, h_q, d_v)` with `layout="bnhd"`; float64. NumPy arrays, torch tensors for torch
    inputs, memoryviews where NumPy is not loaded. An infinite radius says that nothing is known.
    """
    call, conventions = call_of(locals())
    mid, rad, shape = call.reference(conventions)
    axes = len(getattr(query, "shape", shape))
    shape = shape if axes == 4 else [*shape[: axes - 2], *shape[2:]]
    return tuple(_array(raw, shape, query, layout == "bnhd") for raw in (mid, rad))  # type: ignore[return-value]


def _array(raw: bytes, shape: list[int], like: Any, swap: bool) -> Any:
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(like, torch.Tensor):
        library = source.Torch(None)
    elif "numpy" in sys.modules:
        library = source.Numpy(None)
    elif swap:
        raise TypeError("reference: expected NumPy to be loaded for layout bnhd, got no array library")
    else:
        return memoryview(raw).cast("d", shape)
    array = library.make("float64", shape, raw)
    return library.swap(array) if swap else array
