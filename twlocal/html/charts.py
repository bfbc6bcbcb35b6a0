"""Charts as SVG inside the page, drawn by Vega-Lite while the page is made: to look needs no script and no network.

Text stays text, in the page's fonts. Colours are the page's custom properties, so that a chart follows its theme. A
word of ours (`word`) is there in both languages; names out of the data are shown as they are.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup, escape

from twlocal.errors import UsageError
from twlocal.html.words import Text, plain

SERIES = tuple(f"var(--series-{number})" for number in range(1, 7))  # colours, in the order in which to use them
QUIET = "var(--series-5)"
WIDTH = 320  # of the plot in pixels: with its labels still readable on a phone
_ROW = 24  # pixels a named row
# Private characters around a word in both languages: Vega passes them through to the SVG's text.
_OPEN, _BETWEEN, _CLOSE = "\ue000", "\ue001", "\ue002"
_WORD = re.compile(f">{_OPEN}([^<>]*){_BETWEEN}([^<>]*){_CLOSE}<")
_PRIVATE = str.maketrans("", "", _OPEN + _BETWEEN + _CLOSE)
# What XML cannot hold, and what draws ends the whole process over it.
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ROOT = re.compile(r'^<svg[^>]*? width="(\d+)" height="(\d+)"[^>]*>')
_NOISE = re.compile(r' (?:role|aria-roledescription|aria-hidden|pointer-events|class)="[^"]*"')
_CONFIG: Mapping[str, Any] = {
    "background": None,
    "aria": False,
    "font": "sans-serif",
    "view": {"stroke": None},
    "point": {"opacity": 1, "size": 60},
    "text": {"color": "currentColor", "fontSize": 13},
    "rule": {"color": "var(--edge)"},
    "bar": {"color": SERIES[0]},
    "axis": {
        "labelColor": "currentColor",
        "titleColor": "var(--quiet)",
        "domainColor": "var(--edge)",
        "tickColor": "var(--edge)",
        "gridColor": "var(--line)",
        "labelFontSize": 13,
        "titleFontSize": 13,
        "titleFontWeight": "normal",
        "labelLimit": 170,
        "labelFlush": False,
        "labelPadding": 6,
    },
    "legend": {"labelColor": "currentColor", "titleColor": "var(--quiet)", "labelFontSize": 13, "titleFontSize": 13},
}


def library() -> Any:
    """What draws. Raises UsageError where the extra `html` is not installed: ask before any long work."""
    try:
        import vl_convert
    except ImportError as error:
        raise UsageError(
            "charts are drawn by vl-convert-python, which is not installed", hint="pip install 'twlocal[html]'"
        ) from error
    return vl_convert


def word(text: Text) -> str:
    """A word of ours (a title of an axis, an entry of a legend) for a specification; the SVG shows one language."""
    return f"{_OPEN}{_bare(text.zh)}{_BETWEEN}{_bare(text.en)}{_CLOSE}"


def _bare(text: str) -> str:
    return text.translate(_PRIVATE)


def svg(spec: Mapping[str, Any], *, name: str, title: Text, description: Text, lang: str = "zh-TW") -> Markup:
    """A Vega-Lite specification as `<svg>`, under the theme above; about 5 ms a label on a slow processor.

    spec: without `$schema`; data stand in it (`{"data": {"values": …}}`), and nothing is fetched. name: of this chart,
    unique in its page. title, description: for screen readers; the description says what the picture shows.
    Raises UsageError where the extra `html` is not installed, ValueError for a specification that does not hold.
    """
    whole = {"$schema": "https://vega.github.io/schema/vega-lite/v5.json", **_drawable(spec), "config": _CONFIG}
    drawn = library().vegalite_to_svg(whole, allowed_base_urls=[])
    root = _ROOT.match(drawn)
    if root is None:
        raise ValueError(f"the chart {name} came out as {drawn[:60]!r}")
    width, height = root.groups()
    inside = _WORD.sub(
        r'><tspan class="t" lang="zh-Hant">\1</tspan><tspan class="t" lang="en">\2</tspan><',
        _NOISE.sub("", drawn[root.end() :]),
    )
    opening = Markup(
        '<svg xmlns="http://www.w3.org/2000/svg" class="chart" role="img" width="{width}" height="{height}" '
        'viewBox="0 0 {width} {height}" aria-labelledby="{name}-title {name}-desc">'
        '<title id="{name}-title"{title}</title><desc id="{name}-desc"{description}</desc>'
    ).format(width=width, height=height, name=name, title=plain(title, lang), description=plain(description, lang))
    return opening + Markup(inside)


def _drawable(value: Any) -> Any:
    """A specification whose texts an SVG can hold: other characters are spelled."""
    if isinstance(value, str):
        return _NO_XML.sub(lambda found: f"\\x{ord(found[0]):02x}", value)
    if isinstance(value, Mapping):
        return {_drawable(name): _drawable(one) for name, one in value.items()}
    return [_drawable(one) for one in value] if isinstance(value, list | tuple) else value


def figure(drawn: Markup, caption: Text) -> Markup:
    """A chart with its caption; on a screen too narrow for it, it scrolls by itself."""
    return Markup("<figure><figcaption>{}</figcaption>{}</figure>").format(escape(caption), drawn)


@dataclass(frozen=True, slots=True)
class Estimate:
    """A share of 1 with its interval, and perhaps another one to set beside it (a hollow mark)."""

    label: str | Text
    value: float
    low: float
    high: float
    beside: float | None = None


def intervals(rows: Sequence[Estimate], axis: Text, *, reference: float | None = None) -> dict[str, Any]:
    """A specification: one named row an estimate, from top to bottom as given, on an axis in per cent.

    reference: a share to draw a dashed line at, such as that of guessing.
    """
    values = [
        {"name": label, "value": row.value, "low": row.low, "high": row.high, "beside": row.beside}
        for row, label in zip(rows, _distinct(row.label for row in rows), strict=True)
    ]
    share = {"type": "quantitative", "axis": {"format": "~%", "tickCount": 6, "title": word(axis)}}
    y = {"field": "name", "type": "nominal", "title": None, "sort": None, "axis": {"ticks": False}}
    layers: list[dict[str, Any]] = [
        {
            "mark": {"type": "rule", "color": SERIES[0], "strokeWidth": 3, "opacity": 0.55},
            "encoding": {"y": y, "x": {"field": "low", **share}, "x2": {"field": "high"}},
        },
        {
            "mark": {"type": "point", "filled": True, "color": SERIES[0], "size": 70},
            "encoding": {"y": y, "x": {"field": "value", **share}},
        },
    ]
    if any(row.beside is not None for row in rows):
        mark = {"type": "point", "filled": False, "color": SERIES[1], "size": 130, "strokeWidth": 2}
        layers.append({"mark": mark, "encoding": {"y": y, "x": {"field": "beside", **share}}})
    if reference is not None:
        line = {"mark": {"type": "rule", "strokeDash": [4, 4]}, "encoding": {"x": {"datum": reference, **share}}}
        layers.insert(0, line)
    return {
        "width": WIDTH,
        "height": {"step": _ROW},
        "data": {"values": values},
        "layer": layers,
    }


def _distinct(labels: Iterable[str | Text]) -> list[str]:
    # Two rows of one name would be drawn as one: what tells them apart has no width.
    seen: Counter[str] = Counter()
    result = []
    for label in labels:
        key = word(label) if isinstance(label, Text) else _bare(label)
        apart = "\u200b" * seen[key]
        result.append(word(Text(label.zh + apart, label.en + apart)) if isinstance(label, Text) else key + apart)
        seen[key] += 1
    return result


@dataclass(frozen=True, slots=True)
class Bin:
    """How many values lie from `low` up to `high`, by the kinds that are told apart (in the legend's order)."""

    low: float
    high: float
    counts: tuple[int, ...]


def histogram(bins: Sequence[Bin], axis: Text, kinds: Sequence[Text], *, counted: Text) -> dict[str, Any]:
    """A specification: stacked bars over a number line. `kinds` names what each of a bin's counts counts."""
    values, names = [], [word(kind) for kind in kinds]
    for one in bins:
        bottom = 0
        for name, count in zip(names, one.counts, strict=True):
            if count:
                values.append({"low": one.low, "high": one.high, "bottom": bottom, "top": bottom + count, "kind": name})
            bottom += count
    color: dict[str, Any] = {"value": SERIES[0]}
    if len(kinds) > 1:
        scale = {"domain": names, "range": SERIES[: len(names)]}
        color = {
            "field": "kind",
            "type": "nominal",
            "scale": scale,
            "legend": {"title": None, "orient": "top", "labelLimit": 400},
        }
    return {
        "width": WIDTH,
        "height": 150,
        "data": {"values": values},
        "mark": {"type": "bar", "binSpacing": 1},
        "encoding": {
            "x": {
                "field": "low",
                "type": "quantitative",
                "bin": {"binned": True},
                "scale": {"zero": True},
                "title": word(axis),
            },
            "x2": {"field": "high"},
            "y": {"field": "bottom", "type": "quantitative", "title": word(counted), "axis": {"tickCount": 4}},
            "y2": {"field": "top"},
            "color": color,
        },
    }
