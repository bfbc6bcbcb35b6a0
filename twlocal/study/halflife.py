"""How long a stated band of scores describes the field (the paper's section 6.3). Pure.

A benchmark that was cut to a band against a frozen pool has two lifetimes: how long it tells models apart, and how long
the band is true. Here models are counted in, above and below the band, in all and up to each date.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import date

from twlocal.html.words import Text, t
from twlocal.plural import counted
from twlocal.stats import wilson
from twlocal.study import plots
from twlocal.study.report import INTERVAL, Plot, Report, Table, Words, percent, span

_BELOW, _WITHIN = t("低於區間", "below the band"), t("區間內", "in the band")
_ABOVE = t("高於區間", "above the band")
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
    all_of_them = t("全部", "all")
    rows = [
        _row(one, all_of_them if one.day is None else one.day.isoformat()) for one in (*_few(found.over_time), total)
    ]
    header: list[Words] = [
        t("截至", "up to"),
        "n",
        t("區間內", "in the band"),
        INTERVAL,
        t("高於", "above"),
        t("低於", "below"),
        t("中位數", "median"),
        t("最高", "best"),
    ]
    low, high = percent(found.low), percent(found.high)
    band = t(f"{low}–{high}", f"{low} to {high}")
    undated = t(
        "沒有模型標明日期，無法看出隨時間的變化。", "No model is dated, so there is nothing to follow over time."
    )
    caption = t("在難度區間 {band} 之內、之上、之下的模型：", "Models in, above and below the band of {band}:")
    parts: list[Words | Table] = [
        Table(caption.format(band=band), header, rows, "lrrrrrrr"),
        *(_when(found) if found.over_time else [undated]),
    ]
    return Report(
        study="halflife",
        title=t(
            "難度區間 {band} 還能描述 {bench} 上的模型多久", "How long the band {band} describes the field on {bench}"
        ).format(band=band, bench=bench),
        varied=t("模型，以及隨之而定的日期", "the models, and with them the day")
        if found.since is None
        else t(
            f"模型，以及隨之而定的日期（{found.since} 起）", f"the models, and with them the day since {found.since}"
        ),
        held=t(f"題目、難度區間與讀法（{reader}）", f"the questions, the band and the reader ({reader})"),
        n=t(
            f"{total.n} 個模型，其中 {found.undated} 個沒有日期",
            f"{counted(total.n, 'model')}, {found.undated} of them without a day",
        ),
        parts=parts,
        commands=commands,
        plots=[
            plots.shares(
                [(_BELOW, total.below, total.n), (_WITHIN, total.within, total.n), (_ABOVE, total.above, total.n)],
                t("全部模型中的比例", "Share of all models"),
                t("比例", "share"),
            ),
            *_over_time(found, band),
        ],
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


def _over_time(found: HalfLife, band: Text) -> list[Plot]:
    days = [(one.day.isoformat(), (one.below, one.within, one.above)) for one in found.over_time if one.day is not None]
    caption = t("相對於難度區間 {band} 的模型數", "Models against the band of {band}").format(band=band)
    return [plots.over_time(days, [_BELOW, _WITHIN, _ABOVE], caption, t("模型數", "models"))] if days else []


def _few(counts: Sequence[Count]) -> Sequence[Count]:
    """At most _MOST of them, spread evenly, the last one always among them."""
    if len(counts) <= _MOST:
        return counts
    return [counts[round(at * (len(counts) - 1) / (_MOST - 1))] for at in range(_MOST)]


def _row(one: Count, name: Words) -> list[Words]:
    low_high = wilson(one.within, one.n)
    return [
        name,
        f"{one.n}",
        f"{one.within}",
        span(low_high.low, low_high.high),
        f"{one.above}",
        f"{one.below}",
        percent(one.median),
        percent(one.best),
    ]


def _when(found: HalfLife) -> list[Text]:
    not_yet = t("目前為止還沒有：{happened}。", "Not so far: {happened}.")
    on_a_day = t("{day}：{happened}。", "{day}: {happened}.")
    after = t("{day}，凍結後 {days} 天：{happened}。", "{day}, {days} days after it was frozen: {happened}.")
    told = []
    for day, happened in (
        (found.cleared, t("第一次有模型高於區間", "the first model stands above the band")),
        (found.minority, t("區間內的模型不到一半", "fewer than half of the models are in the band")),
        (found.median_left, t("中位模型離開區間", "the median model is outside the band")),
    ):
        if day is None:
            told.append(not_yet.format(happened=happened))
        elif found.since is None:
            told.append(on_a_day.format(day=day.isoformat(), happened=happened))
        else:
            told.append(after.format(day=day.isoformat(), days=(day - found.since).days, happened=happened))
    return told


def _iso(day: date | None) -> str | None:
    return None if day is None else day.isoformat()


def _count_json(one: Count) -> dict[str, object]:
    low_high = wilson(one.within, one.n)
    return asdict(one) | {"day": _iso(one.day), "within_interval": [low_high.low, low_high.high]}
