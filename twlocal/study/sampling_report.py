"""The study of a stratified sample as a report. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from twlocal.html.words import Text, t
from twlocal.paired import Span
from twlocal.stats import wilson
from twlocal.study import plots, sampling
from twlocal.study.report import Plot, Report, Table, interval, percent, points
from twlocal.study.sampling import Stratum

_BANDS = ((2_000, None), (500, 2_000), (1, 500))  # the paper's: subjects by their number of items
_KS = (10, 25, 50, 100, 150, 250, 500, 1_000)


@dataclass(frozen=True)
class Asked:
    """What the study was asked: rows a subject, the composition it gives, and half-widths wanted, as shares of 1."""

    k: int | None
    drawn: Mapping[str, int]
    wanted: Sequence[float] = ()
    seed: int = 0
    draws: int = sampling.DRAWS


def report(
    source: str,
    strata: Sequence[Stratum],
    asked: Asked,
    *,
    real: Mapping[str, tuple[int, int]] | None = None,
    commands: Sequence[str] = (),
) -> Report:
    """The study as a report. real: the sample that content hashes draw from this very run: subject → (drawn, right)."""
    whole = sampling.population(strata)
    expected = sampling.reweighted(strata, asked.drawn)
    errors = sampling.simulate(strata, asked.drawn, seed=asked.seed, draws=asked.draws)
    n, rows = sum(one.n for one in strata), sum(asked.drawn.values())
    right = sum(one.right for one in strata)
    found = wilson(right, n)
    measured = _measured(real)
    needed = {
        wanted: (sampling.smallest_k(strata, wanted), sampling.smallest_k(strata, wanted, restored=True))
        for wanted in asked.wanted
    }
    sizes = _sizes(strata)
    parts: list[str | Table] = [
        (
            f"The whole: {percent(whole, 2)} (95% interval {interval(found.low, found.high, 2)}) of {n:,} items. "
            f"Weighted by the sample's composition: {percent(expected, 2)}, a shift of {points(expected - whole, 2)} "
            "points that comes from composition alone."
        ),
        *([_measured_line(measured, expected, errors.chance)] if measured else []),
        Table(
            "Where the weight goes:",
            ["items", "subjects", "mean accuracy", "of all", "of the sample"],
            [
                [
                    name,
                    f"{len(group)}",
                    percent(_mean(group)),
                    percent(_weight(group, n)),
                    percent(_drawn(group, asked)),
                ]
                for name, group in sizes
            ],
            "lrrrr",
        ),
        Table(
            f"Error of such a sample, 95 of 100 in {asked.draws:,} simulated draws:",
            ["error against", "points"],
            [
                ["the whole (composition and chance)", _span(errors.population)],
                ["what its composition leads to expect (chance)", _span(errors.chance)],
                ["the whole, weighted back to its composition", _span(errors.restored)],
            ],
            "lr",
        ),
        f"Least certain subject: {errors.worst_subject[0] or '(none)'}, ±{100 * errors.worst_subject[1]:.1f} points.",
        _by_k(strata),
        *_needed(needed),
    ]
    return Report(
        study="sample",
        title=f"What a stratified sample does to the score of {source}",
        varied="which rows are scored: all of them, or a sample of some rows a subject",
        held="every response, and with it the model, the questions, the prompt, the decoding and the reader",
        n=f"{n:,} items in {len(strata):,} subjects; {rows:,} in the sample",
        parts=parts,
        commands=commands,
        plots=[_by_k_plot(strata)],
        data={
            "source": source,
            "items": n,
            "subjects": len(strata),
            "k": asked.k,
            "drawn": rows,
            "whole": whole,
            "interval": [found.low, found.high],
            "composition_weighted": expected,
            "shift": expected - whole,
            "measured": measured,
            "errors": _json(asdict(errors)),
            "needed": [
                {"half_width": wanted, "k": plain, "k_weighted_back": restored}
                for wanted, (plain, restored) in needed.items()
            ],
        },
    )


def _measured(real: Mapping[str, tuple[int, int]] | None) -> dict[str, Any] | None:
    if not real:
        return None
    n, right = (sum(one[at] for one in real.values()) for at in (0, 1))
    found = wilson(right, n)
    return {"n": n, "right": right, "accuracy": right / n, "interval": [found.low, found.high]}


def _measured_line(measured: Mapping[str, Any], expected: float, chance: Span) -> str:
    gap = measured["accuracy"] - expected
    usual = "as chance allows" if chance.low <= gap <= chance.high else "more than chance allows in 95 of 100 samples"
    return (
        f"The rows that content hashes really draw score {percent(measured['accuracy'], 2)} ({measured['right']:,} of "
        f"{measured['n']:,}), {points(gap, 2)} points from that: {usual}."
    )


def _sizes(strata: Sequence[Stratum]) -> list[tuple[str, list[Stratum]]]:
    found = []
    for least, below in _BANDS:
        group = [one for one in strata if one.n >= least and (below is None or one.n < below)]
        name = (
            f"{least:,} or more" if below is None else f"{least:,} to {below - 1:,}" if least > 1 else f"below {below}"
        )
        if group:
            found.append((name, group))
    return found


def _mean(group: Sequence[Stratum]) -> float:
    return sum(one.accuracy for one in group) / len(group)


def _weight(group: Sequence[Stratum], n: int) -> float:
    return sum(one.n for one in group) / n


def _drawn(group: Sequence[Stratum], asked: Asked) -> float:
    return sum(asked.drawn.get(one.subject, 0) for one in group) / sum(asked.drawn.values())


def _span(span: Span) -> str:
    return interval(span.low, span.high, 2, signed=True)


def _by_k(strata: Sequence[Stratum]) -> Table:
    largest = max(one.n for one in strata)
    rows = []
    for k in (*(k for k in _KS if k < largest), largest):
        drawn = sampling.composition(strata, k)
        rows.append(
            [
                f"{k:,}",
                f"{sum(drawn.values()):,}",
                percent(sampling.reweighted(strata, drawn), 2),
                f"±{100 * sampling.half_width(strata, drawn):.2f}",
                f"±{100 * sampling.half_width(strata, drawn, restored=True):.2f}",
            ]
        )
    header = ["k", "rows", "expected score", "95% half-width", "weighted back"]
    return Table("How the error falls with k, the rows a subject:", header, rows, "rrrrr")


def _by_k_plot(strata: Sequence[Stratum]) -> Plot:
    largest = max(one.n for one in strata)
    found: dict[Text, list[tuple[float, float]]] = {}
    for name, restored in ((t("直接計分", "as drawn"), False), (t("依母體比例加權", "weighted back"), True)):
        found[name] = [
            (float(k), sampling.half_width(strata, sampling.composition(strata, k), restored=restored))
            for k in (*(k for k in _KS if k < largest), largest)
        ]
    caption = t("抽樣誤差與每科題數", "Sampling error by rows a subject")
    return plots.lines(found, caption, t("每科題數 k", "rows a subject, k"), t("95% 半寬", "95% half-width"))


def _needed(needed: Mapping[float, tuple[int, int]]) -> list[str | Table]:
    if not needed:
        return []
    rows = [[f"±{100 * wanted:g}", f"{plain:,}", f"{restored:,}"] for wanted, (plain, restored) in needed.items()]
    header = ["wanted half-width", "k", "k, weighted back"]
    return [Table("How large k must be:", header, rows, "rrr")]


def _json(errors: Mapping[str, Any]) -> dict[str, Any]:
    spans = ("population", "chance", "restored")
    return {name: list(errors[name].values()) if name in spans else list(errors[name]) for name in errors}
