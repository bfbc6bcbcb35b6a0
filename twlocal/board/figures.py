"""The board's charts, drawn while it is built."""

from __future__ import annotations

from markupsafe import Markup

from twlocal.board.board import Bench, Board, Difficulty
from twlocal.html import charts, t
from twlocal.html.charts import SERIES, Bin, word
from twlocal.html.numbers import percent
from twlocal.study.halflife import HalfLife

_SIDE = 340  # pixels


def scatter(board: Board, both: tuple[Bench, Bench]) -> Markup:
    """The models with both scores: strict accuracy on one bench against that on the other."""
    first, second = both
    others = {entry.slug: entry for entry in second.ranked}
    tuned = {True: t("為臺灣調校", "Taiwan-tuned"), False: t("其他", "others")}
    values = [
        {
            "x": entry.numbers.accuracy,
            "y": others[entry.slug].numbers.accuracy,
            "kind": word(tuned[entry.facts.taiwan_tuned is True]),
        }
        # Those made for Taiwan last, so that they lie on top.
        for entry in sorted(first.ranked, key=lambda one: one.facts.taiwan_tuned is True)
        if entry.slug in others
    ]
    names = [word(tuned[False]), word(tuned[True])]
    share = {"type": "quantitative", "scale": {"domain": [0, 1]}}
    axis = {"format": "~%", "tickCount": 6}
    spec = {
        "width": _SIDE,
        "height": _SIDE,
        "layer": [
            {
                "data": {"values": [{"x": 0, "y": 0}, {"x": 1, "y": 1}]},
                "mark": {"type": "line", "strokeDash": [4, 4], "color": "var(--edge)", "strokeWidth": 1},
                "encoding": {"x": {"field": "x", **share}, "y": {"field": "y", **share}},
            },
            {
                "data": {"values": values},
                "mark": {"type": "point", "filled": True, "size": 55, "opacity": 0.75},
                "encoding": {
                    "x": {"field": "x", **share, "axis": axis | {"title": word(t(first.title[1], first.title[0]))}},
                    "y": {"field": "y", **share, "axis": axis | {"title": word(t(second.title[1], second.title[0]))}},
                    "color": _legend(names),
                    "shape": {
                        "field": "kind",
                        "type": "nominal",
                        "scale": {"domain": names, "range": ["circle", "diamond"]},
                    },
                },
            },
        ],
    }
    caption = t(
        "每一點是一個模型；虛線上兩份題庫分數相同。", "A point a model; on the dashed line both scores are the same."
    )
    told = t(
        f"{len(values)} 個模型在兩份題庫的嚴格分數散布圖。數字在下方的表格與 data/axes.csv。",
        f"A scatter of {len(values)} models' strict scores on both benchmarks. The numbers are in data/axes.csv.",
    )
    return charts.figure(charts.svg(spec, name="axes", title=t("兩軸散布圖", "Two axes"), description=told), caption)


def _legend(names: list[str]) -> dict[str, object]:
    return {
        "field": "kind",
        "type": "nominal",
        "scale": {"domain": names, "range": list(SERIES[: len(names)])},
        "legend": {"title": None, "orient": "top", "labelLimit": 400},
    }


def difficulty(bench: Bench, easy: Difficulty) -> Markup:
    """Items by the share of models that were right on them."""
    bins = [Bin(at / 10, (at + 1) / 10, (count,)) for at, count in enumerate(easy.bins)]
    items = t("題", "items")
    spec = charts.histogram(bins, t("答對這一題的模型比例", "share of models that were right"), [items], counted=items)
    spec["encoding"]["x"]["axis"] = {"format": "~%", "tickCount": 5}
    told = t(
        f"從最難的一成到最容易的一成，題數依序是 {'、'.join(map(str, easy.bins))}。",
        f"From the hardest tenth to the easiest: {', '.join(map(str, easy.bins))} items.",
    )
    name = f"difficulty-{bench.name}"
    drawn = charts.svg(spec, name=name, title=t("難度分布", "Difficulty"), description=told)
    return charts.figure(drawn, t(f"{bench.title[1]}：題目難度分布", f"{bench.title[0]}: items by difficulty"))


def halflife(bench: Bench, life: HalfLife) -> Markup:
    """How many of the models measured up to each day stand below, in and above the band."""
    if len(life.over_time) < 2:
        return Markup("")
    kinds = [
        ("below", t("低於", "below")),
        ("within", t("落在", "in the band")),
        ("above", t("高於", "above")),
    ]
    values = [
        {"day": one.day.isoformat(), "count": getattr(one, name), "kind": word(text)}
        for one in life.over_time
        if one.day is not None
        for name, text in kinds
    ]
    spec = {
        "width": charts.WIDTH,
        "height": 200,
        "data": {"values": values},
        "mark": {"type": "line", "interpolate": "step-after", "strokeWidth": 2.5},
        "encoding": {
            "x": {
                "field": "day",
                "type": "temporal",
                "timeUnit": "utcyearmonthdate",
                "scale": {"type": "utc"},
                "axis": {"format": "%m-%d", "title": None, "tickCount": 5},
            },
            "y": {
                "field": "count",
                "type": "quantitative",
                "title": word(t("模型數", "models")),
                "axis": {"tickCount": 4},
            },
            "color": _legend([word(text) for _, text in kinds]),
            "strokeDash": {
                "field": "kind",
                "type": "nominal",
                "scale": {"domain": [word(text) for _, text in kinds], "range": [[2, 3], [1, 0], [8, 4]]},
            },
        },
    }
    total, band = life.total, f"{percent(life.low)}–{percent(life.high)}"
    told = t(
        f"至今 {total.n} 個模型：低於 {total.below} 個，落在 {band} 之間 {total.within} 個，高於 {total.above} 個。",
        f"So far {total.n} models: {total.below} below the band of {band}, {total.within} in it, {total.above} above.",
    )
    name = f"halflife-{bench.name}"
    drawn = charts.svg(spec, name=name, title=t("區間內外的模型數", "Models in and outside the band"), description=told)
    caption = t(f"{bench.title[1]}：各日為止的模型數", f"{bench.title[0]}: models up to each day")
    return charts.figure(drawn, caption)
