"""Whole papers drawn at random, with what they say: each layout family at its own coordinates (points, y down).

A seed gives one paper. Statute numbers, doses and the numbers of neighbouring items fall on the beginnings of lines as
the type happens to wrap.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from drawn_papers import Sheet


class Family(NamedTuple):
    """Where things stand: the right edge of numbers, stems, marks, wrapped options, the margin; type size, pitch."""

    page: tuple[float, float]
    number: float
    stem: float
    marks: tuple[float, float, float, float]
    wrapped: float
    margin: float
    size: float
    pitch: float
    top: float
    style: str = "glyph"


FAMILIES = {
    "A": Family((595, 842), 58.1, 72.2, (72, 193, 313, 435), 83, 541, 11, 14.7, 75),
    "B": Family((729, 1032), 65, 85, (85, 228, 376, 520), 97, 690, 12, 16.5, 80),
    "C": Family((595, 842), 48.7, 62.4, (60.8, 186, 313, 439), 73, 561, 12, 15.6, 86),
    "D": Family((595, 842), 46.7, 60.8, (60.7, 186, 313, 439), 72.7, 561, 12, 15.7, 123),
    "E1": Family((595, 842), 46.7, 60.8, (60.7, 176, 297, 416), 72.7, 548, 12, 18, 123, "image"),
    "F": Family((595, 842), 52, 58, (58, 58, 58, 58), 68, 540, 10, 14, 60, "dotted"),
    "typed": Family((595, 842), 46.7, 60.8, (60.7, 186, 313, 439), 78, 561, 12, 15.7, 110, "paren"),
}
_NOUNS = [
    "行政機關",
    "警察人員",
    "被害人",
    "立法院",
    "病人",
    "主管機關",
    "債權人",
    "醫師",
    "外國人",
    "抵押權",
    "血壓",
    "肝臟",
    "抗生素",
]
_VERBS = ["不得申請", "應撤銷", "得移送", "仍應釋放", "無需公告", "均可治療", "最容易影響", "很少造成"]
_UNITS = ["日", "年", "條", "項", "人", "歲", "mg", "萬元", "小時", "%", "公斤", "題", "mL"]
_WORDS = [
    "police",
    "officer",
    "evidence",
    "law",
    "of",
    "in",
    "immigration",
    "renal",
    "failure",
    "treaty",
    "p53",
    "HLA-B27",
    "5th",
    "their",
    "which",
]
_ASKS = ("下列何者正確？", "下列敘述何者錯誤？", "何者最適當？")


@dataclass
class Said:
    """What an item says, and the passage's items it belongs to."""

    stem: str
    options: list[str]
    group: tuple[int, int] | None = None


@dataclass
class Drawn:
    """A paper: its bytes and its items by number."""

    data: bytes = b""
    items: dict[int, Said] = field(default_factory=dict)


def width(text: str, size: float) -> float:
    return sum(size * (1.0 if ord(ch) > 0x2E7F or 0x2460 <= ord(ch) <= 0x24FF else 0.5) for ch in text)


def wrap(text: str, first: float, rest: float, margin: float, size: float) -> list[tuple[float, str]]:
    """Lines as (left edge, text): words stay whole, brackets go with their words, full stops end no line alone."""
    words: list[str] = []
    for token in re.findall(r"[!-~]+|.", text):
        if words and (token in "，。？）」" or words[-1][-1] in "（「"):
            words[-1] += token
        else:
            words.append(token)
    lines, line, left = [], "", first
    for word in words:
        if line.strip() and left + width(line + word, size) > margin and word != " ":
            lines.append((left, line.rstrip()))
            line, left = "", rest
        line += word
    return [*lines, (left, line.rstrip())]


