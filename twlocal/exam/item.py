"""One item of a paper: its texts, its doubts, and where it stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import attrgetter

from . import assembly, figures, groups, options
from .assembly import Draft
from .glyphs import MARKERS, doubtful, fold_all, has_mark, private_use
from .lines import Line
from .model import PaperItem, Region
from .number import Chain, Number
from .options import Mark
from .page import Box, Page


@dataclass(frozen=True)
class Reading:
    """What the items are made from: the multiple-choice part's lines, marks and numbers."""

    lines: Sequence[Line]
    marks: list[Mark]
    chain: Chain
    pages: dict[int, Page]
    margin: float
    size: float
    signs: set[int]  # lines in which an image stands for a character
    painted: bool  # whether the option marks are images
    tops: dict[int, float]  # page → where its running header ends, if it has one


def make_item(reading: Reading, here: Number, after: Number | None, draft: Draft, marks: Sequence[Mark]) -> PaperItem:
    """The item with number `here` (`after` is the next one), with its doubts and the reasons that keep it out."""
    lines = reading.lines
    letters = sorted(draft.options)
    parts = [draft.stem, *(draft.options[letter] for letter in letters)]
    question, *folded = fold_all([assembly.text_of(lines, chunks) for chunks in parts])
    texts = dict(zip(letters, folded, strict=True))
    used = sorted({here.line, *(chunk.line for chunks in parts for chunk in chunks)})
    bands = _bands(reading, here, after, draft)
    drawn = figures.figures(bands, reading.pages)
    flags = [*draft.flags, *drawn]
    whole = "".join([question, *texts.values()])
    if doubtful(whole):
        flags += [f"private_use:{code}" for code in private_use(whole) if code not in _MARK_CODES]
        flags += ["mark_in_text"] if has_mark(whole) else []
    own = [lines[k] for k in used]
    flags += ["small_text"] if min(map(_SIZE, own)) < 0.72 * reading.size else []
    flags += ["stacked_text"] if _stacked(own) else []
    excluded: list[str] = []
    if "E" in texts:
        excluded.append("five_options")
    if draft.repeated:
        excluded.append("repeated_marks")
    elif not options.in_order(marks):
        excluded.append("marks_out_of_order")
    elif options.mentioned(lines, marks):
        excluded.append("missing_options")
    four = sum(letter in texts for letter in "ABCD")
    if not four or not all(texts.values()):
        excluded.append("empty_options")
    elif four < 4:
        excluded.append("missing_options")
    if not question:
        excluded.append("empty_stem")
    if not reading.signs.isdisjoint(used) or _signs(bands, reading):
        excluded.append("image_glyph")
    return PaperItem(
        number=here.number,
        question=question,
        options=texts,
        page=lines[here.line].page,
        flags=tuple(dict.fromkeys(flags)),
        excluded=tuple(excluded),
        continues=groups.continues(question, here.number),
        regions=_regions(own),
    )


def _stacked(own: Sequence[Line]) -> bool:
    """Whether lines stand closer than any paragraph's do: a fraction, a matrix, a small table, read line by line."""
    for one, two in pairwise(own):
        if 0 < two.baseline - one.baseline < 0.95 * min(one.size, two.size) and one.page == two.page:
            return True
    return False


_SIZE, _EDGES = attrgetter("size"), attrgetter("x0", "top", "x1", "bottom")
_MARK_CODES = frozenset(private_use("".join(MARKERS)))


def _signs(bands: Sequence[figures.Band], reading: Reading) -> bool:
    """Whether a small image stands inside the text: a character that the text layer does not have."""
    for band in bands:
        for box in reading.pages[band.page].boxes:
            if reading.painted and options.stretched(box):
                continue  # a mark, or a sign that has been found
            if box.kind == "image" and 3 < box.width < 18 and 3 < box.height < 18:
                middle = (box.top + box.bottom) / 2
                if band.top <= middle < band.bottom and not (reading.chain.images and _is_number(box, reading)):
                    return True
    return False


def _is_number(box: Box, reading: Reading) -> bool:
    return any(abs(n.x1 - box.x1) < 1 for n in reading.chain.numbers)


def _bands(reading: Reading, here: Number, after: Number | None, draft: Draft) -> list[figures.Band]:
    """Where an item's figures can stand: from its number to the next item, or to what follows its options."""
    if draft.loose:
        return stretch(reading, here.line, None, draft.loose[0])
    return stretch(reading, here.line, after)


def stretch(reading: Reading, first: int, after: Number | None, end: int | None = None) -> list[figures.Band]:
    """The bands of the pages from line `first` to the item `after` (or line `end`, or the end of the last page)."""
    lines, pages = reading.lines, reading.pages
    end = after.line if after else end
    start, stop = lines[first], lines[end] if end is not None and end < len(lines) else None
    bands: list[figures.Band] = []
    for page in range(start.page, (stop or lines[-1]).page + 1):
        # Below the running header, whose box is made of rules.
        top = start.top if page == start.page else reading.tops.get(page, -reading.size) + reading.size / 2
        bottom = stop.top if stop and page == stop.page else pages[page].height
        bands.append(figures.Band(page, top, bottom))
    return bands


def _regions(own: Sequence[Line]) -> tuple[Region, ...]:
    """What the lines cover of each page."""
    by_page: dict[int, list[Line]] = {}
    for line in own:
        by_page.setdefault(line.page, []).append(line)
    found: list[Region] = []
    for page, lines in by_page.items():
        lefts, tops, rights, bottoms = zip(*map(_EDGES, lines), strict=True)
        found.append(Region(page, min(lefts), min(tops), max(rights), max(bottoms)))
    return tuple(found)
