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
def cluster(
    address: str | None, workers: int | None, needs: Mapping[str, float], runtime_env: Mapping[str, Any] | None = None
) -> Iterator[ModuleType]:
    """Ray, connected; what is opened here is closed again.

    :raises ModuleNotFoundError: Ray is not installed.
    :raises ConnectionError: no cluster is at the address.
    :raises ValueError: folders are to be sent to a cluster that this process is connected to.
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
        # Ray sends folders when it connects, and at no other time.
        if folder := _folder(runtime_env):
            raise ValueError(
                f"runtime_env: expected no folder, for Ray is connected already, got {folder}\n"
                f"hint: ray.init(runtime_env=...) sends it; or let qkvet.ray.check connect"
            )
        yield ray
        return
    _connect(ray, address or os.environ.get("RAY_ADDRESS"), workers, needs, runtime_env)
    try:
        yield ray
    finally:
        ray.shutdown()


def without_folders(runtime_env: Mapping[str, Any] | None) -> dict[str, Any]:
    """What Ray takes for a worker: folders of this machine went with the connection."""
    return {} if _folder(runtime_env) else dict(runtime_env or {})


def _folder(runtime_env: Mapping[str, Any] | None) -> str | None:
    """The first folder or file of this machine that the environment names."""
    named = [(runtime_env or {}).get("working_dir"), *((runtime_env or {}).get("py_modules") or ())]
    return next((str(path) for path in named if path and "://" not in str(path)), None)


def _connect(
    ray: ModuleType,
    address: str | None,
    workers: int | None,
    needs: Mapping[str, float],
    runtime_env: Mapping[str, Any] | None,
) -> None:
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    if runtime_env:
        quiet["runtime_env"] = dict(runtime_env)
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
