"""Items that do not stand alone: a passage shared by several, and an item that goes on from another."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from .glyphs import digits
from .numerals import HAN, numeral

_TO = "(?:至|到|[-－–—~～、及與和])"
_RANGE = re.compile(
    # Of a list (第42、43、44題) the first and the last.
    rf"第?(?P<first>\d{{1,3}})題?{_TO}(?:第?\d{{1,3}}題?{_TO})*第?(?P<last>\d{{1,3}})題"
    rf"|第(?P<first_han>{HAN})題?{_TO}(?:第?{HAN}題?{_TO})*第?(?P<last_han>{HAN})題"
    r"|[Qq]uestions?(?P<first_en>\d{1,3})(?:to|through|and|[-–—~])(?P<last_en>\d{1,3})"
)
_LEAD_WORDS = re.compile(r"回答|作答|下文|上文|下列|題組|依據?下|閱讀|為同一|共用|[Qq]uestion|[Rr]efer|[Bb]ase|[Rr]ead")
_GOES_ON = "(?:承接|承續|接續|續接|延續|延伸|沿用|承|接|續|同|呈)"
_REFERS = "(?:根據|依據|依照|按照|參照|參考|針對|關於|有關|假設|假如|如果|依|據|按|照|如|就|由|從|於|在|若|倘|與|對)"
_EARLIER = "(?:上|前)(?:一|二|兩|三|開|述|列|面)*"
# Not 接上級指示, 承上啟下; not 上題詩.
_CONTINUES = re.compile(
    r"^(?:[（(【［\[〔「※]|題組|[】］\]〕）)：:])*(?:本題|此題|又|再)?(?:"
    rf"(?:{_GOES_ON}|{_REFERS}{{1,2}})(?:{_EARLIER})?(?:第?(?P<told>\d{{1,3}})|第(?P<told_han>{HAN}))題"
    rf"|{_GOES_ON}{_EARLIER}(?![級訴司啟啓審])"
    rf"|{_GOES_ON}?(?:{_REFERS}{{0,2}}|{_GOES_ON}){_EARLIER}題(?![材型庫組字詩詞辭])"
    rf"|(?:第?(?P<named>\d{{1,3}})|第(?P<named_han>{HAN}))題(?=[中裡內所,，：:]|之?(?:情形|案例|個案|病人|病患|患者|案情|甲|乙|答案|結果))"
    ")"
)
_CONTINUING = re.compile("[承接續同呈題]")


@dataclass(frozen=True)
class Group:
    """Items `first`–`last` that share a passage. `lead` is the sentence that says so, `passage` the text.

    `flags` say what the passage has besides text (`figure`, `drawing`, `table`); they hold for all of its items.
    """

    first: int
    last: int
    kind: str
    lead: str
    passage: str
    flags: tuple[str, ...] = ()


def lead(text: str) -> tuple[int, int] | None:
    """First and last item of a passage's lead (`請依下文回答第42題至第45題`, `第 16 題至第20 題`), else None."""
    if "題" not in text and "uestion" not in text:
        return None
    squeezed = re.sub(r"\s+", "", digits(text))
    found = _RANGE.search(squeezed)
    if not found:
        return None
    ends = (found.group(f"first{kind}", f"last{kind}") for kind in ("", "_han", "_en"))
    first, last = (numeral(end) for end in next(pair for pair in ends if pair[0]))
    # A bare range is a lead only when the line is nothing but the range.
    bare = len(squeezed) - (found.end() - found.start()) <= 4
    if not 0 < first < last <= first + 40 or not (bare or _LEAD_WORDS.search(squeezed)):
        return None
    return first, last


# A line that may end in the middle of a range.
_BROKEN = re.compile(r"(?:第|[0-9０-９]|題|[至到、及與和~～–—-])\s*$")


def leads(lines: Sequence[str]) -> dict[int, tuple[int, int]]:
    """The leads among lines: where each begins, and its range, which may be broken over two lines."""
    found = {k: span for k, text in enumerate(lines) if (span := lead(text))}
    for k, (text, following) in enumerate(pairwise(lines)):
        if "第" in text and k not in found and k + 1 not in found and _BROKEN.search(text):
            span = lead(text + following)
            found |= {k: span} if span else {}
    return found


def kind_of(passage: str, first: int, last: int) -> str:
    """`cloze` when the passage carries the items' own numbers as blanks, else `reading`."""
    numbers = {int(n) for n in re.findall(r"(?<!\d)\d{1,3}(?!\d)", digits(passage))}
    wanted = set(range(first, last + 1))
    return "cloze" if len(wanted & numbers) >= max(2, len(wanted) - 1) else "reading"


def continues(stem: str, number: int) -> int | None:
    """The item that `stem` goes on from (`承上題`, `依前題`, `上題中`, `承第5題`, `第5題中`), else None.

    0 when the first item says that it goes on: what it leans on is not in the paper.
    """
    if not _CONTINUING.search(stem):
        return None  # most stems, without squeezing them
    found = _CONTINUES.match(re.sub(r"\s+", "", digits(stem)))
    if not found:
        return None
    if told := found["told"] or found["told_han"]:
        return numeral(told) if numeral(told) != number else None
    if named := found["named"] or found["named_han"]:
        return numeral(named) if 0 < numeral(named) < number else None
    return number - 1
