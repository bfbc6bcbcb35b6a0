"""How long a stated band of scores describes the field (the paper's section 6.3). Pure.

A benchmark that was cut to a band against a frozen pool has two lifetimes: how long it tells models apart, and how long
the band is true. Here models are counted in, above and below the band, in all and up to each date.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import date

from twlocal.html.words import t
from twlocal.stats import wilson
from twlocal.study import plots
from twlocal.study.report import Report, Table, interval, percent

_MOST = 24  # dates in the text; the JSON has all of them


@dataclass(frozen=True, slots=True)
class Dated:
    """A model's score, as a share of 1, on the day that counts for it (its release, or when it was measured)."""

    model: str
    score: float
    day: date | None = None


@dataclass(frozen=True, slots=True)
class Count:
    """Models up to a day (None: all, dated or not): in the band, above it, below it, their median and their best."""

    day: date | None
    n: int
    within: int
    above: int
    below: int
    median: float
    best: float


@dataclass(frozen=True)
class HalfLife:
    """A band and the field. since: the day it was frozen.

    cleared: the first day with a model above it after that. minority: the first day with fewer than half of the models
    since the freeze within it. median_left: the first day on which the median of those models lies outside.
    """

    low: float
    high: float
    since: date | None
    total: Count
    over_time: tuple[Count, ...]
    cleared: date | None
    minority: date | None
    median_left: date | None
    undated: int


def count(models: Sequence[Dated], low: float, high: float, day: date | None = None) -> Count:
    """Count models; both ends of the band belong to it. Raises ValueError without a model."""
    if not models:
        raise ValueError("there is no score to count")
    scores = sorted(one.score for one in models)
    middle = len(scores) // 2
    return Count(
        day=day,
        n=len(scores),
        within=sum(low <= score <= high for score in scores),
        above=sum(score > high for score in scores),
        below=sum(score < low for score in scores),
        median=scores[middle] if len(scores) % 2 else (scores[middle - 1] + scores[middle]) / 2,
        best=scores[-1],
    )


def halflife(models: Sequence[Dated], low: float, high: float, since: date | None = None) -> HalfLife:
    """Follow a band over time. `since` leaves out what is dated before it, but for the total."""
    if not 0 <= low < high <= 1:
        raise ValueError(f"a band from {low} to {high} makes no sense: shares of 1, the lower one first")
    dated = sorted(
        (one.day, one.model, one) for one in models if one.day is not None and (since is None or one.day >= since)
    )
    over_time = []
    for day in sorted({day for day, _, _ in dated}):
        over_time.append(count([one for when, _, one in dated if when <= day], low, high, day))
    return HalfLife(
        low=low,
        high=high,
        since=since,
        total=count(models, low, high),
        over_time=tuple(over_time),
        cleared=next((one.day for one in over_time if one.above), None),
        minority=next((one.day for one in over_time if 2 * one.within < one.n), None),
        median_left=next((one.day for one in over_time if not low <= one.median <= high), None),
        undated=sum(one.day is None for one in models),
    )


def report(found: HalfLife, bench: str, source: str, *, reader: str, commands: Sequence[str] = ()) -> Report:
    """The study as a report."""
    total = found.total
    rows = [_row(one, "all" if one.day is None else one.day.isoformat()) for one in (*_few(found.over_time), total)]
    header = ["up to", "n", "in the band", "95% interval", "above", "below", "median", "best"]
    band = f"{percent(found.low)} to {percent(found.high)}"
    parts: list[str | Table] = [
        Table(f"Models in, above and below the band of {band}:", header, rows, "lrrrrrrr"),
        *(_when(found) if found.over_time else ["No model is dated, so there is nothing to follow over time."]),
    ]
    return Report(
        study="halflife",
        title=f"How long the band {band} describes the field on {bench}",
        varied="the models, and with them the day" + (f" since {found.since}" if found.since else ""),
        held=f"the questions, the band and the reader ({reader})",
        n=f"{total.n} models, {found.undated} of them without a day",
        parts=parts,
        commands=commands,
        plots=[
            plots.over_time(
                [
                    (one.day.isoformat(), (one.below, one.within, one.above))
                    for one in found.over_time
                    if one.day is not None
                ],
                [t("低於區間", "below the band"), t("區間內", "in the band"), t("高於區間", "above the band")],
                t(f"相對於 {band} 的模型數", f"Models against the band of {band}"),
                t("模型數", "models"),
            )
        ]
        if found.over_time
        else [],
        data={
            "bench": bench,
            "source": source,
            "reader": reader,
            "band": [found.low, found.high],
            "since": _iso(found.since),
            "total": _count_json(total),
            "over_time": [_count_json(one) for one in found.over_time],
            "cleared": _iso(found.cleared),
            "minority": _iso(found.minority),
            "median_left": _iso(found.median_left),
            "undated": found.undated,
        },
    )


def _few(counts: Sequence[Count]) -> Sequence[Count]:
    """At most _MOST of them, spread evenly, the last one always among them."""
    if len(counts) <= _MOST:
        return counts
    return [counts[round(at * (len(counts) - 1) / (_MOST - 1))] for at in range(_MOST)]


def _row(one: Count, name: str) -> list[str]:
    low_high = wilson(one.within, one.n)
    return [
        name,
        f"{one.n}",
        f"{one.within}",
        interval(low_high.low, low_high.high),
        f"{one.above}",
        f"{one.below}",
        percent(one.median),
        percent(one.best),
    ]


def _when(found: HalfLife) -> list[str | Table]:
    told: list[str | Table] = []
    for day, happened in (
        (found.cleared, "the first model stands above the band"),
        (found.minority, "fewer than half of the models are in the band"),
        (found.median_left, "the median model is outside the band"),
    ):
        if day is None:
            told.append(f"Not so far: {happened}.")
            continue
        after = f", {(day - found.since).days} days after it was frozen" if found.since else ""
        told.append(f"{day.isoformat()}{after}: {happened}.")
    return told


def _iso(day: date | None) -> str | None:
    return None if day is None else day.isoformat()


def _count_json(one: Count) -> dict[str, object]:
    low_high = wilson(one.within, one.n)
    return asdict(one) | {"day": _iso(one.day), "within_interval": [low_high.low, low_high.high]}
