"""What two benchmarks over many models agree and disagree about (the paper's section 6.4). Pure.

Ranks among the models that carry both scores; equal scores share the mean of their places. A gain of places is the rank
on the first axis minus that on the second: above 0, the model stands higher on the second one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from twlocal.html.words import Text, t
from twlocal.paired import RESAMPLES, Span, stats
from twlocal.plural import counted
from twlocal.study import plots
from twlocal.study.report import INTERVAL, Report, Table, Words, join, p_value, percent, points

REST, TUNED = "the rest", "Taiwan-tuned"
_FAMILIES = {REST: t("其餘", REST), TUNED: t("為臺灣調校", TUNED)}
_LEAST = 4  # models below which a rank correlation says nothing
_MOST = 15  # models in the text; the JSON has all of them


@dataclass(frozen=True, slots=True)
class Model:
    """A model with its scores on both axes, as shares of 1; `family` is "" where it belongs to none that is studied."""

    name: str
    first: float
    second: float
    family: str = ""


@dataclass(frozen=True, slots=True)
class Agreement:
    """Spearman's ρ over n models, with a bootstrap 95% interval over models; None where they are too few."""

    name: str
    n: int
    rho: float | None
    interval: Span | None


@dataclass(frozen=True, slots=True)
class Moved:
    """How many places a group of models gains on the second axis. p: of a permutation test of its mean, two-sided."""

    family: str
    n: int
    mean: float
    median: float
    p: float | None


@dataclass(frozen=True)
class Axes:
    """Two axes under one reader. gains: places by model. shift: the median of second − first, as a share of 1."""

    reader: str
    n: int
    agreement: tuple[Agreement, ...]
    families: tuple[Moved, ...]
    gains: Mapping[str, float]
    shift: float
    scores: Mapping[str, tuple[float, float]]
    family: Mapping[str, str]


