"""The report of a run as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from twlocal.judge import PUBLISHED
from twlocal.report.table import columns, minute, one_line, pad, safe, table, wrap
from twlocal.report.view import RunView
from twlocal.report.words import alarm, words
from twlocal.stats import Interval
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
    lines = [*report.headline(), "", *report.facts()]
    alarms = list(report.alarms())
    lines += ["", *alarms] if alarms else []
    lines += ["", *report.subjects()] if by_subject else []
    return "\n".join(lines) + "\n"


class _Report:
    def __init__(self, view: RunView, width: int, color: bool, lang: str, encoding: str) -> None:
        self.view, self.score, self.overall = view, view.score, view.score.overall
        self.width, self.color, self.lang, self.encoding = width, color, lang, encoding
        self.words = words(lang)

    def say(self, key: str, **values: object) -> str:
        return self.words[key].format_map(values)

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
            box, parse, lenient_parse = map(_percent, rates)
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

    def rate(self, key: str, share: float, interval: Interval, **values: object) -> str:
        # Two decimals where the interval is narrow enough for the second to mean something.
        digits = 2 if interval.high - interval.low < 0.01 else 1
        low, high = (f"{100 * end:.{digits}f}" for end in (interval.low, interval.high))
        return self.say(key, accuracy=f"{100 * share:.{digits}f}%", low=low, high=high, **values)

    def sizes(self, tally: Tally) -> str:
        return self.say("n" if tally.items == tally.n else "n_repeats", n=tally.n, items=tally.items)

    def unanswered(self) -> str:
        score, parts = self.score, []
        if score.failed:
            kinds = ", ".join(f"{kind} {count:,}" for kind, count in sorted(score.failures.items()))
            parts.append(self.say("failed", count=score.failed, kinds=kinds))
        to_come = self.overall.planned - self.overall.n - score.failed
        if to_come > 0 or not parts:
            parts.append(self.say("to_come", count=max(to_come, 0)))
        return self.words["list"].join(parts)

    def bar(self, name: str) -> str:
        if name == "protocol" and self.view.why_not:
            return self.own(self.view.why_not, self.view.why_not_zh)
        reader, own = self.score.reader, self.view.protocol_reader
        return self.say(f"why_{name}", name=self.view.protocol, reader=reader, own=own)

    def own(self, english: str, chinese: str) -> str:
        # Of what the protocol says of itself: one that somebody else wrote may have no Chinese.
        return chinese if chinese and self.lang == "zh-TW" else english

    # -- what surrounds it --------------------------------------------------------------------------------------

    def facts(self) -> Iterator[str]:
        """Labelled lines: what ran, and how the responses came out."""
        facts = list(self._facts())
        labels = [safe(self.words[key], self.encoding) for key, _ in facts]
        room = max(map(columns, labels)) + 2
        for label, (_, value) in zip(labels, facts, strict=True):
            yield from self.lines(pad(label, room) + value, " " * room)

    def _facts(self) -> Iterator[tuple[str, str]]:
        view, score, tally = self.view, self.score, self.overall
        yield "run", view.run
        yield "model", " ".join(part for part in (view.model, view.revision) if part)
        items = tally.planned // (score.repeats.asked if score.repeats else 1)
        since = self.say("withdrawn_since", count=score.withdrawn_since) if score.withdrawn_since else ""
        drawn, count = items + score.withdrawn, score.withdrawn
        withdrawn = self.say("withdrawn", drawn=drawn, count=count, since=since) if count else ""
        yield "bench", self.say("bench_value", bench=view.bench, items=items, withdrawn=withdrawn)
        title = self.own(view.protocol_title, view.protocol_title_zh)
        yield "protocol", self.say("protocol_value", name=view.protocol, title=title, sha=view.protocol_sha256[:16])
        engine = " ".join(part for part in (view.engine or view.backend, view.engine_version) if part)
        mark = [self.words["quantised_mark"]] if view.quantised else []
        yield "engine", self.words["list"].join([engine or self.words["unknown"], *mark])
        if tally.n:
            odd = self.words["list"].join(self._odd(tally))
            if odd:
                yield "responses", odd
            yield "tokens", self._tokens(tally)
        if score.repeats:
            accuracies = self.words["list"].join(_percent(share) for share in score.repeats.accuracies)
            asked, same, compared = score.repeats.asked, score.repeats.same, score.repeats.compared
            yield "repeats", self.say("repeats_value", asked=asked, accuracies=accuracies, same=same, compared=compared)
        if view.sittings:
            started = self.say("started", when=minute(view.started)) if view.started else ""
            time = self.words["unknown"] if view.seconds is None else self._duration(view.seconds)
            several = self.say("sittings", count=view.sittings) if view.sittings > 1 else ""
            yield "time", self.say("time_value", time=time, sittings=several, started=started)

    def _odd(self, tally: Tally) -> Iterator[str]:
        for key in ("truncated", "loops", "no_final", "empty", "refused", "filtered", "ordinal"):
            count = getattr(tally, key)
            if count:
                budget = self.view.max_tokens if key == "truncated" else None
                yield self.say(key, count=count) + ("" if budget is None else self.say("budget", tokens=budget))

    def _tokens(self, tally: Tally) -> str:
        if tally.untold == tally.n:
            return self.words["tokens_unknown"]
        reasoning = self.say("reasoning", count=tally.reasoning_tokens) if tally.reasoning_tokens else ""
        untold = self.say("untold", count=tally.untold) if tally.untold else ""
        told = {"prompt": tally.prompt_tokens, "completion": tally.completion_tokens}
        return self.say("tokens_value", **told, reasoning=reasoning, untold=untold)

    def _duration(self, seconds: float) -> str:
        if round(seconds, 1) < 60:
            return self.say("duration_s", s=seconds)
        minutes, rest = divmod(round(seconds), 60)
        if minutes < 60:
            return self.say("duration_m", m=minutes, s=rest)
        return self.say("duration_h", h=minutes // 60, m=minutes % 60)

    def alarms(self) -> Iterator[str]:
        """The alarms, one a paragraph."""
        for found in self.score.alarms:
            mark = self.say("alarm", kind=found.kind)
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
        return [name, n, _percent(tally.accuracy), interval, *map(_percent, rates), f"{tally.truncated:,}"]


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f}%"
