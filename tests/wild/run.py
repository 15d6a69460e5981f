"""Checks attention in published packages with qkvet, and compares what it finds with `expected.json`.

    QKVET=target/release/qkvet python tests/wild/run.py [ROW...]
    python tests/wild/run.py --list

A row is a package at a version. Its environment is made once, below `target/wild` (or the folder WILD_ENVIRONMENTS), from
pinned wheels. Those with `"on": "tests"` stand on the environment of tests/requirements.txt: that of QKVET_TEST_PYTHON,
else one made here. Exit code 1: a finding is missing, or one is new. Only the standard library is needed.
"""

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
FOLDER = Path(os.environ.get("WILD_ENVIRONMENTS", ROOT / "target" / "wild"))
TABLE = json.loads((HERE / "expected.json").read_text())
QKVET = str(Path(os.environ["QKVET"]).resolve()) if "QKVET" in os.environ else "qkvet"


def python_of(environment):
    return environment / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def environment(installed, below=None):
    """The Python of an environment with exactly these wheels, and the packages of `below` behind them."""
    name = hashlib.sha256("\n".join([*installed, str(below)]).encode()).hexdigest()[:16]
    folder, ready = FOLDER / name, FOLDER / name / "ready"
    if not ready.exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        if below is not None:
            ask = "import sysconfig; print(sysconfig.get_path('purelib'))"
            sites = [
                subprocess.run([str(python), "-c", ask], check=True, capture_output=True, text=True).stdout.strip()
                for python in (python_of(folder), below)
            ]
            Path(sites[0], "below.pth").write_text(sites[1] + "\n")
        pip = [str(python_of(folder)), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        if installed:
            subprocess.run([*pip, "--no-deps", "--only-binary", ":all:", *installed], check=True)
        ready.touch()
    return python_of(folder)


def tests_python():
    if "QKVET_TEST_PYTHON" in os.environ:
        return os.environ["QKVET_TEST_PYTHON"]
    lines = (ROOT / "tests" / "requirements.txt").read_text().splitlines()
    return environment([line for line in lines if line and not line.startswith("#")])


def call(row, arguments):
    """qkvet in a folder of its own, so that what it keeps there does not stay."""
    wheels = TABLE["environments"][row["environment"]]
    python = str(environment(wheels["install"], tests_python() if wheels.get("on") == "tests" else None))
    variables = {**os.environ, **row.get("variables", {})}
    with tempfile.TemporaryDirectory() as folder:
        arguments = [QKVET, *arguments, "--python", python]
        return subprocess.run(arguments, capture_output=True, text=True, cwd=folder, env=variables)


def compared(row, target, declared):
    """The findings of a suite that are not expected, and the expected that are not there."""
    suite = str(HERE / row["suite"]) if row["suite"].endswith(".yaml") else row["suite"]
    arguments = ["--suite", suite, "--dtype", row["dtype"], "--quiet", "--format", "json", *declared]
    finished = call(row, ["check", target, *arguments])
    try:
        found = json.loads(finished.stdout)["findings"]
    except ValueError:
        return [f"no report, exit code {finished.returncode}: {finished.stderr[-500:]}"]
    lines = []
    for expected in row["findings"]:
        same = [x for x in found if x["kind"] == expected["kind"] and expected["title"] in x["title"]]
        found = [x for x in found if x not in same[:1]]
        if not same:
            lines.append(f"missing: {expected}")
        elif same[0]["verdict"] != expected["verdict"]:
            lines.append(f"expected {expected}, got {same[0]['verdict']}")
    return lines + [f"new: {x['kind']} {x['verdict']} {x['title']}" for x in found]


def differences(row):
    """What is not as expected, in lines."""
    target = str(HERE / row["target"])
    declared = [part for convention in row.get("conventions", []) for part in ("--convention", convention)]
    lines = compared(row, target, declared) if "suite" in row else []
    for probe in row.get("probes", []):
        result = call(row, ["replay", probe["token"], "--target", target, *declared])
        got = (result.stdout.split() or ["nothing"])[0]
        if got != probe["verdict"]:
            lines.append(f"{probe['token']}: expected {probe['verdict']}, got {got} {result.stderr[-300:]}")
    return lines


def main(names):
    rows = {row["row"]: row for row in TABLE["rows"]}
    if names == ["--list"]:
        print("\n".join(rows))
        return 0
    unknown = [name for name in names if name not in rows]
    if unknown:
        print(f"unknown rows {unknown}; --list shows them", file=sys.stderr)
        return 2
    wrong = 0
    for name in names or rows:
        lines = differences(rows[name])
        wrong += bool(lines)
        print(f"{name}: {'as expected' if not lines else 'not as expected'}", *lines, sep="\n  ", flush=True)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
