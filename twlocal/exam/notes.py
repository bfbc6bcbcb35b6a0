"""The grammar of an answer key's 備註: what a `#` in the grid stands for.

    第9題一律給分                          everyone is credited
    第1、2題一律給分，第5題至第7題送分      likewise, each of them
    第44題除未作答者不給分外，其餘均給分     everyone who answered is credited
    第17題答Ｂ或Ｄ或BD者均給分              several answers are accepted
    第32題答Ｂ、Ｃ給分                      likewise
    第74題答Ａ給分                          the key is another letter
    第8題答案由Ａ更正為Ｂ                    likewise

Widths are mixed within one note, and notes break in the middle of words; callers join lines with nothing between.
A statement is read only when all of its words are known: what it says of an item is `unknown` otherwise.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from .glyphs import MARKERS
from .numerals import HAN as _HAN
from .numerals import numeral

EVERYONE, ALL_ANSWERED, SEVERAL, CHANGED, UNKNOWN = "everyone", "all_answered", "several", "changed", "unknown"


@dataclass(frozen=True)
class Note:
    """What the 備註 says about one item. `text` is as printed; `accepted` are answers in order, such as `("B", "BD")`.

    `accepted` is empty for `everyone`, `all_answered` (any letter does) and `unknown` (no letter is sure).
    """

    number: int
    kind: str
    accepted: tuple[str, ...]
    text: str

    @property
    def replaced(self) -> tuple[str, ...]:
        """The answers that the note itself says it replaces (由Ａ更正為Ｂ), if it says so."""
        found = _CORRECTED.fullmatch(_plain(self.text)) if self.kind == CHANGED else None
        return tuple(re.findall(_LETTERS, found["old"])) if found and found["old"] else ()


def read_notes(text: str) -> dict[int, Note]:
    """The notes of a 備註 by item number. A note that the grammar does not know is `unknown`, never dropped.

    Several items may share one note (`第9題、第10題一律給分`, `第1至3題一律給分`). Two different notes on one item
    make it `unknown`.
    """
    found: dict[int, Note] = {}
    spilled = False  # whether words before this head may be of this statement (答B或第3題…, 給分，非第3題…)
    for head, body in _statements(text)[1]:
        kind, accepted = _read(_plain(body), len(head.numbers))
        cut = False
        if kind == UNKNOWN and (joint := _CUT.search(_folded(body))):
            rest = _read(_plain(body[: joint.start()]), len(head.numbers))
            if joint["words"] in _AND and rest[0] != UNKNOWN:
                (kind, accepted), body = rest, body[: joint.start()]
            else:
                cut = joint["words"] in ("或", *_AND) or rest[0] != UNKNOWN
        if spilled or cut or not head.sure or (kind == CHANGED and not head.named):
            kind, accepted = UNKNOWN, ()
        spilled = cut
        for number in head.numbers:
            note = Note(number, kind, accepted, body)
            if found.setdefault(number, note) != note:
                both = dict.fromkeys((found[number].text, body))
                found[number] = Note(number, UNKNOWN, (), "；".join(both))
    return found


def unattributed(text: str) -> str:
    """The words of a 備註 that may change the answer of items which they do not name, "" when there are none.

    Such are `全部試題一律給分`, `其餘各題送分`, `除第9題外，均給分`.
    """
    words, statements = _statements(text)
    if not statements:
        return words if _CREDITS.search(_folded(words)) else ""
    said = [words, *(body for head, body in statements if _read(_plain(body), len(head.numbers))[0] == UNKNOWN)]
    return next((text for text in said if _OTHERS.search(_folded(text))), "")


# ---- which items: the heads of statements

_DIGITS = r"(?<![\d.])\d{1,3}(?!\d|\.\d)"
_UNIT = r"(?![年月日時分秒點頁條項款節張次屆歲位名人倍個%元字號])"
_JOINT = "(?:以及|[、,;及和與暨])"
_RANGE = "[至到~\u2013\u2014-]"
_ONE = (
    rf"(?:(?:第|題[號序]:?)\(?(?:{_DIGITS}{_UNIT}|{_HAN}(?={_JOINT}|{_RANGE}|\)?題))\)?題?"
    rf"|\(?{_DIGITS}{_UNIT}\)?題?|{_HAN}(?:題|(?={_JOINT}{_HAN})))"
)
# 共2題 counts items, 每題2分 and 得2分 count points; a bare 二題 is an item only in a list.
_HEAD = re.compile(rf"(?<![共計等每給得各配\d])(?!{_HAN}){_ONE}(?:(?:{_JOINT}|{_RANGE}){{1,2}}{_ONE})*")
_ELEMENT = re.compile(rf"(?P<tie>{_RANGE}?)(?P<lead>第|題[號序])?:?\(?(?P<number>\d{{1,3}}|{_HAN})\)?(?P<tail>題)?")
# Numbers of a list of statements: 1.第9題…  (2)第10題…  一、第9題…
_ORDINAL = re.compile(
    rf"(?<![\d第題一二三四五六七八九十])(?:\d{{1,2}}\.|\(\d{{1,2}}\)|{_HAN}、|\({_HAN}\)|[①-⑳⑴-⒛㈠-㈩])(?=第|題[號序])"
)
_HARMLESS = re.compile(
    rf"(?:單選題|測驗題|選擇題|測驗式試題|測驗試題|本試題|試題|本科目|答案更正|更正答案|如下|[:,。;.、]|{_HAN}、)*"
)
_CREDITS = re.compile("[給送計得]分|(?<!無)(?:更正|更改|修正|改為|應為)|(?<![A-Za-z])[A-E]{1,5}(?![A-Za-z])")
_OTHERS = re.compile(
    "除$|(?:其餘|其他|餘|全部|所有|各)各?(?:試題|題目?)(?!均?(?:答案)?(?:均|皆|都)?(?:不變|無更正|維持|照舊|同原))"
)
_AND = ("以及", "及", "和", "與", "暨", "並", "且")
_CUT = re.compile(rf"[,;。]?(?P<words>或|{'|'.join(_AND)}|(?<=[,;。])[^,;。]+)$")
_ENDS = "，,；;、。.．"


@dataclass(frozen=True)
class _Head:
    """The items of a statement. `named` says that 題 stands beside them, `sure` that which they are is clear."""

    numbers: tuple[int, ...]
    named: bool
    sure: bool


def _statements(text: str) -> tuple[str, list[tuple[_Head, str]]]:
    """The words before the first head, and each head with what is said of it, as printed."""
    text = re.sub(r"\s+", "", text)
    plain = _folded(text)
    for ordinal in reversed([*_ORDINAL.finditer(plain)]):
        gap = ";" * (ordinal.end() - ordinal.start())
        plain = plain[: ordinal.start()] + gap + plain[ordinal.end() :]
        text = text[: ordinal.start()] + gap + text[ordinal.end() :]
    heads = [*_HEAD.finditer(plain)]
    if not heads:
        return text.strip(_ENDS), []
    words = text[: heads[0].start()]
    known = _HARMLESS.fullmatch(plain[: heads[0].start()]) is not None
    found: list[tuple[_Head, str]] = []
    waiting: list[_Head] = []
    for match, after in zip(heads, [*heads[1:], None], strict=True):
        head = _head(match[0])
        body = text[match.end() : after.start() if after else len(text)].lstrip("：:" + _ENDS).rstrip(_ENDS)
        # The words before the first head are part of what is said there.
        waiting.append(head if known else _Head(head.numbers, head.named, False))
        known = True
        if body and _folded(body) not in ("及", "和", "與", "以及"):
            found.append((_merged(waiting), body))
            waiting = []
    return words, [*found, *((_Head(head.numbers, head.named, False), "") for head in waiting)]


def _merged(heads: list[_Head]) -> _Head:
    numbers = dict.fromkeys(number for head in heads for number in head.numbers)
    return _Head(tuple(numbers), all(head.named for head in heads), all(head.sure for head in heads))


def _head(words: str) -> _Head:
    numbers: list[int] = []
    sure = True
    elements = [*_ELEMENT.finditer(words)]
    for k, element in enumerate(elements):
        number = numeral(element["number"])
        if element["tie"] and numbers:
            sure = sure and 0 < number - numbers[-1] < 100
            numbers += range(numbers[-1] + 1, number) if sure else ()
        # 1、第9題: the first may be the number of the statement, not of an item.
        sure = sure and number > 0 and not (k and element["lead"] and not (elements[0]["lead"] or elements[0]["tail"]))
        numbers.append(number)
    named = any(element["tail"] or element["lead"] in ("題號", "題序") for element in elements)
    return _Head(tuple(dict.fromkeys(n for n in numbers if n > 0)), named, sure)


# ---- what is said of them

_LETTERS = "[A-E]{1,5}"
_EVERY = "(?:一律|一概|全部|全體|全數|均|皆|都)"
_ALSO = "(?:亦|也)"
_CREDIT = "(?:可|得|應)?(?:予以|給予|准予|予)?(?:給分|計分|送分|得分|滿分|給予分數)"
_OR = "(?:或者|或是|以及|[或、,/及和與])"
_SAY = "(?:本題|該題|應考人|考生|凡|作答|回答|圈選|答案|選項|答|選|填|為|:){0,6}"
_ONE_ANSWER = rf"{_SAY}{_LETTERS}(?:選項|答案|項)?"
_ANSWERS = rf"{_ONE_ANSWER}(?:者?{_OR}{_ONE_ANSWER})*"
_CREDITED = (
    rf"{_ANSWERS}(?:(?:任一|任何一個|其中任一|其中之一|之一)(?:選項|答案|項)?)?(?:者|之應考人)?,?"
    rf"(?:(?:{_EVERY}|{_ALSO})*{_CREDIT}|{_EVERY}(?:可|對|正確|算對|(?:為|視為|屬)?正確(?:答案)?|為正解|為答案))"
)
_ACCEPTED = re.compile(rf"{_CREDITED}(?:[,;、]?{_CREDITED})*")
_OFFICIAL = "(?:原先|原來|原|公布之?|公告之?|標準|正確|參考|之)"
_CORRECTED = re.compile(
    rf"(?:本題|該題)?(?:{_OFFICIAL}*答案)?(?:為|是|:|由|從|自)?(?P<old>{_LETTERS}(?:{_OR}{_LETTERS})*)?[,;、]?"
    rf"(?:答案)?應?(?:更正|更改|修正|訂正|變更|修改|改)(?:後|成|為)?(?:之)?(?:標準|正確)?(?:答案)?應?(?:為|是|成|:)?"
    rf"(?P<new>{_ANSWERS})(?:者?,?(?:{_EVERY})?{_CREDIT})?"
)
_STATED = re.compile(
    rf"(?:本題|該題)?(?:(?:標準|正確|更正後?之?)*(?:答案|解答|正解)應?(?:為|是|:)|應(?:為|是)|正解:?為?)"
    rf"(?P<new>{_ANSWERS})(?:者?,?(?:{_EVERY})?{_CREDIT})?"
)
_NOT_ALL = re.compile("除|外|僅|只|其餘|其他|不給|不予|不計|未作|未做|未答|未選|未填|者|[A-E#\\d]")
_WHO = "(?:所有|全體|全部|凡|到考|各|之)*(?:應考人|應試者|應試人|考生|應考者)"
_WHICH = "(?:本題|該題|此題|各題|以上各題|試題)"
_VOIDED = re.compile(rf"(?:.{{0,40}}?[,;:、。])?{_WHICH}?,?(?:{_WHO})?,?(?:{_EVERY})*{_CREDIT}")
_VOIDED_FOR = re.compile(rf".{{0,40}}?{_EVERY}+{_CREDIT}")
_BLANK = "(?:未作答|未做答|未填答|未答題|未選答|未答)"
_PERSON = "(?:者|之?應考人|之?考生)"
_NOTHING = f"(?:(?:{_EVERY})?(?:不給分|不予給分|不予計分|不計分|不得分|零分|以零分計算?))"
_ANSWERED = re.compile(
    rf"(?:除{_BLANK}{_PERSON}?{_NOTHING}?{_PERSON}?(?:以)?外|{_BLANK}{_PERSON}?{_NOTHING})[,;]?"
    rf"(?:其餘|其他|餘|凡|有|已)?(?:作答|答題)?{_PERSON}?(?:{_EVERY})+{_CREDIT}"
    rf"|(?:本題)?(?:凡|有|已|所有|全部)*(?:作答|做答|答題|填答|選答){_PERSON}(?:{_EVERY})+{_CREDIT}"
    rf"|(?:凡)?(?:答|選|填){{1,2}}(?:任何|任一|任意)(?:一個|一)?(?:選項|答案)?{_PERSON}?(?:{_EVERY})*{_CREDIT}"
)
_TOTAL = re.compile(r"(?:[等共計]+(?P<digits>\d{1,3})|[等共計]*(?P<han>[二兩三四五六七八九十]{1,3}))個?(?:小題|題),?")
_QUOTES = re.compile("[「」『』\"'“”‘’《》〈〉]")
_BRACKETS = str.maketrans("[]{}【】〔〕［］", "()()()()()")
_BEFORE = re.compile(rf"\({_OFFICIAL}+答案(?:為|是|:)?(?P<old>{_LETTERS})\)$")
_ASIDE = re.compile(r"\([^()]*\)")


def _folded(text: str) -> str:
    """Full-width letters, digits and marks as ASCII, option marks as letters; places stay what they are.

    ① is no number here: it is a statement inside an item.
    """
    return "".join(map(_folded_char, text))


def _folded_char(char: str) -> str:
    same = MARKERS.get(char) or unicodedata.normalize("NFKC", char)
    return same if len(same) == 1 and unicodedata.category(char) != "No" else char


def _plain(body: str) -> str:
    """What is said in its simplest form: no quotes, no brackets about letters, the replaced answer in front."""
    text = _QUOTES.sub("", _folded(body).upper().translate(_BRACKETS))
    text = re.sub(rf"\(({_LETTERS})\)", r"\1", text).strip(",;、。.:")
    if (before := _BEFORE.search(text)) and _CORRECTED.fullmatch(text[: before.start()]):
        text = f"原答案{before['old']},{text[: before.start()]}"
    return _BEFORE.sub("", text).rstrip(",;、。.:")


def _read(said: str, items: int) -> tuple[str, tuple[str, ...]]:
    """Kind and accepted answers. `items` is of how many items it is said, in one breath."""
    if total := _TOTAL.match(said):
        counted = numeral(total["digits"] or total["han"].replace("兩", "二"))
        if counted != items:
            return UNKNOWN, ()
        said = said[total.end() :]
    # Asides give reasons for crediting everyone (題意不清); beside a letter they could say anything.
    void = _ASIDE.sub("", said)
    if _ANSWERED.fullmatch(void):
        return ALL_ANSWERED, ()
    if not _NOT_ALL.search(said) and (_VOIDED.fullmatch(void) or _VOIDED_FOR.fullmatch(void)):
        return EVERYONE, ()
    corrected = _CORRECTED.fullmatch(said) or _STATED.fullmatch(said)
    if not corrected and not _ACCEPTED.fullmatch(said):
        return UNKNOWN, ()
    accepted = tuple(dict.fromkeys(re.findall(_LETTERS, corrected["new"] if corrected else said)))
    if any(len(set(answer)) < len(answer) for answer in accepted):
        return UNKNOWN, ()
    if len(accepted) > 1 or len(accepted[0]) > 1:
        return SEVERAL, accepted
    # One letter of which "all" is said, or "too", leaves open what the others are.
    if re.search(_ALSO, said) or (re.search(_EVERY, said) and items == 1):
        return UNKNOWN, ()
    old = re.findall(_LETTERS, said[: corrected.start("new")]) if corrected else []
    return (UNKNOWN, ()) if accepted[0] in old else (CHANGED, accepted)
