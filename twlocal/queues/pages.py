"""A queue and a run as people see them on a terminal: plan, end, and live view. Pure: facts in, lines out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from twlocal.plural import Count
from twlocal.queues.cards import needed
from twlocal.queues.forecast import Forecast, to_fetch
from twlocal.queues.state import FAILED, FETCHING, OK, RUNNING, SKIPPED
from twlocal.queues.words import duration, size, words
from twlocal.report.table import clip, columns, one_line, safe, table, visible, wrap
from twlocal.report.words import alarm, alarm_name

if TYPE_CHECKING:
    from twlocal.queues.state import ItemRow, QueueRow
    from twlocal.tally import Tally
    from twlocal.watching import Seen

_BAR = 24


@dataclass(frozen=True)
class Look:
    """How a page is to look: columns, language, and the encoding that the stream takes."""

    width: int
    lang: str
    encoding: str

    @property
    def said(self) -> Mapping[str, str]:
        return words(self.lang)

    def lines(self, text: str, indent: str = "") -> list[str]:
        """A paragraph."""
        return list(wrap(safe(visible(text), self.encoding), self.width, indent))

    def table(self, rows: Sequence[Sequence[str]], header: Sequence[str], align: str) -> list[str]:
        """A table."""
        made = [[safe(visible(cell), self.encoding) for cell in row] for row in (header, *rows)]
        return [line.rstrip() for line in table(made[1:], made[0], align=align, width=self.width)]


@dataclass(frozen=True)
class Result:
    """An item as it ended. tally: of its run, None where it has none. run: that run's name."""

    item: ItemRow
    protocol: str
    run: str = ""
    answered: int = 0
    tally: Tally | None = None


def plan(name: str, forecasts: Sequence[Forecast], free: int | None, look: Look) -> list[str]:
    """What a queue is going to do."""
    said = look.said
    header = [said[f"column_{name}"] for name in ("no", "model", "bench", "engine", "fetch", "ask", "time")]
    rows, seen = [], set[tuple[str, tuple[str, ...]]]()
    for one in forecasts:
        rows.append([str(one.entry.no + 1), one.entry.model, one.entry.bench, *_cells(one, seen, said)])
    page = look.lines(said["plan"].format(name=name, count=Count(len(forecasts))))
    page += ["", *look.table(rows, header, "rlllrrr"), ""]
    for one in forecasts:
        if one.skip:
            page += look.lines(f"{one.entry.no + 1} {one.skip.said(look.lang)}", "  ")
    bytes_known, some_unknown = to_fetch(forecasts)
    if bytes_known or some_unknown:
        key = "fetch_total_some" if some_unknown else "fetch_total"
        told = said["unknown"] if free is None else size(free)
        page += look.lines(said[key].format(size=size(bytes_known), free=told))
        if free is not None and bytes_known > free:
            page += look.lines(said["fetch_too_much"])
    else:
        page += look.lines(said["fetch_nothing"])
    times = [one.seconds for one in forecasts if not one.skip]
    total = sum(seconds for seconds in times if seconds is not None)
    if not total and None not in times:
        page += look.lines(said["time_none"])
    elif None not in times:
        page += look.lines(said["time_total"].format(time=duration(total, said)))
    elif any(times):
        page += look.lines(said["time_total_some"].format(time=duration(total, said)))
    else:
        page += look.lines(said["time_unknown"])
    return page


def _cells(one: Forecast, seen: set[tuple[str, tuple[str, ...]]], said: Mapping[str, str]) -> list[str]:
    """Engine, what is to be fetched, what is to be asked, and the time."""
    if one.placed is None:
        return [said["cannot"], said["nothing"], said["nothing"], said["nothing"]]
    cards = needed(one.placed)
    engine = said["cards"].format(engine=one.placed.backend, count=cards) if cards else one.placed.backend
    if one.left == 0:
        return [engine, said["nothing"], said["done_before"], said["nothing"]]
    fetch = said["nothing"]
    if one.placed.repository is not None and one.placed.absent != 0:
        key = (one.placed.repository.name, one.placed.names)
        if key not in seen:
            fetch = said["unknown"] if one.placed.absent is None else size(one.placed.absent)
        seen.add(key)
    ask = said["unknown"]
    if one.answers is not None:
        ask = said["left_of"].format(left=one.left, all=one.answers) if one.answered else f"{one.answers:,}"
    time = said["unknown"]
    if one.seconds is not None:
        time = duration(one.seconds, said)
        if one.measured_on != one.wish.bench and not one.wish.bench.endswith(one.measured_on):
            time = said["like"].format(time=time, bench=one.measured_on)
    return [engine, fetch, ask, time]


def end(results: Sequence[Result], look: Look) -> list[str]:
    """What became of every item, with the scores of those that ran, and why the others did not."""
    said = look.said
    names = ("no", "result", "model", "bench", "protocol", "answered", "strict", "box")
    rows = []
    for one in results:
        item = one.item
        answered = f"{one.answered:,}/{item.planned:,}" if item.planned is not None else f"{one.answered:,}"
        rows.append(
            [
                *(str(item.no + 1), said[item.state], item.model, item.bench, one.protocol),
                *(answered if one.run else said["nothing"], *_score(one.tally, said)),
            ]
        )
    page = look.table(rows, [said[f"column_{name}"] for name in names], "rllllrrr")
    counts = Counter(one.item.state for one in results)
    told = {state: counts[state] for state in (OK, SKIPPED, FAILED)}
    waiting = sum(not one.item.ended for one in results)
    page += ["", *look.lines(said["sums_waiting" if waiting else "sums"].format(**told, waiting=waiting))]
    for one in results:
        if one.item.state in (SKIPPED, FAILED):
            facts = {"no": one.item.no + 1, "model": one.item.model, "bench": one.item.bench}
            page += look.lines(
                said["why"].format(state=said[one.item.state], reason=one.item.why.said(look.lang), **facts), "  "
            )
    if waiting:
        page += look.lines(said["go_on"])
    return page


