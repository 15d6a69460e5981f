"""What each worker asks of its node."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["needs_of", "options_of", "read", "shown"]


def needs_of(resources: Mapping[str, float] | None) -> dict[str, float]:
    """Resources by Ray's names, `CPU`, `GPU`, `memory` or those of the cluster, with one CPU where none is named.

    :raises ValueError: an amount that is none.
    """
    needs: dict[str, float] = {"CPU": 1.0}
    for name, amount in (resources or {}).items():
        try:
            needs[str(name)] = float(amount)
        except (TypeError, ValueError):
            raise ValueError(f"resources at {name}: expected a number, got {amount!r}") from None
        if not 0 <= needs[str(name)] < float("inf"):
            raise ValueError(f"resources at {name}: expected a number from 0, got {amount!r}")
    return needs


def read(words: list[str]) -> dict[str, float]:
    """`NAME=N` of the command line."""
    found: dict[str, Any] = {}
    for word in words:
        name, equals, amount = word.partition("=")
        if not name or not equals:
            raise ValueError(f"resources at {word}: expected NAME=N, such as GPU=1")
        found[name] = amount
    return needs_of(found)


def options_of(needs: Mapping[str, float]) -> dict[str, Any]:
    """The same as options of a Ray actor."""
    rest = dict(needs)
    options: dict[str, Any] = {"num_cpus": rest.pop("CPU", 0.0)}
    for name, option in (("GPU", "num_gpus"), ("memory", "memory")):
        if rest.get(name):
            options[option] = rest.pop(name)
        rest.pop(name, None)
    return {**options, "resources": {name: amount for name, amount in rest.items() if amount}}


def shown(resources: Mapping[str, float]) -> str:
    """`CPU=1, GPU=2`, without what Ray itself counts."""
    named = {name: n for name, n in resources.items() if not name.startswith("node:") and name != "object_store_memory"}
    return ", ".join(f"{name}={n:g}" for name, n in sorted(named.items())) or "nothing"
