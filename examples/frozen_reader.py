"""Checks an attention function against frozen cases with NumPy alone: no qkvet needed, only its snapshots.

python frozen_reader.py snapshots/core my_attention.py:attention [--convention causal=upper-left]
Exit codes: 0 all answers held, 1 wrong answers, 2 usage, 4 nothing was checked.
"""

import argparse, importlib.util, inspect, json, pathlib, sys
import numpy as np

if importlib.util.find_spec("ml_dtypes"):
    import ml_dtypes  # teaches NumPy the word bfloat16; without it those cases are skipped
NAMES = {"scale": ["scale", "softmax_scale", "sm_scale"], "causal": ["causal", "is_causal"],
         "mask": ["mask", "attn_mask"], "bias": ["bias", "attn_bias"]}

def tensor(part, dtype):
    rows = [list(map(int, row)) if isinstance(row, str) else row for row in part["rows"]]  # of a mask: "0110"
    return np.array([[np.inf if x is None else x for x in row] for row in rows], dtype).reshape(part["shape"])

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("folder", type=pathlib.Path), parser.add_argument("target", help="FILE.py:FUNCTION")
parser.add_argument("--convention", action="append", default=[], metavar="FIELD=VALUE")
arguments = parser.parse_args()
file, _, name = arguments.target.rpartition(":")
groups = [path for path in sorted(arguments.folder.glob("*.snap")) if path.stem != "manifest"]
if not groups or not pathlib.Path(file).is_file() or not all("=" in each for each in arguments.convention):
    parser.error("expected a folder of *.snap files, FILE.py:FUNCTION and FIELD=VALUE")
spec = importlib.util.spec_from_file_location("target", file)
spec.loader.exec_module(module := importlib.util.module_from_spec(spec))
function, declared = getattr(module, name), dict(each.split("=", 1) for each in arguments.convention)
taken, checked, wrong, skipped = inspect.signature(function).parameters, 0, 0, 0
for path in groups:
    group = json.loads(path.read_text("utf-8").split("---\n", 2)[2])  # JSON below a header between two lines ---
    try:
        dtype = np.dtype(group["dtype"])
    except TypeError:
        skipped += len(group["cases"])
        continue
    for case in group["cases"]:  # options that are on, then under the names that the function has for them
        on = {"scale": case["scale"], "causal": case["causal"] or None}
        on |= {key: tensor(case[key], kind) for key, kind in (("mask", bool), ("bias", dtype)) if key in case}
        options = {next((n for n in NAMES[key] if n in taken), None): x for key, x in on.items() if x is not None}
        other = any(declared.get(field, value) != value for field, value in case["conventions"].items())
        try:
            if None in options or other:
                raise NotImplementedError("an option that the function lacks, or another convention's question")
            out = function(*(tensor(case[key], dtype) for key in ("query", "key", "value")), **options)
        except (NotImplementedError, ValueError, TypeError):  # declined
            skipped += 1
            continue
        except SystemExit as error:
            raise RuntimeError("the function ended the program") from error
        out, checked = np.asarray(out[0] if isinstance(out, tuple) else out), checked + 1
        answer, bounds = tensor(case["answer"], float), [tensor(b, float) for b in case["bounds"].values()]
        right = out.shape == answer.shape and out.dtype == dtype  # the loosest contract; a NaN is never right
        right = right and bool((np.abs(out.astype(float) - answer) <= np.max(bounds, axis=0)).all())
        if not right:
            wrong += 1
            print(f"{case['id']} in {group['group']} is wrong; it catches {', '.join(case['hunts'])}")
print(f"{checked} checked, {wrong} wrong, {skipped} skipped")
sys.exit(4 if checked == 0 else int(wrong > 0))
