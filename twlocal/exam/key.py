"""Answer keys and corrections: number → cell, by page coordinates (section 3.1, "answer-grid alignment").

The order of the text stream is not the order of the grid, and the first cell may be glued to its row's label. A cell
belongs to the number above it: the nearest by x-centre, within a tolerance taken from the grid's own pitch. Anything
that does not fit exactly refuses the key: a key that is one cell off is worse than none.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from .chars import Char, middles
from .compose import page_lines
from .lines import Line
from .model import Key, Rejection
from .notes import read_notes, unattributed
from .order import reading_order
from .page import Page, UnreadablePdf
from .reader import read_pages

_NUMBER_LABEL = re.compile(r"題[號序]")
_ANSWER_LABEL = re.compile(r"答案(?![標註：:])")
_NUMBER_CELL = re.compile(r"^第?(\d{1,3})題?$")
_ANSWER_CELL = re.compile(r"^(?:(?=.)A?B?C?D?E?|#)$")
_CELL_STARTS = frozenset("第0123456789ABCDE#")
# Other codes (類科代號) are not the paper's.
_CODE_NOTE = re.compile(r"\((?:試題|科目|試卷)?代號:?(\d{3,5})\)")
_CODE = re.compile(rf"試題代號:?(\d{{3,5}})|{_CODE_NOTE.pattern}")
_FIELD_LABEL = re.compile(r"(?:考試名稱|類科名稱|科目名稱|(?:單選|複選)?題數|標準答案|題[號序]):?")
_COUNT = re.compile(r"(單選|複選)?題數[:：]?(\d{1,3})題")
_REMARKS = re.compile(r"備\s*註\s*[:：]?")
_FOOTER = re.compile(r"(?:共\d+頁,?)?第\d+頁(?:[,/]?共\d+頁)?|\d+/\d+|-?\d{1,2}-?")


class Cell(NamedTuple):
    """A run of characters of the grid; `x` is its centre, in points."""

    text: str
    x: float
    x0: float
    x1: float


def parse_key(source: str | Path | bytes) -> Key:
    """Parses an answer key or a correction given as a path or as a file's bytes.

    Like `parse_paper`, it never raises for what the file contains: see `Key.rejections`.
    """
    try:
        pages = read_pages(source)
    except UnreadablePdf as error:
        return Key(rejections=(Rejection(error.reason, error.detail),))
    return parse_key_pages(pages)


def parse_key_pages(pages: Sequence[Page]) -> Key:
    """Parses the pages of a key."""
    lines = [line for found in page_lines(pages) for line in found]
    if not lines:
        return Key(rejections=(Rejection("no_text_layer", "no page has any text"),))
    cells: dict[int, str] = {}
    rejections: list[Rejection] = []
    gridded: set[int] = set()
    for page in pages:
        for band in bands(page):
            gridded.add(page.number)
            rejections += _take(band, cells)
    text = _plain("".join(line.text for line in lines))
    remarks = _remarks(lines, gridded)
    counts = {kind or "": int(number) for kind, number in _COUNT.findall(text)}
    stated = counts.get("單選", counts.get(""))
    if counts.get("複選"):
        rejections.append(Rejection("multiple_answers", f"the key has {counts['複選']} items with several answers"))
    rejections += _complete(cells, stated)
    if words := unattributed(remarks):
        rejections.append(Rejection("strange_remarks", f"the 備註 says {words[:60]!r} of no question that it names"))
    code = _CODE.search(text)
    return Key(
        kind="correction" if "更正" in _plain(lines[0].text) or "標準答案更正" in text else "answer",
        cells=dict(sorted(cells.items())),
        notes=read_notes(remarks),
        stated_count=stated,
        code=next(filter(None, code.groups())) if code else None,
        subject=_subject([line for line in lines if line.page == lines[0].page]),
        remarks=remarks,
        rejections=tuple(rejections),
    )


def _plain(text: str) -> str:
    return re.sub(r"\s+", "", unicodedata.normalize("NFKC", text))


def _subject(lines: Sequence[Line]) -> str:
    """The 科目名稱. Its label stands beside the middle of a value of several lines, lines go to the nearest one."""
    labels: list[tuple[float, bool]] = []
    values: list[tuple[float, str]] = []
    for line in lines:
        text = _plain(line.text)
        if found := _FIELD_LABEL.match(text):
            labels.append((line.baseline, found[0].startswith("科目")))
            text = text[found.end() :]
        if text:
            values.append((line.baseline, text))
    if not labels:
        return ""
    own = [text for y, text in values if min(labels, key=lambda label: abs(label[0] - y))[1]]
    return _CODE_NOTE.sub("", "".join(own))


@dataclass(frozen=True)
class GridBand:
    """One row of numbers and the row of answers under it. `pitch` is the smallest distance of two number centres.

    `middle` is the height of the answers' row, in points from the top of the page; `drop` is how far it is below the
    numbers' row.
    """

    numbers: tuple[tuple[int, float], ...]
    answers: tuple[Cell, ...]
    pitch: float
    strange: tuple[str, ...] = ()
    middle: float = 0.0
    drop: float = 0.0

    def owners(self, cell: Cell) -> list[int]:
        """The numbers that an answer may belong to: exactly one where the grid is sound."""
        # A single number has no pitch: its answer must stand right under it.
        reach = 0.4 * self.pitch if self.pitch else 10.0
        return [number for number, x in self.numbers if abs(x - cell.x) <= reach]


def bands(page: Page) -> list[GridBand]:
    """The bands of a page's grid, found by their labels (題號 or 題序, and 答案 below it)."""
    drawn = _Drawn(page)
    rows = _rows(drawn)
    labels = [(row.kind, row) for row in rows]
    found: list[GridBand] = []
    for k, (kind, row) in enumerate(labels):
        if kind != "number":
            continue
        answer = next((other for name, other in labels[k + 1 :] if name == "answer"), None)
        following = next((other for name, other in labels[k + 1 :] if name == "number"), None)
        if answer is None or (following is not None and following.middle < answer.middle):
            continue
        drop = answer.middle - row.middle
        label_x1 = max(row.label_x1, answer.label_x1)
        upper = _cells(drawn.near(row.middle, 0.5 * drop), label_x1)
        on_answers = drawn.near(answer.middle, 0.5 * drop)
        lower = _cells(on_answers, label_x1)
        numbers = [(int(m[1]), cell.x) for cell in upper if (m := _NUMBER_CELL.match(cell.text))]
        strange = [cell.text for cell in upper if not _NUMBER_CELL.match(cell.text)]
        # An answer upon the label has slid out of the grid, and the others with it.
        strange += [_plain(c.text) for c in on_answers if c.x0 < label_x1 - 1 and _ANSWER_CELL.match(_plain(c.text))]
        xs = sorted(x for _, x in numbers)
        gaps = [b - a for a, b in pairwise(xs)]
        pitch = min(gaps) if gaps else 0.0
        found.append(GridBand(tuple(numbers), tuple(lower), pitch, tuple(strange), answer.middle, drop))
    return found


