"""The leave-one-out experiment as a report, in the form of the studies. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from twlocal.formosa.curate import score_dict
from twlocal.formosa.loo import BIAS, MID, Row, Transfer
from twlocal.study.report import Report, Table, interval, percent, points


def report(
    found: Transfer, source: str, *, reader: str, commands: Sequence[str] = (), warnings: Sequence[str] = ()
) -> Report:
    """Table 2 of the paper for a pool, and what it says of the ranking and of fresh models."""
    count = len(found.rows)
    header = ["held-out model", "n", "full set", "held-out", "95% interval", "in-pool mean", "gap", "mid-field"]
    caption = f"Each row cuts the band pass ≤ {found.at_most} of {count - 1} by the other models:"
    parts: list[str | Table] = [
        Table(caption, header, [_cells(row) for row in found.rows], "lrrrrrrl"),
        _bias(found),
        _ranked(found),
    ]
    if found.fresh:
        fresh = [*header[:-1]]
        fresh[0] = "fresh model"
        caption = f"Models that had no part in the pool, on the band pass ≤ {found.at_most + 1} of {count}:"
        parts += [Table(caption, fresh, [_cells(row)[:-1] for row in found.fresh], "lrrrrrr")]
        parts += [_landed(row, found) for row in found.fresh]
    return Report(
        study="loo",
        title=f"Does the difficulty of {source} transfer to a model that had no part in choosing it?",
        varied="the model that is left out of the pool, and with it the band",
        held=f"the items and the responses (reader: {reader})",
        n=f"{found.n:,} items, {count} models",
        parts=parts,
        warnings=warnings,
        commands=commands,
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


def _cells(row: Row) -> list[str]:
    low_high = row.held_out.interval
    return [
        row.name,
        f"{row.held_out.n:,}",
        percent(row.full.share),
        percent(row.held_out.share),
        interval(low_high.low, low_high.high),
        percent(row.in_pool),
        points(row.gap),
        "yes" if row.mid else "",
    ]


def _bias(found: Transfer) -> str:
    where = f"within {points(MID).lstrip('+')} points of the pool's median on the full set"
    if found.mid_bias is None:
        return f"No model is of the mid-field ({where})."
    held = "within" if abs(found.mid_bias) <= BIAS else "beyond"
    return (
        f"The mid-field ({where}) lands at {points(found.mid_bias)} points from the in-pool mean at the farthest, "
        f"{held} the ±{100 * BIAS:.0f} points that a transferable band allows."
    )


def _ranked(found: Transfer) -> str:
    ranks = found.ranking
    if ranks.spearman is None or ranks.kendall is None:
        return "The models are too few, or too much alike, to rank."
    told = f"Full-set against held-out ranking: Spearman {ranks.spearman:.3f}, Kendall {ranks.kendall:.3f}."
    if ranks.preserved:
        return f"{told} No two models change places."
    swaps = "; ".join(f"{worse} comes before {better}" for better, worse in ranks.swaps)
    return f"{told} Held out, {swaps}."


def _landed(row: Row, found: Transfer) -> str:
    nearest = min(found.rows, key=lambda other: (abs((other.full.share or 0) - (row.full.share or 0)), other.name))
    return (
        f"{row.name} is compressed by {points(row.compression).lstrip('+')} points and lands {points(row.gap)} points "
        f"from the pool's mean; its neighbour on the full set is {nearest.name} ({percent(nearest.full.share)})."
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
