"""Characters → visual lines, in reading order of one column.

The text stream's order is not trusted: lines are found by baseline and read by x. Fake bold (a character drawn twice, a
fraction of a point apart) is read once; superscripts and subscripts stay on the line they belong to; a thin rule with
nothing above it is a blank to be filled in.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, groupby, pairwise
from operator import attrgetter, itemgetter, sub

from .glyphs import BLANK, MARKERS, is_wide, read_private
from .page import DRAWN_GAP, NO_SPACE, REAL_SPACE, Box, Char, Page

# All in em, that is, in parts of the character's size.
_SAME_LINE = 0.22  # how far apart the baselines of one line may be
_SAME_ROW = 0.6  # … of a superscript, or of text set a little off, when nothing overlaps
_TWICE = 0.2  # fake bold: how far apart the two copies may be
_TOUCH = 0.08  # how far the boxes of neighbours overlap by kerning
_WORD_GAP = 0.16  # a gap between Latin characters that is a space
_UNSEEN = 2.0  # points: Word leaves characters in its files that are too small to be seen
_WIDE_GAP = 0.75  # a gap that is a space between any characters


@dataclass(frozen=True)
class Line:
    """One visual line. `page` counts from 1; `chars` are sorted by x; measures are points, y down.

    `baseline`, `top` and `bottom` are those of the full-size characters: a superscript does not move them.
    """

    page: int
    chars: tuple[Char, ...]
    baseline: float
    size: float
    top: float
    bottom: float

    @property
    def x0(self) -> float:
        return self.chars[0].x0

    @property
    def x1(self) -> float:
        return self.chars[-1].x1

    @cached_property
    def pieces(self) -> list[str]:
        """The text character by character, a space in front of those that need one."""
        chars = self.chars
        texts, starts, ends, _, sizes, spaces, _ = zip(*chars, strict=True)
        pieces = list(texts)
        # Most characters follow closely on the one before: only the others are looked at.
        close = _WORD_GAP * min(sizes)
        for k, gap in enumerate(map(sub, starts[1:], ends), 1):
            if (gap >= close or spaces[k]) and _spaced(chars[k - 1], chars[k]):
                pieces[k] = " " + pieces[k]
        return pieces

    @cached_property
    def text(self) -> str:
        return "".join(self.pieces)

    @cached_property
    def _ends(self) -> list[int]:
        return list(accumulate(map(len, self.pieces)))

    def char_at(self, offset: int) -> int:
        """The index of the character that `text[offset]` came from."""
        return bisect_right(self._ends, offset)

    def slice(self, start: int, stop: int | None = None) -> str:
        """The text of `chars[start:stop]`, trimmed."""
        return "".join(self.pieces[start:stop]).strip()

    def part(self, start: int, stop: int | None = None) -> Line:
        """The line of `chars[start:stop]` (at least one character)."""
        return replace(self, chars=self.chars[start:stop])


def _spaced(left: Char, right: Char) -> bool:
    gap, size = right.x0 - left.x1, min(left.size, right.size)
    if right.space == REAL_SPACE:
        return True
    if gap < _WIDE_GAP * size:
        if is_wide(left.text[-1]) or is_wide(right.text[0]):
            return False  # the quarter of an em between CJK and Latin is typography, not a character
        return right.space == DRAWN_GAP or gap > _WORD_GAP * size
    return True


def page_lines(page: Page) -> list[Line]:
    """The lines of a page from top to bottom, blanks restored, known private-use characters read."""
    rows = _rows(page.chars)
    blanks = _blanks(page.boxes)
    lines: list[Line] = []
    for row in rows:
        row.sort(key=itemgetter(1))
        if _overlap(row):
            # Boxes overlap. In condensed type they are wider than the pitch, and their left edges may change places.
            row.sort(key=_middle)
            row = _once(row)
        size = max(map(itemgetter(4), row))
        main = next(c for c in row if c[4] > 0.9 * size)
        lines.append(Line(page.number, tuple(row), main.baseline, size, main.top, main.bottom))
    if blanks:
        lines = _with_blanks(lines, blanks)
    return [_read_private(line) for line in lines] if any(map(itemgetter(6), page.chars)) else lines


def _overlap(row: Sequence[Char]) -> bool:
    """Whether neighbours of a row sorted by x overlap by more than kerning makes them."""
    _, starts, ends, _, sizes, _, _ = zip(*row, strict=True)
    deepest = min(map(sub, starts[1:], ends), default=0.0)
    if deepest >= -_TOUCH * min(sizes):
        return False  # most rows, without a look at every pair
    return any(right[1] - left[2] < -_TOUCH * right[4] for left, right in pairwise(row))


def _middle(char: Char) -> float:
    return char[1] + char[2]


def _rows(chars: Iterable[Char]) -> list[list[Char]]:
    """Characters grouped by baseline, then rows that lie in one another's height and do not overlap joined."""
    rows: list[list[Char]] = []
    base = size = 0.0
    # Characters that follow one another in the stream on one baseline and in one size go the same way: a run at a time.
    runs = [(place, list(run)) for place, run in groupby(chars, key=itemgetter(3, 4))]
    for (baseline, own), run in sorted(runs, key=lambda one: one[0][0]):
        if own < _UNSEEN:
            continue
        if rows and baseline - base <= _SAME_LINE * (own if own < size else size):
            rows[-1] += run
        else:
            rows.append(run)
            base, size = baseline, own
    joined: list[list[Char]] = []
    for row in rows:
        if joined and _one_row(joined[-1], row):
            joined[-1] += row
        else:
            joined.append(row)
    return joined


