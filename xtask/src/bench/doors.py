"""What `qkvet.check` costs a call beside the function, and `assert_attention` beside PyTorch in float64: for `cargo xtask bench doors`."""

import statistics
import time

import numpy as np
import qkvet
import torch
from qkvet import _native
from qkvet._caller import answered, bound

CALLS, ROUNDS = 2000, 11
SPENT = [0]


def attention(query, key, value):
    start = time.thread_time_ns()
    output = value.copy()
    SPENT[0] += time.thread_time_ns() - start
    return output


def door():
    """Microseconds of processor time of a call of 1x1x3x4 in this process, less those in the function; the median of rounds."""
    x = np.arange(12, dtype=np.float32)
    call = _native.Call({name: ("float32", [1, 1, 3, 4], x.tobytes()) for name in ("query", "key", "value")})
    options = {"arrays": "numpy", "device": None, "layout": "bhnd", "supports": None, "mask_takes_bias": False}
    function = answered(bound(attention, options))
    rounds = []
    for _ in range(ROUNDS):
        SPENT[0] = 0
        start = time.thread_time_ns()
        call.ask(function, CALLS)
        rounds.append((time.thread_time_ns() - start - SPENT[0]) / CALLS / 1e3)
    return statistics.median(rounds)


def assertion():
    """Processor time of assertion and judgment over that of `scaled_dot_product_attention` in float64: medians of paired rounds, and milliseconds."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    q, k, v = (torch.randn(1, 8, 512, 64) for _ in range(3))
    wide = [x.double() for x in (q, k, v)]
    sdpa = torch.nn.functional.scaled_dot_product_attention
    out = sdpa(q, k, v)
    ratios, times = [], []
    for _ in range(ROUNDS):
        start = time.process_time()
        for _ in range(4):
            sdpa(*wide)
        middle = time.process_time()
        for _ in range(4):
            assert qkvet.assert_attention(out, q, k, v).margin is None
        end = time.process_time()
        for _ in range(4):
            assert qkvet.judge_attention(out, q, k, v).verdict == "PASS"
        last = time.process_time()
        ratios.append(((end - middle) / (middle - start), (last - end) / (middle - start)))
        times.append((middle - start, end - middle, last - end))
    return [statistics.median(one) for one in zip(*ratios)], [statistics.median(one) / 4 * 1e3 for one in zip(*times)]


def bar(value, limit):
    return "met" if value <= limit else "NOT met"


each = door()
print(f"qkvet.check in this process: {each:.1f} µs a call 1x1x3x4 beside the function (bar 20, {bar(each, 20)})")
(ratio, measured), (peer, own, judging) = assertion()
print(f"assert_attention, float32, b=1 h=8 n=512 d=64: {own:.1f} ms, torch {torch.__version__} in float64 {peer:.1f} ms, ")
print(f"  {ratio:.2f} times its processor time, one thread (bar 1.5, {bar(ratio, 1.5)})")
print(f"judge_attention, which measures the margin: {judging:.1f} ms, {measured:.2f} times")
