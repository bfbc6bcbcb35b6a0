"""Characters of a page: one by one as `Char`, or all of them in columns as `Chars`.

A paper has ten thousand characters. In columns, one call of numpy does for a page what would be a thousand turns of
Python's own loop.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, NamedTuple, TypeAlias

import numpy as np

Array: TypeAlias = Any  # of numpy, whose types mypy is not shown

NO_SPACE, DRAWN_GAP, REAL_SPACE = 0, 1, 2


class Char(NamedTuple):
    """One character, or what one stands for.

    `x0` and `x1` bound the advance width, `size` is the size in points at which it is drawn. `space` says what stands
    before it in the text stream: nothing, a gap that pdfium took for a space, or a real space character. `font` is
    filled in for private-use characters only, option marks excepted.
    """

    text: str
    x0: float
    x1: float
    baseline: float
    size: float
    space: int = NO_SPACE
    font: str = ""

    @property
    def middle(self) -> float:
        """The height of its middle."""
        top, bottom = em_box(self.baseline, self.size)
        middle: float = (top + bottom) / 2
        return middle


def middles(chars: Chars) -> Array:
    """The heights of the characters' middles, as `Char.middle`."""
    top, bottom = em_box(*chars.levels.T)
    return ((top + bottom) / 2)[chars.level]


def em_box(baseline: Any, size: Any) -> tuple[Any, Any]:
    """Top and bottom, of numbers or of arrays.

    Not what the font says its ascent is: that differs between the fonts of one line.
    """
    return baseline - 0.85 * size, baseline + 0.15 * size


@dataclass(frozen=True, eq=False)
class Chars:
    """Characters in columns, in the text stream's order; `list(chars)` is a list of `Char`.

    `codes` (uint32), `x0`, `x1` (float64, points), `space` (uint8) and `level` (integers) have one entry a character.
    `level` is a row of `levels`, which holds baselines and sizes, `(levels, 2)`, in the order of their first
    characters; `fonts` maps places of characters to names.
    """

    codes: Array
    x0: Array
    x1: Array
    level: Array
    levels: Array
    space: Array
    fonts: Mapping[int, str] = field(default_factory=dict)

    @classmethod
    def of(cls, chars: Iterable[Char]) -> Chars:
        """The columns of single characters, of one code point each."""
        found = list(chars)
        levels: dict[tuple[float, float], int] = {}
        level = [levels.setdefault((c.baseline, c.size), len(levels)) for c in found]
        return cls(
            codes=np.array([ord(c.text) for c in found], dtype=np.uint32),
            x0=np.array([c.x0 for c in found], dtype=np.float64),
            x1=np.array([c.x1 for c in found], dtype=np.float64),
            level=np.array(level, dtype=np.intp),
            levels=np.array([*levels], dtype=np.float64).reshape(-1, 2),
            space=np.array([c.space for c in found], dtype=np.uint8),
            fonts={k: c.font for k, c in enumerate(found) if c.font},
        )

    @classmethod
    def joined(cls, pages: Sequence[Chars]) -> tuple[Chars, Array]:
        """The columns of several pages one after the other, and of each level the place of its page among them."""
        page: Array = np.repeat(np.arange(len(pages)), [len(chars.levels) for chars in pages])
        if len(pages) == 1:
            return pages[0], page
        firsts = accumulate((len(chars.levels) for chars in pages), initial=0)
        places = accumulate(map(len, pages), initial=0)
        whole = cls(
            codes=np.concatenate([chars.codes for chars in pages]),
            x0=np.concatenate([chars.x0 for chars in pages]),
            x1=np.concatenate([chars.x1 for chars in pages]),
            level=np.concatenate([chars.level + first for chars, first in zip(pages, firsts, strict=False)]),
            levels=np.concatenate([chars.levels for chars in pages]),
            space=np.concatenate([chars.space for chars in pages]),
            fonts={at + k: font for chars, at in zip(pages, places, strict=False) for k, font in chars.fonts.items()},
        )
        return whole, page

    def __len__(self) -> int:
        return len(self.codes)

    def __iter__(self) -> Iterator[Char]:
        columns = (self.x0.tolist(), self.x1.tolist(), self.level.tolist(), self.space.tolist())
        levels = self.levels.tolist()
        for k, (text, x0, x1, level, space) in enumerate(zip(as_text(self.codes), *columns, strict=True)):
            baseline, size = levels[level]
            yield Char(text, x0, x1, baseline, size, space, self.fonts.get(k, ""))


NO_CHARS = Chars.of(())


def begins(column: Array) -> Array:
    """Where each run of equal values begins in a column that has at least one."""
    found: Array = np.flatnonzero(np.concatenate(([True], column[1:] != column[:-1])))
    return found


def as_text(codes: Array) -> str:
    """Code points as a string with one character each."""
    return bytes(codes.astype("<u4", copy=False)).decode("utf-32-le")


def as_codes(text: str) -> Array:
    """A string as code points."""
    return np.frombuffer(text.encode("utf-32-le"), dtype="<u4")
