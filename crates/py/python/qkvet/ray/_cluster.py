"""The connection to Ray, and a local cluster where there is no other."""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType
from typing import Any

__all__ = ["cluster", "workers_of"]

# Shards of the suites are some megabytes; what does not fit goes to the disk.
_STORE_BYTES = 160 << 20

_MOST_WORKERS = 1024


@contextmanager
def cluster(address: str | None, workers: int | None, needs: Mapping[str, float]) -> Iterator[ModuleType]:
    """Ray, connected; what is opened here is closed again.

    :raises ModuleNotFoundError: Ray is not installed.
    :raises ConnectionError: no cluster is at the address.
    """
    # Nothing is told about who uses what, unless the user says so.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ModuleNotFoundError as error:
        if error.name != "ray":
            raise
        raise ModuleNotFoundError(
            "engine ray: expected the package ray, got none\n"
            "hint: pip install ray; it has wheels for Linux and macOS, Python 3.11 to 3.14",
            name="ray",
        ) from None
    if ray.is_initialized():
        yield ray
        return
    _connect(ray, address or os.environ.get("RAY_ADDRESS"), workers, needs)
    try:
        yield ray
    finally:
        ray.shutdown()


def _connect(ray: ModuleType, address: str | None, workers: int | None, needs: Mapping[str, float]) -> None:
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    if address not in (None, "local"):
        _reach(ray, address, quiet)
        return
    if address is None:
        try:
            ray.init(address="auto", **quiet)
            return
        except ConnectionError:
            pass
    cpus = max(os.cpu_count() or 1, math.ceil((workers or 1) * needs.get("CPU", 1)))
    ray.init(address="local", num_cpus=cpus, include_dashboard=False, object_store_memory=_STORE_BYTES, **quiet)


def _reach(ray: ModuleType, address: str | None, quiet: Mapping[str, Any]) -> None:
    try:
        ray.init(address=address, **quiet)
    except (ConnectionError, RuntimeError, ValueError) as error:
        why = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise ConnectionError(
            f"ray at {address}: expected a cluster, got: {why}\nhint: `ray status --address {address}`; without RAY_ADDRESS a local one is started"
        ) from None


def workers_of(ray: ModuleType, wanted: int | None, needs: Mapping[str, float], shards: int | None) -> int:
    """How many workers to start: those wanted, else as many as the cluster has room for; no more than there are shards."""
    if wanted is not None and wanted < 1:
        raise ValueError(f"num_workers: expected a number from 1, got {wanted}")
    if shards is not None and shards < 1:
        raise ValueError(f"shards: expected a number from 1, got {shards}")
    has = ray.cluster_resources()
    room = min((int(has.get(name, 0) / n) for name, n in needs.items() if n), default=1)
    return min(wanted or max(room, 1), shards or _MOST_WORKERS)
