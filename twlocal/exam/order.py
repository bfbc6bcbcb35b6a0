"""Characters in the order in which they are read: rows from top to bottom, each from left to right.

The text stream's order is not trusted: rows are found by baseline and read by x. Fake bold (a character drawn twice, a
fraction of a point apart) is read once; superscripts and subscripts stay on the row they belong to.
"""

from __future__ import annotations

import numpy as np

from .chars import Array, Chars

# All in em, that is, in parts of the character's size.
_SAME_LINE = 0.22  # how far apart the baselines of one line may be
_SAME_ROW = 0.6  # … of a superscript, or of text set a little off, when nothing overlaps
_TWICE = 0.2  # fake bold: how far apart the two copies may be
_BETWEEN = 3  # … how many characters there, in the same stretch of a row
_TOUCH = 0.08  # how far the boxes of neighbours overlap by kerning
_UNSEEN = 2.0  # points: Word leaves characters in its files that are too small to be seen


def reading_order(chars: Chars, page: Array | None = None) -> tuple[Array, Array]:
    """The places of the characters that are read, in the order of reading, and the row of each of these, from 0 on.

    `page` is the page of each level, counted upward, when the characters are those of several (`Chars.joined`).
    """
    if not len(chars):
        return chars.level, chars.level
    sizes = chars.levels[:, 1]
    row = _row_of_level(chars, np.zeros(len(sizes), dtype=np.intp) if page is None else page)[chars.level]
    order = _sorted(row, chars.x0)
    order = order[np.searchsorted(row[order], 0) :]  # without those that are not seen
    row, x0, x1 = row[order], chars.x0[order], chars.x1[order]
    same = row[1:] == row[:-1]
    overlap = same & (x0[1:] - x1[:-1] < -_TOUCH * sizes[chars.level[order[1:]]])
    if not overlap.any():
        return order, row
    # Boxes overlap by more than kerning makes them. In condensed type they are wider than the pitch, and their left
    # edges may change places.
    tangled = np.zeros(row[-1] + 1, dtype=bool)
    tangled[row[1:][overlap]] = True
    order = order[_sorted(row, np.where(tangled[row], (x0 + x1) / 2, x0))]
    twice = _twice(chars, order, row, np.flatnonzero(tangled[row]))
    return (np.delete(order, twice), np.delete(row, twice)) if len(twice) else (order, row)


def _sorted(row: Array, x: Array) -> Array:
    """The places in a stable sort by row, then by x. Most of a page is in order already, which one key makes use of."""
    low = x.min()
    return np.argsort(row * (x.max() - low + 1.0) + (x - low), kind="stable")


def _row_of_level(chars: Chars, page: Array) -> Array:
    """The row of each level, counted from the top; -1 for characters too small to be seen."""
    of_level: Array = np.full(len(chars.levels), -1)
    down = np.lexsort((chars.levels[:, 0], page))
    down = down[chars.levels[down, 1] >= _UNSEEN]
    if not len(down):
        return of_level
    sheets, (baselines, sizes) = page[down].tolist(), chars.levels[down].T.tolist()
    begins: list[int] = []  # where in `down` each row does
    on, base, size = -1, 0.0, 0.0
    for at, (sheet, baseline, own) in enumerate(zip(sheets, baselines, sizes, strict=True)):
        if sheet != on or baseline - base > _SAME_LINE * (own if own < size else size):
            begins.append(at)
            on, base, size = sheet, baseline, own
    # Rows that lie in one another's height, as a superscript does, and do not overlap are one.
    joined: list[int] = []
    places = _Places(chars, page)
    on = -1
    largest = np.maximum.reduceat(chars.levels[down, 1], begins).tolist()
    for begin, end, own in zip(begins, [*begins[1:], len(down)], largest, strict=True):
        tall = own if own > size else size
        near = sheets[begin] == on and baselines[begin] - base <= _SAME_ROW * tall
        if near and not places.overlap(down[joined[-1] : begin], down[begin:end]):
            size = tall
        else:
            joined.append(begin)
            on, base, size = sheets[begin], baselines[begin], own
    of_level[down] = np.repeat(np.arange(len(joined)), np.diff([*joined, len(down)]))
    return of_level


class _Places:
    """The characters of levels. They are looked for on their own page only."""

    def __init__(self, chars: Chars, page: Array) -> None:
        self._chars, self._page = chars, page
        self._page_of_char: Array | None = None

    def _of(self, levels: Array) -> Array:
        level = self._chars.level
        if self._page_of_char is None:
            self._page_of_char = self._page[level]
        sheet = self._page[levels[0]]
        cuts: Array = np.searchsorted(self._page_of_char, (sheet, sheet + 1))
        first, end = cuts.tolist()
        within: Array = np.zeros(len(self._page), dtype=bool)
        within[levels] = True
        own: Array = np.flatnonzero(within[level[first:end]]) + first
        return own

    def overlap(self, upper: Array, lower: Array) -> bool:
        """Whether a character of the smaller of two rows of levels has one of the other above or below its middle."""
        x0, x1 = self._chars.x0, self._chars.x1
        small, large = self._of(upper), self._of(lower)
        if len(small) >= len(large):
            small, large = large, small
        large = large[np.lexsort((x1[large], x0[large]))]
        middles = (x0[small] + x1[small]) / 2
        left = np.searchsorted(x0[large], middles, side="right") - 1
        return bool(((left >= 0) & (x1[large][left] > middles)).any())


def _twice(chars: Chars, order: Array, row: Array, tangled: Array) -> list[int]:
    """Which characters in reading order are second copies of one before them; `tangled` are those that may be.

    媽媽 stays: its characters are a whole advance width apart.
    """
    at, row = order[tangled], row[tangled]
    codes, x0, x1, size = chars.codes[at], chars.x0[at], chars.x1[at], chars.levels[chars.level[at], 1]
    near = np.minimum(_TWICE * size, 0.5 * (x1 - x0) + 0.01)
    copied: Array = np.zeros(len(at), dtype=bool)
    for step in range(1, _BETWEEN + 1):
        here, before = slice(step, None), slice(None, -step)
        copied[here] |= (
            (codes[here] == codes[before]) & (row[here] == row[before]) & (x0[here] - x0[before] < near[here])
        )
    twice: list[int] = []
    # What stands near a copy need not be the first one: of the rows that have any, one character after the other.
    for own in np.unique(row[copied]).tolist():
        kept: list[int] = []
        for k in np.flatnonzero(row == own).tolist():
            last = kept[-_BETWEEN:]
            if any(codes[k] == codes[other] and x0[k] - x0[other] < near[k] for other in last):
                twice.append(tangled[k])
            else:
                kept.append(k)
    return twice
