"""What a box holds that the score's reader could not read: the letters of another alphabet, or no letter at all.

One wrong placeholder in a system prompt makes a model answer in another alphabet and costs it its score (the paper's
section 5.2), so the alphabet is named. Pure.
"""

from __future__ import annotations

import re
import unicodedata

_BOX = re.compile(r"\\f?box(?:ed)?\s*\{")
_MAX_CONTENT = 80  # characters of a box that are worth a look
_DECORATION = re.compile(r"\\[a-zA-Z]+\*?|[\s{}()\[\].,:;*_$'\"`、。，：（）【】「」]+")

ORDINALS = "ordinals"
# Name → what a whole content may be. Told apart before NFKC, which would turn ① into 1 and Ａ into A.
ALPHABETS = {
    ORDINALS: "甲乙丙丁",
    "circled digits": "①②③④⑴⑵⑶⑷❶❷❸❹",
    "digits": "0123456789１２３４",
    "Chinese numerals": "一二三四壹貳參肆",
    "full-width letters": "ＡＢＣＤａｂｃｄ",
    "Roman numerals": "ⅠⅡⅢⅣⅰⅱⅲⅳ",
    "Greek letters": "ΑαΒβΓγΔδ",
    "bopomofo": "ㄅㄆㄇㄈ",
}
NOTHING, RANGE, SEVERAL = "nothing", "letters outside A-D", "several letters"
DECORATED, PROSE = "decorated letters", "other text"
_SEPARATORS = re.compile(r"[\s,、，/及和與&]+")


def unread_box(text: str) -> str | None:
    """The content of the last box in `text`, without its outer braces; None without a box that closes."""
    boxes = list(_BOX.finditer(text))
    if not boxes:
        return None
    depth, start = 1, boxes[-1].end()
    for at in range(start, min(len(text), start + _MAX_CONTENT)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if depth == 0:
            return text[start:at]
    return None


def alphabet(content: str) -> str:
    """The name of what a box's content is written in: a key of ALPHABETS, or one of the constants beside it."""
    bare = _DECORATION.sub("", content)
    if not bare:
        return NOTHING
    for name, letters in ALPHABETS.items():
        if len(bare) == 1 and bare in letters:
            return name
    letters = unicodedata.normalize("NFKC", bare).upper()
    parts = [part for part in _SEPARATORS.split(letters) if part]
    if letters in {"A", "B", "C", "D"}:
        return DECORATED
    if len(letters) == 1 and letters.isascii() and letters.isalpha():
        return RANGE
    if "".join(parts) in {"AB", "AC", "AD", "BC", "BD", "CD", "ABC", "ABD", "ACD", "BCD", "ABCD"}:
        return SEVERAL
    return PROSE
