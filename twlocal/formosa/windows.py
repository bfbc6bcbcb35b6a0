"""Blocks of an article → windows: paragraph-aligned, never ending inside a sentence, each with its source span. Pure.

The paper: one item a window; 2,972 windows, median 1,119 characters, boundaries never mid-sentence (section 4.1).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from twlocal.formosa.markdown import Block, read
from twlocal.formosa.sentences import ends_inside, ends_sentence

TARGET = 1100
# A block longer than this many targets is cut at one of its sentences.
_TOO_LONG = 1.5
# A rest shorter than this share of the target makes no window of its own: too little to ask about.
_TOO_SHORT = 0.2
# A boundary at a heading may cost this much more in length, measured as the squared relative deviation.
_HEADING = 0.04
# How many sentences around the wanted place are tried when a block is cut.
_TRIES = 24


@dataclass(frozen=True, slots=True)
class Window:
    """A stretch of prose that one item is written from.

    `start` and `end` are offsets in characters of the file's text (front matter, marks and all); the span holds whole
    lines, except where an overlong paragraph was cut. `section` is the heading that the window starts under.
    """

    path: str
    start: int
    end: int
    section: str
    text: str

    @property
    def hash(self) -> str:
        """sha256 (hex) of the text: a window that did not change keeps its hash when the file around it does."""
        return hashlib.sha256(self.text.encode("utf-8")).hexdigest()


def printed(text: str) -> int:
    """Characters without line breaks, so that lengths of blocks and of windows made of them add up."""
    return len(text) - text.count("\n")


def cut(path: str, source: str, blocks: Sequence[Block], target: int = TARGET) -> list[Window]:
    """The windows of one article, in order, without gaps but for what cannot end a sentence.

    `source` is the file's text that the blocks' offsets count in. Lengths are as near to `target` characters as whole
    sentences allow, measured over the article at once; a boundary at a heading is preferred. A list or caption without
    a full stop goes with what follows; where nothing follows it is left out. An article with less than a fifth of the
    target gives no window.
    """
    units = _units([part for block in blocks for part in _parts(block, source, target)])
    windows = [
        _window(path, [block for unit in units[first:behind] for block in unit])
        for first, behind in _spans(units, target)
    ]
    return [window for window in windows if len(window.text) >= target * _TOO_SHORT]


def _window(path: str, blocks: Sequence[Block]) -> Window:
    text = "\n".join(block.text for block in blocks)
    return Window(path, blocks[0].start, blocks[-1].end, blocks[0].section, text)


def _units(blocks: Sequence[Block]) -> list[list[Block]]:
    """Runs of blocks that no boundary may part: each ends with a block that ends a sentence."""
    units: list[list[Block]] = []
    run: list[Block] = []
    for block in blocks:
        run.append(block)
        if ends_sentence(block.text):
            units.append(run)
            run = []
    return units


def _spans(units: Sequence[Sequence[Block]], target: int) -> list[tuple[int, int]]:
    """The cheapest way to part the units: (first, behind) of each window. Ties go to the earlier boundary."""
    lengths = [sum(len(block.text) + 1 for block in unit) for unit in units]
    sums = [0]
    for length in lengths:
        sums.append(sums[-1] + length)
    best: list[tuple[float, int]] = [(0.0, 0)]
    for behind in range(1, len(units) + 1):
        options: list[tuple[float, int]] = []
        for first in range(behind - 1, -1, -1):
            size = sums[behind] - sums[first] - 1
            if options and size > 2 * target + lengths[behind - 1]:
                break
            cost = best[first][0] + ((size - target) / target) ** 2
            if first and units[first][0].section == units[first - 1][-1].section:
                cost += _HEADING
            options.append((cost, first))
        best.append(min(options))
    spans: list[tuple[int, int]] = []
    behind = len(units)
    while behind:
        first = best[behind][1]
        spans.append((first, behind))
        behind = first
    return spans[::-1]


def _parts(block: Block, source: str, target: int) -> list[Block]:
    if len(block.text) <= target * _TOO_LONG:
        return [block]
    pieces = round(len(block.text) / target)
    wanted = len(block.text) // max(pieces, 2)
    for end in sorted(ends_inside(block.text), key=lambda end: (abs(end - wanted), end))[:_TRIES]:
        at = _place(block, source, end)
        if at is not None:
            head = Block(block.text[:end].strip(), block.start, at, block.section)
            tail = Block(block.text[end:].strip(), at, block.end, block.section)
            return [head, *_parts(tail, source, target)]
    return [block]


def _place(block: Block, source: str, end: int) -> int | None:
    """The offset in the file behind the sentence that ends at `end` of the block's text.

    Markup has no place in the text, so the places are tried: one counts when both halves read as the text's halves do.
    """
    mark = block.text[end - 1]
    head, tail = block.text[:end].strip(), block.text[end:].strip()
    at = source.find(mark, block.start, block.end)
    while at != -1:
        # Behind the mark may stand what closes it in Markdown: a footnote mark, the end of bold.
        for behind in (at + 1, *_closers(source, at + 1, block.end)):
            if _prose(source[block.start : behind]) == head and _prose(source[behind : block.end]) == tail:
                return behind
        at = source.find(mark, at + 1, block.end)
    return None


def _closers(source: str, at: int, limit: int) -> list[int]:
    places = []
    while at < limit and source[at] in "*_[^]0123456789":
        at += 1
        places.append(at)
    return places


def _prose(markdown: str) -> str:
    return "\n".join(block.text for block in read(markdown).blocks)
