"""What is left of a process that was killed: run beside it, waits for its end, and clears up.

    python reaper.py FOLDER [GROUP]    GROUP: a process group that is killed, FOLDER: removed, once standard input ends

Ray's own helpers see the end of what they belong to too late, or not at all. It is run as a file, by a bare Python.
"""

import contextlib
import os
import shutil
import signal
import sys
import time
from pathlib import Path

_TIRED_SECONDS = 5.0  # processes that are dying may still write


def main(folder: str, group: int | None) -> None:
    """Wait until nobody holds the other end of standard input, then clear up."""
    sys.stdin.buffer.read()
    end = time.monotonic() + _TIRED_SECONDS
    while time.monotonic() < end:
        if group is not None:
            with contextlib.suppress(OSError):
                os.killpg(group, signal.SIGKILL)
        shutil.rmtree(folder, ignore_errors=True)
        time.sleep(0.2)
        if not Path(folder).exists():
            return


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else None)
