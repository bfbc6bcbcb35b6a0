"""What gives an item's answer away, or makes its options fall apart when they are permuted. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

# A point, comma or sign that belongs to a number speaks: 2.4% is not 24%, -1 is not 1.
_SILENT = re.compile(r"(?:[\s，。、；：！？;:!?「」『』《》〈〉“”\"'（）()【】\[\]·・—_]|(?<!\d)[.,]|[.,](?!\d))+")
_ALNUM = re.compile(r"[0-9A-Za-z]")
_NUMERAL = re.compile(r"[0-9〇零一二三四五六七八九十百千萬億兆]")
# An option that speaks of other options means something else once the order changes.
_SPEAKS_OF_OPTIONS = re.compile(
    r"^(?:以上|上述|前述|以下|前三者|前兩者|三者|四者|兩者|選項)?(?:選項|答案|敘述|各項|三者|四者|兩者)?(?:中)?(?:皆|均|都|全)(?:不|無|未)?"
    r"(?:是|非|可|對|錯|正確|錯誤|有可能|有|符合|屬之|為真)(?:的)?$"
    r"|^(?:以上|上述|前述)(?:選項)?(?:[兩二三四]者|各項|各選項)$|^(?:以上|上述|前述)(?:選項)?(?:無一|沒有一?個?)(?:正確|為真|是|符合).*$"
    r"|^選項[A-DＡ-Ｄ甲乙丙丁].{0,12}$"
    r"|^[A-DＡ-Ｄ甲乙丙丁](?:[、，,和與及跟或&+＋](?:選項)?[A-DＡ-Ｄ甲乙丙丁])+(?:選項)?(?:皆|均|都)?(?:是|對|可|正確|非)?$"
    r"|^[A-DＡ-Ｄ甲乙丙丁]{2,4}(?:皆|均|都)(?:是|對|可|正確|非)$|^(?!.*(.).*\1)(?:[A-D]{3,4}|[甲乙丙丁]{3,4})$"
)
# Directions stand in many stems that ask for a direction (轉速增加時，其風量…).
_DIRECTIONS = frozenset(
    ("增加", "減少", "降低", "升高", "上升", "下降", "提高", "變大", "變小", "不變", "相同", "不同", "正確", "錯誤")
)
# Sticking out: this many times the next longest (or shortest), and at least so many columns. A Chinese character
# is two.
_KEY_TIMES, _OTHER_TIMES, _COLUMNS = 1.6, 2.5, 10


def bare(text: str) -> str:
    """A text as it is compared: NFKC, lower case, without blanks and punctuation outside numbers, 臺 as 台."""
    return _SILENT.sub("", unicodedata.normalize("NFKC", text)).casefold().replace("臺", "台")


def answer_in_stem(stem: str, key: str, distractors: Sequence[str]) -> bool:
    """Whether the stem says the answer.

    Not so where it names the choices (a distractor stands in it too), where the key is a single character or a
    direction (增加), or where the key is only a piece of a longer number or Latin word (「19」 in 1999).
    """
    said, answer = bare(stem), bare(key)
    if len(answer) < 2 or answer in _DIRECTIONS or not _stands_in(said, answer):
        return False
    return not any(len(other) >= 2 and _stands_in(said, other) for other in map(bare, distractors))


def _stands_in(text: str, part: str) -> bool:
    at = text.find(part)
    while at != -1:
        before, behind = text[at - 1 : at], text[at + len(part) : at + len(part) + 1]
        if not _continues(before, part[0]) and not _continues(part[-1], behind):
            return True
        at = text.find(part, at + 1)
    return False


def _continues(one: str, other: str) -> bool:
    """Whether two neighbours belong to one number or one word."""
    if not one or not other:
        return False
    return bool(_ALNUM.match(one) and _ALNUM.match(other)) or bool(_NUMERAL.match(one) and _NUMERAL.match(other))


def columns(text: str) -> int:
    """The text's width in columns of a terminal: 2 for a Chinese character, so that 台積電 and TSMC compare fairly."""
    return sum(
        2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text if not unicodedata.combining(char)
    )


def sticks_out(options: Sequence[str], at: int, *, is_key: bool) -> str:
    """ "longer", "shorter" or "": whether option `at` can be told from the others by its length alone.

    The key at 1.6 times the next (or below), a distractor at 2.5; always by ten columns at least, so that names of
    people and years, which differ by a character or two, never count.
    """
    widths = [columns(text) for text in options]
    others = widths[:at] + widths[at + 1 :]
    times = _KEY_TIMES if is_key else _OTHER_TIMES
    if widths[at] >= times * max(others) and widths[at] - max(others) >= _COLUMNS:
        return "longer"
    if widths[at] * times <= min(others) and min(others) - widths[at] >= _COLUMNS:
        return "shorter"
    return ""


def speaks_of_options(text: str) -> bool:
    """Whether an option names other options (以上皆是, A 和 B, 甲乙皆是)."""
    return bool(_SPEAKS_OF_OPTIONS.match(re.sub(r"[\s。．.]+", "", text)))
