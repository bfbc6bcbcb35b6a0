"""The leave-one-out experiment as a report, in the form of the studies. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from twlocal.formosa.curate import score_dict
from twlocal.formosa.loo import BIAS, MID, Row, Transfer
from twlocal.html.charts import Estimate
from twlocal.html.words import Text, t
from twlocal.study import plots
from twlocal.study.report import Plot, Report, Table, Words, join, percent, points, span


def report(
    found: Transfer, source: str, *, reader: str, commands: Sequence[str] = (), warnings: Sequence[Words] = ()
) -> Report:
    """Table 2 of the paper for a pool, and what it says of the ranking and of fresh models."""
    count = len(found.rows)
    band = t(
        "難度區間為其他模型中至多 {k}／{n} 個答對：", "Each row cuts the band pass ≤ {k} of {n} by the other models:"
    )
    caption = band.format(k=found.at_most, n=count - 1)
    mid = t("中段", "mid")
    parts: list[Words | Table] = [
        Table(
            caption,
            [*_header(t("留出的模型", "left out")), mid],
            [[*_cells(row), t("是", "yes") if row.mid else ""] for row in found.rows],
            "lrrrrrrl",
        ),
        _bias(found),
        _ranked(found),
    ]
    if found.fresh:
        whole = t(
            "沒有參與選題的模型，在全池至多 {k}／{n} 個答對的題目上：",
            "Models that had no part in the pool, on the band pass ≤ {k} of {n}:",
        ).format(k=found.at_most + 1, n=count)
        header = _header(t("新模型", "fresh model"))
        parts += [Table(whole, header, [_cells(row) for row in found.fresh], "lrrrrrr")]
        parts += [_landed(row, found) for row in found.fresh]
    return Report(
        study="loo",
        title=t(
            "「{source}」的難度，對沒有參與選題的模型也成立嗎？",
            "Does the difficulty of {source} transfer to a model that had no part in choosing it?",
        ).format(source=source),
        varied=t(
            "留在池外的模型，以及因此而定的難度區間", "the model that is left out of the pool, and with it the band"
        ),
        held=t("題目與作答（讀法：{reader}）", "the items and the responses (reader: {reader})").format(reader=reader),
        n=t("{n:,} 題、{count} 個模型", "{n:,} items, {count} models").format(n=found.n, count=count),
        parts=parts,
        warnings=warnings,
        commands=commands,
        plots=[_plot(found)],
        data={
            "source": source,
            "reader": reader,
            "items": found.n,
            "at_most": found.at_most,
            "of": count - 1,
            "mid_field": {"within": MID, "bias": found.mid_bias, "limit": BIAS},
            "rows": [_data(row) for row in found.rows],
            "ranking": {
                "spearman": found.ranking.spearman,
                "kendall": found.ranking.kendall,
                "preserved": found.ranking.preserved,
                "swaps": [list(pair) for pair in found.ranking.swaps],
            },
            "fresh": [_data(row) for row in found.fresh],
        },
    )


def _header(first: Text) -> list[Words]:
    return [
        first,
        "n",
        t("全部題目", "full"),
        t("留出", "held-out"),
        t("95% 區間", "95% interval"),
        t("池內平均", "in-pool"),
        t("差距", "gap"),
    ]


def _cells(row: Row) -> list[Words]:
    low_high = row.held_out.interval
    return [
        row.name,
        f"{row.held_out.n:,}",
        percent(row.full.share),
        percent(row.held_out.share),
        span(low_high.low, low_high.high),
        percent(row.in_pool),
        points(row.gap),
    ]


def _bias(found: Transfer) -> Text:
    within = f"{100 * MID:g}"
    if found.mid_bias is None:
        return t(
            "沒有中段的模型（全部題目的正確率與池中位數相差 {within} 個百分點以內）。",
            "No model is of the mid-field (within {within} points of the pool's median on the full set).",
        ).format(within=within)
    held = abs(found.mid_bias) <= BIAS
    return t(
        "中段模型（全部題目的正確率與池中位數相差 {within} 個百分點以內）與池內平均最多差 {bias} 個百分點，"
        "{held}論文所說的 ±{limit:g}。",
        "The mid-field (within {within} points of the pool's median on the full set) lands at {bias} points from the "
        "in-pool mean at the farthest, {held} the ±{limit:g} points of the paper.",
    ).format(
        within=within,
        bias=points(found.mid_bias),
        held=t("不超過", "within") if held else t("超過", "beyond"),
        limit=100 * BIAS,
    )


def _ranked(found: Transfer) -> Text:
    ranks = found.ranking
    if ranks.spearman is None or ranks.kendall is None:
        return t("模型太少，或太相近，無法排名。", "The models are too few, or too much alike, to rank.")
    told = t(
        "全部題目與留出的排名：Spearman {rho:.3f}、Kendall {tau:.3f}。{more}",
        "Full-set against held-out ranking: Spearman {rho:.3f}, Kendall {tau:.3f}. {more}",
    )
    if ranks.preserved:
        more = t("沒有任何兩個模型換位。", "No two models change places.")
    else:
        swap = t("{worse} 排到 {better} 前面", "{worse} comes before {better}")
        swaps = join([swap.format(worse=worse, better=better) for better, worse in ranks.swaps], "；", "; ")
        more = t("留出時，{swaps}。", "Held out, {swaps}.").format(swaps=swaps)
    return told.format(rho=ranks.spearman, tau=ranks.kendall, more=more)


def _landed(row: Row, found: Transfer) -> Text:
    nearest = min(found.rows, key=lambda other: (abs((other.full.share or 0) - (row.full.share or 0)), other.name))
    return t(
        "{name} 的分數少了 {less:.1f} 個百分點，與池內平均差 {gap} 個百分點；"
        "全部題目上與它最近的是 {nearest}（{share}）。",
        "{name} is compressed by {less:.1f} points and lands {gap} points from the pool's mean; its neighbour on the "
        "full set is {nearest} ({share}).",
    ).format(
        name=row.name,
        less=100 * row.compression,
        gap=points(row.gap),
        nearest=nearest.name,
        share=percent(nearest.full.share),
    )


def _plot(found: Transfer) -> Plot:
    rows = [
        Estimate(
            row.name, row.held_out.share or 0.0, row.held_out.interval.low, row.held_out.interval.high, row.in_pool
        )
        for row in (*found.rows, *found.fresh)
    ]
    return plots.estimates(
        rows, t("留出的模型（實心）與池內平均（空心）", "The model left out (filled), and the in-pool mean (hollow)")
    )


def _data(row: Row) -> dict[str, Any]:
    return {
        "run": row.name,
        "model": row.model,
        "full": score_dict(row.full),
        "held_out": score_dict(row.held_out),
        "in_pool_mean": row.in_pool,
        "gap": row.gap,
        "compression": row.compression,
        "mid_field": row.mid,
    }