def _one_row(upper: list[Char], lower: list[Char]) -> bool:
    if lower[0][3] - upper[0][3] > 2 * _SAME_ROW * max(upper[0][4], lower[0][4]):
        return False  # most lines, without looking at every character
    size = max(max(c[4] for c in upper), max(c[4] for c in lower))
    if lower[0].baseline - upper[0].baseline > _SAME_ROW * size:
        return False
    small, large = (upper, lower) if len(upper) < len(lower) else (lower, upper)
    spans = sorted((c.x0, c.x1) for c in large)
    starts = [x0 for x0, _ in spans]
    for char in small:
        middle = (char.x0 + char.x1) / 2
        k = bisect_right(starts, middle) - 1
        if k >= 0 and spans[k][1] > middle:
            return False
    return True


def _once(row: list[Char]) -> list[Char]:
    """A row sorted by x without second copies. 媽媽 stays: its characters are a whole advance width apart."""
    kept: list[Char] = []
    seen: set[str] = set()
    for char in row:
        text = char[0]
        if text in seen:
            x0 = char[1]
            near = min(_TWICE * char[4], 0.5 * (char[2] - x0) + 0.01)
            if any(other[0] == text and x0 - other[1] < near for other in kept[-3:]):
                continue
        else:
            seen.add(text)
        kept.append(char)
    return kept


def _blanks(boxes: Sequence[Box]) -> list[Box]:
    """Horizontal rules that could be blanks: joined when they touch, without those that are part of a frame."""
    flat = [b for b in boxes if b.kind == "rule" and b.width > b.height and b.width > 3]
    posts = [b for b in boxes if b.kind == "rule" and b.height > b.width and b.height > 6]
    joined: list[Box] = []
    for box in sorted(flat, key=attrgetter("top", "x0")):
        last = joined[-1] if joined else None
        if last and abs(last.top - box.top) < 1 and box.x0 - last.x1 < 1:
            joined[-1] = last._replace(x1=max(last.x1, box.x1), x0=min(last.x0, box.x0))
        else:
            joined.append(box)
    return [
        b
        for b in joined
        if not any(p.top - 2 < b.top < p.bottom + 2 and (abs(p.x0 - b.x0) < 3 or abs(p.x1 - b.x1) < 3) for p in posts)
    ]


def _with_blanks(lines: list[Line], rules: list[Box]) -> list[Line]:
    out = list(lines)
    baselines = [line.baseline for line in lines]
    for rule in rules:
        # The line whose baseline lies just above the rule: at most half an em, or a little below it.
        k = bisect_right(baselines, rule.bottom + 2) - 1
        if k < 0:
            continue
        line = out[k]
        if rule.top - line.baseline > 0.5 * line.size:
            continue
        for x0, x1 in _free(line, rule):
            out[k] = line = _insert_blank(line, x0, x1)
    return out


def _free(line: Line, rule: Box) -> list[tuple[float, float]]:
    """The stretches of a rule that no character stands on, if long enough to be a blank."""
    over = [c for c in line.chars if c.x1 > rule.x0 + 1 and c.x0 < rule.x1 - 1]
    edges = [rule.x0, *(edge for c in over for edge in (c.x0, c.x1)), rule.x1]
    stretches = zip(edges[::2], edges[1::2], strict=True)
    return [(a, b) for a, b in stretches if b - a >= (1.2 if not over else 2.0) * line.size]


def _insert_blank(line: Line, x0: float, x1: float) -> Line:
    blank = Char(BLANK, x0, x1, line.baseline, line.size)
    before = [c for c in line.chars if c.x0 < x0]
    after = [c for c in line.chars if c.x0 >= x0]
    if after:
        # The gap that the blank fills was read as a space; what is left of it is measured anew.
        after[0] = after[0]._replace(space=NO_SPACE)
    return replace(line, chars=(*before, blank, *after))


def _read_private(line: Line) -> Line:
    if not any(map(itemgetter(6), line.chars)):
        return line
    chars = list(line.chars)
    read = False
    for k, char in enumerate(chars):
        if char.font and char.text not in MARKERS:
            before = chars[k - 1].text if k else ""
            after = chars[k + 1].text if k + 1 < len(chars) else ""
            if text := read_private(char.text, char.font, before, after):
                chars[k] = char._replace(text=text)
                read = True
    return replace(line, chars=tuple(chars)) if read else line


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
