"""A frozen band as a report, in the form of the studies. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from twlocal.html.words import Text, t
from twlocal.study import plots
from twlocal.study.report import Report, Table, Words, percent, points, span

MARK = " †"  # after a generator's name, as in the paper's Table 4


def report(manifest: Mapping[str, Any], *, commands: Sequence[str] = (), warnings: Sequence[Words] = ()) -> Report:
    """What was frozen, by its manifest."""
    band, items, chosen = (manifest[name] for name in ("band", "items", "chosen"))
    pool, scored = manifest["pool"]["members"], manifest["scored"]
    rows = [[*_row(one), t("是", "yes")] for one in pool] + [[*_row(one), t("否", "no")] for one in scored]
    parts: list[Words | Table] = [
        Table(
            t("全部題目與難度區間內的正確率：", "Accuracy on all items, and on those of the band:"),
            [
                t("模型", "model"),
                t("全部題目", "full set"),
                t("區間內", "on the band"),
                t("95% 區間", "95% interval"),
                t("在池內", "in the pool"),
            ],
            rows,
            "lrrrl",
        ),
        _margin(manifest["date"], manifest["scores"]),
    ]
    if any(one["generator"] for one in (*pool, *scored)):
        parts.append(
            t("† 出過題的模型：它的分數帶有出題者的優勢。", "† drafted items: its score carries a self-advantage.")
        )
    for one in manifest["generators"]["measured"]:
        parts += _advantage(one)
    return Report(
        study="curate",
        title=t("難度區間 {name}：至多 {k}／{n} 個模型答對", "The band {name}: pass ≤ {k} of {n}").format(
            name=manifest["name"], k=band["at_most"], n=band["of"]
        ),
        varied=t("沒有：區間已凍結", "nothing: the band is frozen"),
        held=t("題目與作答（讀法：{reader}）", "the items and the responses (reader: {reader})").format(
            reader=manifest["reader"]
        ),
        n=t("{all:,} 題中選出 {n:,} 題", "{n:,} of {all:,} items").format(n=chosen["n"], all=items["n"]),
        parts=parts,
        warnings=warnings,
        commands=commands,
        plots=[
            plots.shares(
                [(one["run"], one["on_band"]["k"], one["on_band"]["n"]) for one in (*pool, *scored)],
                t("難度區間內的正確率", "Accuracy on the band"),
            )
        ],
        data={"manifest": dict(manifest)},
    )


def _margin(day: str, scores: Mapping[str, float]) -> Text:
    return t(
        "{day} 時，模型池在區間內得 {low} 至 {high}，中位數 {median}、平均 {mean}。這說的是那一天的這個模型池。",
        "On {day} the pool scores {low} to {high} on the band, median {median}, mean {mean}. That is a statement about "
        "this pool on that day.",
    ).format(day=day, **{name: percent(share) for name, share in scores.items()})


def _row(one: Mapping[str, Any]) -> list[Words]:
    on_band = one["on_band"]
    return [
        one["run"] + (MARK if one["generator"] else ""),
        percent(one["full"]["accuracy"]),
        percent(on_band["accuracy"]),
        span(*on_band["interval"]),
    ]


def _advantage(one: Mapping[str, Any]) -> list[Words | Table]:
    alone, others, own = one["right_alone"], one["others_right_alone"], one["own_items"]
    told = t(
        "{run}：池內其他模型全錯的 {n:,} 題，它答對 {k:,} 題（{share}，區間 {span}）；"
        "其他模型在同樣情形下是 {rest}（{rest_span}）。",
        "{run}: right on {k:,} of the {n:,} items that all others of the pool get wrong ({share}, interval {span}); "
        "the others, each likewise, on {rest} ({rest_span}).",
    ).format(
        run=one["run"],
        k=alone["k"],
        n=alone["n"],
        share=percent(alone["share"]),
        span=span(*alone["interval"]),
        rest=percent(others["share"]),
        rest_span=span(*others["interval"]),
    )
    if own is None:
        only = t(
            "所有題目都是同一個模型出的，沒有別的題目可以比較。",
            "All items are of one generator, so there are no others to compare its own with.",
        )
        return [told, only]
    more = t(
        "在它自己出的 {own:,} 題上，它領先模型池的幅度比在別的 {others:,} 題上多 {points} 個百分點{span}。",
        "On its own {own:,} items it is {points} points further ahead of the pool than on the {others:,} others{span}.",
    ).format(
        own=own["n_own"],
        others=own["n_others"],
        points=points(own["difference"]),
        span=""
        if own["interval"] is None
        else t("（{span}）", " ({span})").format(span=span(*own["interval"], signed=True)),
    )
    return [told, more]
