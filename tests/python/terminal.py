"""Runs a command in a terminal of its own and types when it asks: terminal.py KEYS COMMAND...

KEYS are answers to one prompt each, parted by spaces: `a` is that key and Enter, `^C` and `^D` are those keys alone. Prints what
the terminal showed and ends as the command does; 99 says that it waited for something else.
"""

import os
import pty
import select
import sys

keys = sys.argv[1].split()
child, terminal = pty.fork()
if child == 0:
    os.execv(sys.argv[2], sys.argv[2:])
shown, since = b"", b""
while True:
    if not select.select([terminal], [], [], 60)[0]:
        os.kill(child, 9)
        sys.stdout.write(shown.decode(errors="replace"))
        sys.exit(99)
    try:
        data = os.read(terminal, 65536)
    except OSError:
        # Linux says so when the other end is closed.
        data = b""
    if not data:
        break
    shown, since = shown + data, since + data
    if since.endswith(b"> ") and keys:
        key, since = keys.pop(0), b""
        os.write(terminal, {"^C": b"\x03", "^D": b"\x04"}.get(key, key.encode() + b"\r"))
_, status = os.waitpid(child, 0)
sys.stdout.write(shown.decode(errors="replace"))
if keys:
    print("keys that nobody asked for:", *keys)
    sys.exit(99)
code = os.waitstatus_to_exitcode(status)
sys.exit(code if code >= 0 else 128 - code)
