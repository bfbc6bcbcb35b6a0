"""Option marks, and how the lines of one item fall into its stem and its options.

Options stand 1×4, 2×2 or 4×1, on the number's line, wrapped, across pages. Each is keyed by its own mark, never by the
order in which the marks are read: options printed down the columns are read across.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from .glyphs import MARKERS, has_mark, is_wide
from .lines import Line, join
from .page import Box

LETTERS = "ABCDE"
_PAREN = re.compile(r"[(（]\s*([A-EＡ-Ｅ])\s*[)）]")
_DOTTED = re.compile(r"([A-EＡ-Ｅ])\s*[.．、]")
_WIDE_LETTERS = str.maketrans("ＡＢＣＤＥ", "ABCDE")


class Mark(NamedTuple):
    """An option mark: characters `start` to `stop` of a line; `x0` and `text_x` are where it and its text begin."""

    line: int
    start: int
    stop: int
    letter: str
    x0: float
    text_x: float


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


def _mark(lines: Sequence[Line], line: int, start: int, stop: int, letter: str) -> Mark:
    own = lines[line]
    text_x = own.starts[stop] if stop < len(own) else own.ends[stop - 1]
    return Mark(line, start, stop, letter.translate(_WIDE_LETTERS), own.starts[start], text_x)


def glyph_marks(lines: Sequence[Line]) -> list[Mark]:
    """The circled letters of the private-use area."""
    found: list[Mark] = []
    for k, line in enumerate(lines):
        if has_mark(line.text):
            found += [_mark(lines, k, i, i + 1, MARKERS[text]) for i, text in enumerate(line.texts) if text in MARKERS]
    return found


def paren_marks(lines: Sequence[Line]) -> list[Mark]:
    """`(A)` and `（Ａ）`."""
    found: list[Mark] = []
    for k, line in enumerate(lines):
        for match in _PAREN.finditer(line.text):
            found.append(_mark(lines, k, line.char_at(match.start()), line.char_at(match.end() - 1) + 1, match[1]))
    return found


def dotted_marks(lines: Sequence[Line]) -> list[Mark]:
    """`A.` at the beginning of a line or after a wide gap; elsewhere it may be a word of the text (vitamin A.).

    After a mere space it is a mark only where a line is a whole row of them (`A.甲 B.乙 C.丙 D.丁`), and the next line
    does not begin with one of the same letters.
    """
    found: list[Mark] = []
    rows = [_dotted_row(line) for line in lines]
    for k, (line, row) in enumerate(zip(lines, rows, strict=True)):
        whole = "".join(letter for _, _, letter in row)
        following = next((other[0][2] for other in rows[k + 1 :] if other and other[0][0] == 0), "")
        spread = whole in ("ABCD", "AB", "CD") and (not following or following not in whole[1:])
        for start, stop, letter in row:
            if spread or start == 0 or line.gap(start) > line.size:
                found.append(_mark(lines, k, start, stop, letter))
    return found


def _dotted_row(line: Line) -> list[tuple[int, int, str]]:
    """The letters with a full stop that stand at the beginning of a line or after a space: start, stop, letter."""
    row: list[tuple[int, int, str]] = []
    for match in _DOTTED.finditer(line.text):
        if match.start() == 0 or line.text[match.start() - 1] == " ":
            letter = match[1].translate(_WIDE_LETTERS)
            row.append((line.char_at(match.start()), line.char_at(match.end() - 1) + 1, letter))
    return row


def find_marks(lines: Sequence[Line]) -> tuple[str, list[Mark]]:
    """The marks of the style that this part of the paper uses: `glyph`, `paren` or `dotted`; `none` without any."""
    glyphs = glyph_marks(lines)
    if _sets(glyphs) >= 4:
        return "glyph", glyphs
    styles = [("glyph", glyphs), ("paren", paren_marks(lines)), ("dotted", dotted_marks(lines))]
    name, marks = max(styles, key=lambda style: _sets(style[1]))
    if _sets(marks):
        return name, marks
    return next(((n, m) for n, m in styles if m), ("none", []))


def _sets(marks: Sequence[Mark]) -> int:
    """How many whole sets A–D the marks can make."""
    counts = Counter(mark.letter for mark in marks)
    return min(counts[letter] for letter in "ABCD")


# --- marks that are images ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ImageMarks:
    """Option marks found as images. `clipped` are lines at which an option's text is missing from the layer; `other`
    are images of the same make that stand for something else (a sign, a character of the text)."""

    marks: list[Mark]
    clipped: list[int]
    other: list[tuple[int, Box]]


def image_marks(lines: Sequence[Line], boxes: dict[int, Sequence[Box]]) -> ImageMarks:
    """Marks painted through image clips (Word 2007 and 2013): tiny sources stretched over a line's height.

    Word paints the mark and, in some versions, the characters after it into one image, so that these are missing from
    the text layer. The text of a whole option begins right after its mark; if it begins later the option is cut.
    """
    marks: list[Mark] = []
    other: list[tuple[int, Box]] = []
    clipped: list[int] = []
    by_page: dict[int, list[int]] = {}
    for k, line in enumerate(lines):
        by_page.setdefault(line.page, []).append(k)
    lefts = Counter(round(b.x0 / 2) for page in by_page for b in boxes.get(page, ()) if _stretched(b))
    repeated = {x for x, count in lefts.items() if count >= 3}
    for page in sorted(by_page):
        images = sorted((b for b in boxes.get(page, ()) if _stretched(b)), key=lambda b: (round(b.bottom / 3), b.x0))
        for box in images:
            middle = (box.top + box.bottom) / 2
            at = next((k for k in by_page[page] if lines[k].top - 2 <= middle <= lines[k].bottom + 2), None)
            if not {round(box.x0 / 2) + d for d in (-1, 0, 1)} & repeated:
                if at is not None:
                    other.append((at, box))
                continue
            under = lines[at] if at is not None else None
            start = next((i for i, x0 in enumerate(under.starts) if x0 >= box.x0 - 1), None) if under else None
            if at is None or under is None or start is None or under.starts[start] - box.x0 > 1.75 * under.size:
                below = (k for k in by_page[page] if lines[k].baseline > box.bottom)
                clipped.append(at if at is not None else next(below, by_page[page][-1]))
            else:
                marks.append(Mark(at, start, start, "", box.x0, under.starts[start]))
    marks.sort(key=lambda m: (m.line, m.start))
    return ImageMarks(marks, clipped, other)


def _stretched(box: Box) -> bool:
    wide, high = box.pixels
    return box.kind == "image" and 0 < wide <= 4 and 0 < high <= 4 and box.height <= 24


def letter_in_order(marks: Sequence[Mark], starts: Sequence[tuple[int, int]]) -> list[Mark] | None:
    """Image marks lettered A–D in reading order, item by item (`starts`: line and character where items begin).

    None unless every item has exactly four.
    """
    lettered: list[Mark] = []
    ends = [*starts[1:], (1 << 30, 0)]
    for start, end in zip(starts, ends, strict=True):
        own = [m for m in marks if start <= (m.line, m.start) < end]
        if len(own) != 4:
            return None
        lettered += [mark._replace(letter=letter) for mark, letter in zip(own, "ABCD", strict=True)]
    return lettered if len(lettered) == len(marks) else None


# --- lines of an item → stem and options ---------------------------------------------------------------------------


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
    previous: Line | None = None
    left = len(marks)
    edge = min((mark.x0 for mark in marks), default=0.0)
    for k in range(first[0], last):
        line = lines[k]
        begin = first[1] if k == first[0] else 0
        here = on_line.get(k, [])
        if row and not here and not left:
            outside = line.x0 < edge - 0.5 * line.size
            if outside or stops(k) or not _wraps(previous, line, margin):
                draft.loose = list(range(k, last))
                break
        lead = here[0].start if here else len(line)
        if lead > begin:
            if not row:
                draft.stem.append(Chunk(k, begin, lead))
            else:
                for letter, chunk in _continue(lines, Chunk(k, begin, lead), row, margin, draft):
                    draft.options[letter].append(chunk)
        ends = [*(m.start for m in here[1:]), len(line)][: len(here)]
        for mark, stop in zip(here, ends, strict=True):
            if mark.letter in draft.options:
                draft.repeated.append(mark.letter)
            draft.options.setdefault(mark.letter, []).append(Chunk(k, mark.stop, stop))
            left -= 1
        if here:
            row = here
        previous = line
    return draft


def _wraps(previous: Line | None, line: Line, margin: float) -> bool:
    """Whether `line` can be the wrapped rest of `previous`: its first word would not have fitted there.

    One em and a half of slack, because a full stop may not begin a line and takes the character before it along.
    """
    if previous is None:
        return True
    return previous.x1 + first_word(line) + 1.5 * line.size >= margin


def first_word(line: Line) -> float:
    """The width in points of what cannot be broken at the beginning of a line: a Latin word, or one character."""
    end = 1
    while end < len(line):
        if is_wide(line.texts[end - 1][-1]) or line.spaces[end] or line.pieces[end].startswith(" "):
            break
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
    if len(row) == 1 or above.x1 + 2 * size >= margin or chunk.line - row[-1].line > 1:
        return [(row[-1].letter, chunk)]
    columns = [(mark.x0 - 0.5 * size, mark.letter) for mark in row]
    parts: list[tuple[str, Chunk]] = []
    start = chunk.start
    for k in range(chunk.start, chunk.stop + 1):
        ends = k == chunk.stop
        if not ends and (k == start or line.gap(k) < size):
            continue
        letter = next((name for x, name in reversed(columns) if line.starts[start] >= x), row[0].letter)
        parts.append((letter, Chunk(chunk.line, start, k)))
        start = k
    draft.flags.append("wrapped_in_columns")
    return parts


def text_of(lines: Sequence[Line], chunks: Sequence[Chunk]) -> str:
    """The chunks' text as one paragraph."""
    return join(lines[c.line].slice(c.start, c.stop) for c in chunks)