def axes(
    models: Sequence[Model],
    reader: str,
    *,
    top: int = 20,
    above: float = 0.8,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> Axes:
    """Compare two axes over `models`; `top` and `above` restrict by the first one. Raises ValueError below 4 models."""
    if len(models) < _LEAST:
        raise ValueError(f"two axes need at least {_LEAST} models with both scores, and there are {len(models)}")
    ordered = sorted(models, key=lambda one: (-one.first, one.name))
    high = [one for one in ordered if one.first > above]
    groups = [("all", ordered), (f"top {top}", ordered[:top]), (f"above {percent(above, 0)}", high)]
    gains = _gains(ordered)
    shifts = sorted(one.second - one.first for one in ordered)
    return Axes(
        reader=reader,
        n=len(ordered),
        agreement=tuple(_agreement(name, group, seed, resamples) for name, group in groups),
        families=_families(ordered, gains, seed, resamples),
        gains=gains,
        shift=_median(shifts),
        scores={one.name: (one.first, one.second) for one in ordered},
        family={one.name: one.family or REST for one in ordered},
    )


def _gains(models: Sequence[Model]) -> dict[str, float]:
    rank: Callable[[list[float]], Any] = stats().rankdata
    first, second = rank([-one.first for one in models]), rank([-one.second for one in models])
    return {one.name: float(first[at] - second[at]) for at, one in enumerate(models)}


def _agreement(name: str, models: Sequence[Model], seed: int, resamples: int) -> Agreement:
    import numpy as np

    pairs = np.array([(one.first, one.second) for one in models]).reshape(-1, 2)
    if len(pairs) < _LEAST or len(np.unique(pairs[:, 0])) == 1 or len(np.unique(pairs[:, 1])) == 1:
        return Agreement(name, len(pairs), None, None)
    rho = float(stats().spearmanr(pairs[:, 0], pairs[:, 1]).statistic)
    drawn = np.random.default_rng(seed).integers(0, len(pairs), size=(resamples, len(pairs)))
    found = _rhos(pairs[drawn, 0], pairs[drawn, 1])
    low, high = np.nanpercentile(found, [2.5, 97.5])
    return Agreement(name, len(pairs), rho, Span(float(low), float(high)))


def _rhos(first: Any, second: Any) -> Any:
    """Spearman's ρ of each row: Pearson's of the ranks; NaN where a resample holds one value only."""
    import numpy as np

    a, b = (stats().rankdata(values, axis=1) for values in (first, second))
    a, b = (values - values.mean(axis=1, keepdims=True) for values in (a, b))
    spread = np.sqrt((a**2).sum(axis=1) * (b**2).sum(axis=1))
    return np.divide((a * b).sum(axis=1), spread, out=np.full(len(spread), np.nan), where=spread > 0)


def _families(models: Sequence[Model], gains: Mapping[str, float], seed: int, resamples: int) -> tuple[Moved, ...]:
    groups: defaultdict[str, list[float]] = defaultdict(list)
    for one in models:
        groups[one.family or REST].append(gains[one.name])
    values = list(gains.values())
    found = [
        Moved(
            name, len(group), sum(group) / len(group), _median(sorted(group)), _permuted(group, values, seed, resamples)
        )
        for name, group in groups.items()
    ]
    return tuple(sorted(found, key=lambda one: (one.family == REST, one.family)))


def _permuted(group: Sequence[float], values: Sequence[float], seed: int, resamples: int) -> float | None:
    """How often as many models drawn at random would be as far from 0 in the mean; None for all of them."""
    import numpy as np

    if len(group) == len(values):
        return None
    rng = np.random.default_rng(seed)
    drawn = rng.permuted(np.tile(np.array(values), (resamples, 1)), axis=1)[:, : len(group)].mean(axis=1)
    # Ranks of ties are halves: equal means may differ in their last digit.
    as_far = int((np.abs(drawn) >= abs(sum(group) / len(group)) - 1e-9).sum())
    return (as_far + 1) / (resamples + 1)


def _median(values: Sequence[float]) -> float:
    middle = len(values) // 2
    return values[middle] if len(values) % 2 else (values[middle - 1] + values[middle]) / 2


def report(
    found: Sequence[Axes],
    first: str,
    second: str,
    source: str,
    *,
    commands: Sequence[str] = (),
    warnings: Sequence[Words] = (),
) -> Report:
    """The study as a report: one `Axes` a reader."""
    parts: list[Words | Table] = []
    shift = t(
        "{reader} 讀法下，中位模型在 {second} 的分數與 {first} 相差 {points} 個百分點。",
        "Under {reader}, the median model scores {points} points on {second} against {first}.",
    )
    readers = [one.reader for one in found]
    for one in found:
        parts += [_agreements(one), _families_table(one), _most_moved(one, first, second)]
        parts.append(shift.format(reader=one.reader, second=second, first=first, points=points(one.shift)))
    return Report(
        study="axes",
        title=t(f"{first} 與 {second} 在哪裡意見不同", f"What {first} and {second} disagree about"),
        varied=t(
            f"題庫（{first}、{second}）與讀法（{'、'.join(readers)}）",
            f"the benchmark ({first}, {second}) and the reader ({', '.join(readers)})",
        ),
        held=t("模型", "the models"),
        n=join(
            [
                t(
                    f"{one.reader} 讀法下兩個分數都有的模型 {one.n} 個",
                    f"{counted(one.n, 'model')} with both scores under {one.reader}",
                )
                for one in found
            ],
            "；",
            "; ",
        ),
        parts=parts,
        warnings=warnings,
        commands=commands,
        plots=[
            plots.scatter(
                [(name, *scores, _family(one.family[name])) for name, scores in one.scores.items()],
                t(f"兩份題庫的正確率（{one.reader} 讀法）", f"Accuracy on both benchmarks ({one.reader} reader)"),
                t(first, first),
                t(second, second),
            )
            for one in found
        ],
        data={"first": first, "second": second, "source": source, "readers": [_data(one) for one in found]},
    )


def _agreements(one: Axes) -> Table:
    rows: list[list[Words]] = [
        [
            _group(group.name),
            f"{group.n}",
            "-" if group.rho is None else f"{group.rho:.2f}",
            "-" if group.interval is None else _rho_span(group.interval),
        ]
        for group in one.agreement
    ]
    caption = t(f"{one.reader}：名次有多一致：", f"{one.reader}: agreement of the ranks:")
    return Table(caption, [t("模型", "models"), "n", "Spearman", INTERVAL], rows, "lrrr")


def _rho_span(found: Span) -> Text:
    return t(f"{found.low:.2f} 至 {found.high:.2f}", f"{found.low:.2f} to {found.high:.2f}")


def _group(name: str) -> Text:
    """The name of a group of models, as `axes` gives it."""
    kind, _, bound = name.partition(" ")
    return t({"all": "全部", "top": f"前 {bound} 名", "above": f"高於 {bound}"}[kind], name)


def _family(name: str) -> Words:
    return _FAMILIES.get(name, name)


def _families_table(one: Axes) -> Table:
    rows: list[list[Words]] = [
        [
            _family(group.family),
            f"{group.n}",
            f"{group.mean:+.1f}",
            f"{group.median:+.1f}",
            "-" if group.p is None else p_value(group.p),
        ]
        for group in one.families
    ]
    header: list[Words] = [t("系列", "family"), "n", t("平均", "mean"), t("中位數", "median"), "p"]
    caption = t(
        f"{one.reader}：各系列在第二份題庫前進幾名：", f"{one.reader}: places gained on the second axis, by family:"
    )
    return Table(caption, header, rows, "lrrrr")


def _most_moved(one: Axes, first: str, second: str) -> Table:
    names = sorted(one.gains, key=lambda name: (-abs(one.gains[name]), name))[:_MOST]
    rows = [[name, *(percent(score) for score in one.scores[name]), f"{one.gains[name]:+.1f}"] for name in names]
    caption = t(f"{one.reader}：名次變動最大的模型：", f"{one.reader}: who moves most:")
    return Table(caption, [t("模型", "model"), first, second, t("前進", "places")], rows, "lrrr")


def _data(one: Axes) -> dict[str, Any]:
    return {
        "reader": one.reader,
        "n": one.n,
        "agreement": [
            {
                "models": group.name,
                "n": group.n,
                "rho": group.rho,
                "interval": None if group.interval is None else [group.interval.low, group.interval.high],
            }
            for group in one.agreement
        ],
        "families": [
            {"family": group.family, "n": group.n, "mean": group.mean, "median": group.median, "p": group.p}
            for group in one.families
        ],
        "median_shift": one.shift,
        "models": [
            {"model": name, "first": scores[0], "second": scores[1], "places": one.gains[name]}
            for name, scores in one.scores.items()
        ],
    }
