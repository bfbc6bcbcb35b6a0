"""The grammar of an answer key's 備註: what a `#` in the grid stands for.

    第9題一律給分                          everyone is credited
    第44題除未作答者不給分外，其餘均給分     everyone who answered is credited
    第17題答Ｂ或Ｄ或BD者均給分              several answers are accepted
    第32題答Ｂ、Ｃ給分                      likewise
    第74題答Ａ給分                          the key is another letter

Widths are mixed within one note, and notes break in the middle of words; callers join lines with nothing between.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

EVERYONE, ALL_ANSWERED, SEVERAL, CHANGED, UNKNOWN = "everyone", "all_answered", "several", "changed", "unknown"

_HEAD = re.compile(r"第(\d{1,3})題")
_LETTERS = r"[A-E]{1,5}"
_ANSWER = re.compile(
    rf"(?:更正為|更正答案為|改為|更改為|答案為|答案更正為|答案改為|應為|答|選)+({_LETTERS}(?:(?:[或、,及]|和|與)(?:答|選)?{_LETTERS})*)"
    r"(?:者)?[,、]?(?:均|皆|都|亦)?(?:可)?(?:給分|予以給分|給予分數|計分)?[。.]?$"
)
_EVERYONE = re.compile(r"^(?:本題)?(?:[,、])?(?:一律|均|皆|全部|全體)?(?:予以)?(?:給分|送分)[。.]?$")
_ALL_ANSWERED = re.compile(
    r"^除未(?:作|做)答者?(?:不給分|不予給分|不予計分)?(?:者)?外[,、]?其餘(?:均|皆|一律)?(?:予以)?(?:給分|送分)[。.]?$"
)


@dataclass(frozen=True)
class Note:
    """What the 備註 says about one item. `text` is as printed; `accepted` are answers in order, such as `("B", "BD")`.

    `accepted` is empty for `everyone`, `all_answered` (any letter does) and `unknown` (no letter is sure).
    """

    number: int
    kind: str
    accepted: tuple[str, ...]
    text: str


def read_notes(text: str) -> dict[int, Note]:
    """The notes of a 備註 by item number. A note that the grammar does not know is `unknown`, never dropped.

    Several items may share one note (`第9題、第10題一律給分`). Two different notes on one item make it `unknown`.
    """
    text = re.sub(r"\s+", "", text)
    heads = list(_HEAD.finditer(text.translate(_DIGITS)))
    found: dict[int, Note] = {}
    waiting: list[int] = []
    for head, after in zip(heads, [*heads[1:], None][: len(heads)], strict=True):
        waiting.append(int(head[1]))
        body = text[head.end() : after.start() if after else len(text)].rstrip("，,；;、。.")
        if not body or body in ("及", "和", "與", "至"):
            if body == "至":
                waiting.append(-1)  # a range: its items are not spelled out here, so nothing is sure
            continue
        kind, accepted = _read(body)
        if -1 in waiting:
            kind, accepted = UNKNOWN, ()
        for number in waiting:
            if number in found and found[number].text != body:
                found[number] = Note(number, UNKNOWN, (), f"{found[number].text}；{body}")
            elif number > 0:
                found[number] = Note(number, kind, accepted, body)
        waiting = []
    for number in waiting:
        if number > 0 and number not in found:
            found[number] = Note(number, UNKNOWN, (), "")
    return found


_DIGITS = str.maketrans("０１２３４５６７８９", "0123456789")


def _read(body: str) -> tuple[str, tuple[str, ...]]:
    plain = unicodedata.normalize("NFKC", body).upper()
    if _ALL_ANSWERED.match(plain):
        return ALL_ANSWERED, ()
    if _EVERYONE.match(plain):
        return EVERYONE, ()
    if found := _ANSWER.match(plain):
        accepted = tuple(dict.fromkeys(re.findall(_LETTERS, found[1])))
        return (CHANGED if len(accepted) == 1 and len(accepted[0]) == 1 else SEVERAL), accepted
    return UNKNOWN, ()
