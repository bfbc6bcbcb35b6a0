"""The study of failures as a report. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from twlocal.compare import difference
from twlocal.html.words import t
from twlocal.stats import wilson
from twlocal.study import plots
from twlocal.study.compared import difference_json
from twlocal.study.failures import (
    CORRUPTED,
    FURTHER,
    LOUD,
    OTHER,
    RIGHT,
    ROMANISED,
    UNREAD,
    WRITTEN,
    Failures,
    Probed,
    offsets,
)
from twlocal.study.report import Plot, Report, Table, interval, p_value, points

_HOW = {"minguo_prefixed": "with 民國", "minguo_bare": "bare year", "minguo_sum": "as a sum"}
_SAID = {
    "minguo_prefixed": "民國 year, wrong",
    "minguo_bare": "bare year, wrong",
    "minguo_sum": "sum with 1911, wrong",
    "corrupted_name": "name, a glyph wrong",
    "romanised_name": "name in Latin only",
    "broken_character": "broken character",
    "foreign_character": "outside Big5",
    "simplified_character": "simplified",
}
_NO_PROBE = (
    "none of these runs asked the probe set, so only what is wrong by itself is seen: twlocal study failures "
    "--write-probe FILE writes it, and twlocal run --bench FILE asks it."
)
_YEARS = (("115年", False), ("民國115年", True))
_OFFSETS = (RIGHT, "+1", "-1", FURTHER, UNREAD)


def report(runs: Sequence[Failures], *, commands: Sequence[str] = (), seed: int = 0) -> Report:
    """The study as a report."""
    parts: list[str | Table] = []
    data = []
    for one in runs:
        if one.probed.n:
            parts += _probed(one, seed)
        parts += _detected(one)
        data.append(_data(one, seed))
    warnings = [] if any(one.probed.n for one in runs) else [_NO_PROBE]
    return Report(
        study="failures",
        title="Failures that are particular to Taiwan: Minguo years, glyphs, names",
        varied="whether a Minguo year has 民國 before it (probe set); nothing else",
        held="the model, the prompt, the decoding; detectors read stored responses",
        n="; ".join(f"{one.run}: {one.detected.n:,} responses, {one.probed.n} of the probe set" for one in runs),
        parts=parts,
        warnings=warnings,
        commands=commands,
        plots=_plots(runs),
        data={"runs": data},
    )


def _plots(runs: Sequence[Failures]) -> list[Plot]:
    found = []
    for one in runs:
        years = [(name, offsets(one.probed.years, prefixed=prefixed)) for name, prefixed in _YEARS]
        rows = [(name, count[RIGHT], count.total()) for name, count in years if count.total()]
        if rows:
            caption = t(f"{one.run}：民國年份換算正確的比例", f"{one.run}: Minguo years that were converted right")
            found.append(plots.shares(rows, caption, t("比例", "share")))
    return found


def _probed(one: Failures, seed: int) -> list[str | Table]:
    probed = one.probed
    parts: list[str | Table] = []
    if probed.years:
        rows = []
        for name, prefixed in (("bare (115年)", False), ("with 民國", True)):
            found = offsets(probed.years, prefixed=prefixed)
            n, right = found.total(), found[RIGHT]
            low_high = wilson(right, n)
            rows.append([name, f"{n}", *(f"{found[key]}" for key in _OFFSETS), interval(low_high.low, low_high.high)])
        header = ["year", "n", "right", "+1", "-1", "further off", "unread", "95% of right"]
        parts.append(Table(f"{one.run} ({one.model}), Minguo years asked for:", header, rows, "lrrrrrrr"))
        parts.append(_prefix(probed, seed))
    if probed.written:
        n = probed.written.total()
        rows = [[state, f"{probed.written[state]}", _share(probed.written[state], n)] for state in _states()]
        parts.append(Table(f"{one.run}, names to be written in Chinese ({n}):", ["", "n", "95% interval"], rows, "lrr"))
    if probed.chosen:
        n, right = probed.chosen.total(), probed.chosen[RIGHT]
        parts.append(
            f"Of {n} spellings to choose, {right} right (95% interval {_share(right, n)}), {probed.chosen[CORRUPTED]} "
            f"corrupted, {probed.chosen[UNREAD]} unread."
        )
    parts.append(
        f"Of its wrong answers to the probe set, {probed.silent()} are silent (another year, another place: legal "
        f"values that nothing refuses) and {probed.loud()} are loud (a look-up would refuse the name)."
    )
    examples = [text for texts in probed.examples.values() for text in texts]
    if examples:
        parts.append(f"For example: {'; '.join(examples)}.")
    return parts


def _states() -> tuple[str, ...]:
    return (WRITTEN, CORRUPTED, ROMANISED, OTHER)


def _prefix(probed: Probed, seed: int) -> str:
    pairs = probed.pairs()
    if not pairs:
        return "No year was asked both ways."
    found = difference([float(bare) for bare, _ in pairs], [float(prefixed) for _, prefixed in pairs], seed)
    return (
        f"The prefix 民國 on {found.n} years asked both ways: {points(found.difference)} points (95% interval "
        f"{interval(found.interval.low, found.interval.high, signed=True)}, p = {p_value(found.p)}; "
        f"{found.churn.gained} gained, {found.churn.lost} lost)."
    )


def _detected(one: Failures) -> list[str | Table]:
    found = one.detected
    rows = []
    for name, said in _SAID.items():
        count = found.responses[name]
        examples = ", ".join(found.examples.get(name, ()))
        rows.append([said, "loud" if LOUD[name] else "silent", f"{count:,}", _share(count, found.n), examples])
    header = ["in responses", "error", "n", "95% interval", "such as"]
    parts: list[str | Table] = [Table(f"{one.run}, all {found.n:,} responses:", header, rows, "llrrl")]
    stated = [
        f"{_HOW[how]} {sum(count for (kind, _), count in found.equations.items() if kind == how):,}, of these wrong "
        f"{sum(count for (kind, off), count in found.equations.items() if kind == how and off):,}"
        for how in _HOW
    ]
    if found.equations:
        parts.append(f"Statements that equate a Minguo year with a common one: {'; '.join(stated)}.")
    return parts


def _share(count: int, n: int) -> str:
    low_high = wilson(count, n)
    return interval(low_high.low, low_high.high) if n else "-"


def _data(one: Failures, seed: int) -> dict[str, Any]:
    found, probed = one.detected, one.probed
    pairs = probed.pairs()
    both = (
        difference([float(bare) for bare, _ in pairs], [float(prefixed) for _, prefixed in pairs], seed)
        if pairs
        else None
    )
    return {
        "run": one.run,
        "model": one.model,
        "n": found.n,
        "detected": {
            name: {
                "responses": found.responses[name],
                "loud": loud,
                "share": found.responses[name] / found.n if found.n else None,
                "examples": found.examples.get(name, []),
            }
            for name, loud in LOUD.items()
        },
        "equations": [
            {"how": how, "years_off": off, "count": count} for (how, off), count in sorted(found.equations.items())
        ],
        "probe": _probe_json(probed) | {"prefix": None if both is None else difference_json(both)}
        if probed.n
        else None,
    }


def _probe_json(probed: Probed) -> dict[str, Any]:
    return {
        "n": probed.n,
        "bare": dict(offsets(probed.years, prefixed=False)),
        "prefixed": dict(offsets(probed.years, prefixed=True)),
        "written": {state: probed.written[state] for state in _states()},
        "chosen": dict(probed.chosen),
        "places": dict(probed.places),
        "silent": probed.silent(),
        "loud": probed.loud(),
        "examples": probed.examples,
    }