def _score(tally: Tally | None, said: Mapping[str, str]) -> list[str]:
    if tally is None or not tally.n:
        return [said["nothing"], said["nothing"]]
    low, high = 100 * tally.interval.low, 100 * tally.interval.high
    return [f"{tally.accuracy:.1%} ({low:.1f}–{high:.1f})", f"{tally.box_rate:.1%}"]


def live_queue(
    queue: QueueRow, items: Sequence[ItemRow], seen: Mapping[int, Seen], busy: bool, look: Look
) -> list[str]:
    """A queue while it is worked on; `seen`: the runs of its items, as far as they are begun."""
    said = look.said
    ended = sum(item.ended for item in items)
    key = "queue" if busy else "queue_over" if ended == len(items) else "queue_stopped"
    page = look.lines(said[key].format(name=queue.name, ended=ended, all=len(items)))
    names = ("no", "state", "model", "bench", "engine", "answered", "rate", "left")
    rows = []
    for item in items:
        run = seen.get(item.no)
        of = run.of if run else item.planned
        answered = f"{run.done if run else 0:,}/{of:,}" if of is not None else said["nothing"]
        speed = said["rate"].format(rate=run.rate) if run and run.rate else said["nothing"]
        left = duration(run.left, said) if run and run.left is not None else said["nothing"]
        if item.state == FETCHING and item.reason:
            answered = item.reason
        rows.append(
            [str(item.no + 1), said[item.state], item.model, item.bench, item.engine or "-", answered, speed, left]
        )
    page += ["", *look.table(rows, [said[f"column_{name}"] for name in names], "rllllrrr")]
    for item in items:
        if item.state == RUNNING:
            page += ["", *(live_run(seen[item.no], look) if item.no in seen else look.lines(said["loading"]))]
    ended_badly = [item for item in items if item.state in (SKIPPED, FAILED)]
    page += [""] if ended_badly else []
    for item in ended_badly:
        facts = {"no": item.no + 1, "model": item.model, "bench": item.bench}
        page += look.lines(said["why"].format(state=said[item.state], reason=item.why.said(look.lang), **facts), "  ")
    return page


def live_run(seen: Seen, look: Look) -> list[str]:
    """A run while it is worked on: where it is, how fast, the score so far, alarms, the last answers."""
    said, run = look.said, seen.run
    head = said["comma"].join([run.name, run.model, run.backend, run.bench, run.protocol])
    page = look.lines(f"{head}{said['comma']}{said[f'state_{seen.state}']}", "  ")
    page += look.lines(f"{_bar(seen)} {progress(seen, look)}", "  ")
    if seen.tally.n:
        page += look.lines(score(seen, look), "  ")
    for found in seen.alarms:
        page += look.lines(said["alarm"].format(kind=alarm_name(found.kind, look.lang)) + alarm(found, look.lang), "  ")
    if seen.last:
        page += ["", *look.lines(said["last"])]
        rows = [
            [
                one.subject or "-",
                one.letter or "-",
                said["unread" if not one.letter else "right" if one.right else "wrong"],
            ]
            for one in seen.last
        ]
        texts = [one_line(visible(one.text[-600:])) for one in seen.last]
        made = look.table(rows, ["", "", ""], "lll")[2:]
        wide = max(map(columns, made), default=0) + 2
        for line, text in zip(made, texts, strict=True):
            page.append(
                line + " " * (wide - columns(line)) + clip(safe(text, look.encoding), max(look.width - wide, 8))
            )
    return page


def progress(seen: Seen, look: Look) -> str:
    """Done of planned, the speed, and what is left."""
    said = look.said
    parts = [f"{seen.done:,}/{seen.of:,}"]
    if seen.rate:
        parts.append(said["rate"].format(rate=seen.rate))
    if seen.left is not None:
        parts.append(said["minutes_left"].format(time=duration(seen.left, said)))
    if seen.failed:
        parts.append(said["some_failed"].format(count=seen.failed))
    return said["comma"].join(parts)


def score(seen: Seen, look: Look) -> str:
    """The score so far, never without its n, its interval and its box rate."""
    tally = seen.tally
    low, high = 100 * tally.interval.low, 100 * tally.interval.high
    return look.said["score"].format(share=tally.accuracy, low=low, high=high, n=tally.n, box=tally.box_rate)


def line(seen: Seen, look: Look) -> str:
    """A run in one line, for a log."""
    parts = [seen.run.name, progress(seen, look)]
    if seen.tally.n:
        parts.append(score(seen, look))
    if seen.alarms:
        names = look.said["comma"].join(alarm_name(found.kind, look.lang) for found in seen.alarms)
        parts.append(look.said["alarm"].format(kind=names).rstrip(": ："))
    return safe(visible(look.said["comma"].join(parts)), look.encoding)


def _bar(seen: Seen) -> str:
    full = round(_BAR * seen.done / seen.of) if seen.of else 0
    return "[" + "#" * full + "." * (_BAR - full) + "]"
