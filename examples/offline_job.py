"""Runs an attention function on exported cases where qkvet is not installed; Python and numpy only.

    qkvet export core --format npz --out cases          # here
    python offline_job.py cases outputs mine.py:attention   # there
    qkvet judge cases outputs                           # here again
"""

import importlib.util
import inspect
import json
import pathlib
import sys

import numpy as np


def load(target):
    file, name = target.rsplit(":", 1)
    spec = importlib.util.spec_from_file_location(pathlib.Path(file).stem, file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, name)


def options(case, arrays):
    """The options of a case, under the names of the README."""
    given = {name: arrays[name] for name in ("mask", "bias") if name in arrays}
    if case["scale"] is not None:
        given["scale"] = case["scale"]
    if case["causal"]:
        given["causal"] = True
    return given


def main(cases, outputs, target):
    attention = load(target)
    offered = inspect.signature(attention).parameters
    pathlib.Path(outputs).mkdir(exist_ok=True)
    done = skipped = 0
    for path in sorted(pathlib.Path(cases).glob("c-*.npz")):
        arrays = np.load(path)
        case = json.loads(str(arrays["case"]))
        given = options(case, arrays)
        # numpy has no bfloat16: it is stored as uint16, and skipped here.
        if case["dtype"] == "bfloat16" or not given.keys() <= offered.keys():
            skipped += 1
            continue
        output = attention(arrays["query"], arrays["key"], arrays["value"], **given)
        np.savez(pathlib.Path(outputs) / path.name, output=output)
        done += 1
    print(f"{done} outputs written, {skipped} cases skipped")


if __name__ == "__main__":
    main(*sys.argv[1:])
