"""What makes a stem lean on the text it was written from: a pronoun it opens on, a reference to the passage. Pure.

Section 4.1 of the paper: 「她取得美國國籍的年份是？」 names nobody once the source is gone and is rejected; a pronoun
inside a stem resolves there and is legal. 「根據本文」 is stripped where it is pure scaffolding, and the stem is
rejected where the reference carries meaning (「文中的餐廳」, 「根據本文，下列何者正確？」).
"""

from __future__ import annotations

import re

_HAN = "\u3400-\u4dbf\u4e00-\u9fff"

# --- pronouns ---------------------------------------------------------------------------------------------------------

# What may stand before a pronoun without naming anybody.
_OPENERS = re.compile(
    r"^(?:[\s、，,：:（）()\[\]【】]|\d{1,3}[.．、)）]|題目|問題|請問|試問|請選出|何者是|(?:下列|以下)(?:哪[一項個位]*|何者|有關|關於)?|有關|關於|對於|針對)+"
)
_TIME = re.compile(
    r"^(?:西元|公元|民國|昭和|大正|明治|清朝|清末|[0-9０-９〇零一二三四五六七八九十百千\s]+(?:年代|年|月|日|世紀|歲)"
    r"[初末底中前後起間時]*|當時|當年|後來|之後|之前|隨後|最後|起初|最初|晚年|早年|[在於自從當]|[，、]){1,12}"
)
_CLASSIFIERS = "位個座種部首項些裡次場本家間條年段支張款棟片名隻群天時句道件類起所間份"
_PERSONAL = (
    r"(?:他(?!(?:人(?![生們])|國(?![中小立內籍民])|鄉|殺|律|山之石|里霧|加祿|汀|莫昔芬|克莫司|方|項|處|媽的|拿坡))"
    r"|她|牠|祂|它|其(?![他實餘它]|人其事))"
)
_DEMONSTRATIVE = (
    r"(?:這|此(?!地無銀|起彼|致|生|情可待)|該(?![不如怎去向由是在用先何找選從到隱應要撥])|那(?:["
    + _CLASSIFIERS
    + r"])|彼(?!岸|此|得)"
    r"|本(?:書|校(?!園)|館|劇|片|曲)(?![" + _HAN + r"]?[號名])|前者|後者)"
)
_PRONOUN = re.compile(_PERSONAL + "|" + _DEMONSTRATIVE)
_LATE_PRONOUN = re.compile(_PERSONAL)
# 「這句俗諺『…』」, 「這首〈…〉」, 「此一成語：」: what it points at stands right behind it.
_POINTS_FORWARD = re.compile(r"(?:這|此|那|該)[^，。？！「『《〈：]{0,10}[「『《〈：]")


def opening_pronoun(stem: str) -> tuple[int, int] | None:
    """Where the pronoun is that a stem opens on (start, end), or None.

    Openers such as 「請問」 or 「下列關於」 and times (「1995 年，」) name nobody and are looked behind; names
    and words that begin with such a character (他里霧, 那瑪夏, 其他, 該不該) are none.
    """
    at = _end(_OPENERS, stem, 0)
    # 「下列那個」 asks: an older way to write 哪.
    found = None if stem[:at].endswith(("下列", "以下")) and stem.startswith("那", at) else _PRONOUN.match(stem, at)
    if found and not _POINTS_FORWARD.match(stem, at):
        return found.span()
    at = _end(_TIME, stem, at) if found is None else at
    late = _LATE_PRONOUN.match(stem, at) if found is None else None
    return late.span() if late else None


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = re.compile(pattern.pattern.lstrip("^")).match(text, at)
    return found.end() if found else at


# --- references to the passage ----------------------------------------------------------------------------------------

_FROM = r"(?:請)?(?:根據|依據|依照|按照|參照|參考|綜合|承|依|據|按|就|由|從|如|在|照)(?:完|了)?"
_DEIXIS = (
    r"(?:以上|上述|前述|上列|上面|下列|下述|以下|前面|本|這|該|此|上|前|所附|所給|提供)(?:的|之|一|所?提供的?|所?給的?)?"
    r"(?:篇|段|則|份|個|些)?(?:的)?"
)
_NOUN = (
    r"(?:短文|文章|文本|文字|文件|文獻|內文|段落|資料|內容|敘述|描述|記載|報導|說明|訊息|資訊|介紹|題幹|材料|訪談|論述)"
)
_OWN = (
    r"(?:本文(?![化學字物獻明件武藝])|短文|文中(?![路街國心正山化學])|上文(?![化物山])|下文|內文|前文|全文|本篇|本段)"
)
_INSIDE = r"(?:中|裡|內(?![容文])|之中|當中)?(?:的)?"
_SAYS = r"(?:內容|敘述|描述|記載|說明|介紹|資訊|所述|所載|所言|所提及?|所提到|所示|可知|得知|提到|指出|提及|所說)?"
_NAMED = rf"(?:{_OWN}|{_DEIXIS}{_NOUN}|{_NOUN})"
# The source is named by itself (本文), by pointing (上述資料, 這篇文章), or barely but closed by a comma (根據資料，).
_SCAFFOLD = re.compile(
    rf"^(?:請問|試問)?{_FROM}(?:{_OWN}{_INSIDE}{_SAYS}|{_DEIXIS}{_NOUN}{_INSIDE}{_SAYS}|{_NOUN}{_INSIDE}{_SAYS}(?=[，,：:])"
    rf"|(?:以上|上述|前述)(?=[，,：:]))[，,：:、\s]*"
)
_BARE_SCAFFOLD = re.compile(rf"^(?!下|以下){_NAMED}{_INSIDE}(?:提到|指出|提及|說明|可知|敘述)?[，,：:]\s*")

