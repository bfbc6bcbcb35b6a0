"""Option marks: circled letters, `(A)`, `A.`, and marks that are images.

An option is keyed by its own mark, never by the order in which the marks are read: options printed down the columns are
read across.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from .glyphs import MARK, MARKERS
from .lines import Line
from .page import Box

LETTERS = "ABCDE"
_PAREN = re.compile(r"[(（]\s*([A-EＡ-Ｅ])\s*[)）]")
_DOTTED = re.compile(r"([A-EＡ-Ｅ])\s*[.．、]")
_WIDE_LETTERS = str.maketrans("ＡＢＣＤＥ", "ABCDE")


class Mark(NamedTuple):
    """An option mark: characters `start` to `stop` of a line, whose left edge is `x0`.

    `apart` says that it begins its line or stands after a space, as one that the text only mentions rarely does.
    """

    line: int
    start: int
    stop: int
    letter: str
    x0: float
    apart: bool = True


def glyph_marks(lines: Sequence[Line]) -> list[Mark]:
    """The circled letters of the private-use area."""
    found: list[Mark] = []
    for k, line in enumerate(lines):
        for match in MARK.finditer(line.text):
            at = line.char_at(match.start())
            found.append(Mark(k, at, at + 1, MARKERS[match[0]], line.starts[at]))
    return found


def paren_marks(lines: Sequence[Line]) -> list[Mark]:
    """`(A)` and `（Ａ）`."""
    found: list[Mark] = []
    for k, line in enumerate(lines):
        for match in _PAREN.finditer(line.text):
            start, stop = line.char_at(match.start()), line.char_at(match.end() - 1) + 1
            letter = match[1].translate(_WIDE_LETTERS)
            found.append(Mark(k, start, stop, letter, line.starts[start], _standing(line, start) > 0))
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
            if spread or _standing(line, start) == 2:
                found.append(Mark(k, start, stop, letter, line.starts[start]))
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
    styles = [("glyph", glyphs), *((name, find(lines)) for name, find in STYLES.items() if name != "glyph")]
    name, marks = max(styles, key=lambda style: _sets(style[1]))
    if _sets(marks):
        return name, marks
    return next(((n, m) for n, m in styles if m), ("none", []))


STYLES: Mapping[str, Callable[[Sequence[Line]], list[Mark]]] = {
    "glyph": glyph_marks,
    "paren": paren_marks,
    "dotted": dotted_marks,
}


def _sets(marks: Sequence[Mark]) -> int:
    """How many whole sets A–D the marks can make."""
    letters = [mark.letter for mark in marks]
    return min(map(letters.count, "ABCD"))


def one_set(lines: Sequence[Line], marks: Sequence[Mark]) -> list[Mark]:
    """An item's marks without those that its text only mentions (`維生素(A)之敘述`, `(C)(A)與(B)皆是`).

    Of marks with the same letter the one is taken that stands where options stand: at the beginning of a line or after
    a wide gap, or else after a space. When that does not tell, all are given back. An E before the A is no option.
    """
    chosen: list[Mark] = []
    for letter in {mark.letter for mark in marks}:
        same = [mark for mark in marks if mark.letter == letter]
        ranks = [_standing(lines[mark.line], mark.start) for mark in same]
        if len(same) > 1 and ranks.count(max(ranks)) > 1:
            return list(marks)
        chosen.append(same[ranks.index(max(ranks))])
    first = min(((mark.line, mark.start) for mark in chosen if mark.letter == "A"), default=(0, 0))
    chosen = [mark for mark in chosen if mark.letter != "E" or (mark.line, mark.start) > first]
    return sorted(chosen, key=lambda mark: (mark.line, mark.start))


def _standing(line: Line, start: int) -> int:
    if start == 0 or line.gap(start) > line.size:
        return 2
    return 1 if line.spaced(start) or line.gap(start) > 0.5 * line.size else 0


def in_order(marks: Sequence[Mark]) -> bool:
    """Whether A comes first and D last, as in every arrangement of four options (B and C change places in columns)."""
    letters = [mark.letter for mark in marks if mark.letter != "E"]
    return not {"A", "D"} <= set(letters) or (letters[0] == "A" and letters[-1] == "D")


def mentioned(lines: Sequence[Line], marks: Sequence[Mark]) -> bool:
    """Whether the first mark alone is glued to a word: the text names it, and the option's own is missing."""
    if len(marks) < 2 or marks[0].apart or not all(mark.apart for mark in marks[1:]):
        return False
    before = lines[marks[0].line].slice(0, marks[0].start)
    return before[-1:] not in set("？?。.．：:；;，,」』）)_")


