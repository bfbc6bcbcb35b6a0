"""Pausing Python's collector of cyclic garbage while many objects are made that are not cyclic."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def paused() -> Iterator[None]:
    """No garbage collection meanwhile: walking a quarter of a million new items over and over doubles the time.

    May be nested; the outermost block switches it back on, if it was on before.
    """
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()
