"""A frozen band as a report, in the form of the studies. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from twlocal.study.report import Report, Table, interval, percent, points

MARK = " †"  # after a generator's name, as in the paper's Table 4


def report(manifest: Mapping[str, Any], *, commands: Sequence[str] = (), warnings: Sequence[str] = ()) -> Report:
    """What was frozen, by its manifest."""
    band, items, chosen = (manifest[name] for name in ("band", "items", "chosen"))
    rows = [_row(one, "pool") for one in manifest["pool"]["members"]]
    rows += [_row(one, "") for one in manifest["scored"]]
    parts: list[str | Table] = [
        Table(
            "Accuracy on all items, and on those of the band:",
            ["model", "in the", "full set", "on the band", "95% interval"],
            rows,
            "llrrr",
        ),
        _margin(manifest["date"], manifest["scores"]),
    ]
    names = manifest["generators"]["names"]
    if names and any(one["generator"] for one in (*manifest["pool"]["members"], *manifest["scored"])):
        parts.append(f"{MARK.strip()} drafted items: its score carries a self-advantage.")
    parts += [_advantage(one) for one in manifest["generators"]["measured"]]
    return Report(
        study="curate",
        title=f"The band {manifest['name']}: pass ≤ {band['at_most']} of {band['of']}",
        varied="nothing: the band is frozen",
        held=f"the items and the responses (reader: {manifest['reader']})",
        n=f"{chosen['n']:,} of {items['n']:,} items",
        parts=parts,
        warnings=warnings,
        commands=commands,
        data={"manifest": dict(manifest)},
    )


def _margin(day: str, scores: Mapping[str, float]) -> str:
    return (
        f"On {day} the pool scores {percent(scores['low'])} to {percent(scores['high'])} on the band, median "
        f"{percent(scores['median'])}, mean {percent(scores['mean'])}. That is a statement about this pool on that day."
    )


def _row(one: Mapping[str, Any], role: str) -> list[str]:
    on_band = one["on_band"]
    return [
        one["run"] + (MARK if one["generator"] else ""),
        role,
        percent(one["full"]["accuracy"]),
        percent(on_band["accuracy"]),
        interval(*on_band["interval"]),
    ]


def _advantage(one: Mapping[str, Any]) -> str:
    alone, others, own = one["right_alone"], one["others_right_alone"], one["own_items"]
    told = (
        f"{one['run']}: right on {alone['k']:,} of the {alone['n']:,} items that all others of the pool get wrong "
        f"({percent(alone['share'])}, interval {interval(*alone['interval'])}); the others, each likewise, on "
        f"{percent(others['share'])} ({interval(*others['interval'])})."
    )
    if own is None:
        return f"{told} All items are of one generator, so there are no others to compare its own with."
    span = "" if own["interval"] is None else f" ({interval(*own['interval'], signed=True)})"
    return (
        f"{told} On its own {own['n_own']:,} items it is {points(own['difference'])}{span} points further ahead of the "
        f"pool than on the {own['n_others']:,} of other generators."
    )
