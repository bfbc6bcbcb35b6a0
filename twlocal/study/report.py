"""What a study says: what was varied, what was held, n, tables with intervals, plots, and the commands to repeat it.

One form for all studies: as text for a terminal or a paper's appendix, as JSON, and as a page (`study/page.py`). Words
are said in both languages (`Text`), or are the same in both (`str`: names, numbers).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from twlocal.html.words import Text, t
from twlocal.report.table import columns, one_line, pad, safe, table, wrap

FORMAT = 1  # raised when a field of the JSON changes its meaning or goes
_MIN_WIDTH = 60
Words = str | Text


@dataclass(frozen=True)
class Table:
    """A table with a caption. align: "l" or "r" a column."""

    caption: Words
    header: Sequence[Words]
    rows: Sequence[Sequence[Words]]
    align: str


@dataclass(frozen=True)
class Plot:
    """A picture for the page: a Vega-Lite specification (see `twlocal.html.charts`), and what it shows in words."""

    caption: Text
    spec: Mapping[str, Any]
    description: Text


@dataclass(frozen=True)
class Report:
    """A study's outcome. parts: sentences and tables in the order to be read. data: the numbers, for machines.

    warnings: what a reader of the numbers must know first. commands: shell lines that repeat the study. plots: for the
    page only, since every number in them is in the tables.
    """

    study: str
    title: Words
    varied: Words
    held: Words
    n: Words
    parts: Sequence[Words | Table]
    data: Mapping[str, Any]
    warnings: Sequence[Words] = ()
    commands: Sequence[str] = field(default_factory=tuple)
    plots: Sequence[Plot] = ()


# What the headers of several studies say.
INTERVAL = t("95% 區間", "95% interval")
NO_SUBJECT = t("（無）", "(none)")
LABELS = {
    "varied": t("改變的", "varied"),
    "held": t("固定的", "held"),
    "n": t("題數", "n"),
    "warning": t("注意：", "WARNING: "),
    "repeat": t("重現的指令：", "to repeat it:"),
}


def said(words: Words, lang: str = "en") -> str:
    """Words in one language: "zh-TW" or "en"."""
    return words.of(lang) if isinstance(words, Text) else words


def join(words: Sequence[Words], zh: str = "、", en: str = ", ") -> Words:
    """Words with a comma between them, each language with its own."""
    if not any(isinstance(one, Text) for one in words) and zh == en:
        return zh.join(said(one) for one in words)
    return Text(zh.join(said(one, "zh-TW") for one in words), en.join(said(one) for one in words))


def as_dict(report: Report) -> dict[str, Any]:
    """The report as JSON-able data, in English: shares are fractions of 1, an unknown is null."""
    return {
        "format": FORMAT,
        "study": report.study,
        "title": said(report.title),
        "varied": said(report.varied),
        "held": said(report.held),
        "n": said(report.n),
        "warnings": [said(one) for one in report.warnings],
        "commands": list(report.commands),
        **report.data,
    }


def render(report: Report, width: int = 80, encoding: str = "utf-8", lang: str = "en") -> str:
    """The report as text, ending in a line end; no line but a command is wider than `width` columns (60 at least)."""
    width = max(width, _MIN_WIDTH)
    return "\n".join(line.rstrip() for line in _lines(report, width, encoding, lang)) + "\n"


def _lines(report: Report, width: int, encoding: str, lang: str) -> Iterator[str]:
    def lines(words: Words, indent: str = "") -> Iterator[str]:
        yield from wrap(safe(one_line(said(words, lang)), encoding), width, indent)

    yield from lines(report.title)
    yield ""
    room = max(columns(said(LABELS[name], lang)) for name in ("varied", "held", "n")) + 2
    for name, words in (("varied", report.varied), ("held", report.held), ("n", report.n)):
        yield from lines(pad(said(LABELS[name], lang), room) + said(words, lang), " " * room)
    for warning in report.warnings:
        yield ""
        yield from lines(said(LABELS["warning"], lang) + said(warning, lang), "  ")
    for part in report.parts:
        yield ""
        if not isinstance(part, Table):
            yield from lines(part)
            continue
        if said(part.caption, lang):
            yield from lines(part.caption)
        rows = [[safe(said(cell, lang), encoding) for cell in row] for row in part.rows]
        yield from table(
            rows, [safe(said(cell, lang), encoding) for cell in part.header], align=part.align, width=width
        )
    if report.commands:
        yield ""
        yield safe(said(LABELS["repeat"], lang), encoding)
        # Whole, however long: a command that is broken into lines cannot be pasted.
        yield from (f"  {safe(command, encoding)}" for command in report.commands)


def percent(share: float | None, digits: int = 1) -> str:
    """A share of 1 as a percentage; "-" for an unknown one."""
    return "-" if share is None else f"{100 * share:.{digits}f}%"


def points(difference: float | None, digits: int = 1) -> str:
    """A difference of shares in percentage points, with its sign."""
    if difference is None:
        return "-"
    text = f"{100 * difference:+.{digits}f}"
    return text.replace("-", "+") if float(text) == 0 else text


def interval(low: float, high: float, digits: int = 1, *, signed: bool = False) -> str:
    """Both ends of an interval in percent or points."""
    sign = "+" if signed else ""
    return f"{100 * low:{sign}.{digits}f} to {100 * high:{sign}.{digits}f}"


def span(low: float, high: float, digits: int = 1, *, signed: bool = False) -> Text:
    """Both ends of an interval in percent or points, as `interval`, in both languages."""
    sign = "+" if signed else ""
    first, last = (f"{100 * end:{sign}.{digits}f}" for end in (low, high))
    return Text(f"{first} 至 {last}", interval(low, high, digits, signed=signed))


def p_value(p: float) -> str:
    """A p as papers print it."""
    return f"{p:.1e}" if p < 0.001 else f"{p:.3f}"
