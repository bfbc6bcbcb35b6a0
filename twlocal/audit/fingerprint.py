"""A question's fingerprint: its stem and its sorted option texts, without typography (the paper's section 3.2).

Two printings of one question have the same fingerprint whatever the order of their options, the width of their
characters, their blanks and their punctuation. What carries meaning stays: signs (+ - < > = / %), decimal points, the
ratio's colon, the case of genotypes and units.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Sequence

from twlocal.item import UNIT_SEPARATOR, Item

_SPACE = re.compile(r"[\s\u00ad\u200b-\u200f\u2060\ufeff]+")
# Punctuation that printings differ in. A point, colon or comma between two digits is part of a number.
_PUNCTUATION = re.compile(
    r"[、。，；：？！「」『』（）〔〕【】《》〈〉“”‘’…‧·・•﹒()\[\];?!\"'_]|(?<!\d)[.,:]|[.,:](?!\d)"
)
_THOUSANDS = re.compile(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?![\d,])")
_DASHES = re.compile("[\u2010-\u2015\u2212\ufe58\ufe63]")
# Words lose their case, one by one also where a text layer lost the space between them; mRNA's m, CoA and pH do not.
_WORD = re.compile("[A-Z]?[a-z]{2,}|[A-Z]{3,}")
# Genotypes such as AaBb: pairs of one letter, in which case is the whole meaning.
_GENOTYPE = re.compile(r"(?:([A-Za-z])(?i:\1))+")


def plain(text: str) -> str:
    """`text` in NFKC without white space: what two printings must share to be the same words."""
    return _SPACE.sub("", unicodedata.normalize("NFKC", text))


def fold(text: str) -> str:
    """`text` without what printings differ in: width, white space, punctuation, the case of words, 台 for 臺.

    A text that is nothing but punctuation stays as it is.
    """
    bare = _DASHES.sub("-", plain(text)).replace("台", "臺")
    bare = _THOUSANDS.sub(lambda number: number[0].replace(",", ""), bare)
    return _WORD.sub(_small, _PUNCTUATION.sub("", bare)) or bare


def _small(word: re.Match[str]) -> str:
    return word[0] if _GENOTYPE.fullmatch(word[0]) else word[0].lower()


def fingerprint(question: str, options: Sequence[str]) -> str:
    """sha256 (hex) over the folded stem and the folded options in sorted order, joined by U+001F."""
    parts = [fold(question), *sorted(fold(option) for option in options)]
    return hashlib.sha256(UNIT_SEPARATOR.join(parts).encode("utf-8")).hexdigest()


def of_item(item: Item) -> str:
    """The fingerprint of an item."""
    return fingerprint(item.question, item.options)
