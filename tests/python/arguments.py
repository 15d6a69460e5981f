"""Arguments that cannot be meant: the error names the one, and what to write."""

import qkvet
from without_libraries import floats, ones, values


def told(error, call, *parts):
    try:
        call()
    except error as raised:
        text = str(raised)
        assert all(part in text for part in parts), text
    else:
        raise SystemExit(f"expected {error.__name__} with {parts}")


def right(query, key, value):
    return query


out = floats([2, 2])
for name, hint in [
    ("is_causal", 'causal="upper-left"'),
    ("attn_mask", "mask="),
    ("dropout_p", "without dropout"),
    ("enable_gqa", "fewer key/value heads"),
    ("skale", "known: alibi_slopes"),
]:
    for function in (qkvet.assert_attention, qkvet.judge_attention):
        told(TypeError, lambda: function(out, ones, ones, values, **{name: 0}), f"{function.__name__}: expected no argument {name!r}", hint)
    told(TypeError, lambda: qkvet.reference(ones, ones, values, **{name: 0}), f"reference: expected no argument {name!r}", hint)
told(TypeError, lambda: qkvet.check(right, suites="smoke"), "check: expected no argument 'suites'", "known: arrays")
told(TypeError, lambda: qkvet.cases(-1), "suite: expected a name, got -1")
told(TypeError, lambda: qkvet.prove(1), "law: expected a name, got 1")
told(TypeError, lambda: qkvet.replay(right, None), "token: expected a name, got None")
for seed in (-1, 1 << 64):
    told(ValueError, lambda: qkvet.cases(seed=seed), f"seed: expected a number from 0 to 2**64 - 1, got {seed}")
    told(ValueError, lambda: qkvet.check(right, seed=seed, arrays="numpy"), f"seed: expected a number from 0 to 2**64 - 1, got {seed}")
told(TypeError, lambda: qkvet.cases(seed="1"), "seed: expected a whole number, got '1'")
check = qkvet.ray.check
told(TypeError, lambda: check(right, suites="smoke"), "check: expected no argument 'suites'", "known: address")
told(TypeError, lambda: check(right, workers=2), "check: expected no argument 'workers'", "hint: num_workers=")
told(TypeError, lambda: check(1), "target: expected a function, got int")
told(TypeError, lambda: check(right, -1), "suite: expected a name, got -1")
told(TypeError, lambda: check(right, seed="1"), "seed: expected a whole number, got '1'")
told(ValueError, lambda: check(right, seed=-1), "seed: expected a number from 0 to 2**64 - 1, got -1")
told(ValueError, lambda: check(right, dtype="float23"), "dtype: expected one of", "got `float23`")
told(ValueError, lambda: check(right, convention="causal=upper-rigth"), "upper-rigth")
for name, least in (("num_workers", 1), ("shards", 1), ("retries", 0)):
    told(TypeError, lambda: check(right, **{name: "2"}), f"{name}: expected a whole number, got '2'")
    told(ValueError, lambda: check(right, **{name: least - 1}), f"{name}: expected a number from {least}, got {least - 1}")
told(TypeError, lambda: check(right, resources=["GPU"]), "resources: expected a mapping of names to values, got ['GPU']")
told(TypeError, lambda: check(right, runtime_env="."), "runtime_env: expected a mapping of names to values, got '.'")
told(TypeError, lambda: check(right, patience="1"), "patience: expected a number of seconds, got '1'")
told(ValueError, lambda: check(right, patience=0), "patience: expected a number of seconds above 0, got 0")
told(TypeError, lambda: check(right, address=6379), "address: expected a name, got 6379")
print("all named")