def whole_sets(lines: Sequence[Line], marks: Sequence[Mark]) -> int:
    """How many times the marks A to D follow one another, each with a text of its own: `(A)、(B)、(C)或(D)` is none."""
    found = 0
    for k in range(len(marks) - 3):
        four = marks[k : k + 4]
        ends = [*four[1:], marks[k + 4] if k + 4 < len(marks) else None]
        if "".join(mark.letter for mark in four) == "ABCD" and all(
            _WORDS.search(_between(lines, mark, end)) for mark, end in zip(four, ends, strict=True)
        ):
            found += 1
    return found


_WORDS = re.compile(r"[^\s、，,或及和與。.；;]")


def _between(lines: Sequence[Line], mark: Mark, end: Mark | None) -> str:
    if end is not None and end.line == mark.line:
        return lines[mark.line].slice(mark.stop, end.start)
    return lines[mark.line].slice(mark.stop)


# --- marks that are images ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ImageMarks:
    """Option marks found as images. `clipped` are lines at which an option's text is missing from the layer; `other`
    are those with an image of the same make that stands for something else (a sign, a character of the text)."""

    marks: list[Mark]
    clipped: list[int]
    other: list[int]


def image_marks(lines: Sequence[Line], boxes: dict[int, Sequence[Box]], least: int = 3) -> ImageMarks:
    """Marks painted through image clips (Word 2007 and 2013): tiny sources stretched over a line's height.

    Word paints the mark and, in some versions, the characters after it into one image, so that these are missing from
    the text layer. The text of a whole option begins right after its mark; if it begins later the option is cut.
    Where fewer than `least` images stand at one left edge they are taken for signs of the text.
    """
    marks: list[Mark] = []
    other: list[int] = []
    clipped: list[int] = []
    by_page: dict[int, list[int]] = {}
    for k, line in enumerate(lines):
        by_page.setdefault(line.page, []).append(k)
    images = {page: own for page in sorted(by_page) if (own := [b for b in boxes.get(page, ()) if stretched(b)])}
    lefts = Counter(round(b.x0 / 2) for own in images.values() for b in own)
    repeated = {x for x, count in lefts.items() if count >= least}
    for page, own in images.items():
        for box in sorted(own, key=lambda b: (round(b.bottom / 3), b.x0)):
            middle = (box.top + box.bottom) / 2
            at = next((k for k in by_page[page] if lines[k].top - 2 <= middle <= lines[k].bottom + 2), None)
            if not {round(box.x0 / 2) + d for d in (-1, 0, 1)} & repeated:
                if at is not None:
                    other.append(at)
                continue
            under = lines[at] if at is not None else None
            start = next((i for i, x0 in enumerate(under.starts) if x0 >= box.x0 - 1), None) if under else None
            if at is None or under is None or start is None or under.starts[start] - box.x0 > 1.75 * under.size:
                below = (k for k in by_page[page] if lines[k].baseline > box.bottom)
                clipped.append(at if at is not None else next(below, by_page[page][-1]))
            else:
                marks.append(Mark(at, start, start, "", box.x0))
    marks.sort(key=lambda m: (m.line, m.start))
    return ImageMarks(marks, clipped, other)


def stretched(box: Box) -> bool:
    """Whether an image is a few pixels stretched over a character's place, as Word paints marks and signs."""
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
