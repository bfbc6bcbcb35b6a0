"""A study's report as a page: one file with its plots, both languages, and the numbers to copy. Pure."""

from __future__ import annotations

import json
from typing import Any

from twlocal.html import Text, environment, render
from twlocal.html.charts import figure, svg
from twlocal.study.report import LABELS, Report, Table, Words, as_dict


def page(report: Report, lang: str = "zh-TW") -> str:
    """The page as HTML. lang: what it opens in, "zh-TW" or "en".

    Raises UsageError where the extra `html`, which draws the plots, is not installed.
    """
    figures = [
        figure(
            svg(plot.spec, name=f"plot-{at}", title=plot.caption, description=plot.description, lang=lang), plot.caption
        )
        for at, plot in enumerate(report.plots, 1)
    ]
    return render(
        environment("twlocal.study", lang=lang),
        "study.html.j2",
        title=_text(report.title),
        report=report,
        parts=[_part(part) for part in report.parts],
        figures=figures,
        labels=LABELS,
        numbers=json.dumps(as_dict(report), ensure_ascii=False, indent=1),
    )


def _part(part: Words | Table) -> Any:
    if not isinstance(part, Table):
        return part
    label = _text(part.caption) if part.caption else Text("表格", "Table")
    return {
        "caption": part.caption,
        "label": label,
        "header": part.header,
        "rows": part.rows,
        "align": part.align,
    }


def _text(words: Words) -> Text:
    return words if isinstance(words, Text) else Text(words, words)
