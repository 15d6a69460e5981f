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
print("all named")
