"""Ctrl-C, while something long is computed: it is heard at once."""

import os
import signal
import sys
import threading
import time

import numpy as np
import qkvet


def slow(query, key, value):
    time.sleep(0.3)
    return np.zeros(query.shape[:3] + value.shape[3:], query.dtype)


def reference():
    x = np.ones((1, 8, 4096, 64))
    qkvet.reference(x, x, x)


LONG = {
    "reference": reference,
    "probe": lambda: qkvet.probe(slow, arrays="numpy"),
    "cases": lambda: [qkvet.cases("core", seed=seed) for seed in range(10000)],
    "prove": lambda: [qkvet.prove(law) for law in ["uniform-attention"] * 100000],
}

for name in sys.argv[1:]:
    pressed = []

    def press():
        pressed.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    threading.Timer(0.5, press).start()
    try:
        LONG[name]()
        raise SystemExit(f"{name}: ended before it was interrupted")
    except KeyboardInterrupt:
        late = time.monotonic() - pressed[0]
        assert late < 1, (name, late)
        # It ends without flushing.
        print(f"{name}: interrupted", flush=True)
# What goes on behind has nothing to say.
os._exit(0)
