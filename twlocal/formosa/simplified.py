"""Characters that Taiwan does not write, from a pinned table; the same verdict on every machine, without OpenCC. Pure.

The table (`simplified.txt`, made by `scripts/derive_simplified.py`) holds no character of Big5's common level: 群 峰 秘
床 台 几 只 才 秋 谷 斗 后 松 占 卜 划 周 干 准 布 are never flagged. Japanese is no Simplified Chinese: a stretch with
kana in it, and the words under [exceptions] (弁当, and names), are passed over.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

_KANA = re.compile(r"[\u3041-\u3096\u30a1-\u30fa]")
_STRETCH = re.compile(r"[^，。、；：？！「」『』《》〈〉（）()\[\]\n]+")


@dataclass(frozen=True, slots=True)
class Table:
    """Characters that reject (`strict`), that are shown (`review`: variants, misprints), and words that hold them."""

    strict: frozenset[str]
    review: frozenset[str]
    exceptions: tuple[str, ...]
    sha256: str


@cache
def table() -> Table:
    """The table that comes with twlocal."""
    text = files(__package__).joinpath("simplified.txt").read_text(encoding="utf-8")
    sections: dict[str, list[str]] = {}
    name = ""
    for line in text.splitlines():
        if line.startswith("["):
            name = line.strip("[]")
            sections[name] = []
        elif line and not line.startswith("#"):
            sections[name].append(line)
    return Table(
        frozenset("".join(sections["strict"])),
        frozenset("".join(sections["review"])),
        tuple(sections["exceptions"]),
        hashlib.sha256(text.encode("utf-8")).hexdigest(),
    )


def find(text: str) -> list[tuple[int, str, bool]]:
    """Simplified-only characters of the text: (offset, character, whether it is strict), from left to right."""
    known = table()
    if not any(char in known.strict or char in known.review for char in text):
        return []
    passed: set[int] = set()
    for word in known.exceptions:
        for found in re.finditer(re.escape(word), text):
            passed.update(range(*found.span()))
    for stretch in _STRETCH.finditer(text):
        if _KANA.search(stretch[0]):
            passed.update(range(*stretch.span()))
    return [
        (at, char, char in known.strict)
        for at, char in enumerate(text)
        if (char in known.strict or char in known.review) and at not in passed
    ]
