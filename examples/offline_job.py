"""Runs an attention function on exported cases where qkvet is not installed; Python and NumPy only.

    qkvet export core --format npz --out cases                  # here
    python offline_job.py cases outputs mine.py:attention       # there
    qkvet judge cases outputs                                   # here again

Exit codes: 0 outputs written, 2 usage, 4 nothing could be run.
"""

import argparse, importlib.util, inspect, json, pathlib, sys
import numpy as np

if importlib.util.find_spec("ml_dtypes"):
    import ml_dtypes  # teaches NumPy the word bfloat16; without it those cases are skipped

NAMES = {"scale": ["scale", "softmax_scale", "sm_scale"], "causal": ["causal", "is_causal"],
         "mask": ["mask", "attn_mask"], "bias": ["bias", "attn_bias"]}

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("cases", type=pathlib.Path, help="folder that `qkvet export --format npz` wrote")
parser.add_argument("outputs", type=pathlib.Path, help="folder to write to"), parser.add_argument("target", help="FILE.py:FUNCTION")
arguments = parser.parse_args()
file, _, name = arguments.target.rpartition(":")
paths = sorted(arguments.cases.glob("c-*.npz"))
if not paths or not pathlib.Path(file).is_file():
    parser.error("expected a folder of c-*.npz files and FILE.py:FUNCTION")
spec = importlib.util.spec_from_file_location("target", file)
spec.loader.exec_module(module := importlib.util.module_from_spec(spec))
function = getattr(module, name)
taken, done, skipped = inspect.signature(function).parameters, 0, 0
arguments.outputs.mkdir(exist_ok=True)
for path in paths:
    arrays = np.load(path)
    case = json.loads(str(arrays["case"]))
    try:  # NumPy stores bfloat16 as uint16; the case says what it is
        read = lambda key: arrays[key] if arrays[key].dtype == bool else arrays[key].view(np.dtype(case["dtype"]))
        on = {"scale": case["scale"], "causal": case["causal"] or None}
        on |= {key: read(key) for key in ("mask", "bias") if key in arrays}
        options = {next((n for n in NAMES[key] if n in taken), None): x for key, x in on.items() if x is not None}
        if None in options:
            raise NotImplementedError("an option that the function lacks")
        output = np.asarray(function(*map(read, ("query", "key", "value")), **options))
    except (NotImplementedError, ValueError, TypeError) as error:  # declined, or a format that NumPy lacks
        skipped += 1
        print(f"{path.stem} skipped: {error}", file=sys.stderr)
        continue
    bits = output.view(np.uint16) if output.dtype.name == "bfloat16" else output
    np.savez(arguments.outputs / path.name, output=bits, dtype=output.dtype.name)
    done += 1
print(f"{done} outputs written, {skipped} cases skipped")
sys.exit(0 if done else 4)
