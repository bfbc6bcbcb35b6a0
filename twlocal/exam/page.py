"""A PDF page as plain data: characters and boxes in points, x to the right, y **down**, the text upright."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from twlocal.errors import TwlocalError

NO_SPACE, DRAWN_GAP, REAL_SPACE = 0, 1, 2


class Char(NamedTuple):
    """One character. A tuple and not a dataclass, because a paper has ten thousand of them.

    `x0` and `x1` bound the advance width, `size` is the size in points at which it is drawn. `space` says what stands
    before it in the text stream: nothing, a gap that pdfium took for a space, or a real space character. `font` is
    filled in for private-use characters only.
    """

    text: str
    x0: float
    x1: float
    baseline: float
    size: float
    space: int = NO_SPACE
    font: str = ""

    # The em box, not what the font says its ascent is: that differs between the fonts of one line.
    @property
    def top(self) -> float:
        return self.baseline - 0.85 * self.size

    @property
    def bottom(self) -> float:
        return self.baseline + 0.15 * self.size


class Box(NamedTuple):
    """Something drawn that is not text. `kind`: `image`, `rule` (a thin horizontal or vertical line) or `drawing`.

    `pixels` is the width and height of an image's source.
    """

    kind: str
    x0: float
    x1: float
    top: float
    bottom: float
    pixels: tuple[int, int] = (0, 0)

    @property
    def width(self) -> float:
        return self.x1 - self.x0

    @property
    def height(self) -> float:
        return self.bottom - self.top


@dataclass(frozen=True)
class Page:
    """One page: `number` counts from 1, sizes are in points, `turned` is by how many degrees the text was turned."""

    number: int
    width: float
    height: float
    chars: tuple[Char, ...]
    boxes: tuple[Box, ...] = ()
    turned: int = 0


class UnreadablePdf(TwlocalError):
    """A file that is not read: `reason` is `encrypted`, `damaged` or `rotated`. The callers make it a rejection."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"The PDF cannot be read ({reason}): {detail}")
        self.reason = reason
        self.detail = detail
