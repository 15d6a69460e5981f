"""The `qkvet` command: the binary that lies in the wheel, with this Python for targets that are written in it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

__all__ = ["main"]


def main() -> int:
    """Becomes the binary; on Windows, where a process cannot, waits for it and gives its exit code."""
    binary = Path(__file__).parent / "bin" / ("qkvet.exe" if os.name == "nt" else "qkvet")
    if not binary.is_file():
        print(
            f"command at {binary}: expected the binary of the command line, got none\n"
            "hint: `cargo xtask wheel` builds a wheel that has it",
            file=sys.stderr,
        )
        return 2
    environment = {"QKVET_PYTHON": sys.executable, **os.environ}
    command = [str(binary), *sys.argv[1:]]
    if os.name != "nt":
        os.execve(binary, command, environment)
    import subprocess

    return subprocess.run(command, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
