"""Characters → visual lines, in reading order of one column, with the spaces and blanks that the eye sees.

A thin rule with nothing above it is a blank to be filled in.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from operator import attrgetter, sub

import numpy as np

from .chars import DRAWN_GAP, NO_SPACE, REAL_SPACE, Array, Chars, as_codes, as_text, em_box
from .glyphs import BLANK, MARKERS, are_wide, is_wide, read_private
from .order import reading_order
from .page import Box, Page

# All in em, that is, in parts of the character's size.
_WORD_GAP = 0.16  # a gap between Latin characters that is a space
_LEAST_GAP = 0.01  # … if pdfium takes it for one
_STEP_GAP = 0.1  # … where the type changes its size
_SAME_SIZE = 0.85  # how much smaller than its neighbour a character of the same size may be
_WIDE_GAP = 0.75  # a gap that is a space between any characters


@dataclass  # not frozen, which would take four times as long, for a thing of which a paper has hundreds
class Line:
    """One visual line. `page` counts from 1; measures are points, y down.

    Its characters are sorted by x. Each is one or more code points of `text`, from `offsets` on, after a space where
    one belongs; `starts` and `ends` are where it begins and ends on the page, `sizes` and `spaces` as in `Char`, one
    entry a character. `fonts` names those of private-use characters, by their place.
    `baseline`, `top` and `bottom` are those of the full-size characters: a superscript does not move them. No gap
    between two neighbours is wider than `widest`.
    """

    page: int
    text: str
    offsets: Sequence[int]
    starts: Sequence[float]
    ends: Sequence[float]
    sizes: Sequence[float]
    spaces: Sequence[int]
    fonts: dict[int, str]
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

    @property
    def texts(self) -> list[str]:
        """The characters one by one, without the spaces between them."""
        return [self.text[a:b].removeprefix(" ") for a, b in pairwise((*self.offsets, len(self.text)))]

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
            self.sizes[start:stop],
            self.spaces[start:stop],
            {k - start: font for k, font in self.fonts.items() if start <= k < stop},
            self.baseline,
            self.size,
            self.top,
            self.bottom,
            self.widest,
        )


def _needs_space(last: Array, first: Array, x0: Array, x1: Array, size: Array, space: Array) -> Array:
    """Whether a space stands before each character but the first, for characters sorted by x.

    `last` and `first` are the code points with which the texts end and begin.
    """
    gap, small, large = x0[1:] - x1[:-1], np.minimum(size[:-1], size[1:]), np.maximum(size[:-1], size[1:])
    # pdfium also takes the step to a superscript for a gap, and the way back to where fake bold is drawn again.
    least = np.where(small > _SAME_SIZE * large, _LEAST_GAP, _STEP_GAP) * small
    drawn = (space[1:] == DRAWN_GAP) & (gap > least)
    # The quarter of an em between CJK and Latin is typography, not a character.
    narrow = ~(are_wide(last[:-1]) | are_wide(first[1:])) & (drawn | (gap > _WORD_GAP * small))
    needed: Array = (space[1:] == REAL_SPACE) | (gap >= _WIDE_GAP * small) | narrow
    return needed


def page_lines(pages: Sequence[Page]) -> list[list[Line]]:
    """The lines of each page from top to bottom, blanks restored, known private-use characters read.

    Of all pages in one go: what a call of numpy costs is more than its work for a page.
    """
    found = _lines(pages)
    for k, page in enumerate(pages):
        if blanks := _blanks(page.boxes):
            found[k] = _with_blanks(found[k], blanks)
        if page.chars.fonts:
            found[k] = [_read_private(line) for line in found[k]]
    return found


def _lines(pages: Sequence[Page]) -> list[list[Line]]:
    """The lines of each page as they are drawn."""
    found: list[list[Line]] = [[] for _ in pages]
    chars, page = Chars.joined([page.chars for page in pages])
    order, row = reading_order(chars, page)
    if not len(order):
        return found
    codes, x0, x1, space = chars.codes[order], chars.x0[order], chars.x1[order], chars.space[order]
    level = chars.level[order]
    size = chars.levels[level, 1]
    follows: Array = row[1:] == row[:-1]  # whether each stands on the row of the one before
    begins = np.concatenate(([0], np.flatnonzero(~follows) + 1))
    largest = np.maximum.reduceat(size, begins)
    full = np.flatnonzero(size > 0.9 * largest[row])
    # The first character of full size in each row: its line stands where it stands.
    baseline, em = chars.levels[level[full[np.searchsorted(full, begins)]]].T
    spaced: Array = np.zeros(len(order), dtype=np.intp)
    spaced[1:] = _needs_space(codes, codes, x0, x1, size, space) & follows
    offset = np.cumsum(spaced) + np.arange(len(order))
    letters: Array = np.full(len(order) + spaced.sum(), 0x20, dtype=np.uint32)
    letters[offset] = codes
    text = as_text(letters)
    offset -= spaced  # a character's space is its own
    fonts = _fonts_by_row(chars, order, row, begins)
    # Views: most characters are never looked at one by one.
    offsets = memoryview(offset - offset[begins][row])
    starts, ends, sizes, spaces = memoryview(x0), memoryview(x1), memoryview(size), memoryview(space)
    stops, texts = begins.tolist(), offset[begins].tolist()
    stretches = zip(stops, [*stops[1:], len(order)], texts, [*texts[1:], len(text)], strict=True)
    gaps = np.concatenate(([0.0], np.where(follows, x0[1:] - x1[:-1], 0.0)))
    widest = np.maximum.reduceat(gaps, begins)
    columns = (baseline, largest, *em_box(baseline, em), widest)
    measures = zip(*(column.tolist() for column in columns), strict=True)
    whose = page[level[begins]].tolist()
    for r, (k, (a, b, c, d), measured) in enumerate(zip(whose, stretches, measures, strict=True)):
        line = Line(
            pages[k].number,
            text[c:d],
            offsets[a:b],
            starts[a:b],
            ends[a:b],
            sizes[a:b],
            spaces[a:b],
            fonts.get(r, {}),
            *measured,
        )
        found[k].append(line)
    return found


def _fonts_by_row(chars: Chars, order: Array, row: Array, begins: Array) -> dict[int, dict[int, str]]:
    """The fonts' names of each row that has any, by the characters' places in the row."""
    found: dict[int, dict[int, str]] = {}
    if chars.fonts:
        named: Array = np.zeros(len(chars), dtype=bool)
        named[[*chars.fonts]] = True
        at = np.flatnonzero(named[order])
        for k, place, r, begin in zip(*(c.tolist() for c in (at, order[at], row[at], begins[row[at]])), strict=True):
            found.setdefault(r, {})[k - begin] = chars.fonts[place]
    return found


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
    spans = zip(line.starts, line.ends, strict=True)
    over = [(x0, x1) for x0, x1 in spans if x1 > rule.x0 + 1 and x0 < rule.x1 - 1]
    edges = [rule.x0, *(edge for span in over for edge in span), rule.x1]
    stretches = zip(edges[::2], edges[1::2], strict=True)
    return [(a, b) for a, b in stretches if b - a >= (1.2 if not over else 2.0) * line.size]


def _insert_blank(line: Line, x0: float, x1: float) -> Line:
    at, texts = sum(start < x0 for start in line.starts), line.texts
    # The gap that the blank fills was read as a space; what is left of it is measured anew.
    after = [NO_SPACE, *line.spaces[at + 1 :]] if at < len(line) else []
    moved = replace(
        line,
        starts=[*line.starts[:at], x0, *line.starts[at:]],
        ends=[*line.ends[:at], x1, *line.ends[at:]],
        sizes=[*line.sizes[:at], line.size, *line.sizes[at:]],
        spaces=[*line.spaces[:at], NO_SPACE, *after],
        fonts={k + (k >= at): font for k, font in line.fonts.items()},
    )
    return _with_texts(moved, [*texts[:at], BLANK, *texts[at:]])


def _read_private(line: Line) -> Line:
    if not line.fonts:
        return line
    drawn = ["", *line.texts, ""]
    texts = list(drawn)
    for k, font in line.fonts.items():
        if (char := texts[k + 1]) not in MARKERS:
            texts[k + 1] = read_private(char, font, texts[k], texts[k + 2]) or char
    return _with_texts(line, texts[1:-1]) if texts != drawn else line


def _with_texts(line: Line, texts: Sequence[str]) -> Line:
    """The line with its characters, of which there are as many as before, written as `texts`."""
    lasts, firsts = (as_codes("".join(text[at] for text in texts)) for at in (-1, 0))
    columns = (np.array(column) for column in (line.starts, line.ends, line.sizes, line.spaces))
    spaced = [False, *_needs_space(lasts, firsts, *columns).tolist()]
    pieces = [" " * space + text for space, text in zip(spaced, texts, strict=True)]
    return replace(line, text="".join(pieces), offsets=[0, *accumulate(map(len, pieces[:-1]))])


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
