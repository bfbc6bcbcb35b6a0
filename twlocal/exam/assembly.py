"""How the lines of one item fall into its stem and its options.

Options stand 1×4, 2×2 or 4×1, on the number's line, wrapped, across pages.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import NamedTuple

from .glyphs import is_wide
from .lines import Line, join
from .options import Mark

# In em.
_INDENT = 2.0  # how far the wrapped lines of an option are set in from its mark, at most
_OUT = 0.5  # how far to the left of its mark, or into the next column, a line may stand
_SLACK = 1.5  # a full stop may not begin a line and takes the character before it along
_APART = 3.0  # how far two lines of one paragraph are apart, at most

_OPENING = "(（[［{「『《〈【〔“‘"  # these end no line
_CLOSING = ")）]］}｝」』》〉】〕”’，。、；：？！,.;:?!"  # … and these begin none


_X0 = attrgetter("x0")


class Chunk(NamedTuple):
    """A stretch of one line that belongs to one option or to the stem: characters `start` to `stop` of it."""

    line: int
    start: int
    stop: int


@dataclass
class Draft:
    """An item as far as its lines tell: what belongs to the stem, to each option, and what belongs to neither."""

    stem: list[Chunk] = field(default_factory=list)
    options: dict[str, list[Chunk]] = field(default_factory=dict)
    loose: list[int] = field(default_factory=list)
    flags: list[str] = field(default_factory=list)
    repeated: list[str] = field(default_factory=list)

    def empty(self, letter: str) -> bool:
        """Whether an option has its mark and no text yet."""
        return all(chunk.start == chunk.stop for chunk in self.options[letter])


def assemble(
    lines: Sequence[Line],
    first: tuple[int, int],
    last: int,
    marks: Sequence[Mark],
    margin: float,
    stops: Callable[[int], bool],
) -> Draft:
    """Distributes `lines[first[0]:last]` over a stem and options.

    `first` is the line and the character after the number, `last` the line where the next item begins, `marks` the
    item's own marks, `margin` the right edge of the text in points. `stops(k)` says that line `k` begins something that
    belongs to no item (a passage's lead, a heading). What follows the options and is no wrapped end of one is loose.
    """
    draft = Draft()
    on_line: dict[int, list[Mark]] = {}
    for mark in marks:
        on_line.setdefault(mark.line, []).append(mark)
    row: list[Mark] = []  # the marks of the last line that had some
    columns: list[_Column] | None = None  # how far each of their options has come, made when first needed
    previous: Line | None = None
    left = len(marks)
    edge = min(map(_X0, marks), default=0.0)
    for k in range(first[0], last):
        line = lines[k]
        begin = first[1] if k == first[0] else 0
        here = on_line.get(k, [])
        if row and not here:
            if not left and (stops(k) or _far(previous, line)):
                draft.loose = list(range(k, last))
                break
            columns = columns or _columns(lines, row, margin)
            if wrapped := _in_columns(line, columns):
                draft.flags.append("wrapped_in_columns")
                for column, start, stop in wrapped:
                    draft.options[column.letter].append(Chunk(k, start, stop))
                reached = {column.letter: line.ends[stop - 1] for column, _, stop in wrapped}
                columns = [column._replace(end=reached.get(column.letter)) for column in columns]
                previous = line
                continue
            open_end = draft.empty(row[-1].letter)
            if not left and (line.x0 < edge - _OUT * line.size or not (open_end or _wraps(previous, line, margin))):
                draft.loose = list(range(k, last))
                break
        lead = here[0].start if here else len(line)
        if lead > begin:
            if not row:
                draft.stem.append(Chunk(k, begin, lead))
            else:
                for letter, chunk in _continue(lines, Chunk(k, begin, lead), row, margin, draft):
                    draft.options[letter].append(chunk)
                columns = columns or _columns(lines, row, margin)
                *others, last_one = columns
                columns = [*(c._replace(end=None) for c in others), last_one._replace(end=line.ends[lead - 1])]
        ends = [*(m.start for m in here[1:]), len(line)][: len(here)]
        for mark, stop in zip(here, ends, strict=True):
            if mark.letter in draft.options:
                draft.repeated.append(mark.letter)
            draft.options.setdefault(mark.letter, []).append(Chunk(k, mark.stop, stop))
            left -= 1
        if here:
            row, columns = here, None
        previous = line
    return draft


def _far(previous: Line | None, line: Line) -> bool:
    """Whether a line stands too far below the one before it to be of one paragraph with it."""
    return (
        previous is not None
        and previous.page == line.page
        and line.baseline - previous.baseline > _APART * max(line.size, previous.size)
    )


class _Column(NamedTuple):
    """An option of a row: where its mark stands, where the next one (or the margin) does, and where its last line ends.

    `end` is None once a line has passed on which the option had nothing.
    """

    letter: str
    x0: float
    limit: float
    end: float | None

    def full(self, word: float, size: float) -> bool:
        """Whether a word of this width would not have fitted any more."""
        return self.end is not None and self.end + word + _SLACK * size >= self.limit

    def holds(self, x0: float, x1: float, size: float, inset: float) -> bool:
        """Whether a stretch of text stands where a wrapped line of the option does."""
        return self.x0 + inset * size <= x0 <= self.x0 + _INDENT * size and x1 <= self.limit + _OUT * size


def _columns(lines: Sequence[Line], row: Sequence[Mark], margin: float) -> list[_Column]:
    """The options of a row on the line that has their marks."""
    line = lines[row[0].line]
    stops = [*(mark.start for mark in row[1:]), len(line)]
    limits = [*(mark.x0 for mark in row[1:]), margin]
    return [
        _Column(mark.letter, mark.x0, limit, line.ends[stop - 1])
        for mark, limit, stop in zip(row, limits, stops, strict=True)
    ]


def _in_columns(line: Line, columns: Sequence[_Column]) -> list[tuple[_Column, int, int]] | None:
    """A line whose parts each go on with the option above them: the column, and first and last character of each part.

    None where that is not sure. Several parts must each stand under an option that had filled its column. A single one
    must stand there too, set in from the mark, while the last option had room left: in running text it is the last one
    that goes on at the left edge.
    """
    size = line.size
    parts = line.stretches(1.0)
    found: list[tuple[_Column, int, int]] = []
    for start, stop in parts:
        x0, x1 = line.starts[start], line.ends[stop - 1]
        column = next((c for c in reversed(columns) if x0 >= c.x0 - _OUT * size), None)
        inset = -_OUT if len(parts) > 1 else _OUT
        if column is None or not column.holds(x0, x1, size, inset):
            return None
        if not column.full(first_word(line.part(start, stop)), size):
            return None
        found.append((column, start, stop))
    if len({column.letter for column, _, _ in found}) < len(found):
        return None
    if len(found) == 1:
        last = columns[-1]
        spread = any(c.end is not None and c.limit - c.end > 0.9 * size for c in columns[:-1])
        if found[0][0] is last or last.full(size, size) or not spread:
            return None
    return found


def set_in(lines: Sequence[Line], marks: Sequence[Mark], line: Line) -> bool:
    """Whether a line that was given to no option of the last row stands where the wrapped rest of one would."""
    row = [mark for mark in marks if mark.line == marks[-1].line]
    return any(_OUT <= (line.x0 - mark.x0) / lines[mark.line].size <= _INDENT - _OUT for mark in row)


def may_go_on(lines: Sequence[Line], marks: Sequence[Mark], k: int, margin: float, unexplained: bool) -> bool:
    """Whether loose line `k` after an item's options may still belong to the last one.

    `unexplained` says that the line belongs to no passage or heading. One that begins a passage at the options' own
    left edge, below a full row, may just as well be the option's rest.
    """
    if unexplained:
        return set_in(lines, marks, lines[k])
    first = min(mark.x0 for mark in marks)
    return abs(lines[k].x0 - first) <= _OUT * lines[k].size and _wraps(lines[k - 1], lines[k], margin)


def _wraps(previous: Line | None, line: Line, margin: float) -> bool:
    """Whether `line` can be the wrapped rest of `previous`: its first word would not have fitted there."""
    if previous is None:
        return True
    return previous.x1 + first_word(line) + _SLACK * line.size >= margin


def first_word(line: Line) -> float:
    """The width in points of what cannot be broken at the beginning of a line: a Latin word, or one character.

    A bracket that opens goes with what follows it, one that closes and a full stop with what stands before.
    """
    end = 1
    while end < len(line):
        before = line.text[line.offsets[end] - 1]
        if before not in _OPENING and (is_wide(before) or line.spaces[end] or line.spaced(end)):
            break
        end += 1
    while end < len(line) and line.text[line.offsets[end]] in _CLOSING:
        end += 1
    return line.ends[end - 1] - line.x0


def _continue(
    lines: Sequence[Line], chunk: Chunk, row: Sequence[Mark], margin: float, draft: Draft
) -> list[tuple[str, Chunk]]:
    """Which options of the row above a line without marks goes on with.

    In running text it is the last one, and then the row above reaches the margin. In columns every part of the line
    goes on with the option that it stands under.
    """
    line, above = lines[chunk.line], lines[row[-1].line]
    size = line.size
    if len(row) == 1 or draft.empty(row[-1].letter) or above.x1 + 2 * size >= margin or chunk.line - row[-1].line > 1:
        return [(row[-1].letter, chunk)]
    columns = [(mark.x0 - 0.5 * size, mark.letter) for mark in row]
    parts: list[tuple[str, Chunk]] = []
    for start, stop in line.stretches(1.0):
        if (stop := min(stop, chunk.stop)) <= (start := max(start, chunk.start)):
            continue
        letter = next((name for x, name in reversed(columns) if line.starts[start] >= x), row[0].letter)
        parts.append((letter, Chunk(chunk.line, start, stop)))
    draft.flags.append("wrapped_in_columns")
    return parts


def text_of(lines: Sequence[Line], chunks: Sequence[Chunk]) -> str:
    """The chunks' text as one paragraph."""
    if len(chunks) == 1:  # most options
        return lines[chunks[0].line].slice(chunks[0].start, chunks[0].stop)
    return join(lines[c.line].slice(c.start, c.stop) for c in chunks)
