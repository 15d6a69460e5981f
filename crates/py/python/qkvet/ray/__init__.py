"""A suite on a Ray cluster: shards of it on workers, and the report of one run.

More shards than workers are run, so that little is lost with a worker. A shard whose worker dies is run again, on another; each is
counted once. What shards record is judged together, as `qkvet merge` does, so that the report has the bytes of `qkvet.check`.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from .. import _native
from .._arguments import counted, mapped, named, seeded, worded
from .._caller import arrays_of, listed, name_of
from .._check import Report, target_options
from ._cluster import cluster, without_folders, workers_of
from ._pool import Pool
from ._resources import needs_of
from ._worker import FunctionWorker

__all__ = ["check"]

# Libraries whose versions a report names, where they are loaded.
_NAMED = ("numpy", "torch", "jax", "ml_dtypes")


@named
def check(
    function: Callable[..., Any],
    suite: str = "smoke",
    *,
    num_workers: int | None = None,
    resources: Mapping[str, float] | None = None,
    shards: int | None = None,
    address: str | None = None,
    runtime_env: Mapping[str, Any] | None = None,
    retries: int = 3,
    patience: float = 300.0,
    seed: int = 0,
    dtype: str | Iterable[str] = (),
    law: str | Iterable[str] = (),
    convention: str | Iterable[str] = (),
    contract: str | Iterable[str] = (),
    fail_fast: bool = False,
    arrays: str | None = None,
    device: str | None = None,
    layout: str | None = None,
    supports: Iterable[str] | None = None,
    mask_takes_bias: bool = False,
) -> Report:
    """Runs a suite on a function on a Ray cluster; the report is that of :func:`qkvet.check`.

    `num_workers` processes call the function, each with `resources`, by default `{"CPU": 1}`; `{"GPU": 1}` gives each a GPU. They take
    `shards` parts of the suite, 4 a worker by default, one after the other. A part whose worker dies is run again, at most `retries`
    times. `patience` is how long, in seconds, there may be no worker at all. The cluster is the one that this process is connected to, or
    that at `address` or `RAY_ADDRESS`, or the one that runs on this machine, or else a local one for this run. Every node has qkvet
    and Ray; `runtime_env` is Ray's, and brings modules of yours. The other arguments are those of :func:`qkvet.check`.

    :raises ModuleNotFoundError: Ray is not installed.
    :raises TypeError: the function cannot be pickled, or an argument that is none.
    :raises ValueError: an unknown name, a number out of its range, or a function that cannot be called so.
    :raises TimeoutError: no worker could be had.
    :raises ConnectionError: no cluster is at the address.
    :raises RuntimeError: the workers of one shard died again and again.
    """
    # Ray may load what the function does not.
    loaded = [name for name in _NAMED if name in sys.modules]
    if not callable(function):
        raise TypeError(f"target: expected a function, got {type(function).__name__}")
    needs = needs_of(mapped("resources", resources))
    runtime_env = mapped("runtime_env", runtime_env)
    for name, value, least in (("num_workers", num_workers, 1), ("shards", shards, 1), ("retries", retries, 0)):
        if value is not None:
            counted(name, value, least)
    if isinstance(patience, bool) or not isinstance(patience, (int, float)):
        raise TypeError(f"patience: expected a number of seconds, got {patience!r:.60}")
    if not patience > 0:
        raise ValueError(f"patience: expected a number of seconds above 0, got {patience!r:.60}")
    if address is not None:
        worded("address", address)
    # Contracts are those of the suite's formats where none is named, and looked up with the suite.
    _native.declared(listed(dtype), listed(convention), listed(contract) if listed(dtype) else [])
    target = target_options(arrays or arrays_of(function), device, layout, supports, mask_takes_bias)
    request = {
        "name": name_of(function),
        "target": target,
        "suite": worded("suite", suite),
        "seed": seeded(seed),
        "law": listed(law),
        "dtype": listed(dtype),
        "convention": listed(convention),
        "contract": listed(contract),
        "fail_fast": fail_fast,
        "loaded": loaded,
        "folder": None if runtime_env and "working_dir" in runtime_env else os.getcwd(),
        "threads": os.environ.get("OMP_NUM_THREADS"),
    }
    with cluster(address, num_workers, needs, runtime_env) as ray:
        pickled = _pickled(function)
        workers = workers_of(ray, num_workers, needs, shards)
        parts = shards or 4 * workers
        env = without_folders(runtime_env)
        pool = Pool(
            ray, FunctionWorker, (pickled, request), needs, workers=workers, retries=retries, patience=patience, runtime_env=env
        )  # fmt: skip
        with pool:
            found = pool.shards(parts)
            summary, text = pool.ask("merge", [found[number] for number in sorted(found)])
    return Report(json.loads(summary), text)


def _pickled(function: Callable[..., Any]) -> bytes:
    from ray import cloudpickle

    try:
        return cloudpickle.dumps(function)
    except Exception as error:
        raise TypeError(
            f"function at {name_of(function)}: expected one that can be pickled, got {type(error).__name__}: {error}\n"
            "hint: let it make what cannot be sent when it is first called, or give the command a file: "
            "`qkvet check FILE.py:FUNCTION --engine ray`"
        ) from None
