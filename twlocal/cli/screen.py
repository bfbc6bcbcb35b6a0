"""Where live pages go: a block that is drawn anew on a terminal, plain lines elsewhere."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from typing import TextIO

from twlocal.cli.common import note, width
from twlocal.queues.pages import Look
from twlocal.report.table import clip, columns

DRAW_SECONDS = 1.0


def look(stream: TextIO, lang: str) -> Look:
    """How pages look on this stream."""
    return Look(max(width(stream), 40), lang, stream.encoding or "ascii")


class Block:
    """Lines at the end of a terminal that are replaced by newer ones. Notes scroll by above them."""

    def __init__(self, stream: TextIO) -> None:
        self._stream, self._rows = stream, 0

    def draw(self, lines: Sequence[str]) -> None:
        """Replace what stands there; what has no room is left out, the end of it."""
        wide, high = self._size()
        shown = [clip(line, wide - 1) for line in lines][: max(high - 1, 1)]
        self._write(self._cleared() + "".join(f"{line}\n" for line in shown))
        # A line that the terminal breaks takes several rows; clipped ones never do.
        self._rows = sum(max(1, -(-columns(line) // wide)) for line in shown)

    def say(self, line: str) -> None:
        """A line that stays, above the block."""
        self._write(self._cleared())
        self._rows = 0
        note(line)

    def clear(self) -> None:
        """Take the block away."""
        self._write(self._cleared())
        self._rows = 0

    def _cleared(self) -> str:
        return f"\x1b[{self._rows}A\r\x1b[J" if self._rows else ""

    def _size(self) -> tuple[int, int]:
        try:
            size = os.get_terminal_size(self._stream.fileno())
        except OSError:
            return 80, 24
        return size.columns or 80, size.lines or 24

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except OSError:
            pass  # the terminal was closed; the work goes on


class Screen:
    """Progress of a queue on a stream: a block on a terminal, a page's lines every so often elsewhere.

    page: the block as it is now. lines: what a log hears.
    """

    def __init__(
        self,
        stream: TextIO,
        page: Callable[[], Sequence[str]],
        lines: Callable[[], Sequence[str]],
        *,
        every: float,
        quiet: bool,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._block = Block(stream) if stream.isatty() and os.environ.get("TERM") != "dumb" and not quiet else None
        self._page, self._lines, self._every, self._quiet, self._clock = page, lines, every, quiet, clock
        self._told = clock()
        self._said: Sequence[str] = ()

    def note(self, line: str) -> None:
        """A line that stays."""
        if self._block is not None:
            self._block.say(line)
        else:
            note(line)

    def tick(self) -> None:
        """Draw or tell again, if it is time."""
        if self._quiet or self._clock() - self._told < (DRAW_SECONDS if self._block is not None else self._every):
            return
        self._told = self._clock()
        if self._block is not None:
            self._block.draw(self._page())
        else:
            lines = self._lines()
            for line in lines:
                if line not in self._said:  # a log does not get longer by what stands still
                    note(line)
            self._said = lines

    def close(self) -> None:
        """Take the block away."""
        if self._block is not None:
            self._block.clear()


def is_terminal(stream: TextIO | None = None) -> bool:
    """Whether live pages can be drawn on it."""
    return (stream or sys.stdout).isatty() and os.environ.get("TERM") != "dumb"