@dataclass(frozen=True)
class _Row:
    middle: float
    kind: str | None
    label_x1: float


class _Drawn:
    """A page's characters in reading order, once each: in fake bold the text layer has every character twice."""

    def __init__(self, page: Page) -> None:
        order = reading_order(page.chars)[0]
        drawn = list(page.chars)
        self.chars = [drawn[k] for k in order.tolist()]
        self._middles = middles(page.chars)[order]

    def near(self, middle: float, reach: float) -> list[Char]:
        """Those whose middle lies within `reach` of `middle` (points)."""
        return [self.chars[k] for k in (abs(self._middles - middle) < reach).nonzero()[0].tolist()]


def _rows(drawn: _Drawn) -> list[_Row]:
    """Rows that begin with a label of the grid, from top to bottom."""
    chars = drawn.chars
    found: list[_Row] = []
    for k, char in enumerate(chars):
        if char.text not in "題答":
            continue
        for other in chars[max(0, k - 3) : k + 4]:
            pair = char.text + other.text
            near = abs(other.middle - char.middle) < 0.3 * char.size
            if not near or not 0 < other.x0 - char.x0 < 2.5 * char.size:
                continue
            kind = "number" if _NUMBER_LABEL.fullmatch(pair) else "answer" if pair == "答案" else None
            # A label of the grid is followed by cells, not by a sentence (標準答案：答案標註#者).
            if kind and not _within_sentence(drawn, char, other):
                found.append(_Row(char.middle, kind, other.x1))
    return sorted(found, key=lambda row: row.middle)


