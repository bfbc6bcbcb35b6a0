"""Characters → visual lines, in reading order of one column, with the spaces and blanks that the eye sees.

All pages of a file are composed in one go: what a call of numpy costs is more than its work for a page.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .blanks import Span, blanks
from .chars import DRAWN_GAP, NO_SPACE, REAL_SPACE, Array, Chars, as_codes, as_text, begins, em_box
from .glyphs import BLANK, MARKERS, are_wide, read_private
from .lines import Line
from .order import reading_order
from .page import Page

# All in em, that is, in parts of the character's size.
_WORD_GAP = 0.16  # a gap between Latin characters that is a space
_LEAST_GAP = 0.01  # … if pdfium takes it for one
_STEP_GAP = 0.1  # … where the type changes its size
_SAME_SIZE = 0.85  # how much smaller than its neighbour a character of the same size may be
_WIDE_GAP = 0.75  # a gap that is a space between any characters


@dataclass(frozen=True)
class _Rows:
    """The rows of a file: of each the place of its page, baseline, largest size, top and bottom, in points."""

    page: Array
    baseline: Array
    size: Array
    top: Array
    bottom: Array


@dataclass(frozen=True)
class _Set:
    """Characters in reading order, in columns as those of `Chars`, and of each the place of its row.

    `fonts` names those of private-use characters; `texts` holds what is written for a character that is not written
    as its code point.
    """

    row: Array
    codes: Array
    x0: Array
    x1: Array
    size: Array
    space: Array
    fonts: dict[int, str]
    texts: dict[int, str]


def page_lines(pages: Sequence[Page]) -> list[list[Line]]:
    """The lines of each page from top to bottom, blanks restored, known private-use characters read."""
    found: list[list[Line]] = [[] for _ in pages]
    chars, page_of_level = Chars.joined([page.chars for page in pages])
    order, row = reading_order(chars, page_of_level)
    if not len(order):
        return found
    rows, drawn = _rows(chars, page_of_level, order, row)
    drawn = _with_blanks(pages, rows, drawn)
    if drawn.fonts:
        _read_private(drawn)
    for k, line in zip(rows.page.tolist(), _lines(pages, rows, drawn), strict=True):
        found[k].append(line)
    return found


def _rows(chars: Chars, page_of_level: Array, order: Array, row: Array) -> tuple[_Rows, _Set]:
    """The rows, and the characters as they are drawn."""
    level = chars.level[order]
    size = chars.levels[level, 1]
    firsts = begins(row)
    largest = np.maximum.reduceat(size, firsts)
    full = np.flatnonzero(size > 0.9 * largest[row])
    # The first character of full size in each row: its line stands where it stands.
    baseline, em = chars.levels[level[full[np.searchsorted(full, firsts)]]].T
    fonts: dict[int, str] = {}
    if chars.fonts:
        named: Array = np.zeros(len(chars), dtype=bool)
        named[[*chars.fonts]] = True
        fonts = {k: chars.fonts[order[k].item()] for k in np.flatnonzero(named[order]).tolist()}
    drawn = _Set(row, chars.codes[order], chars.x0[order], chars.x1[order], size, chars.space[order], fonts, {})
    return _Rows(page_of_level[level[firsts]], baseline, largest, *em_box(baseline, em)), drawn


def _with_blanks(pages: Sequence[Page], rows: _Rows, drawn: _Set) -> _Set:
    """The characters with the blanks among them."""
    stops = [*begins(drawn.row).tolist(), len(drawn.row)]
    baselines, sizes = rows.baseline.tolist(), rows.size.tolist()
    cuts: Array = np.searchsorted(rows.page, np.arange(len(pages) + 1))
    firsts = cuts.tolist()
    found: list[tuple[int, int, float, float]] = []  # the character before which one stands, its row, and its edges
    for page, first, end in zip(pages, firsts[:-1], firsts[1:], strict=True):

        def spans(k: int, first: int = first) -> list[Span]:
            own = slice(stops[first + k], stops[first + k + 1])
            return list(zip(drawn.x0[own].tolist(), drawn.x1[own].tolist(), strict=True))

        for k, left, right in blanks(page.boxes, baselines[first:end], sizes[first:end], spans):
            start, stop = stops[first + k], stops[first + k + 1]
            at = start + np.count_nonzero(drawn.x0[start:stop] < left)
            found.append((at, first + k, left, right))
    if not found:
        return drawn
    found.sort()
    places, of, lefts, rights = zip(*found, strict=True)
    before = np.array(places)
    # The gap that a blank fills was read as a space; what is left of it is measured anew.
    space = drawn.space.copy()
    after = before[before < np.array(stops)[np.array(of) + 1]]
    space[after] = NO_SPACE
    moved = {k + np.searchsorted(before, k, side="right").item(): font for k, font in drawn.fonts.items()}
    return _Set(
        row=np.insert(drawn.row, before, of),
        codes=np.insert(drawn.codes, before, ord(BLANK[0])),
        x0=np.insert(drawn.x0, before, lefts),
        x1=np.insert(drawn.x1, before, rights),
        size=np.insert(drawn.size, before, rows.size[[*of]]),
        space=np.insert(space, before, NO_SPACE),
        fonts=moved,
        texts={at + k: BLANK for k, at in enumerate(places)},
    )


def _read_private(drawn: _Set) -> None:
    """Adds to `texts` what the private-use characters stand for."""

    def beside(k: int, other: int) -> str:
        if not 0 <= other < len(drawn.row) or drawn.row[other] != drawn.row[k]:
            return ""
        return drawn.texts.get(other) or chr(drawn.codes[other])

    for k, font in drawn.fonts.items():
        if (char := chr(drawn.codes[k])) not in MARKERS and (
            text := read_private(char, font, beside(k, k - 1), beside(k, k + 1))
        ):
            drawn.texts[k] = text


def _lines(pages: Sequence[Page], rows: _Rows, drawn: _Set) -> list[Line]:
    text, offset = _written(drawn)
    row, x0, x1 = drawn.row, drawn.x0, drawn.x1
    firsts = begins(row)
    gap = np.concatenate(([0.0], x0[1:] - x1[:-1]))
    gap[firsts] = 0.0
    columns = (rows.baseline, rows.size, rows.top, rows.bottom, np.maximum.reduceat(gap, firsts))
    measures = zip(*(column.tolist() for column in columns), strict=True)
    # Views: most characters are never looked at one by one.
    offsets = memoryview(offset - offset[firsts][row])
    starts, ends, spaces = memoryview(x0), memoryview(x1), memoryview(drawn.space)
    stops, texts = firsts.tolist(), offset[firsts].tolist()
    stretches = zip(stops, [*stops[1:], len(row)], texts, [*texts[1:], len(text)], strict=True)
    numbers = [page.number for page in pages]
    return [
        Line(numbers[k], text[c:d], offsets[a:b], starts[a:b], ends[a:b], spaces[a:b], *measured)
        for k, (a, b, c, d), measured in zip(rows.page.tolist(), stretches, measures, strict=True)
    ]


def _written(drawn: _Set) -> tuple[str, Array]:
    """What is written, spaces included, and where in it each character begins, with the space before it."""
    first = last = drawn.codes
    spaced: Array = np.zeros(len(first), dtype=np.intp)
    width: Array = np.ones(len(first), dtype=np.intp)
    if drawn.texts:
        first, last = first.copy(), last.copy()
        for k, text in drawn.texts.items():
            first[k], last[k], width[k] = ord(text[0]), ord(text[-1]), len(text)
    spaced[1:] = _needs_space(first, last, drawn) & (drawn.row[1:] == drawn.row[:-1])
    width += spaced
    end = np.cumsum(width)
    begin = end - width
    letters: Array = np.full(end[-1], ord(" "), dtype=np.uint32)
    at = begin + spaced
    letters[at] = first
    for k, text in drawn.texts.items():
        letters[at[k] : at[k] + len(text)] = as_codes(text)
    return as_text(letters), begin


def _needs_space(first: Array, last: Array, drawn: _Set) -> Array:
    """Whether a space stands between each character and the next one, if both are on one row.

    `first` and `last` are the code points with which what is written for them begins and ends.
    """
    x0, x1, size, space = drawn.x0, drawn.x1, drawn.size, drawn.space
    gap, small, large = x0[1:] - x1[:-1], np.minimum(size[:-1], size[1:]), np.maximum(size[:-1], size[1:])
    # pdfium also takes the step to a superscript for a gap, and the way back to where fake bold is drawn again.
    least = np.where(small > _SAME_SIZE * large, _LEAST_GAP, _STEP_GAP) * small
    by_pdfium = (space[1:] == DRAWN_GAP) & (gap > least)
    # The quarter of an em between CJK and Latin is typography, not a character.
    narrow = ~(are_wide(last[:-1]) | are_wide(first[1:])) & (by_pdfium | (gap > _WORD_GAP * small))
    needed: Array = (space[1:] == REAL_SPACE) | (gap >= _WIDE_GAP * small) | narrow
    return needed
