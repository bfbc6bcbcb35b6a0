"""The report of an imported result as text for a terminal: what is known first, and then what is not."""

from __future__ import annotations

from collections.abc import Iterator

from twlocal.bundle.known import Known
from twlocal.bundle.words import words
from twlocal.plural import Count
from twlocal.report.table import columns, pad, safe, table, wrap
from twlocal.report.words import words as report_words
from twlocal.stats import wilson
from twlocal.tally import Tally


def render(
    found: Known, width: int = 80, *, by_subject: bool = False, lang: str = "en", encoding: str = "utf-8"
) -> str:
    """The report, ending in a line end. lang: "en" or "zh-TW". encoding: the console's; what it lacks is replaced."""
    report = _Report(found, max(width, 40), lang, encoding)
    lines = [*report.headline(), "", *report.facts()]
    if by_subject and found.subjects:
        lines += ["", *report.subjects()]
    return "\n".join(lines) + "\n"


class _Report:
    def __init__(self, found: Known, width: int, lang: str, encoding: str) -> None:
        self.found, self.width, self.encoding = found, width, encoding
        self.words, self.unknown, self.marks = words(lang)
        self.common = report_words(lang)

    def lines(self, text: str, indent: str = "") -> Iterator[str]:
        yield from wrap(safe(text, self.encoding), self.width, indent)

    def headline(self) -> Iterator[str]:
        found, result = self.found, self.found.result
        yield from self.lines(self.words["imported"])
        if found.tally is not None:
            yield from self._own(found.tally)
        else:
            yield from self.lines(self.words["no_strict"])
        if found.ok is None:
            yield from self.lines(self.words["no_rows"])
        else:
            said = self.words[f"ok_{result.kind}"].format(n=found.n_ok, **_rate(found.ok, found.n_ok))
            yield from self.lines(said, "  ")
        if found.boxp is not None and found.lenp is not None:
            rates = {"box": _percent(found.boxp, found.n_ok), "lenient": _percent(found.lenp, found.n_ok)}
            yield from self.lines("  " + self.words["rates_board"].format(**rates), "  ")
        if result.complete is False:
            yield from self.lines("  " + self.words["incomplete"], "  ")
        if result.quantised:
            yield from self.lines("  " + self.common["quantised"], "  ")

    def _own(self, tally: Tally) -> Iterator[str]:
        same = tally.items == tally.n
        n = self.common["n" if same else "n_repeats"].format(n=Count(tally.n), items=Count(tally.items))
        strict, lenient = _of(tally.accuracy, tally.interval), _of(tally.lenient_accuracy, tally.lenient_interval)
        name = f"{self.found.result.protocol}  " if self.found.result.protocol else ""
        yield from self.lines(name + self.common["strict"].format(n=n, **strict), "  ")
        yield from self.lines("  " + self.common["lenient"].format(**lenient), "  ")
        rates = {
            "box": _percent(tally.boxes, tally.n),
            "parse": _percent(tally.parsed, tally.n),
            "lenient": _percent(tally.lenient_parsed, tally.n),
        }
        yield from self.lines("  " + self.common["rates"].format(**rates), "  ")

    def facts(self) -> Iterator[str]:
        facts = list(self._facts())
        room = max(columns(safe(label, self.encoding)) for label, _ in facts) + 2
        for label, value in facts:
            yield from self.lines(pad(label, room) + value, " " * room)

    def _facts(self) -> Iterator[tuple[str, str]]:
        found, result, say = self.found, self.found.result, self.words
        yield say["name"], result.name
        yield say["model"], result.model
        yield say["bench"], result.bench
        if result.protocol:
            yield say["protocol"], result.protocol
        repeated = say["rows_repeated"].format(count=found.repeated) if found.repeated else ""
        yield say["rows"], say["rows_value"].format(n=found.n) + repeated
        when = result.imported_at[:16].replace("T", " ")
        kind = say[f"kind_{result.kind}"]
        yield say["source"], say["source_value"].format(source=result.source, kind=kind, when=when)
        if result.marks:
            yield say["marks"], self.common["list"].join(self.marks.get(mark, mark) for mark in result.marks)
        yield say["checksum"], result.checksum[:16]
        for note in result.provenance.get("notes", ()):
            yield say["notes"], str(note)
        for name in found.unknown:
            yield say["unknown"], self.unknown[name]

    def subjects(self) -> list[str]:
        names = ("subject", "column_n", "column_strict", "column_lenient", "column_box", "column_parse")
        header = [safe(self.common[name], self.encoding) for name in names]
        rows = [
            [
                safe(name or self.common["no_subject"], self.encoding),
                f"{tally.n:,}",
                _percent(tally.correct, tally.n),
                _percent(tally.lenient_correct, tally.n),
                _percent(tally.boxes, tally.n),
                _percent(tally.parsed, tally.n),
            ]
            for name, tally in self.found.subjects
        ]
        return table(rows, header, align="lrrrrr", width=self.width)


def _percent(count: int, n: int) -> str:
    return f"{100 * count / n:.1f}%" if n else "-"


def _rate(count: int, n: int) -> dict[str, str]:
    found = wilson(count, n)
    return {"accuracy": _percent(count, n), "low": f"{100 * found.low:.1f}", "high": f"{100 * found.high:.1f}"}


def _of(share: float | None, interval: object) -> dict[str, str]:
    low, high = getattr(interval, "low", 0.0), getattr(interval, "high", 1.0)
    return {"accuracy": f"{100 * (share or 0.0):.1f}%", "low": f"{100 * low:.1f}", "high": f"{100 * high:.1f}"}
