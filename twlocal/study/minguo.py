"""Years of the Minguo calendar and of the common era set equal in a text (the paper's section 6.5). Pure.

Minguo year N is the year N + 1911 of the common era. Only statements that equate the two are looked at:
"民國115年（西元2026年）", "115年即2026年", "2026年是民國115年", "115 + 1911 = 2026". A bare year ("115年") counts only
where no other era's name stands before it (昭和5年, 光緒21年, 民國前5年 are of other calendars).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

OFFSET = 1911
_PREFIX = r"(?P<prefix>中華民國|民國)\s*"
_ROC = rf"(?:{_PREFIX}|(?<![\d.]))(?P<roc>\d{{1,3}})\s*年(?:度)?"
_MAY_LEAD = frozenset("在於從自到至是")  # words before a bare year that no era's name ends with
_LINK = (
    r"(?:[（(]|也就是|就是|亦即|即是|即|等於|相當於|換算(?:成|為|後)?|轉換(?:成|為)|對應(?:到|的是|為)?"
    r"|應該是|應是|是|為|=|→)"
)
_ERA = r"(?:[（(，,:：]?\s*(?:所?對應)?的?(?:西元|公元|西曆)(?:紀年|年份|年)?)"
# What may stand between two years that are called the same: at least a link or an era's name.
_BETWEEN = rf"\s*(?:[，,]?\s*{_LINK}\s*[:：]?\s*|{_ERA}\s*[:：]?\s*){{1,3}}"
# "212年（1683–1895）" is a length of time, and "115年 = 1911 + 115" goes on.
_AD = r"(?P<ad>\d{4})(?!\d|\s*年?\s*[-–—~至到+]\s*\d)"
_FORWARD = re.compile(rf"{_ROC}{_BETWEEN}{_AD}")
# Only with the prefix: behind a common year, a bare number of years is a length of time too.
_BACKWARD = re.compile(
    rf"(?<!\d)(?P<ad>\d{{4}})\s*年?\s*(?:[，,]?\s*{_LINK}\s*){{1,2}}{_PREFIX}(?P<roc>\d{{1,3}})\s*年"
)
_SUMS = (
    re.compile(r"(?<!\d)(?P<roc>\d{1,3})\s*\+\s*1911\s*=\s*(?P<ad>\d{4})(?!\d)"),
    re.compile(r"(?<!\d)1911\s*\+\s*(?P<roc>\d{1,3})\s*=\s*(?P<ad>\d{4})(?!\d)"),
    re.compile(r"(?<!\d)(?P<ad>\d{4})\s*[-−–]\s*1911\s*=\s*(?P<roc>\d{1,3})(?!\d)"),
)
_SHORT = 8  # characters before a year that are looked at
_MARKS = re.compile(r"[*_$`]+")  # of Markdown and LaTeX


@dataclass(frozen=True, slots=True)
class Equation:
    """A Minguo year and a year of the common era that a text calls the same. prefixed: with 民國 before it.

    worked: written as a sum with 1911, where the prefix plays no part.
    """

    roc: int
    ad: int
    prefixed: bool
    worked: bool = False

    @property
    def off(self) -> int:
        """How many years the stated year is too late; 0 where it is right."""
        return self.ad - self.roc - OFFSET


def equations(text: str) -> list[Equation]:
    """Every such statement in the text, each once, in the order in which they stand."""
    plain = _MARKS.sub("", unicodedata.normalize("NFKC", text))
    found = sorted(_found(plain), key=lambda one: one[0])
    return list(dict.fromkeys(equation for _, equation in found))


def _found(text: str) -> Iterator[tuple[int, Equation]]:
    for pattern in (_FORWARD, _BACKWARD):
        for match in pattern.finditer(text):
            if match["prefix"] or not _other_era(text[: match.start()][-_SHORT:]):
                yield match.start(), Equation(int(match["roc"]), int(match["ad"]), match["prefix"] is not None)
    for pattern in _SUMS:
        for match in pattern.finditer(text):
            yield match.start(), Equation(int(match["roc"]), int(match["ad"]), prefixed=False, worked=True)


def _other_era(before: str) -> bool:
    """Whether what stands before a bare year may be the name of another era (昭和, 光緒, 民國前)."""
    last = before.rstrip()[-1:]
    return last.isalpha() and not last.isascii() and last not in _MAY_LEAD
