"""Judges by what they do with planted defects, and panels of them (the paper's section 5.4). Pure.

It reads stored calibrations (`twlocal formosa calibrate`): every verdict of every judge is there, so nothing is asked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from twlocal.formosa.calibrate import KINDS, Calibration, Rate, Thresholds, rate_dict
from twlocal.formosa.panel import DECIDES, Agreement, Approvals, Panel, agreements, panel
from twlocal.formosa.plant import CLASSES, CLEAN
from twlocal.html.charts import Estimate
from twlocal.html.words import Text, t
from twlocal.study import plots
from twlocal.study.report import INTERVAL, Plot, Report, Table, Words, join, percent, span

# The paper's two members whose word said nothing approved 92% and 99% of everything.
STAMP = 0.9
# Of clean items and of each class, narrow enough for the names of judges beside them.
_SHORT = (KINDS[CLEAN], t("答案標錯", "key"), t("事實無依據", "fact"), t("選項不成立", "options"))


def report(
    judges: Sequence[tuple[Calibration, Thresholds]],
    source: str,
    *,
    members: Sequence[str] | None = None,
    commands: Sequence[str] = (),
) -> Report:
    """The study as a report. members: names of the judges that form the panel; None: all, if they can form one.

    Raises ValueError without a judge, and where named members were shown nothing in common.
    """
    if not judges:
        raise ValueError("there is no calibrated judge")
    found = [one for one, _ in judges]
    approvals = {one.judge: one.approvals for one in found}
    pairs = agreements(approvals)
    bench = _bench(approvals, members)
    parts: list[Words | Table] = [_caught(found), *(_passed(one, limits) for one, limits in judges), _approved(found)]
    if pairs:
        parts.append(_agreed(pairs))
    if bench:
        parts += [_seats(bench), _said(bench)]
    classes = join([KINDS[kind] for kind in CLASSES])
    return Report(
        study="judges",
        title=t(
            "審題模型怎麼看「{source}」題目裡植入的瑕疵", "What judges make of planted defects in items of {source}"
        ).format(source=source),
        varied=t("審題模型（{n} 個）與瑕疵：無、{kinds}", "the judge ({n}), and the defect: none, {kinds}").format(
            n=len(found), kinds=classes
        ),
        held=t("題目、來源文字與審題提示詞", "the items, their windows and the judge's prompt"),
        n=t(
            "{all} 題：{clean} 題無瑕疵，每題再各植入一種瑕疵",
            "{all} cases: {clean} clean items, each also with a defect of every class",
        ).format(all=max(one.approved["all"].n for one in found), clean=max(one.approved[CLEAN].n for one in found)),
        parts=parts,
        warnings=_warnings(found),
        commands=commands,
        plots=_plots(found),
        data={
            "source": source,
            "judges": [_data(one, limits) for one, limits in judges],
            "agreements": [_pair(one) for one in pairs],
            "panel": None if bench is None else _panel(bench),
        },
    )


def _bench(approvals: Mapping[str, Approvals], members: Sequence[str] | None) -> Panel | None:
    if members is not None:
        return panel({name: approvals[name] for name in members}) if len(members) > 1 else None
    # Calibrated one by one, they may have been shown different items: then they are no panel.
    common = set.intersection(*(set(said) for said in approvals.values()))
    return panel(approvals) if common and len(approvals) > 1 else None


def _warnings(found: Sequence[Calibration]) -> list[Words]:
    words = t(
        "{judge} 對植入瑕疵的 {n} 題放行了 {k} 題：它的同意不代表什麼",
        "{judge} approved {k} of {n} items with a planted defect: its approval says nothing",
    )
    planted = {one.judge: _planted(one) for one in found}
    return [
        words.format(judge=judge, n=rate.n, k=rate.k)
        for judge, rate in planted.items()
        if rate.n and rate.k >= STAMP * rate.n
    ]


def _planted(one: Calibration) -> Rate:
    rates = [one.approved[kind] for kind in CLASSES]
    return Rate(sum(rate.k for rate in rates), sum(rate.n for rate in rates))


def _caught(found: Sequence[Calibration]) -> Table:
    caught, alarm = t("抓到：{kind}", "caught: {kind}"), t("誤報：無瑕疵", "false alarms: clean")
    rows: list[list[Words]] = []
    for one in found:
        rows += [_row(one.judge, caught.format(kind=KINDS[kind]), rate) for kind, rate in one.caught.items()]
        rows.append(_row(one.judge, alarm, one.false_alarms))
    return Table(
        t("各審題模型退了什麼：", "What each judge rejected:"),
        [t("審題模型", "judge"), t("項目", "what"), "k", "n", t("比例", "share"), INTERVAL],
        rows,
        "llrrrr",
    )


def _row(judge: str, what: Text, rate: Rate) -> list[Words]:
    return [judge, what, f"{rate.k}", f"{rate.n}", percent(rate.share), _interval(rate)]


def _interval(rate: Rate) -> Text:
    return span(rate.interval.low, rate.interval.high)


def _passed(one: Calibration, limits: Thresholds) -> Text:
    failings = one.failings(limits)
    if failings:
        why = join(failings, "；", "; ")
        return t("{judge} 不合格：{why}。", "{judge} does not pass: {why}.").format(judge=one.judge, why=why)
    return t(
        "{judge} 合格：每類瑕疵至少抓到 {catch}，無瑕疵的題目至多退 {alarm}。",
        "{judge} passes: it caught at least {catch} of each class and rejected at most {alarm} of the clean items.",
    ).format(judge=one.judge, catch=percent(limits.catch, 0), alarm=percent(limits.false_alarm, 0))


def _approved(found: Sequence[Calibration]) -> Table:
    shares: list[list[Words]] = [
        [percent(one.approved[kind].share) for kind in (CLEAN, *CLASSES, "all")] for one in found
    ]
    rows: list[list[Words]] = [
        [one.judge, *row, _interval(one.approved["all"])] for one, row in zip(found, shares, strict=True)
    ]
    header: list[Words] = [t("審題模型", "judge"), *_SHORT, t("全部", "all"), INTERVAL]
    caption = t("各審題模型放行的比例：", "What each judge approved of what it was shown:")
    if not any(one.unread.k for one in found):
        return Table(caption, header, rows, "lrrrrrr")
    header.append(t("讀不出", "unread"))
    return Table(caption, header, [[*row, f"{one.unread.k}"] for one, row in zip(found, rows, strict=True)], "lrrrrrrr")


def _agreed(pairs: Sequence[Agreement]) -> Table:
    rows: list[list[Words]] = [
        [one.first, one.second, f"{one.n}", percent(one.share), "-" if one.kappa is None else f"{one.kappa:.2f}"]
        for one in pairs
    ]
    header: list[Words] = [t("審題模型", "judge"), t("與", "and"), "n", t("一致", "agree"), "Cohen's kappa"]
    return Table(t("兩兩之間有多一致：", "How far two judges agree:"), header, rows, "llrrr")


def _seats(bench: Panel) -> Table:
    rows = [
        [seat.judge, percent(seat.approved / bench.n), f"{seat.alone}", percent(seat.same / bench.n)]
        for seat in bench.seats
    ]
    header = [
        t("成員", "member"),
        t("放行", "approves"),
        t("只有它退的", "rejections by it alone"),
        t("單憑它就是小組的決定", "its word is the panel's"),
    ]
    return Table(
        t("當成一致決的審題小組：", "As a panel that approves what all of them approve:"), header, rows, "lrrr"
    )


def _said(bench: Panel) -> Text:
    told = t(
        "{seats} 人小組放行 {n} 題中的 {approved} 題（{share}）。",
        "The panel of {seats} approves {approved} of {n} ({share}). ",
    ).format(seats=len(bench.seats), n=bench.n, approved=bench.approved, share=percent(bench.approved / bench.n))
    if bench.decided_by is not None:
        more = t(
            "這個小組其實只有一個人：單憑 {judge} 一個的意見，至少有 {share} 就是小組的決定，其他成員都不是如此。",
            "It is one judge in disguise: the word of {judge} alone is the panel's in at least {share} of the cases, "
            "and no other member's is.",
        ).format(judge=bench.decided_by, share=percent(DECIDES, 0))
    else:
        more = t("沒有哪一個成員單獨就決定了它。", "It is not decided by one of its members alone.")
    return Text(told.zh + more.zh, told.en + more.en)


def _plots(found: Sequence[Calibration]) -> list[Plot]:
    """What each judge rejected, a picture a kind of item: the defects that it caught, and its false alarms."""
    caught = t("抓到的比例：{kind}", "Caught: {kind}")
    kinds = [
        *((caught.format(kind=KINDS[kind]), [(one.judge, one.caught[kind]) for one in found]) for kind in CLASSES),
        (t("誤報的比例：無瑕疵的題目", "False alarms: clean items"), [(one.judge, one.false_alarms) for one in found]),
    ]
    pictures = [
        (
            caption,
            [
                Estimate(judge, rate.share, rate.interval.low, rate.interval.high)
                for judge, rate in rates
                if rate.share is not None
            ],
        )
        for caption, rates in kinds
    ]
    return [plots.estimates(rows, caption, t("退件", "rejected")) for caption, rows in pictures if rows]


def _data(one: Calibration, limits: Thresholds) -> dict[str, Any]:
    failings = one.failings(limits)
    return {
        "judge": one.judge,
        "passed": not failings,
        "failings": [failing.en for failing in failings],
        "thresholds": {"catch": limits.catch, "false_alarm": limits.false_alarm, "least": limits.least},
        "caught": _rates(one.caught),
        "false_alarms": rate_dict(one.false_alarms),
        "approved": _rates(one.approved),
        "unread": rate_dict(one.unread),
    }


def _rates(rates: Mapping[str, Rate]) -> dict[str, Any]:
    return {kind: rate_dict(rate) for kind, rate in rates.items()}


def _pair(one: Agreement) -> dict[str, Any]:
    return {"judges": [one.first, one.second], "n": one.n, "agreement": one.share, "kappa": one.kappa}


def _panel(bench: Panel) -> dict[str, Any]:
    return {
        "n": bench.n,
        "approved": bench.approved,
        "decided_by": bench.decided_by,
        "members": [
            {
                "judge": seat.judge,
                "approved": seat.approved,
                "rejected_alone": seat.alone,
                "same_as_panel": seat.same / bench.n,
            }
            for seat in bench.seats
        ],
    }
