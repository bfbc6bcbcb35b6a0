"""The report of a run as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from twlocal.judge import PUBLISHED
from twlocal.report.sentences import Sentences, percent
from twlocal.report.table import columns, one_line, pad, safe, table, wrap
from twlocal.report.view import RunView
from twlocal.report.words import alarm, alarm_name
from twlocal.tally import Tally

BOLD, RED, YELLOW, _RESET = "\x1b[1m", "\x1b[31m", "\x1b[33m", "\x1b[0m"
_MIN_WIDTH = 40
_COLUMNS = ("n", "strict", "interval", "lenient", "box", "parse", "cut")


def render(
    view: RunView,
    width: int = 80,
    *,
    color: bool = False,
    by_subject: bool = False,
    lang: str = "en",
    encoding: str = "utf-8",
) -> str:
    """The report, ending in a line end; no line is wider than `width` columns (40 at the least).

    color: whether to use ANSI colours, which is for the caller to know (a terminal, and no NO_COLOR). encoding: the
    console's; what it cannot hold is replaced. lang: "en" or "zh-TW". Raises UsageError for another language.
    """
    report = _Report(view, max(width, _MIN_WIDTH), color, lang, encoding)
    lines = [*report.headline(), "", *report.labelled()]
    alarms = list(report.alarms())
    lines += ["", *alarms] if alarms else []
    lines += ["", *report.subjects()] if by_subject else []
    return "\n".join(lines) + "\n"


class _Report(Sentences):
    def __init__(self, view: RunView, width: int, color: bool, lang: str, encoding: str) -> None:
        super().__init__(view, lang)
        self.width, self.color, self.encoding = width, color, encoding

    def paint(self, text: str, code: str) -> str:
        return f"{code}{text}{_RESET}" if self.color else text

    def lines(self, text: str, indent: str = "", code: str = "") -> Iterator[str]:
        # Replaced before it is laid out: \u53f0 is six columns wide, and the character it stands for two.
        for line in wrap(safe(one_line(text), self.encoding), self.width, indent):
            yield self.paint(line, code) if code else line

    # -- the score ----------------------------------------------------------------------------------------------

    def headline(self) -> Iterator[str]:
        """The protocol's name and the strict score first, and then everything that qualifies it."""
        view, score, tally = self.view, self.score, self.overall
        name = one_line(view.protocol) + "  "
        indent = " " * columns(name)
        if tally.accuracy is None:
            yield from self.lines(name + self.say("no_score", planned=tally.planned), indent, BOLD)
        else:
            own = "strict" if score.reader == PUBLISHED else "read_by"
            strict = self.rate(own, tally.accuracy, tally.interval, n=self.sizes(tally), reader=score.reader)
            yield from self.lines(name + strict, indent, BOLD)
            lenient = self.rate("lenient", tally.lenient_accuracy or 0.0, tally.lenient_interval)
            yield from self.lines(indent + lenient, indent)
            rates = (tally.box_rate, tally.parse_rate, tally.lenient_parse_rate)
            box, parse, lenient_parse = map(percent, rates)
            yield from self.lines(indent + self.say("rates", box=box, parse=parse, lenient=lenient_parse), indent)
        if not score.complete:
            rest = self.say("incomplete", n=tally.n, planned=tally.planned, rest=self.unanswered())
            yield from self.lines(rest, "  ", RED)
        if view.publication_bars:
            why = self.words["reasons"].join(self.bar(name) for name in view.publication_bars)
            yield from self.lines(self.say("not_publishable", why=why), "  ", RED)
        if view.quantised:
            yield from self.lines(self.say("quantised"), "  ", YELLOW)
        if tally.against_chance == "at":
            yield from self.lines(self.say("at_chance", parsed=tally.parsed, correct=tally.correct), "  ", YELLOW)

    # -- what surrounds it --------------------------------------------------------------------------------------

    def labelled(self) -> Iterator[str]:
        """Labelled lines: what ran, and how the responses came out."""
        facts = list(self.facts())
        labels = [safe(self.words[key], self.encoding) for key, _ in facts]
        room = max(map(columns, labels)) + 2
        for label, (_, value) in zip(labels, facts, strict=True):
            yield from self.lines(pad(label, room) + value, " " * room)

    def alarms(self) -> Iterator[str]:
        """The alarms, one a paragraph."""
        for found in self.score.alarms:
            mark = self.say("alarm", kind=alarm_name(found.kind, self.lang))
            yield from self.lines(mark + alarm(found, self.lang), "  ", YELLOW)

    def subjects(self) -> list[str]:
        """The table of subjects."""
        names = (
            "subject",
            "column_n",
            "column_strict",
            "column_interval",
            "column_lenient",
            "column_box",
            "column_parse",
        )
        header = [self.words[name] for name in (*names, "column_cut")]
        rows = [self._row(name or self.words["no_subject"], tally) for name, tally in self.score.subjects]
        encoded = [[safe(cell, self.encoding) for cell in row] for row in (header, *rows)]
        lines = table(encoded[1:], encoded[0], align="lrrrrrrr", width=self.width)
        return [self.paint(lines[0], BOLD), *lines[1:]]

    def _row(self, name: str, tally: Tally) -> list[str]:
        n = f"{tally.n:,}" if tally.complete else f"{tally.n:,}/{tally.planned:,}"
        interval = f"{100 * tally.interval.low:.1f}-{100 * tally.interval.high:.1f}" if tally.n else "-"
        rates = (tally.lenient_accuracy, tally.box_rate, tally.parse_rate)
        return [name, n, percent(tally.accuracy), interval, *map(percent, rates), f"{tally.truncated:,}"]
