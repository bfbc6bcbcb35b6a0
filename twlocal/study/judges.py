"""Judges by what they do with planted defects, and panels of them (the paper's section 5.4). Pure.

It reads stored calibrations (`twlocal formosa calibrate`): every verdict of every judge is there, so nothing is asked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from twlocal.formosa.calibrate import Calibration, Rate, Thresholds, rate_dict
from twlocal.formosa.panel import DECIDES, Agreement, Approvals, Panel, agreements, panel
from twlocal.formosa.plant import CLASSES, CLEAN
from twlocal.study.report import Report, Table, interval, percent

# The paper's two members whose word said nothing approved 92% and 99% of everything.
STAMP = 0.9


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
    parts: list[str | Table] = [_caught(found), *(_passed(one, limits) for one, limits in judges), _approved(found)]
    if pairs:
        parts.append(_agreed(pairs))
    if bench:
        parts += [_seats(bench), _said(bench)]
    shown = max(one.approved["all"].n for one in found)
    clean = max(one.approved[CLEAN].n for one in found)
    return Report(
        study="judges",
        title=f"What judges make of planted defects in items of {source}",
        varied=f"the judge ({len(found)}), and the defect: none, {', '.join(CLASSES)}",
        held="the items, their windows and the judge's prompt",
        n=f"{shown} cases: {clean} clean items, each also with a defect of every class",
        parts=parts,
        warnings=_warnings(found),
        commands=commands,
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


def _warnings(found: Sequence[Calibration]) -> list[str]:
    told = []
    for one in found:
        planted = _planted(one)
        if planted.n and planted.k >= STAMP * planted.n:
            approved = f"{one.judge} approved {planted.k} of {planted.n} items with a planted defect"
            told.append(f"{approved}: its approval says nothing")
    return told


def _planted(one: Calibration) -> Rate:
    rates = [one.approved[kind] for kind in CLASSES]
    return Rate(sum(rate.k for rate in rates), sum(rate.n for rate in rates))


def _caught(found: Sequence[Calibration]) -> Table:
    rows = []
    for one in found:
        rows += [_row(one.judge, f"caught of {kind}", rate) for kind, rate in one.caught.items()]
        rows.append(_row(one.judge, "false alarms of clean", one.false_alarms))
    header = ["judge", "what", "k", "n", "share", "95% interval"]
    return Table("What each judge rejected:", header, rows, "llrrrr")


def _row(judge: str, what: str, rate: Rate) -> list[str]:
    return [judge, what, f"{rate.k}", f"{rate.n}", percent(rate.share), _interval(rate)]


def _interval(rate: Rate) -> str:
    return interval(rate.interval.low, rate.interval.high)


def _passed(one: Calibration, limits: Thresholds) -> str:
    failings = one.failings(limits)
    if failings:
        return f"{one.judge} does not pass: {'; '.join(failings)}."
    return (
        f"{one.judge} passes: it caught at least {percent(limits.catch, 0)} of each class and rejected at most "
        f"{percent(limits.false_alarm, 0)} of the clean items."
    )


def _approved(found: Sequence[Calibration]) -> Table:
    rows = [
        [
            one.judge,
            *(percent(one.approved[kind].share) for kind in (CLEAN, *CLASSES, "all")),
            _interval(one.approved["all"]),
            f"{one.unread.k}",
        ]
        for one in found
    ]
    header = ["judge", CLEAN, *CLASSES, "all", "95% interval", "unread"]
    return Table("What each judge approved of what it was shown:", header, rows, "lrrrrrrr")


def _agreed(pairs: Sequence[Agreement]) -> Table:
    rows = [
        [one.first, one.second, f"{one.n}", percent(one.share), "-" if one.kappa is None else f"{one.kappa:.2f}"]
        for one in pairs
    ]
    return Table("How far two judges agree:", ["judge", "and", "n", "agree", "Cohen's kappa"], rows, "llrrr")


def _seats(bench: Panel) -> Table:
    rows = [
        [seat.judge, percent(seat.approved / bench.n), f"{seat.alone}", percent(seat.same / bench.n)]
        for seat in bench.seats
    ]
    header = ["member", "approves", "rejections by it alone", "its word is the panel's"]
    return Table("As a panel that approves what all of them approve:", header, rows, "lrrr")


def _said(bench: Panel) -> str:
    told = (
        f"The panel of {len(bench.seats)} approves {bench.approved} of {bench.n} ({percent(bench.approved / bench.n)})."
    )
    if bench.decided_by is not None:
        return (
            f"{told} It is one judge in disguise: the word of {bench.decided_by} alone is the panel's in at least "
            f"{percent(DECIDES, 0)} of the cases, and no other member's is."
        )
    return f"{told} It is not decided by one of its members alone."


def _data(one: Calibration, limits: Thresholds) -> dict[str, Any]:
    failings = one.failings(limits)
    return {
        "judge": one.judge,
        "passed": not failings,
        "failings": failings,
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
