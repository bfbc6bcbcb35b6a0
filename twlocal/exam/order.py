"""Characters in the order in which they are read: rows from top to bottom, each from left to right.

The text stream's order is not trusted: rows are found by baseline and read by x. Fake bold (a character drawn twice, a
fraction of a point apart) is read once; superscripts and subscripts stay on the row they belong to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .chars import Array, Chars

# All in em, that is, in parts of the character's size.
_SAME_LINE = 0.22  # how far apart the baselines of one line may be
_SAME_ROW = 0.6  # … of a superscript, or of text set a little off, when nothing overlaps
_TWICE = 0.2  # fake bold: how far apart the two copies may be
_BETWEEN = 3  # … how many characters there, in the same stretch of a row
_TOUCH = 0.08  # how far the boxes of neighbours overlap by kerning
_UNSEEN = 2.0  # points: Word leaves characters in its files that are too small to be seen


def reading_order(chars: Chars) -> tuple[Array, Array]:
    """The places of the characters that are read, in the order of reading, and the row of each of these, from 0 on."""
    if not len(chars):
        return chars.level, chars.level
    sizes = chars.levels[:, 1]
    row = _row_of_level(chars)[chars.level]
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
    once = _once(chars, order, row, tangled[row], sizes[chars.level[order]])
    return order[once], row[once]


def _sorted(row: Array, x: Array) -> Array:
    """The places in a stable sort by row, then by x. Most of a page is in order already, which one key makes use of."""
    low = x.min()
    return np.argsort(row * (x.max() - low + 1.0) + (x - low), kind="stable")


def _row_of_level(chars: Chars) -> Array:
    """The row of each level, counted from the top; -1 for characters too small to be seen."""
    levels = chars.levels.tolist()
    rows: list[_Row] = []
    base = size = 0.0
    for k in np.argsort(chars.levels[:, 0], kind="stable").tolist():
        baseline, own = levels[k]
        if own < _UNSEEN:
            continue
        if rows and baseline - base <= _SAME_LINE * (own if own < size else size):
            rows[-1].levels.append(k)
            rows[-1].size = max(rows[-1].size, own)
        else:
            rows.append(_Row([k], baseline, own))
            base, size = baseline, own
    # Rows that lie in one another's height, as a superscript does, and do not overlap are one.
    joined: list[_Row] = []
    for row in rows:
        above = joined[-1] if joined else None
        if (
            above
            and row.baseline - above.baseline <= _SAME_ROW * max(above.size, row.size)
            and not _overlap(chars, above.levels, row.levels)
        ):
            above.levels += row.levels
            above.size = max(above.size, row.size)
        else:
            joined.append(row)
    of_level = [-1] * len(levels)
    for at, row in enumerate(joined):
        for k in row.levels:
            of_level[k] = at
    return np.array(of_level)


@dataclass
class _Row:
    """Levels that are one row: the baseline of the uppermost, and the largest size."""

    levels: list[int]
    baseline: float
    size: float


def _overlap(chars: Chars, upper: Sequence[int], lower: Sequence[int]) -> bool:
    """Whether a character of the smaller row has one of the other above or below its middle."""
    small, large = (_of_levels(chars, row) for row in (upper, lower))
    if len(small) >= len(large):
        small, large = large, small
    large = large[np.lexsort((chars.x1[large], chars.x0[large]))]
    middles = (chars.x0[small] + chars.x1[small]) / 2
    left = np.searchsorted(chars.x0[large], middles, side="right") - 1
    return bool(((left >= 0) & (chars.x1[large][left] > middles)).any())


def _of_levels(chars: Chars, row: Sequence[int]) -> Array:
    within: Array = np.zeros(len(chars.levels), dtype=bool)
    within[row] = True
    return np.flatnonzero(within[chars.level])


def _once(chars: Chars, order: Array, row: Array, tangled: Array, size: Array) -> Array:
    """Whether each character in reading order is no second copy of one before it (in rows that are `tangled`).

    媽媽 stays: its characters are a whole advance width apart.
    """
    codes, x0, x1 = chars.codes[order], chars.x0[order], chars.x1[order]
    near = np.minimum(_TWICE * size, 0.5 * (x1 - x0) + 0.01)
    copied: Array = np.zeros(len(order), dtype=bool)
    for step in range(1, _BETWEEN + 1):
        here, before = slice(step, None), slice(None, -step)
        copied[here] |= (
            (codes[here] == codes[before]) & (row[here] == row[before]) & (x0[here] - x0[before] < near[here])
        )
    once: Array = np.ones(len(order), dtype=bool)
    # What stands near a copy need not be the first one: of the rows that have any, one character after the other.
    for own in np.unique(row[copied & tangled]).tolist():
        kept: list[int] = []
        for k in np.flatnonzero(row == own).tolist():
            last = kept[-_BETWEEN:]
            if any(codes[k] == codes[other] and x0[k] - x0[other] < near[k] for other in last):
                once[k] = False
            else:
                kept.append(k)
    return once