def _within_sentence(drawn: _Drawn, first: Char, last: Char) -> bool:
    size = first.size
    for other in drawn.near(first.middle, 0.3 * size):
        cell = _plain(other.text) in _CELL_STARTS
        if 0 <= first.x0 - other.x1 < 0.6 * size or (0 <= other.x0 - last.x1 < 0.6 * size and not cell):
            return True
    return False


def _cells(chars: Sequence[Char], after_x: float) -> list[Cell]:
    """Runs of the characters that stand right of `after_x` (points)."""
    inside = sorted((c for c in chars if c.x0 >= after_x - 1), key=lambda c: c.x0)
    runs: list[list[Char]] = []
    for char in inside:
        if runs and char.x0 - runs[-1][-1].x1 < 0.25 * char.size:
            runs[-1].append(char)
        else:
            runs.append([char])
    return [
        Cell(_plain("".join(c.text for c in run)), (run[0].x0 + run[-1].x1) / 2, run[0].x0, run[-1].x1) for run in runs
    ]


def _take(band: GridBand, cells: dict[int, str]) -> list[Rejection]:
    """Adds a band's answers to `cells`; what does not fit is returned as rejections."""
    found: list[Rejection] = []
    if not band.answers:
        return found
    if band.strange:
        found.append(Rejection("strange_cell", f"{band.strange[0]!r} stands among the numbers or on a label"))
    for cell in band.answers:
        if not _ANSWER_CELL.match(cell.text):
            found.append(Rejection("strange_cell", f"{cell.text!r} stands among the answers"))
            continue
        near = band.owners(cell)
        if len(near) != 1:
            found.append(Rejection("stray_cell", f"an answer {cell.text} at x={cell.x:.0f} has no number of its own"))
        elif near[0] in cells:
            found.append(Rejection("stray_cell", f"question {near[0]} has two answers"))
        else:
            cells[near[0]] = cell.text
    return found


def _complete(cells: dict[int, str], stated: int | None) -> list[Rejection]:
    if not cells:
        return [Rejection("no_grid", "no answer grid was found")]
    numbers = sorted(cells)
    if numbers != list(range(1, len(numbers) + 1)):
        missing = sorted(set(range(1, numbers[-1] + 1)) - set(numbers))
        return [Rejection("incomplete", f"no answer for question {', '.join(map(str, missing[:12]))}")]
    if stated is not None and len(numbers) != stated:
        return [Rejection("count_mismatch", f"{len(numbers)} answers, the key states {stated}")]
    return []


def _remarks(lines: Sequence[Line], gridded: Collection[int]) -> str:
    """The 備註, its lines joined with nothing between: they break in the middle of words.

    It goes on to the end of its page, without a page number there, and over pages that have no grid (`gridded` have).
    """
    parts: list[str] = []
    page = 0
    for k, line in enumerate(lines):
        if found := _REMARKS.match(line.text):
            parts.append(line.text[found.end() :])
            page = line.page
        elif page and (line.page == page or line.page not in gridded):
            last = k + 1 == len(lines) or lines[k + 1].page != line.page
            if not (last and _FOOTER.fullmatch(_plain(line.text))):
                parts.append(line.text)
    return re.sub(r"\s+", "", "".join(parts))
