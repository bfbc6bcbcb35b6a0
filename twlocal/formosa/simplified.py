"""Characters that Taiwan does not write, from a pinned table; the same verdict on every machine, without OpenCC. Pure.

The table (`simplified.txt`, made by `scripts/derive_simplified.py`) holds no character of Big5's common level: 群 峰 秘
床 台 几 只 才 秋 谷 斗 后 松 占 卜 划 周 干 准 布 are never flagged. Variants that Taiwan's signs and older prints have
too (猫 葱 却 别) are shown. Japanese is no Simplified Chinese: a stretch with kana or a character that only Japan has
(沢 図 読, with 学 beside them), and the words under [exceptions] (弁当, 担仔麵, names, 无妄 of the Book of Changes),
are passed over, and so is the 个 of Hakka. A character that is spoken of and not used is shown, never a reason to
reject: one that stands alone in quotes (「龙」), and a short quotation of what the text calls Simplified.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

# What Japan writes and neither Taiwan (Big5) nor the mainland (GB 2312): kana, and characters as Japan simplified them.
_JAPANESE = re.compile(
    r"[\u3041-\u3096\u30a1-\u30fa"
    r"沢図読売駅広応桜気関戦塩斎稲渋栄県検験実発転価囲圏権労鉄団恵択拡拝摂粛猟継繊総縄覚覧訳辺郷釈鉱銭闘隠霊頼顕騒黙様両児乗剰"
    r"剣効勧営巻弾戯桟獣砕穂粋聴臓蔵薬亜壱壊絵楽歓帰犠拠挙暁駆勲渓蛍軽鶏撃倹厳済剤雑舎収従縦処焼嬢浄畳譲醸酔専捜続対帯単遅庁逓"
    r"徳悩脳廃髪抜払仏変満揺謡塁隷円仮込咲歯姫竜齢]"
)
# A quotation, and what before it says that it is in Simplified characters.
_QUOTATION = re.compile(r"[「『“‘《〈（(]([^「」『』“”‘’《》〈〉（）()\n]{1,16})[」』”’》〉）)]")
_SAID = re.compile(r"簡體|簡化字|简体|大陸用字|大陸字")
_BEFORE = 14  # characters in which that is said
# Hakka as Taiwan writes it has 个 where Mandarin has 的, beside pronouns that only it has.
_HAKKA = re.compile("[𠊎佢𫣆]")
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
    spoken_of: set[int] = set()
    for quotation in _QUOTATION.finditer(text):
        if len(quotation[1]) == 1 or _SAID.search(text, max(0, quotation.start() - _BEFORE), quotation.start()):
            spoken_of.update(range(*quotation.span(1)))
    for word in known.exceptions:
        for found in re.finditer(re.escape(word), text):
            passed.update(range(*found.span()))
    for stretch in _STRETCH.finditer(text):
        if _JAPANESE.search(stretch[0]):
            passed.update(range(*stretch.span()))
        elif "个" in stretch[0] and _HAKKA.search(stretch[0]):
            passed.update(at for at in range(*stretch.span()) if text[at] == "个")
    return [
        (at, char, char in known.strict and at not in spoken_of)
        for at, char in enumerate(text)
        if (char in known.strict or char in known.review) and at not in passed
    ]
