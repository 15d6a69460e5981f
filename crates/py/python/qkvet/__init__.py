"""Decides with certified error bounds whether an implementation of attention computes what it claims.

Nothing is imported that the caller did not import: arrays are those of the library that made them. What is here is loaded when it is
first asked for.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._assert import Verdict, assert_attention, judge_attention, reference
    from ._capture import capture
    from ._case import Case, Cases, cases, replay
    from ._check import Finding, Probe, Proof, Report, check, probe, prove
    from ._native import __version__

__all__ = [
    "Case",
    "Cases",
    "Finding",
    "Probe",
    "Proof",
    "Report",
    "Verdict",
    "__version__",
    "assert_attention",
    "capture",
    "cases",
    "check",
    "judge_attention",
    "probe",
    "prove",
    "reference",
    "replay",
]

_HOMES = {
    "_assert": ("Verdict", "assert_attention", "judge_attention", "reference"),
    "_capture": ("capture",),
    "_case": ("Case", "Cases", "cases", "replay"),
    "_check": ("Finding", "Probe", "Proof", "Report", "check", "probe", "prove"),
    "_native": ("__version__",),
}


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            found = getattr(importlib.import_module(f"{__name__}.{home}"), name)
            globals()[name] = found
            return found
    if name == "ray":
        return importlib.import_module(f"{__name__}.ray")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
