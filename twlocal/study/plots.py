"""The pictures of studies as specifications for `twlocal.html.charts`. Pure.

Every number in a picture stands in a table of the same report. Colours and marks differ together, so that nothing rests
on telling colours apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, timedelta
from typing import Any

from twlocal.html.charts import SERIES, WIDTH, Estimate, intervals, word
from twlocal.html.words import Text, t
from twlocal.stats import wilson
from twlocal.study.report import Plot, Words, said

ACCURACY = t("正確率", "accuracy")
GUESSING = 0.25
_SHAPES = ("circle", "triangle-up", "square", "diamond", "cross", "triangle-down")


def shares(
    rows: Iterable[tuple[Words, int, int]], caption: Text, axis: Text = ACCURACY, *, reference: float | None = None
) -> Plot:
    """Shares with their Wilson intervals, a row each: label, how many, of how many."""
    found = []
    for label, some, n in rows:
        if n:
            low_high = wilson(some, n)
            found.append(Estimate(label, some / n, low_high.low, low_high.high))
    return estimates(found, caption, axis, reference=reference)


def estimates(
    rows: Sequence[Estimate], caption: Text, axis: Text = ACCURACY, *, reference: float | None = None
) -> Plot:
    """Estimates with their intervals, a row each."""
    zh, en = (
        "; ".join(
            f"{said(row.label, lang)} {100 * row.value:.1f}% ({100 * row.low:.1f}–{100 * row.high:.1f})" for row in rows
        )
        for lang in ("zh-TW", "en")
    )
    return Plot(caption, intervals(rows, axis, reference=reference), _described(caption, zh, en))


def scatter(points: Sequence[tuple[Words, float, float, Words]], caption: Text, x: Text, y: Text) -> Plot:
    """Models by two shares (name, x, y, group), with the line on which both are equal."""
    groups = list(dict.fromkeys(_word(group) for *_, group in points))
    values = [{"x": first, "y": second, "group": _word(group)} for _, first, second, group in points]
    both = [value for _, first, second, _ in points for value in (first, second)]
    low, high = max(0.0, min(both, default=0.0) - 0.03), min(1.0, max(both, default=1.0) + 0.03)
    domain = {"scale": {"domain": [low, high]}, "type": "quantitative"}
    ax = {"format": "~%", "tickCount": 6}
    encoding: dict[str, Any] = {
        "x": {"field": "x", **domain, "axis": {**ax, "title": word(x)}},
        "y": {"field": "y", **domain, "axis": {**ax, "title": word(y)}},
    }
    if len(groups) > 1:
        legend = {"title": None, "orient": "top", "labelLimit": 300}
        colors = {"domain": groups, "range": SERIES[: len(groups)]}
        shapes = {"domain": groups, "range": _SHAPES[: len(groups)]}
        encoding["color"] = {"field": "group", "type": "nominal", "scale": colors, "legend": legend}
        encoding["shape"] = {"field": "group", "type": "nominal", "scale": shapes, "legend": legend}
    else:
        encoding["color"] = {"value": SERIES[0]}
    equal = {
        "data": {"values": [{"x": low, "y": low}, {"x": high, "y": high}]},
        "mark": {"type": "line", "strokeDash": [4, 4], "color": "var(--edge)", "strokeWidth": 1},
        "encoding": {"x": {"field": "x", **domain}, "y": {"field": "y", **domain}},
    }
    spec = {
        "width": WIDTH,
        "height": WIDTH,
        "data": {"values": values},
        "layer": [
            equal,
            {"mark": {"type": "point", "filled": True, "size": 60, "opacity": 0.85}, "encoding": encoding},
        ],
    }
    zh, en = (
        "; ".join(f"{said(name, lang)} {100 * first:.1f}%, {100 * second:.1f}%" for name, first, second, _ in points)
        for lang in ("zh-TW", "en")
    )
    return Plot(caption, spec, _described(caption, zh, en))


def _word(words: Words) -> str:
    return word(words) if isinstance(words, Text) else words


def lines(
    series: Mapping[Text, Sequence[tuple[float, float]]], caption: Text, x: Text, y: Text, *, share: bool = True
) -> Plot:
    """Lines through points (x, y), a line a name. share: y is a share of 1, shown in per cent."""
    names = [word(name) for name in series]
    values = [{"x": at, "y": value, "name": word(name)} for name, points in series.items() for at, value in points]
    legend = {"title": None, "orient": "top", "labelLimit": 300}
    color: dict[str, Any] = {"value": SERIES[0]}
    if len(names) > 1:
        color = {
            "field": "name",
            "type": "nominal",
            "scale": {"domain": names, "range": SERIES[: len(names)]},
            "legend": legend,
        }
    encoding = {
        "x": {"field": "x", "type": "quantitative", "title": word(x), "axis": {"tickCount": 6}},
        "y": {
            "field": "y",
            "type": "quantitative",
            "title": word(y),
            "axis": {"tickCount": 5, **({"format": "~%"} if share else {})},
        },
        "color": color,
    }
    if len(names) > 1:
        dashes = [[1, 0], [6, 3], [2, 2], [8, 3, 2, 3]][: len(names)]
        encoding["strokeDash"] = {
            "field": "name",
            "type": "nominal",
            "scale": {"domain": names, "range": dashes},
            "legend": legend,
        }
    spec = {
        "width": WIDTH,
        "height": 200,
        "data": {"values": values},
        "mark": {"type": "line", "strokeWidth": 2, "point": len(values) <= 60},
        "encoding": encoding,
    }
    zh, en = (
        "; ".join(
            f"{name.of(lang)}: {points[0][1]:.4g} → {points[-1][1]:.4g}" for name, points in series.items() if points
        )
        for lang in ("zh-TW", "en")
    )
    return Plot(caption, spec, _described(caption, zh, en))


def over_time(days: Sequence[tuple[str, Sequence[int]]], kinds: Sequence[Text], caption: Text, counted: Text) -> Plot:
    """Counts stacked over days (ISO 8601): at each day, one count a kind, from the bottom."""
    names = [word(kind) for kind in kinds]
    mark: dict[str, Any] = {"type": "bar", "width": 18}
    drawn = list(days)
    if len(days) > 1:
        # Each count stands until the next day; the last one for a while, or it would have no width.
        mark = {"type": "area", "interpolate": "step-after"}
        first, last = (date.fromisoformat(days[at][0]) for at in (0, -1))
        drawn.append(((last + max((last - first) / 20, timedelta(days=1))).isoformat(), days[-1][1]))
    values = [
        {"day": day, "count": count, "kind": name, "order": at}
        for day, counts in drawn
        for at, (name, count) in enumerate(zip(names, counts, strict=True))
    ]
    spec = {
        "width": WIDTH,
        "height": 200,
        "data": {"values": values},
        "mark": mark,
        "encoding": {
            "x": {"field": "day", "type": "temporal", "title": None, "axis": {"tickCount": 5, "format": "%Y-%m"}},
            "y": {"field": "count", "type": "quantitative", "title": word(counted), "axis": {"tickCount": 5}},
            "order": {"field": "order"},
            "color": {
                "field": "kind",
                "type": "nominal",
                "scale": {"domain": names, "range": SERIES[: len(names)]},
                "legend": {"title": None, "orient": "top", "labelLimit": 300},
            },
        },
    }
    zh, en = (
        "; ".join(f"{kind.of(lang)} {count}" for kind, count in zip(kinds, days[-1][1], strict=True)) if days else ""
        for lang in ("zh-TW", "en")
    )
    return Plot(caption, spec, _described(caption, zh, en))


def _described(caption: Text, zh: str, en: str | None = None) -> Text:
    return Text(f"{caption.zh}：{zh}", f"{caption.en}: {zh if en is None else en}")
