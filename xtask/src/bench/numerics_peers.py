"""Uncertified and slower peers of the enclosure, measured by `cargo xtask bench numerics`.

Answers requests on standard input, one a line: `KIND N HEADS D CAUSAL THREADS` -> the seconds of one run, by the clock and of
the processor. The first line that it writes says the versions.
"""

import functools
import sys
import time

import flint
import numpy as np
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

MIN_SECONDS = 0.1
BITS = 128


@functools.cache
def inputs(n, heads, d):
    rng = np.random.default_rng(n * heads * d)
    return [rng.standard_normal((1, heads, n, d)) for _ in range(3)]


def torch_run(backend, n, heads, d, causal, threads):
    torch.set_num_threads(threads)
    query, key, value = (torch.from_numpy(x) for x in inputs(n, heads, d))

    def run():
        with sdpa_kernel(backend), torch.inference_mode():
            scaled_dot_product_attention(query, key, value, is_causal=causal)

    return run


def numpy_run(n, heads, d, causal, threads):
    hidden = np.triu(np.ones((n, n), dtype=bool), 1) if causal else None

    def run():
        for query, key, value in zip(*(x[0] for x in inputs(n, heads, d))):
            weights = query @ key.T / np.sqrt(d)
            if causal:
                weights[hidden] = -np.inf
            weights -= weights.max(axis=1, keepdims=True)
            np.exp(weights, out=weights)
            (weights @ value) / weights.sum(axis=1, keepdims=True)

    return run


def arb_run(n, heads, d, causal, threads):
    flint.ctx.prec = BITS
    query, key, value = (x[0, 0] for x in inputs(n, heads, d))

    def matrix(rows, columns, x):
        return flint.arb_mat(rows, columns, [float(entry) for entry in x.ravel()])

    query, key, value = matrix(n, d, query), matrix(d, n, key.T), matrix(n, d, value)
    scale = 1 / flint.arb(d).sqrt()

    def run():
        weights = [(scale * score).exp() for score in (query * key).entries()]
        sums = [sum(weights[i * n : (i + 1) * n], flint.arb(0)) for i in range(n)]
        products = (flint.arb_mat(n, n, weights) * value).entries()
        return [products[i] / sums[i // d] for i in range(n * d)]

    return run


RUNS = {
    "torch-flash": functools.partial(torch_run, SDPBackend.FLASH_ATTENTION),
    "torch-math": functools.partial(torch_run, SDPBackend.MATH),
    "numpy": numpy_run,
    "arb": arb_run,
}


@functools.cache
def prepared(kind, n, heads, d, causal, threads):
    return RUNS[kind](n, heads, d, causal, threads)


def measure(run):
    started, processor = time.perf_counter(), time.process_time()
    runs = 0
    while runs == 0 or time.perf_counter() - started < MIN_SECONDS:
        run()
        runs += 1
    clock = time.perf_counter() - started
    return clock / runs, (time.process_time() - processor) / runs


def main():
    print(f"torch {torch.__version__}, numpy {np.__version__}, python-flint {flint.__version__}", flush=True)
    for line in sys.stdin:
        kind, n, heads, d, causal, threads = line.split()
        run = prepared(kind, int(n), int(heads), int(d), causal == "true", int(threads))
        if kind.startswith("torch"):
            torch.set_num_threads(int(threads))
        print(*measure(run), flush=True)


main()