class _Writer:
    def __init__(self, family: str, seed: int, count: int) -> None:
        self.random, self.f, self.count = random.Random(f"{family} {seed}"), FAMILIES[family], count
        self.sheet, self.y, self.out = Sheet(self.f.page), self.f.top, Drawn()
        self.pages = 1

    def line(self, *parts: tuple[float, str]) -> None:
        if self.y > self.f.page[1] - 50:
            self.sheet.page()
            self.pages += 1
            right = self.pages % 2 == 0
            for k, text in enumerate(["代號：50120-50520", "50720、50820"]):
                self.sheet.text((440 if right else 42) + 38 * k, self.f.top - 40 + 12 * k, text)
            self.y = self.f.top
        for x, text in parts:
            self.put(x, text)
        self.y += self.f.pitch

    def put(self, x: float, text: str) -> None:
        mark, size = text[0], self.f.size
        if mark not in "ⒶⒷⒸⒹ" or self.f.style == "glyph":
            self.sheet.text(x, self.y, text, size)
        elif self.f.style == "image":
            self.sheet.image(x, self.y - 10.5, 11, 13, (2, 2)).text(x + size, self.y, text[1:], size)
        else:
            letter = "ABCD"["ⒶⒷⒸⒹ".index(mark)]
            self.sheet.text(x, self.y, (f"({letter})" if self.f.style == "paren" else f"{letter}.") + text[1:], size)

    def clause(self, n: int) -> str:
        pick = self.random.choice
        near = pick([n, n + 1, n - 1 or 1, self.random.randint(1, 150), self.random.randint(1990, 2025)])
        return pick(
            [
                pick(_NOUNS) + pick(_VERBS) + pick(_NOUNS),
                f"依{pick(_NOUNS)}法第{near}條第{n}項規定",
                f"於{near}{pick(_UNITS)}內{pick(_VERBS)}",
                f"{near}{pick(_UNITS)}以上之{pick(_NOUNS)}（{pick(_WORDS)} {pick(_WORDS)}）",
                f"①{pick(_NOUNS)} ②{pick(_NOUNS)}",
                " ".join(pick(_WORDS) for _ in range(4)),
            ]
        )

    def clauses(self, n: int, *counts: int) -> str:
        return "，".join(self.clause(n) for _ in range(self.random.choice(counts)))

    def options(self, n: int) -> list[str]:
        pick, kind = self.random.choice, self.random.choice(["short", "half", "long", "long"])
        options: list[str] = []
        while len(options) < 4:
            short = pick([str(n), "①②", "3.5", "1/2", pick(_NOUNS), pick(_WORDS), f"{n}{pick(_UNITS)}"])
            made = {"short": short, "half": pick(_NOUNS) + pick(_VERBS) + short, "long": self.clauses(n, 1, 2, 3, 5)}[
                kind
            ]
            options += [made] if made not in options else []
        return options

    def place(self, options: Sequence[str]) -> None:
        f = self.f
        wide = max(width(text, f.size) for text in options) + 2.5 * f.size
        marked = ["ⒶⒷⒸⒹ"[k] + text for k, text in enumerate(options)]
        column = f.marks[1] - f.marks[0]
        if wide <= column:
            self.line(*zip(f.marks, marked, strict=True))
        elif wide <= 2 * column:
            self.line(*zip(f.marks[::2], marked[:2], strict=True))
            self.line(*zip(f.marks[::2], marked[2:], strict=True))
        else:
            for text in marked:
                lead = 0.5 * f.size if f.style == "paren" else 0.0
                lines = wrap(text, f.marks[0] + lead, f.wrapped, f.margin, f.size)
                self.line((f.marks[0], lines[0][1]))
                for rest in lines[1:]:
                    self.line(rest)

    def item(self, n: int, group: tuple[int, int] | None) -> None:
        f = self.f
        stem = "，".join(filter(None, [self.clauses(n, 0, 1, 2, 4, 8), self.random.choice(_ASKS)]))
        number = str(n) + "." * (f.style == "dotted")
        for k, line in enumerate(wrap(stem, f.stem, f.stem, f.margin, f.size)):
            self.line(*[(f.number - width(number, f.size), number)] * (k == 0), line)
        options = self.options(n)
        self.place(options)
        self.out.items[n] = Said(stem, options, group)

    def passage(self, first: int, last: int) -> None:
        self.line((self.f.stem, f"請依下文回答第{first}題至第{last}題"))
        for line in wrap(self.clauses(first, 6, 12) + "。", self.f.stem, self.f.stem, self.f.margin, self.f.size):
            self.line(line)

    def paper(self) -> Drawn:
        self.line((36, f"※本試題共{self.count}題，每題2分"))
        n = 1
        while n <= self.count:
            group = (n, n + 1) if n < self.count and self.random.random() < 0.1 else None
            if group:
                self.passage(*group)
            for k in range(n, n + (2 if group else 1)):
                self.item(k, group)
            n += 2 if group else 1
        self.out.data = self.sheet.bytes()
        return self.out


def draw(family: str, seed: int, count: int = 25) -> Drawn:
    """A paper of `count` items of one family."""
    return _Writer(family, seed, count).paper()
