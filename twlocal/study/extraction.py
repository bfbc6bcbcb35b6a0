"""The same responses under every reader: how much of a score is its extraction (the paper's section 5.1).

Only the first asking of a question counts, so that every row is another item. Pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from twlocal import readers
from twlocal.compare import Difference, Key, difference
from twlocal.html.words import Text, t
from twlocal.item import LABELS
from twlocal.judge import PUBLISHED, right
from twlocal.paired import RESAMPLES
from twlocal.plural import counted
from twlocal.record import Record
from twlocal.stats import wilson
from twlocal.study import plots
from twlocal.study.compared import difference_json
from twlocal.study.report import INTERVAL, Report, Table, Words, join, p_value, percent, points, said, span

PATTERN = "twinkle_pattern"
UNREAD, WRONG, RIGHT = "unread", "wrong", "right"
# Changes that are told, from the published reader to another one.
_STATES = {UNREAD: t("讀不出", "unread"), WRONG: t("錯", "wrong"), RIGHT: t("對", "right")}
_MOVES = ((UNREAD, RIGHT), (UNREAD, WRONG), (RIGHT, UNREAD), (WRONG, UNREAD), (RIGHT, WRONG), (WRONG, RIGHT))


@dataclass(frozen=True)
class Extracted:
    """One run's responses under each reader: the state of every item, in one order, and letters that are no option."""

    run: str
    model: str
    states: Mapping[str, Sequence[str]]
    outside: Mapping[str, int]

    @property
    def n(self) -> int:
        return len(next(iter(self.states.values())))

    def count(self, reader: str, state: str) -> int:
        """How many items are in a state under a reader."""
        return sum(one == state for one in self.states[reader])

    def accuracy(self, reader: str) -> float:
        return self.count(reader, RIGHT) / self.n

    def against(self, reader: str, seed: int, resamples: int = RESAMPLES) -> Difference:
        """A reader against the published one, item by item."""
        strict, other = ([float(one == RIGHT) for one in self.states[name]] for name in (PUBLISHED, reader))
        return difference(strict, other, seed, resamples)

    def moves(self, reader: str) -> Counter[tuple[str, str]]:
        """How many items went from which state under the published reader to which one under another."""
        return Counter(zip(self.states[PUBLISHED], self.states[reader], strict=True))


def extract(run: str, model: str, rows: Iterable[tuple[Key, Record]], names: Sequence[str]) -> Extracted:
    """Read a run's responses with every named reader; none of the responses is kept. Raises what a reader raises."""
    states: dict[str, list[str]] = {name: [] for name in names}
    outside: Counter[str] = Counter()
    for _, record in rows:
        if record.repeat:
            continue
        for name in names:
            letter = readers.read(name, record.text, record.reasoning, record.finish).letter
            outside[name] += letter is not None and letter not in LABELS
            states[name].append(UNREAD if letter is None else RIGHT if right(letter, record) else WRONG)
    return Extracted(run, model, states, outside)


def regenerated(original: Extracted, other: Extracted, seed: int) -> Difference:
    """A strategy with its own apparatus, read its own way, against the published reading of the original run.

    Raises ValueError where the two are not of the same number of items: they are paired in the order of the plan.
    """
    strict = [float(one == RIGHT) for one in original.states[PUBLISHED]]
    return difference(strict, [float(one == RIGHT) for one in other.states[PATTERN]], seed)


def ranks(runs: Sequence[Extracted], reader: str) -> list[int]:
    """The place of each run under a reader, 1 for the best; equal scores share the better place."""
    scores = [run.accuracy(reader) for run in runs]
    return [1 + sum(other > score for other in scores) for score in scores]


def reversals(runs: Sequence[Extracted], reader: str) -> int:
    """Pairs of runs whose order under the published reader is the opposite under another."""
    strict, other = ([run.accuracy(name) for run in runs] for name in (PUBLISHED, reader))
    return sum((strict[a] - strict[b]) * (other[a] - other[b]) < 0 for a, b in combinations(range(len(runs)), 2))


