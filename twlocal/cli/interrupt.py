"""Ctrl-C: once stops asking and stores what is in flight, twice stops now."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from twlocal.runner import Stop

EXIT_INTERRUPTED = 130


@contextmanager
def interruptible(stop: Stop, tell: Callable[[str], None]) -> Iterator[None]:
    """Within the block the first SIGINT or SIGTERM (or the terminal's end) asks the run to stop, the second ends the
    process. While an engine is being opened the first one raises KeyboardInterrupt: there is nothing to store.

    Everything that was told as answered is already committed, so ending at once loses only what is in flight.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def handle(number: int, frame: FrameType | None) -> None:
        if stop.requested.is_set():
            os._exit(EXIT_INTERRUPTED)
        stop.request()
        if stop.loading:
            raise KeyboardInterrupt
        # A signal may come in the middle of a line that is being written, and Python refuses to begin another then.
        with suppress(RuntimeError):
            tell("stopping: storing what is in flight, for up to a few seconds (Ctrl-C again stops now)")

    caught = [signal.SIGINT, signal.SIGTERM]
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # as `nohup` sets it
        caught.append(signal.SIGHUP)
    before = {number: signal.signal(number, handle) for number in caught}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
