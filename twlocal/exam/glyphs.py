"""Characters as the Ministry's PDFs write them, and what they stand for.

Private-use characters are never stripped, and never mapped by code point alone: in one real PDF U+EA86 stands for
both 脲 and 苷. A code point is read only together with its font and its neighbours; what stays unknown is kept as it
is and reported, so that the item can be flagged. Kept text is NFC, never NFKC (section 3.1 of the paper).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Any

# Circled letters of the Ministry's end-user fonts, in the order A–E (section 3.1). The Unicode circled capitals are
# taken as the same mark.
MARKERS = {"\ue18c": "A", "\ue18d": "B", "\ue18e": "C", "\ue18f": "D", "\ue190": "E"} | dict(
    zip("ⒶⒷⒸⒹⒺ", "ABCDE", strict=True)
)

# The fonts that draw those glyphs: EUDC in files of 100–107, one whose name is just "00" in files of 108–114.
_MINISTRY_FONTS = frozenset({"EUDC", "00"})

# ㈠…㈩ of notices and lists; numbers with their full stop; parenthesised ordinals. One glyph each, in every file seen.
_SIGNS = (
    {chr(0xE129 + i): chr(0x3220 + i) for i in range(10)}
    | {chr(0xE0C6 + i): f"{i + 1}." for i in range(10)}
    | {chr(0xE1C0 + i): f"({ordinal})" for i, ordinal in enumerate("甲乙丙丁")}
)

# Rare ideographs read by eye from page pictures, each with the neighbours (before, after) that make the reading sure.
# Without one of them beside it the character stays what it is and its item is flagged.
_RARE: dict[str, tuple[str, str, str]] = {
    "\ue2c6": ("酶", "輔化解氧轉激原胺酸質脂糖肽磷羥激聚還環合", "的活抑原促"),
    "\ue2c8": ("腭", "硬軟裂", "裂骨帆"),
    "\ue2cc": ("疱", "水膿皰大", "疹病狀"),
    "\uef43": ("疱", "水膿皰大", "疹病狀"),
    "\ue2e2": ("骶", "腰薦", "骨椎髂神尾"),
    "\ue2e6": ("苷", "核糖腺鳥胞尿醣", "酸類"),
    "\ue947": ("瘻", "動靜脈肛腸尿陰膀直", "管道孔口"),
    "\uea99": ("蟎", "塵疥", "蟲過"),
    "\ueee7": ("踇", "", "趾外內展屈伸長短"),
}

_PRIVATE, _RADICALS, _LOW, _MARKS = "\ue000-\uf8ff\ufffd", "\u2f00-\u2fd5", "_＿", "".join(MARKERS)
_PRIVATE_USE = re.compile(f"[{_PRIVATE}]")
_RADICAL = re.compile(f"[{_RADICALS}]")
_BLANK = re.compile(f"[{_LOW}]{{2,}}")
MARK = re.compile(f"[{_MARKS}]")
# What most texts have none of, looked for in one pass.
_TO_FOLD = re.compile(f"[{_RADICALS}{_LOW}]")
_DOUBTFUL = re.compile(f"[{_PRIVATE}{_MARKS}]")
_WIDE_DIGITS = str.maketrans("０１２３４５６７８９", "0123456789")
_WIDE_DIGIT = re.compile("[０-９]")
BLANK = "____"
_BETWEEN = "\x1f"  # a control character, which no kept text has and nothing composes with


def font_family(name: str) -> str:
    """A font's name without its subset prefix: `"KCPNLD+EUDC"` → `"EUDC"`."""
    return name.rpartition("+")[2]


def read_private(char: str, font: str, before: str, after: str) -> str | None:
    """What the private-use character `char` stands for, or None when that is not sure.

    `font` is the PDF's font name; `before` and `after` are the neighbouring characters ("" at a line's ends).
    Option markers are not text and are not read here (see `MARKERS`).
    """
    if font_family(font) not in _MINISTRY_FONTS:
        return None
    if sign := _SIGNS.get(char):
        return sign
    if rare := _RARE.get(char):
        text, lefts, rights = rare
        if (before and before in lefts) or (after and after in rights):
            return text
    return None


def fold(text: str) -> str:
    """The form in which text is kept: NFC, compatibility ideographs and Kangxi radicals unified, blanks as `____`.

    NFC by itself unifies CJK compatibility ideographs (列 U+F99C → 列); the radicals of U+2F00–U+2FD5 have only a
    compatibility mapping and are a PDF writer's accident, so they are unified one by one.
    """
    text = unicodedata.normalize("NFC", text)
    if not _TO_FOLD.search(text):
        return text  # most
    text = _RADICAL.sub(lambda match: unicodedata.normalize("NFKC", match[0]), text)
    return _BLANK.sub(BLANK, text)


def fold_all(texts: Sequence[str]) -> list[str]:
    """Each text folded; all of them in one pass, because an item has five."""
    return fold(_BETWEEN.join(texts)).split(_BETWEEN) if texts else []


def private_use(text: str) -> tuple[str, ...]:
    """The characters of `text` that nobody can read, as `"U+E2C6"`, each once, in order.

    Those are what is left of the private-use ones, and U+FFFD, a glyph of which the file does not say what it is.
    """
    return tuple(dict.fromkeys(f"U+{ord(c):04X}" for c in _PRIVATE_USE.findall(text)))


def doubtful(text: str) -> bool:
    """Whether anything stands in `text` that `private_use` or `has_mark` looks for."""
    return _DOUBTFUL.search(text) is not None


def has_mark(text: str) -> bool:
    """Whether an option mark of the Ministry's fonts stands in `text`."""
    return MARK.search(text) is not None


def digits(text: str) -> str:
    """`text` with full-width digits made ASCII. Circled digits stay: `'①'.isdigit()` is true, but ① is no number."""
    return text.translate(_WIDE_DIGITS) if _WIDE_DIGIT.search(text) else text  # hardly any line has one


def is_wide(char: str) -> bool:
    """Whether `char` belongs to CJK text, where words are not set apart by spaces."""
    return char > "\u2e7f" and (char < "\ue000" or char > "\uf8ff")


def are_wide(codes: Any) -> Any:
    """The same for a numpy array of code points."""
    return (codes > 0x2E7F) & ((codes < 0xE000) | (codes > 0xF8FF))