def report(
    runs: Sequence[Extracted],
    *,
    absent: Mapping[str, Words],
    same_items: bool,
    again: Mapping[str, Extracted] | None = None,
    commands: Sequence[str] = (),
    seed: int = 0,
) -> Report:
    """The study as a report. absent: readers that are not installed, with the reason.

    again: by run, the same model and questions asked as the pattern strategy asks (`prompts/twinkle-pattern.toml`).
    """
    again = again or {}
    names = list(runs[0].states)
    parts: list[Words | Table] = []
    data: list[dict[str, Any]] = []
    for run in runs:
        found = {name: run.against(name, seed) for name in names}
        parts += [_scores(run, found), _moved(run)]
        told = _data(run, found)
        if run.run in again:
            own = regenerated(run, again[run.run], seed)
            parts.append(_again(run, again[run.run], own))
            told["pattern_strategy"] = {
                "run": again[run.run].run,
                "outside": again[run.run].outside[PATTERN],
                **difference_json(own),
            }
        data.append(told)
    if len(runs) > 1:
        parts.append(_ranked(runs))
    left_out = t("沒有用 {name} 讀：{why}", "the reader {name} was left out: {why}")
    warnings: list[Words] = [left_out.format(name=name, why=why) for name, why in absent.items()]
    if len(runs) > 1 and not same_items:
        warnings.append(
            t(
                "這幾次測驗的題目不同，名次沒有多少意義。",
                "these runs were not asked the same questions, so their ranks say little.",
            )
        )
    return Report(
        study="extraction",
        title=t("同一批作答，不同的讀法", "What the reader makes of the same responses"),
        varied=_varied(names, asked_again=bool(again)),
        held=_held(asked_again=bool(again)),
        n=join(
            [t(f"{run.run}：{run.n:,} 則作答", f"{run.run}: {counted(run.n, 'response')}") for run in runs], "；", "; "
        ),
        parts=parts,
        warnings=warnings,
        commands=commands,
        plots=[
            plots.shares(
                [(name, run.count(name, RIGHT), run.n) for name in names],
                t(f"{run.run}：同一批作答，各種讀法的正確率", f"{run.run}: accuracy of the same responses by reader"),
                reference=plots.GUESSING,
            )
            for run in runs
        ],
        data={
            "runs": data,
            "ranks": {name: ranks(runs, name) for name in names},
            "reversals": {name: reversals(runs, name) for name in names},
            "not_available": {name: said(why) for name, why in absent.items()},
        },
    )


def _varied(names: Sequence[str], *, asked_again: bool) -> Text:
    if asked_again:
        return t(
            f"讀法（{'、'.join(names)}），以及 pattern 策略自己的提示詞",
            f"the reader ({', '.join(names)}), and the pattern strategy's own prompt",
        )
    return t(f"讀法（{'、'.join(names)}）", f"the reader ({', '.join(names)})")


def _held(*, asked_again: bool) -> Text:
    held = t(
        "每一則作答，也就是模型、題目、提示詞與解碼設定",
        "every response, and with it the model, the questions, the prompt and the decoding",
    )
    if not asked_again:
        return held
    return Text(
        held.zh + "（另外標明之處，是不用系統提示詞重新問過）",
        held.en + " (asked again without a system prompt where it says so)",
    )


def _scores(run: Extracted, found: Mapping[str, Difference]) -> Table:
    rows: list[list[Words]] = []
    for name, one in found.items():
        right_ones, read = run.count(name, RIGHT), run.n - run.count(name, UNREAD)
        low_high = wilson(right_ones, run.n)
        rows.append(
            [
                name,
                percent(read / run.n),
                percent(right_ones / run.n),
                span(low_high.low, low_high.high),
                *(
                    ["-", "-", "-"]
                    if name == PUBLISHED
                    else [
                        points(one.difference),
                        span(one.interval.low, one.interval.high, signed=True),
                        p_value(one.p),
                    ]
                ),
            ]
        )
    header: list[Words] = [
        t("讀法", "reader"),
        t("可讀", "read"),
        t("答對", "right"),
        INTERVAL,
        t("與 box 的差", "against box"),
        INTERVAL,
        "p",
    ]
    caption = t("{run}（{model}），{n} 則作答：", "{run} ({model}), {n} responses:")
    return Table(caption.format(run=run.run, model=run.model, n=f"{run.n:,}"), header, rows, "lrrrrrr")


