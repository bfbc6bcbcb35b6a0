"""One visual line of a page, and the joining of several to a paragraph."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import sub

from .glyphs import is_wide


@dataclass  # not frozen, which would take four times as long, for a thing of which a paper has hundreds
class Line:
    """One visual line. `page` counts from 1; measures are points, y down.

    Its characters are sorted by x. Each is one or more code points of `text`, from `offsets` on, after a space where
    one belongs; `starts` and `ends` are where it begins and ends on the page, `spaces` as in `Char`, one entry a
    character. A blank to be filled in is one character.
    `baseline`, `top` and `bottom` are those of the full-size characters: a superscript does not move them. No gap
    between two neighbours is wider than `widest`.
    """

    page: int
    text: str
    offsets: Sequence[int]
    starts: Sequence[float]
    ends: Sequence[float]
    spaces: Sequence[int]
    baseline: float
    size: float
    top: float
    bottom: float
    widest: float

    def __len__(self) -> int:
        """How many characters."""
        return len(self.starts)

    @property
    def x0(self) -> float:
        return self.starts[0]

    @property
    def x1(self) -> float:
        return self.ends[-1]

    def char_at(self, offset: int) -> int:
        """The index of the character that `text[offset]` came from."""
        return bisect_right(self.offsets, offset) - 1

    def gap(self, k: int) -> float:
        """How far character `k` is from the one before it, in points."""
        return self.starts[k] - self.ends[k - 1]

    def stretches(self, em: float) -> list[tuple[int, int]]:
        """First and last character (excluded) of the stretches between which nothing stands for `em` or more."""
        wide = em * self.size
        if self.widest < wide:  # most lines
            return [(0, len(self.starts))]
        cuts = [k for k, gap in enumerate(map(sub, self.starts[1:], self.ends), 1) if gap >= wide]
        return list(zip([0, *cuts], [*cuts, len(self)], strict=True))

    def spaced(self, k: int) -> bool:
        """Whether a space stands before character `k`."""
        return self.text[self.offsets[k]] == " "

    def slice(self, start: int, stop: int | None = None) -> str:
        """The text of characters `start` to `stop`, trimmed."""
        count = len(self.starts)
        if start >= count:
            return ""
        end = None if stop is None or stop >= count else self.offsets[stop]
        return self.text[self.offsets[start] : end].strip()

    def part(self, start: int, stop: int | None = None) -> Line:
        """The line of characters `start` to `stop` (at least one)."""
        stop = len(self) if stop is None else stop
        begin = self.offsets[start] + self.spaced(start)
        return Line(
            self.page,
            self.text[begin : None if stop == len(self) else self.offsets[stop]],
            [0, *(offset - begin for offset in self.offsets[start + 1 : stop])],
            self.starts[start:stop],
            self.ends[start:stop],
            self.spaces[start:stop],
            self.baseline,
            self.size,
            self.top,
            self.bottom,
            self.widest,
        )


def join(parts: Iterable[str]) -> str:
    """Lines of one paragraph joined: a space between Latin words only, none after a hyphen."""
    text = ""
    for part in parts:
        part = part.strip()
        if not part:
            continue
        if text and _latin_end(text[-1]) and _latin_start(part[0]):
            text += " "
        text += part
    return text


def _latin_end(char: str) -> bool:
    return not is_wide(char) and char not in "-–—/(（[“‘"


def _latin_start(char: str) -> bool:
    return not is_wide(char) and char not in ",.;:!?)]”’%"
