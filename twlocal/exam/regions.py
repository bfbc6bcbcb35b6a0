"""Where the parts of an item stand: its number, stem and options on the question paper, its answer in a key's grid.

A build does not keep this. A person looks at a few hundred of its items, and geometry for all of them would be most of
the database; the paper is parsed again when somebody looks, by the same parser, so that what is drawn is what was read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from .assembly import Chunk, Draft
from .key import bands
from .lines import Line
from .model import PaperItem, Region
from .number import Number
from .options import Mark
from .page import Page
from .paper import parse_pages


@dataclass(frozen=True)
class Part:
    """A stretch of one line. `kind` is `number`, `stem`, the letter of an option, or `key`."""

    kind: str
    region: Region


@dataclass(frozen=True)
class Outline:
    """A document as it was parsed again. `items` are those of a question paper, none for a key; `parts` by item."""

    items: Mapping[int, PaperItem]
    parts: Mapping[int, tuple[Part, ...]]


def of_paper(pages: Sequence[Page]) -> Outline:
    """The outline of a question paper."""
    parts: dict[int, tuple[Part, ...]] = {}

    def trace(lines: Sequence[Line], here: Number, draft: Draft, marks: Sequence[Mark]) -> None:
        parts[here.number] = tuple(_parts(lines, here, draft, marks))

    items = parse_pages(pages, trace).items
    return Outline({item.number: item for item in items}, parts)


def of_key(pages: Sequence[Page]) -> Outline:
    """The outline of an answer key or a correction: the cell of each answer."""
    parts: dict[int, tuple[Part, ...]] = {}
    for page in pages:
        for band in bands(page):
            for cell in band.answers:
                for number in band.owners(cell):
                    high = 0.5 * band.drop
                    region = Region(page.number, cell.x0, band.middle - high, cell.x1, band.middle + high)
                    parts[number] = (*parts.get(number, ()), Part("key", region))
    return Outline({}, parts)


def _parts(lines: Sequence[Line], here: Number, draft: Draft, marks: Sequence[Mark]) -> Iterator[Part]:
    if here.stop:  # 0 where the number is a picture
        yield Part("number", _region(lines[here.line], 0, here.stop))
    for chunk in draft.stem:
        yield from _part("stem", lines, chunk)
    # An option begins with its mark, which is no part of its text.
    begins = {(mark.line, mark.stop): mark.start for mark in marks}
    for letter, chunks in sorted(draft.options.items()):
        for chunk in chunks:
            start = begins.get((chunk.line, chunk.start), chunk.start)
            yield from _part(letter, lines, chunk._replace(start=start))


def _part(kind: str, lines: Sequence[Line], chunk: Chunk) -> Iterator[Part]:
    if chunk.stop > chunk.start:
        yield Part(kind, _region(lines[chunk.line], chunk.start, chunk.stop))


def _region(line: Line, start: int, stop: int) -> Region:
    return Region(line.page, min(line.starts[start:stop]), line.top, max(line.ends[start:stop]), line.bottom)