def _moved(run: Extracted) -> Table:
    others = [name for name in run.states if name != PUBLISHED]
    moves = {name: run.moves(name) for name in others}
    rows: list[list[Words]] = [
        [_move(was, now), *(f"{moves[name][was, now]:,}" for name in others)] for was, now in _MOVES
    ]
    no_option = t("（讀到的字母不是選項）", "(letters that are no option)")
    rows.append([no_option, *(f"{run.outside[name]:,}" for name in others)])
    caption = t("從 box 換成其他讀法，有變化的題目：", "Items that change, from box to another reader:")
    return Table(caption, ["", *others], rows, "l" + "r" * len(others))


def _move(was: str, now: str) -> Text:
    return t("{was}變{now}", "{was} to {now}").format(was=_STATES[was], now=_STATES[now])


def _again(run: Extracted, other: Extracted, own: Difference) -> Text:
    return t(
        "照 pattern 策略的方式重新問過（{other}，不用系統提示詞），並用它的樣式來讀：答對 {second}，{run} 用 box 讀是 "
        "{first}，相差 {points} 個百分點（95% 區間 {span}，p = {p}）；變對 {gained} 題，變錯 {lost} 題，"
        "{outside} 則讀到的字母不是選項。",
        "Asked again as the pattern strategy asks, without a system prompt ({other}), and read by its patterns: "
        "{second} right against {first} of {run} under box, {points} points (95% interval {span}, p = {p}); {gained} "
        "gained, {lost} lost, {outside} letters read that are no option.",
    ).format(
        other=other.run,
        second=percent(own.second),
        first=percent(own.first),
        run=run.run,
        points=points(own.difference),
        span=span(own.interval.low, own.interval.high, signed=True),
        p=p_value(own.p),
        gained=f"{own.churn.gained:,}",
        lost=f"{own.churn.lost:,}",
        outside=f"{other.outside[PATTERN]:,}",
    )


def _ranked(runs: Sequence[Extracted]) -> Table:
    names = list(runs[0].states)
    places = {name: ranks(runs, name) for name in names}
    rows: list[list[Words]] = [
        [run.run, *(_place(places[name][at], places[PUBLISHED][at], name) for name in names)]
        for at, run in enumerate(runs)
    ]
    reversed_pairs = t("次序顛倒的對數", "pairs in opposite order")
    rows.append([reversed_pairs, *(f"{reversals(runs, name):,}" for name in names)])
    caption = t("名次，以及與 box 相比前進的名次：", "Ranks, with the places moved against box:")
    return Table(caption, [t("測驗", "run"), *names], rows, "l" + "r" * len(names))


def _place(place: int, strict: int, name: str) -> str:
    return str(place) if name == PUBLISHED or place == strict else f"{place} ({strict - place:+d})"


def _data(run: Extracted, found: Mapping[str, Difference]) -> dict[str, Any]:
    return {
        "run": run.run,
        "model": run.model,
        "n": run.n,
        "readers": {
            name: {
                "read": run.n - run.count(name, UNREAD),
                "right": run.count(name, RIGHT),
                "accuracy": run.accuracy(name),
                "interval": [wilson(run.count(name, RIGHT), run.n).low, wilson(run.count(name, RIGHT), run.n).high],
                "outside": run.outside[name],
                "against_box": difference_json(one),
                "moves": {f"{before}>{after}": run.moves(name)[before, after] for before, after in _MOVES},
            }
            for name, one in found.items()
        },
    }
