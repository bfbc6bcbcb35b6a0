"""What a study says: what was varied, what was held, n, tables with intervals, and the commands to repeat it.

One form for all studies, as text for a terminal or a paper's appendix, and as JSON.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from twlocal.report.table import one_line, pad, safe, table, wrap

FORMAT = 1  # raised when a field of the JSON changes its meaning or goes
_MIN_WIDTH = 60


@dataclass(frozen=True)
class Table:
    """A table with a caption. align: "l" or "r" a column."""

    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    align: str


@dataclass(frozen=True)
class Report:
    """A study's outcome. parts: sentences and tables in the order to be read. data: the numbers, for machines.

    warnings: what a reader of the numbers must know first. commands: shell lines that repeat the study.
    """

    study: str
    title: str
    varied: str
    held: str
    n: str
    parts: Sequence[str | Table]
    data: Mapping[str, Any]
    warnings: Sequence[str] = ()
    commands: Sequence[str] = field(default_factory=tuple)


def as_dict(report: Report) -> dict[str, Any]:
    """The report as JSON-able data: shares are fractions of 1, an unknown is null."""
    return {
        "format": FORMAT,
        "study": report.study,
        "title": report.title,
        "varied": report.varied,
        "held": report.held,
        "n": report.n,
        "warnings": list(report.warnings),
        "commands": list(report.commands),
        **report.data,
    }


def render(report: Report, width: int = 80, encoding: str = "utf-8") -> str:
    """The report as text, ending in a line end; no line but a command is wider than `width` columns (60 at least)."""
    width = max(width, _MIN_WIDTH)
    return "\n".join(line.rstrip() for line in _lines(report, width, encoding)) + "\n"


def _lines(report: Report, width: int, encoding: str) -> Iterator[str]:
    def said(text: str, indent: str = "") -> Iterator[str]:
        yield from wrap(safe(one_line(text), encoding), width, indent)

    yield from said(report.title)
    yield ""
    for label, text in (("varied", report.varied), ("held", report.held), ("n", report.n)):
        yield from said(pad(label, 8) + text, " " * 8)
    for warning in report.warnings:
        yield ""
        yield from said(f"WARNING: {warning}", "  ")
    for part in report.parts:
        yield ""
        if isinstance(part, str):
            yield from said(part)
            continue
        if part.caption:
            yield from said(part.caption)
        rows = [[safe(cell, encoding) for cell in row] for row in part.rows]
        yield from table(rows, [safe(cell, encoding) for cell in part.header], align=part.align, width=width)
    if report.commands:
        yield ""
        yield "to repeat it:"
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


def p_value(p: float) -> str:
    """A p as papers print it."""
    return f"{p:.1e}" if p < 0.001 else f"{p:.3f}"
