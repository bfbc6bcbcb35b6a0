"""Aligned plain tables by display width, and text that a console of any encoding can take.

Widths are those of a terminal: wide and full-width characters take two columns, combining ones none, and characters of
ambiguous width one, as in every terminal that is not set to a legacy CJK mode. Only ASCII is used for rules and
ellipses, so that a table stays aligned there too, and under cp950 and ASCII.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from datetime import UTC, datetime

from wcwidth import wcswidth, wcwidth

GAP = 2  # columns between cells
ELLIPSIS = "..."
_CJK = r"\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef"
_TOKENS = re.compile(rf"\s+|[（「『《]*(?:[{_CJK}]|[^\s{_CJK}]+)[，。、；：！？）」』》]*")
# Control characters but tabs and line ends, marks of direction, lone surrogates.
_OBEYED = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]|\r(?!\n)"
)
# What a console without them may show instead, before anything is escaped.
_PLAIN = str.maketrans("–—·─│「」“”’（）", '----|""""\'()') | str.maketrans(
    {"…": "...", "→": "->", "×": "x", "≥": ">=", "≤": "<=", "，": ", ", "、": ", ", "：": ": ", "；": "; ", "。": ". "}
)


def safe(text: str, encoding: str) -> str:
    """The text with whatever `encoding` cannot hold replaced: typographic signs by ASCII ones, the rest by \\uXXXX.

    It never raises: an unknown encoding is taken for ASCII.
    """
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        pass
    except LookupError:
        encoding = "ascii"
    else:
        return text
    return "".join(_encodable(char, encoding) for char in text)


def _encodable(char: str, encoding: str) -> str:
    try:
        char.encode(encoding)
    except UnicodeEncodeError:
        return char.translate(_PLAIN).encode(encoding, "backslashreplace").decode(encoding)
    return char


def visible(text: str) -> str:
    """The text with what a terminal would obey instead of show (escape sequences, other control characters, marks that
    turn the direction of writing around, lone surrogates) written as escapes; line ends and tabs stay.

    For whatever a model, a server or a file has said.
    """
    return _OBEYED.sub(_escaped, text)


def _escaped(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"


def one_line(text: str) -> str:
    """The text without line ends, control and formatting characters, none of which has a place in a cell."""
    if text.isprintable() and text.isascii():
        return text
    kept = (" " if char in "\t\n\v\f\r\x85\u2028\u2029" else char for char in text)
    return "".join(char for char in kept if unicodedata.category(char) not in {"Cc", "Cf", "Cs"})


def minute(when: str) -> str:
    """An ISO 8601 time to the minute, as a person reads it; whatever is none stays as it is."""
    try:
        at = datetime.fromisoformat(when)
    except ValueError:
        return when
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC" if at.tzinfo else f"{at:%Y-%m-%d %H:%M}"


def columns(text: str) -> int:
    """How many terminal columns a line of text takes; control characters count none."""
    width = wcswidth(text)
    return width if width >= 0 else sum(max(wcwidth(char), 0) for char in text)


def clip(text: str, width: int) -> str:
    """The text cut to at most `width` columns, with an ellipsis where there is room for one.

    Wide characters are never halved, and combining ones stay with what they combine with.
    """
    if columns(text) <= width:
        return text
    tail = ELLIPSIS if width > len(ELLIPSIS) else ""
    return _prefix(text, width - len(tail)).rstrip() + tail


def _prefix(text: str, width: int) -> str:
    kept = ""
    for char in text:
        # Not a sum over characters: a variation selector widens the one before it.
        if columns(kept + char) > width:
            break
        kept += char
    return kept


def pad(text: str, width: int, align: str = "l") -> str:
    """The text clipped or filled with blanks to exactly `width` columns; `align` is "l" or "r"."""
    text = clip(text, width)
    blanks = " " * (width - columns(text))
    return blanks + text if align == "r" else text + blanks


def wrap(text: str, width: int, indent: str = "") -> list[str]:
    """The text in lines of at most `width` columns, all but the first one indented.

    Latin text breaks at blanks, Chinese between characters, but not before a closing mark or after an opening one.
    """
    lines, line = [], ""
    for token in _TOKENS.findall(one_line(text)):
        if line.strip() and columns(line + token.rstrip()) > width:
            lines.append(line.rstrip())
            line = indent + token.lstrip()
        else:
            line += token
        while columns(line.rstrip()) > width:  # a single word that is longer than a line
            head = _prefix(line, width)
            lines.append(head)
            line = indent + line[len(head) :]
    return [*lines, line.rstrip()] if line.strip() else lines


def fitted(text: str, width: int | None) -> str:
    """The text with lines that are wider than a terminal broken at blanks, and what goes on indented.

    A line with a word that is wider itself stays whole, so that a path can be copied. width: None breaks nothing.
    """
    if width is None:
        return text
    lines = []
    for line in text.split("\n"):
        indent = " " * (len(line) - len(line.lstrip()) + 2)
        whole = columns(line) <= width or any(columns(indent + word) > width for word in line.split())
        lines += [line] if whole else wrap(line, width, indent)
    return "\n".join(lines)


def table(
    rows: Sequence[Sequence[str]], header: Sequence[str] = (), *, align: str = "", width: int | None = None
) -> list[str]:
    """The lines of a table, each of exactly the same display width, and of at most `width` columns where that is given.

    align: one of "l" and "r" a column; columns beyond it are "l". header: set above a rule of dashes.
    Where it is too wide, left-aligned columns (names) are clipped before right-aligned ones (numbers).
    Raises ValueError where rows have different lengths.
    """
    cells = [[one_line(cell) for cell in row] for row in ([header, *rows] if header else rows)]
    if not cells or not cells[0]:
        return []
    align = align.ljust(len(cells[0]), "l")
    widths = [max(map(columns, column)) for column in zip(*cells, strict=True)]
    gap = GAP
    if width is not None:
        width = max(width, 1)
        gap = GAP if width >= len(widths) * (GAP + 1) else 1
        _shrink(widths, align, width - gap * (len(widths) - 1))
    lines = [(" " * gap).join(map(pad, row, widths, align)) for row in cells]
    if header:
        lines.insert(1, (" " * gap).join("-" * column for column in widths))
    # Too many columns for the width even at one each: what is left over is cut.
    return lines if width is None else [pad(line, min(width, columns(lines[0]))) for line in lines]


def _shrink(widths: list[int], align: str, room: int) -> None:
    """Take columns away until the widths add up to `room`: from names down to 8, then from whatever is widest."""
    while sum(widths) > room:
        names = [at for at, how in enumerate(align) if how == "l" and widths[at] > 8]
        widest = max(names or range(len(widths)), key=lambda at: widths[at])
        if widths[widest] <= 1:
            return
        widths[widest] -= 1