# A boundary before 文中, 本文 …: else 散文中, 日本文化, 路上文物.
_BEFORE = rf"(?:(?<![{_HAN}])|(?<=[在於從與和據由如依照對就讀完以是的若]))"
_REFERENCES = re.compile(
    rf"{_BEFORE}(?:本文(?![化學字物獻明件武藝])|文中(?![路街國心正山化學])|上文(?![化物山])|前文(?![化明學])|內文(?![化字])|本篇|本段"
    r"|短文(?=中|裡|內|所[述提載]|提到))"
    r"|(?:這|本|該|此|下列|上列|前述|上述|以上|所附)(?:一)?[篇段則份](?:的)?(?:文章|短文|文字|報導|敘述|資料|訪談|內容|文本|故事|話)"
    rf"|(?:上述|前述|上列)(?:的)?(?:{_NOUN}|(?=[{_HAN}]))|{_BEFORE}(?:以上|以下|下列)(?:的)?(?:短文|文章|內文|資料(?![庫夾表型結])|報導|訪談)|(?:這|該|本|此)(?:文章|短文|文件|報導|資料)"
    rf"|{_BEFORE}(?:文章|資料|文件|原文|來源|報導|製作說明|說明|段落|內容|選文)(?:中|裡|內)(?=所|提|的|描|指|說|，|記|有|曾|對|介)"
)
_AUTHOR = re.compile(
    r"(?:^|(?<=[，。、：；]))(?:作者|筆者)(?=認為|提到|指出|如何|對|在|以|主張|描述|覺得|引用|想|用|筆下|最|為何|為什麼)"
)
# Words that point back in a stem that has said something already (甲、… 乙、… 上述何者) point into the stem.
_BACK = re.compile(r"上述|前述|以上|上列|(?:這|此|該)[段篇則]")
_SAID_ENOUGH = 12
_QUOTED = re.compile(r"「[^」]{8,}」|『[^』]{8,}』|“[^”]{8,}”")
# A rest that asks nothing by itself.
_EMPTY_REST = re.compile(
    r"^(?:請問|試問|則)?(?:下列|以下|哪|何|有關|關於)?(?:的)?(?:敘述|選項|說法|推論|描述|何者|哪一?[個項者]?|哪一?個?(?:選項|敘述|說法))*"
    r"(?:的)?(?:敘述|選項|說法)?(?:中|，)*(?:何者|哪一?[個項者]?)?(?:是|為|最為|最|較|並)?(?:不|非|未|有)?"
    r"(?:正確|錯誤|為真|為非|屬實|符合|適當|恰當|合適|有誤|符|成立|真|誤)?(?:的)?(?:是)?(?:哪一?[個項者]?|何者)?[？?：:。\s]*$"
)
_NEEDS_SOURCE = re.compile(r"^(?:作者|筆者|主角|敘事者|主人翁|的|所|中|裡|內|提到|指出|描述|介紹|並|回答)")


def strip_scaffolding(stem: str) -> str:
    """The stem without an opening such as 「根據本文，」 where the rest asks by itself; else the stem as it was."""
    for pattern in (_SCAFFOLD, _BARE_SCAFFOLD):
        found = pattern.match(stem)
        if found:
            rest = stem[found.end() :]
            return rest if rest and not _EMPTY_REST.match(rest) and not _NEEDS_SOURCE.match(rest) else stem
    return stem


def passage_reference(stem: str) -> tuple[int, int] | None:
    """Where a stem refers to a text that the answerer does not see (start, end), or None. Strip scaffolding first.

    A stem that carries its text with it (a quotation, or enough said before 「上述」) refers into itself and is legal.
    """
    opening = _SCAFFOLD.match(stem) or _BARE_SCAFFOLD.match(stem)
    if opening:
        return opening.span()
    for found in _REFERENCES.finditer(stem):
        before = stem[: found.start()]
        if _QUOTED.search(stem) or (_BACK.match(found[0]) and len(before) >= _SAID_ENOUGH):
            continue
        return found.span()
    author = _AUTHOR.search(stem)
    return author.span() if author and not _QUOTED.search(stem) and author.start() < _SAID_ENOUGH else None
