"""A PDF page as plain data: characters and boxes in points, x to the right, y **down**, the text upright."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from twlocal.errors import TwlocalError

from .chars import Chars


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
    chars: Chars
    boxes: tuple[Box, ...] = ()
    turned: int = 0


class UnreadablePdf(TwlocalError):
    """A file that is not read: `reason` is `encrypted`, `damaged` or `rotated`. The callers make it a rejection."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"The PDF cannot be read ({reason}): {detail}")
        self.reason = reason
        self.detail = detail
