"""Checks attention in published packages with qkvet, and compares what it finds with `expected.json`.

    QKVET=target/release/qkvet python tests/wild/run.py [ROW...]
    python tests/wild/run.py --list
    QKVET=target/release/qkvet python tests/wild/run.py --write [ROW...]

A row is a package at a version. Its environment is made once, below `target/wild` (or the folder WILD_ENVIRONMENTS), from
pinned wheels. Those with `"on": "tests"` stand on the environment of tests/requirements.txt: that of QKVET_TEST_PYTHON,
else one made here. Exit code 1: a finding is missing, or one is new. `--write` takes what is found for what is expected, and makes
the table of `docs/in-the-wild.md` from it; the verdicts of the tokens stay, they are held by hand. Only the standard library is needed.
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


def arguments_of(row):
    """The target of a row, and the conventions that are declared for it."""
    declared = [part for convention in row.get("conventions", []) for part in ("--convention", convention)]
    return str(HERE / row["target"]), declared


def report(row):
    """The report of a suite as JSON, and what went wrong where there is none."""
    target, declared = arguments_of(row)
    suite = str(HERE / row["suite"]) if row["suite"].endswith(".yaml") else row["suite"]
    arguments = ["--suite", suite, "--dtype", row["dtype"], "--quiet", "--format", "json", "--timeout", "300", *declared]
    finished = call(row, ["check", target, *arguments])
    try:
        return json.loads(finished.stdout), None
    except ValueError:
        return None, f"no report, exit code {finished.returncode}: {finished.stderr[-500:]}"


def compared(row):
    """The findings of a suite that are not expected, and the expected that are not there."""
    document, broken = report(row)
    if broken:
        return [broken]
    found, lines = document["findings"], []
    for expected in row["findings"]:
        same = [x for x in found if x["kind"] == expected["kind"] and expected["title"] in x["title"]]
        found = [x for x in found if x not in same[:1]]
        if not same:
            lines.append(f"missing: {expected}")
        elif same[0]["verdict"] != expected["verdict"]:
            lines.append(f"expected {expected}, got {same[0]['verdict']}")
    return lines + [f"new: {x['kind']} {x['verdict']} {x['title']}" for x in found]


def written(row):
    """The row with what is found now."""
    document, broken = report(row)
    if broken:
        sys.exit(f"{row['row']}: {broken}")
    before = [x["title"] for x in row["findings"]]
    row["checked"] = sum(n for verdict, n in document["counts"].items() if verdict not in ("UNSUPPORTED", "SKIPPED"))
    row["findings"] = []
    for x in document["findings"]:
        # What an error says may name what is another on every run; the part that is expected by
        # hand stays.
        title = next((part for part in before if part in x["title"]), x["title"])
        row["findings"].append({"kind": x["kind"], "verdict": x["verdict"], "title": title, "cases": x["cases"]})


def line(row):
    """The row in the table of the page."""
    short = {"undeclared convention: ": "", "wrong results that no known fault explains": "unnamed"}
    results = []
    for x in row.get("findings", []):
        title = x["title"] if x["verdict"] == "FAIL" else x["verdict"]
        for long, brief in short.items():
            title = title.replace(long, brief)
        results.append(f"{title} ({x.get('cases', '–')})")
    failing = sum(probe["verdict"] == "FAIL" for probe in row.get("probes", []))
    if failing:
        results.append(f"{failing} token{'s' * (failing > 1)} FAIL")
    if "suite" not in row:
        results.insert(0, "by tokens only")
    declared = ", ".join(row.get("conventions", [])) or "–"
    cells = [row["row"], f"`{row['target'].replace('.py', '')}`", declared, str(row.get("checked", "–"))]
    return f"| {' | '.join(cells)} | {'; '.join(results) or 'nothing found'} |"


def write(rows):
    """Takes what is found in `rows` for what is expected, and makes the table of the page again."""
    for row in rows:
        if "suite" in row:
            written(row)
        print(line(row), flush=True)
        (HERE / "expected.json").write_text(json.dumps(TABLE, indent=2, ensure_ascii=False) + "\n")
    page = ROOT / "docs" / "in-the-wild.md"
    text = page.read_text()
    head = "| row of expected.json | what was called | declared | checked | result |\n|---|---|---|---|---|\n"
    before, after = text.split(head)
    lines = "".join(line(row) + "\n" for row in TABLE["rows"])
    page.write_text(before + head + lines + after[after.index("\n\n") + 1 :])


def differences(row):
    """What is not as expected, in lines."""
    target, declared = arguments_of(row)
    lines = compared(row) if "suite" in row else []
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
    writing = names[:1] == ["--write"]
    names = names[writing:]
    unknown = [name for name in names if name not in rows]
    if unknown:
        print(f"unknown rows {unknown}; --list shows them", file=sys.stderr)
        return 2
    if writing:
        write([rows[name] for name in names or rows])
        return 0
    wrong = 0
    for name in names or rows:
        lines = differences(rows[name])
        wrong += bool(lines)
        print(f"{name}: {'as expected' if not lines else 'not as expected'}", *lines, sep="\n  ", flush=True)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
