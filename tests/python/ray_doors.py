"""Both doors to Ray, with a worker killed behind each, and what cannot be had. Each line says what held."""

import json
import logging
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import qkvet
import ray_target

LIMIT = 600.0
# Enough for findings, and for shards of which each is worth a worker.
LAWS = ["value", "grouped-heads", "causal-is-mask", "heads-apart"]
QKVET = str(Path(sys.executable).with_name("qkvet"))
said = []


class Said(logging.Handler):
    def emit(self, record):
        said.append(record.getMessage())


logging.getLogger("qkvet.ray").addHandler(Said())


def parent(pid):
    found = subprocess.run(["ps", "-o", "ppid=", "-p", str(pid)], capture_output=True, text=True, check=True)
    return int(found.stdout)


def is_alive(pid):
    found = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return bool(found.stdout.strip()) and not found.stdout.strip().startswith("Z")


def until(what, is_so):
    end = time.monotonic() + LIMIT
    while not is_so():
        assert time.monotonic() < end, what
        time.sleep(0.02)


class Killer:
    """Kills the Ray worker above whoever waits in the trap: `above` processes up."""

    def __init__(self, above):
        self.folder = Path(tempfile.mkdtemp(prefix="qkr-"))
        self.above, self.killed, self.error = above, [], None
        self.thread = threading.Thread(target=self._kill, daemon=True)
        self.thread.start()

    def _kill(self):
        try:
            waiting = self.folder / "waiting"
            until("a process in the trap", lambda: waiting.exists() and waiting.read_text().endswith("\n"))
            chain = [int(waiting.read_text())]
            for _ in range(self.above):
                chain.append(parent(chain[-1]))
            os.kill(chain[-1], signal.SIGKILL)
            self.killed = chain
            if sys.platform == "linux":
                # The command goes with its worker, though nobody asked it to.
                until("the end of what the worker started", lambda: not any(map(is_alive, chain[1:])))
            (self.folder / "killed").touch()
        except Exception as error:
            self.error = error
            (self.folder / "killed").touch()

    def done(self):
        # Whoever waited has ended by now.
        self.thread.join(10)
        assert self.error is None and self.killed, (self.error, self.killed)


def module_of_mine(folder):
    """A function that is sent by the name of its module, which travels with the folder."""
    source = Path(ray_target.__file__).read_text()
    (folder / "mine_alone.py").write_text(source)
    sys.path.insert(0, str(folder))
    import mine_alone

    # Ray tells its workers where this process looks.
    sys.path.remove(str(folder))
    return mine_alone.attention


def trapped(folder):
    """A function that is sent by value, with what it closes over."""

    def attention(query, key, value, scale=None, causal=False, mask=None):
        ray_target.trap(folder, 8)
        return ray_target.attention(query, key, value * (1.5 if causal else 1), scale, causal, mask).astype(query.dtype)

    return attention


def functions():
    killer = Killer(above=0)
    function = trapped(str(killer.folder))
    asked = {"law": LAWS, "dtype": ["float32", "float64"], "convention": "empty-row=zero", "arrays": "numpy"}
    report = qkvet.ray.check(function, num_workers=2, shards=6, **asked)
    killer.done()
    alone = qkvet.check(function, **asked)
    assert str(report) == str(alone), f"{report}\n{alone}"
    assert json.dumps(report.to_dict()) == json.dumps(alone.to_dict())
    assert not report.ok and "qkvet.replay(function, " in report.findings[0].replay, str(report)
    assert any("is run again (1 of 3)" in line for line in said), said
    folder = Path(tempfile.mkdtemp(prefix="qkm-"))
    few = {"law": "uniform-attention", "dtype": "float64", "runtime_env": {"working_dir": str(folder)}}
    sent = qkvet.ray.check(module_of_mine(folder), num_workers=1, **few)
    assert sent.ok and sent.counts["PASS"] > 0, str(sent)
    print("function: the report of one process,", sum(report.counts.values()), "cases,", len(report.findings), "findings")


