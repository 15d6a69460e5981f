"""What runs on the nodes: workers that hold the target and run its shards, one at a time.

An answer is `("done", result)`, `("failed", exit code, message)` for what no other worker would do better, or `("lost", message)`.
"""

from __future__ import annotations

import importlib
import json
import os
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from .. import _native
from .._caller import answered, bound, info_of

__all__ = ["CommandWorker", "FunctionWorker"]

Answer = tuple[Any, ...]

# On Linux what a worker starts ends with it, however it ends.
_TIED = (
    "import ctypes, os, sys; ctypes.CDLL(None).prctl(1, 9); "
    "os.getppid() == int(sys.argv[1]) or sys.exit(1); os.execv(sys.argv[2], sys.argv[2:])"
)

_USAGE, _INTERRUPTED = 2, 130


def _threads(threads: str | None) -> None:
    """As many threads as without Ray, which sets one a CPU: sums may come out in another order."""
    if threads is None:
        os.environ.pop("OMP_NUM_THREADS", None)
    else:
        os.environ["OMP_NUM_THREADS"] = threads


class FunctionWorker:
    """Calls a function that came pickled, in this process."""

    def __init__(self, pickled: bytes, request: dict[str, Any]) -> None:
        self._pickled, self._request = pickled, request
        self._caller: Any = None
        self._info = ""

    def hello(self) -> Answer:
        """Loads the function."""
        request = self._request
        _threads(request["threads"])
        if request["folder"] is not None and os.path.isdir(request["folder"]):
            # Places in messages are told from there.
            os.chdir(request["folder"])
        try:
            function = pickle.loads(self._pickled)
        except Exception as error:
            return "failed", _USAGE, (
                f"function at {request['name']}: expected to be loaded on {os.uname().nodename}, got {type(error).__name__}: {error}\n"
                "hint: runtime_env={'working_dir': '.'} brings the modules of this folder"
            )  # fmt: skip
        for name in request["loaded"]:
            try:
                importlib.import_module(name)
            except ImportError:
                pass
        try:
            self._caller = bound(function, request["target"])
        except (ValueError, TypeError) as error:
            return "failed", _USAGE, str(error)
        # Ray may have loaded more than who asks.
        info = json.loads(info_of(self._caller))
        info["versions"] = {
            name: version for name, version in info["versions"].items() if name == "python" or name in request["loaded"]
        }
        self._info = json.dumps(info)
        return "done", os.getpid()

    def shard(self, number: int, count: int) -> Answer:
        """The file of one shard."""
        request = self._request
        with tempfile.TemporaryDirectory(prefix="qkvet-") as folder:
            path = Path(folder) / "shard.jsonl"
            try:
                _native.check(
                    answered(self._caller),
                    request["name"],
                    self._info,
                    request["suite"],
                    request["seed"],
                    request["law"],
                    request["dtype"],
                    request["convention"],
                    request["contract"],
                    request["fail_fast"],
                    (f"{number}/{count}", str(path)),
                )
            except ValueError as error:
                return "failed", _USAGE, str(error)
            return "done", path.read_bytes()

    def merge(self, shards: list[bytes]) -> Answer:
        """Summary and report of the whole."""
        with tempfile.TemporaryDirectory(prefix="qkvet-") as folder:
            paths = _written(Path(folder), shards)
            try:
                return "done", _native.merge(answered(self._caller), self._request["name"], self._info, paths)
            except ValueError as error:
                return "failed", _USAGE, str(error)


def _written(folder: Path, shards: list[bytes]) -> list[str]:
    paths = [folder / f"{number}.jsonl" for number in range(1, len(shards) + 1)]
    for path, shard in zip(paths, shards, strict=True):
        path.write_bytes(shard)
    return [str(path) for path in paths]


class CommandWorker:
    """Runs the command of this node in a folder that all nodes have."""

    def __init__(self, words: list[str], folder: str, threads: str | None, version: str) -> None:
        self._words, self._folder, self._threads, self._version = words, folder, threads, version

    def hello(self) -> Answer:
        """Looks for what a shard needs."""
        node = os.uname().nodename
        if not _binary().is_file():
            return "failed", _USAGE, f"command at {_binary()} on {node}: expected the binary of qkvet, got none"
        if _native.__version__ != self._version:
            return "failed", _USAGE, (
                f"qkvet on {node}: expected version {self._version}, got {_native.__version__}\nhint: every node has the version of the command"
            )  # fmt: skip
        if not os.path.isdir(self._folder):
            return "failed", _USAGE, (
                f"folder at {self._folder} on {node}: expected the folder of the command, got none\n"
                "hint: run it in a folder that all nodes share, or call `qkvet.ray.check(function)`, which sends the function"
            )  # fmt: skip
        return "done", os.getpid()

    def shard(self, number: int, count: int) -> Answer:
        """The file of one shard."""
        with tempfile.TemporaryDirectory(prefix="qkvet-") as folder:
            path = Path(folder) / "shard.jsonl"
            of = ["--shard", f"{number}/{count}", "--shard-file", str(path), "--quiet"]
            command = [str(_binary()), "check", *of, *self._words]
            if sys.platform == "linux":
                command = [sys.executable, "-I", "-S", "-c", _TIED, str(os.getpid()), *command]
            environment = {**os.environ, "QKVET_PYTHON": sys.executable}
            environment.pop("OMP_NUM_THREADS", None)
            if self._threads is not None:
                environment["OMP_NUM_THREADS"] = self._threads
            ended = subprocess.run(
                command, cwd=self._folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE, check=False,
            )  # fmt: skip
            said = ended.stderr.decode(errors="replace").strip()
            if ended.returncode < 0 or ended.returncode == _INTERRUPTED:
                return "lost", f"the command ended with {ended.returncode}: {said[-400:]}"
            if path.is_file():
                return "done", path.read_bytes()
            return "failed", ended.returncode, said


def _binary() -> Path:
    return Path(__file__).parent.parent / "bin" / "qkvet"
