"""Characters and names that are not written so in Taiwan (the paper's section 6.5). Pure, but for the table of names.

The reference for characters is Big5 (with Microsoft's additions), whose 13,000 are those of Taiwan's standard forms.
An ideograph outside it is called simplified where GB 2312 has it, and foreign or invented elsewhere. The reference for
names is `names.toml`. A name before 站 that differs from a known one in a single character, and is no known word, is
corrupted (左翐站 for 左營站): each of its characters may well exist.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files

_IDEOGRAPHS = re.compile(r"[\u3400-\u9fff\U00020000-\U0003ffff]")
# What stands where a character should be: the replacement character, private use, descriptions of unencoded ones.
_BROKEN = re.compile(r"[\ufffd\ue000-\uf8ff\u2ff0-\u2fff\U000f0000-\U0010ffff]")
# 站 behind a name is a noun. A name begins at a mark, a blank, or behind a word that leads to a place; all beginnings
# are tried, for 搭到板橋站 begins twice.
_STATION = r"(?:高鐵|捷運|火車|轉運|車)?站(?![著在立出上起了穩點崗住到滿長名方員])"
_BEGIN = r"(?<![\u3400-\u9fff])|(?<=[到在從往至經由過抵與和及搭於是為叫])|(?<=高鐵|台鐵|捷運)"
_BEFORE_STATION = re.compile(rf"(?:{_BEGIN})(?=([\u3400-\u9fff]{{2,4}}?){_STATION})")


@dataclass(frozen=True)
class Names:
    """Known names with their spellings in Latin letters, and words that stand before 站 without being one."""

    spellings: Mapping[str, tuple[str, ...]]
    words: frozenset[str]

    @cached_property
    def by_spelling(self) -> dict[str, str]:
        """The name behind each spelling, in lower case without blanks and hyphens."""
        return {_letters(one): name for name, spelled in self.spellings.items() for one in spelled}

    @cached_property
    def spelled(self) -> re.Pattern[str]:
        """Finds any spelling, with or without its blanks and hyphens."""
        spellings = sorted((one for spelled in self.spellings.values() for one in spelled), key=len, reverse=True)
        joined = "|".join(re.sub(r"[ -]", "[ -]?", one) for one in spellings) or r"(?!)"
        return re.compile(rf"(?<![A-Za-z])(?:{joined})(?![A-Za-z])", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Odd:
    """What is odd about a text's characters and names; each character or name once, in the order of the text.

    corrupted: (as written, the known name). romanised: known names that are given in Latin letters only.
    """

    simplified: tuple[str, ...]
    foreign: tuple[str, ...]
    broken: int
    corrupted: tuple[tuple[str, str], ...]
    romanised: tuple[str, ...]


@cache
def names() -> Names:
    """The bundled table of names."""
    table = tomllib.loads(files("twlocal.study").joinpath("names.toml").read_text(encoding="utf-8"))
    spellings = {same(name): tuple(spelled) for name, spelled in table["names"].items()}
    return Names(spellings, frozenset(map(same, table["words"])))


def same(text: str) -> str:
    """The text with 臺 written 台: both are right."""
    return text.replace("臺", "台")


def odd(text: str, known: Names | None = None) -> Odd:
    """Look at a text's characters and names. Linear in the text's length."""
    known = known or names()
    simplified, foreign = _outside(text)
    plain = same(unicodedata.normalize("NFC", text))
    return Odd(simplified, foreign, len(_BROKEN.findall(text)), _corrupted(plain, known), romanised(plain, known))


def _outside(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    simplified: list[str] = []
    foreign: list[str] = []
    for char in dict.fromkeys(_IDEOGRAPHS.findall(text)):
        if not _encodes(char, "cp950"):
            (simplified if _encodes(char, "gb2312") else foreign).append(char)
    return tuple(simplified), tuple(foreign)


def _encodes(char: str, encoding: str) -> bool:
    try:
        char.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True


def _corrupted(text: str, known: Names) -> tuple[tuple[str, str], ...]:
    found: dict[tuple[str, str], None] = {}
    for match in _BEFORE_STATION.finditer(text):
        said = match[1]
        # A known name may stand behind words that the beginning did not part from it (抵達左營站).
        endings = [said[-size:] for size in range(len(said), 1, -1)]
        if any(ending in known.spellings or ending in known.words for ending in endings):
            continue
        near = [name for name in known.spellings if one_apart(said, name)]
        if len(near) == 1:
            found[said, near[0]] = None
    return tuple(found)


def one_apart(said: str, name: str) -> bool:
    """Whether two names of one length differ in exactly one character."""
    return len(said) == len(name) and sum(a != b for a, b in zip(said, name, strict=True)) == 1


def romanised(text: str, known: Names) -> tuple[str, ...]:
    """Known names that the text spells in Latin letters and never writes in Chinese."""
    found: dict[str, None] = {}
    for match in known.spelled.finditer(text):
        name = known.by_spelling[_letters(match[0])]
        if name not in text:
            found[name] = None
    return tuple(found)


def _letters(spelled: str) -> str:
    return re.sub(r"[ -]", "", spelled).casefold()
