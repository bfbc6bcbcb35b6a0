"""Pictures, drawings and tables, noticed by where they stand, whether or not the text points at them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from .page import Box, Page

_MIN = 18.0  # points: smaller images are signs of the text (numbers, marks, characters)


class Band(NamedTuple):
    """A horizontal stretch of a page, in points from its top."""

    page: int
    top: float
    bottom: float


def figures(bands: Iterable[Band], pages: dict[int, Page]) -> tuple[str, ...]:
    """What stands in the bands besides text: `figure` (image), `drawing` (lines, shapes), `table` (a ruled grid)."""
    seen: list[str] = []
    for band in bands:
        page = pages[band.page]
        inside = [b for b in page.boxes if band.top - 2 <= (b.top + b.bottom) / 2 < band.bottom and not _paper(b, page)]
        seen += _kinds(inside) if inside else []
    return tuple(dict.fromkeys(seen))


def _paper(box: Box, page: Page) -> bool:
    """A background, not a figure."""
    return box.width > 0.8 * page.width and box.height > 0.6 * page.height


def _kinds(boxes: Sequence[Box]) -> list[str]:
    kinds: list[str] = []
    if any(b.kind == "image" and b.width >= _MIN and b.height >= _MIN for b in boxes):
        kinds.append("figure")
    shapes = [b for b in boxes if b.kind == "drawing" and max(b.width, b.height) >= _MIN / 2]
    posts = [b for b in boxes if b.kind == "rule" and b.height > b.width and b.height > 8]
    bars = [b for b in boxes if b.kind == "rule" and b.width >= b.height and b.width > 8]
    if len(posts) >= 2 and len(bars) >= 2:
        kinds.append("table")
    elif shapes or posts:
        kinds.append("drawing")
    return kinds
