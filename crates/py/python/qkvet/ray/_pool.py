"""Shards on workers: each is taken once, and again if its worker dies."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Mapping
from types import ModuleType, TracebackType
from typing import Any

from ._resources import options_of, shown

__all__ = ["Failed", "Pool"]

log = logging.getLogger("qkvet.ray")

# Seconds between looks at what is late, and until a wait is told.
_LOOK, _TELL = 0.5, 10.0


class Failed(ValueError):
    """A worker said that no other would do better. `code` is the exit code that the command has for it."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class Pool:
    """Workers of one kind, at most `workers` at a time. A worker that dies is replaced; what it had in hand is given out again."""

    def __init__(
        self,
        ray: ModuleType,
        kind: type,
        arguments: tuple[Any, ...],
        needs: Mapping[str, float],
        *,
        workers: int,
        retries: int,
        patience: float,
        runtime_env: Mapping[str, Any] | None = None,
    ) -> None:
        self._ray, self._needs, self._workers = ray, needs, workers
        self._retries, self._patience = retries, patience
        options = {**options_of(needs), "max_restarts": 0, "max_task_retries": 0}
        if runtime_env:
            options["runtime_env"] = dict(runtime_env)
        self._kind, self._arguments = ray.remote(**options)(kind), arguments
        # What is awaited: the reference, its worker, and the shard in hand; none for a worker that
        # is starting.
        self._awaited: dict[Any, tuple[Any, int | None]] = {}
        self._idle: list[Any] = []
        # Since when nobody has been there to work, and how many did not even start.
        self._alone, self._told, self._stillborn = time.monotonic(), False, 0

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for worker in [*self._idle, *(worker for worker, _ in self._awaited.values())]:
            self._end(worker)
        self._awaited, self._idle = {}, []

    def shards(self, count: int) -> dict[int, bytes]:
        """Every shard, by its number."""
        todo: deque[int] = deque(range(1, count + 1))
        done: dict[int, bytes] = {}
        lost: dict[int, int] = {}
        while len(done) < count:
            self._staff(min(self._workers, count - len(done)))
            while todo and self._idle:
                self._give(self._idle.pop(), "shard", todo[0], count, number=todo.popleft())
            number, answer = self._next()
            if number is None:
                continue
            if answer[0] == "done":
                done[number] = answer[1]
                log.info("shard %d of %d is done, %d to go", number, count, count - len(done))
                continue
            lost[number] = lost.get(number, 0) + 1
            self._again(f"shard {number} of {count}", lost[number], answer[1])
            todo.appendleft(number)
        return done

    def ask(self, what: str, *arguments: Any) -> Any:
        """What one worker answers to one question."""
        lost = 0
        while True:
            self._staff(1)
            if self._idle:
                self._give(self._idle.pop(), what, *arguments, number=0)
            number, answer = self._next()
            if number is None:
                continue
            if answer[0] == "done":
                return answer[1]
            lost += 1
            self._again(what, lost, answer[1])

    def _staff(self, wanted: int) -> None:
        """Starts workers up to this number."""
        for _ in range(wanted - len(self._idle) - len(self._awaited)):
            self._give(self._kind.remote(*self._arguments), "hello", number=None)

    def _give(self, worker: Any, what: str, *arguments: Any, number: int | None) -> None:
        self._awaited[getattr(worker, what).remote(*arguments)] = (worker, number)

    def _next(self) -> tuple[int | None, tuple[Any, ...]]:
        """The next answer and what it answers; nothing where a worker has started, or nobody answered yet."""
        ready, _ = self._ray.wait(list(self._awaited), num_returns=1, timeout=_LOOK)
        if not ready:
            self._watch()
            return None, ()
        worker, number = self._awaited.pop(ready[0])
        errors = self._ray.exceptions
        try:
            answer = self._ray.get(ready[0])
        except errors.RayTaskError as error:
            self._end(worker)
            raise RuntimeError(f"worker: expected an answer, got {error.cause!r}") from error
        except errors.RayError as error:
            self._end(worker)
            why = " ".join(str(error).split())
            if number is None:
                self._unborn(why)
                return None, ()
            return number, ("lost", why)
        if answer[0] == "failed":
            self._end(worker)
            raise Failed(*answer[1:])
        self._idle.append(worker)
        self._stillborn = 0
        return (None, ()) if number is None else (number, answer)

    def _again(self, what: str, times: int, why: str) -> None:
        if times > self._retries:
            raise RuntimeError(
                f"{what}: expected a worker that lives, got {times} that died: {why[:400]}\n"
                "hint: a function that ends its process is a finding of `qkvet check FILE.py:FUNCTION --engine ray`; one that needs more "
                "memory asks for it by resources"
            )
        log.warning("notice: a worker died, %s is run again (%d of %d)", what, times, self._retries)
        log.debug("%s", why)

    def _unborn(self, why: str) -> None:
        self._stillborn += 1
        if self._stillborn > self._retries * self._workers:
            raise RuntimeError(
                f"workers: expected to start, got {self._stillborn} that did not: {why[:400]}\nhint: every node needs the packages qkvet and ray"
            )

    def _watch(self) -> None:
        """Tells, and in the end complains, that there is no worker."""
        now = time.monotonic()
        if self._idle or any(number is not None for _, number in self._awaited.values()):
            self._alone, self._told = now, False
            return
        alone = now - self._alone
        needs, has = shown(self._needs), shown(self._ray.cluster_resources())
        if alone > self._patience:
            raise TimeoutError(
                f"resources: expected {needs} for a worker within {self._patience:g} s, got none; the cluster has {has}\n"
                "hint: ask for less, wait longer (--patience, patience=), or see `ray status` for who holds them"
            )
        if alone > _TELL and not self._told:
            self._told = True
            log.warning("notice: no worker yet; each needs %s, and the cluster has %s", needs, has)

    def _end(self, worker: Any) -> None:
        try:
            self._ray.kill(worker, no_restart=True)
        except Exception as error:  # It is gone already.
            log.debug("%s", error)