def command(*words):
    return subprocess.run([QKVET, "check", *words], capture_output=True, text=True, timeout=LIMIT, check=False)


def commands():
    for target in ("ray_target.py:tiled", "ray_target.py:crashing"):
        killer = Killer(above=2) if target.endswith("tiled") else None
        if killer:
            # Those who run shards have the environment of their node, and the folder of the
            # command.
            Path("trap.txt").write_text(str(killer.folder))
        words = [target, *(word for law in LAWS for word in ("--law", law)), "--suite", "smoke", "--dtype", "float32"]
        words += ["--convention", "empty-row=zero", "--format", "json"]
        there = command(*words, "--engine", "ray", "--workers", "2", "--shards", "5")
        if killer:
            killer.done()
            assert "is run again (1 of 3)" in there.stderr, there.stderr
        alone = command(*words, "-q")
        assert there.returncode == alone.returncode == 1, (there.returncode, there.stderr, alone.stderr)
        assert there.stdout == alone.stdout, f"{there.stdout}\n{alone.stdout}\n{there.stderr}"
        assert not list(Path(".qkvet/engine").iterdir()), "shards are left over"
        found = json.loads(there.stdout)
        print(target, "the report of one machine,", [one["verdict"] for one in found["findings"]], there.returncode)


def expected(kind, parts, act):
    try:
        act()
    except kind as error:
        assert all(part in str(error) for part in parts), str(error)
        print(kind.__name__, str(error).splitlines()[0])
    else:
        raise AssertionError(f"expected {kind}")


def what_cannot_be_had():
    check, right, few = qkvet.ray.check, ray_target.attention, {"law": "uniform-attention", "dtype": "float64"}
    lock = threading.Lock()
    expected(TypeError, ["can be pickled", "hint: "], lambda: check(lambda query, key, value: lock, **few))
    expected(
        TimeoutError,
        ["expected CPU=1, unicorn=1 for a worker within 1 s, got none; the cluster has CPU=2", "hint: "],
        lambda: check(right, resources={"unicorn": 1}, patience=1, **few),
    )
    expected(ValueError, ["resources at GPU: expected a number"], lambda: check(right, resources={"GPU": "x"}, **few))
    expected(ValueError, ["suite `smoek`", "did you mean `smoke`?"], lambda: check(right, "smoek", num_workers=1, **few))
    expected(
        ValueError,
        ["runtime_env: expected no folder, for Ray is connected already, got .", "hint: ray.init"],
        lambda: check(right, runtime_env={"working_dir": "."}, **few),
    )
    # It dies of the call that finds its axes.
    dies = lambda query, key, value: os._exit(3)  # noqa: E731
    expected(
        RuntimeError,
        ["workers: expected to start, got 2 that did not"],
        lambda: check(dies, num_workers=1, shards=2, retries=1, **few),
    )
    asked = ["ray_target.py:attention", "--suite", "smoke", "--engine", "ray"]
    never = command(*asked, "--resources", "unicorn=1", "--patience", "1")
    assert never.returncode == 3 and "error: resources: expected CPU=1, unicorn=1" in never.stderr, never.stderr
    unloaded = command("ray_target.py:attentoin", *asked[1:], "--workers", "1")
    assert unloaded.returncode == 3 and "did you mean `attention`?" in unloaded.stderr, unloaded.stderr
    print("commands: 3", never.stderr.splitlines()[0].split(";")[0])


def main():
    # The first starts a cluster of its own and ends it; the rest is on one that this process holds.
    functions()
    import ray

    assert not ray.is_initialized()
    ray.init(address="local", num_cpus=2, include_dashboard=False, object_store_memory=80 << 20, log_to_driver=False)
    try:
        os.environ["RAY_ADDRESS"] = ray.get_runtime_context().gcs_address
        commands()
        what_cannot_be_had()
    finally:
        ray.shutdown()


if __name__ == "__main__":
    main()
