"""The driver of `qkvet check --engine ray`: writes the file of every shard into a folder."""

from __future__ import annotations

import _thread
import argparse
import logging
import os
import sys
import threading
from pathlib import Path

from .. import __version__
from ._cluster import cluster, workers_of
from ._pool import Failed, Pool
from ._resources import read
from ._worker import CommandWorker

__all__ = ["main"]

_USAGE, _TARGET, _INTERRUPTED = 2, 3, 130


def main() -> int:
    """0 when every shard is there; else the exit code of the command, whose error is told."""
    parser = argparse.ArgumentParser(prog="qkvet.ray", description=__doc__)
    parser.add_argument("--version", required=True, help="that of the command")
    parser.add_argument("--into", type=Path, required=True)
    parser.add_argument("--workers", type=int)
    parser.add_argument("--shards", type=int)
    parser.add_argument("--resource", action="append", default=[])
    parser.add_argument("--patience", type=float, default=300.0)
    parser.add_argument("--retries", type=int, default=3)
    parser.add_argument("--quiet", action="store_true")
    own, words = sys.argv[1:], []
    if "--" in own:
        own, words = own[: own.index("--")], own[own.index("--") + 1 :]
    args = parser.parse_args(own)
    logging.basicConfig(format="%(message)s", level=logging.WARNING)
    logging.getLogger("qkvet.ray").setLevel(logging.WARNING if args.quiet else logging.INFO)
    threading.Thread(target=_watch, daemon=True).start()
    try:
        _run(args, words)
    except KeyboardInterrupt:
        return _INTERRUPTED
    except (Failed, ImportError, ValueError) as error:
        return _told(error, getattr(error, "code", _USAGE))
    except (ConnectionError, TimeoutError, RuntimeError) as error:
        return _told(error, _TARGET)
    return 0


def _told(error: Exception, code: int) -> int:
    text = str(error)
    print(text if text.startswith("error") else f"error: {text}", file=sys.stderr)
    return code


def _watch() -> None:
    """Standard input ends with the command that started this."""
    # Without the buffer of `sys.stdin`, whose lock is wanted at the end of the interpreter.
    while os.read(0, 4096):
        pass
    _thread.interrupt_main()


def _run(args: argparse.Namespace, words: list[str]) -> None:
    """`words` are those of `qkvet check`."""
    if __version__ != args.version:
        raise ValueError(
            f"Python package qkvet at {sys.executable}: expected version {args.version}, got {__version__}\n"
            "hint: the command and the package are of one version"
        )
    needs = read(args.resource)
    arguments = (words, os.getcwd(), os.environ.get("OMP_NUM_THREADS"), args.version)
    with cluster(None, args.workers, needs) as ray:
        workers = workers_of(ray, args.workers, needs, args.shards)
        pool = Pool(
            ray, CommandWorker, arguments, needs, workers=workers, retries=args.retries, patience=args.patience
        )
        with pool:
            count = args.shards or 4 * workers
            for number, shard in pool.shards(count).items():
                (args.into / f"{number}-of-{count}.jsonl").write_bytes(shard)


if __name__ == "__main__":
    sys.exit(main())
