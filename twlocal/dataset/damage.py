"""What a bad conversion leaves in a text, and characters that cannot be seen. Pure."""

from __future__ import annotations

import re
import unicodedata

from twlocal.item import UNIT_SEPARATOR

# Controls other than tab and line end (JSON reads LaTeX's \beta as a backspace and "eta"), the character that stands
# for what could not be decoded, and private ones, which show whatever a font makes of them.
_CONVERTED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ufffd\ue000-\uf8ff\U000f0000-\U0010fffd]")
# UTF-8's three bytes of a Chinese character, each read as one character of Windows-1252.
_MOJIBAKE = re.compile("[ä-é][\u00a0-\u00bf€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ]{2}")
_EXCEL = frozenset({"#REF!", "#NAME?", "#VALUE!", "#DIV/0!", "#NUM!", "#NULL!", "#N/A", "#SPILL!", "#CALC!"})
# A letter and a symbol by their category, which are drawn as nothing.
_FILLERS = "\u3164\u2800"


def unseen(char: str) -> bool:
    """Whether a character takes no ink: zero width, a mark of direction, a filler. Blanks and line ends are seen."""
    return unicodedata.category(char) == "Cf" or char in _FILLERS


def blank(text: str) -> bool:
    """Whether nothing of a text can be seen."""
    return all(char.isspace() or unseen(char) for char in text)


def suspect(text: str) -> bool:
    """Whether a row's texts, joined by U+001F, need a closer look.

    Asked of each of a quarter of a million rows, and therefore not one pattern, which takes longer.
    """
    return (
        not text.replace(UNIT_SEPARATOR, "").isprintable()
        or "\ufffd" in text
        or "\u3164" in text
        or "\u2800" in text
        or "\x1f#" in text
        or "å" in text
        or "æ" in text
        or "ç" in text
        or "è" in text
        or "é" in text
        or "ä" in text
    )


def damaged(parts: tuple[str, ...]) -> bool:
    """Whether one of a row's texts shows marks of a bad conversion."""
    return any(part in _EXCEL or _CONVERTED.search(part) or _MOJIBAKE.search(part) for part in parts)


def hides(parts: tuple[str, ...]) -> bool:
    """Whether one of a row's texts holds a character that cannot be seen."""
    return any(unseen(char) for part in parts for char in part)
