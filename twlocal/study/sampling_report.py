"""The study of a stratified sample as a report. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from twlocal.html.words import Text, t
from twlocal.paired import Span
from twlocal.plural import counted
from twlocal.stats import wilson
from twlocal.study import plots, sampling
from twlocal.study.report import NO_SUBJECT, Plot, Report, Table, Words, percent, points, span
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
    parts: list[Words | Table] = [
        t(
            "全體：{whole}（95% 區間 {span}），{n} 題。依樣本的科目組成加權：{expected}，"
            "其中 {shift} 個百分點的差距純粹來自組成。",
            "The whole: {whole} (95% interval {span}) of {n} items. Weighted by the sample's composition: {expected}, "
            "a shift of {shift} points that comes from composition alone.",
        ).format(
            whole=percent(whole, 2),
            span=span(found.low, found.high, 2),
            n=f"{n:,}",
            expected=percent(expected, 2),
            shift=points(expected - whole, 2),
        ),
        *([_measured_line(measured, expected, errors.chance)] if measured else []),
        Table(
            t("權重移到哪裡：", "Where the weight goes:"),
            [
                t("題數", "items"),
                t("科目數", "subjects"),
                t("平均正確率", "mean accuracy"),
                t("占全體", "of all"),
                t("占樣本", "of the sample"),
            ],
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
            t(
                f"這種樣本的誤差，模擬抽樣 {asked.draws:,} 次，100 次中有 95 次落在：",
                f"Error of such a sample, 95 of 100 in {asked.draws:,} simulated draws:",
            ),
            [t("與什麼相比", "error against"), t("百分點", "points")],
            [
                [t("全體（組成加上偶然）", "the whole (composition and chance)"), _span(errors.population)],
                [
                    t("依其組成預期的分數（偶然）", "what its composition leads to expect (chance)"),
                    _span(errors.chance),
                ],
                [
                    t("全體，樣本依母體比例加權之後", "the whole, weighted back to its composition"),
                    _span(errors.restored),
                ],
            ],
            "lr",
        ),
        t(
            "最不確定的科目：{subject}，±{points} 個百分點。", "Least certain subject: {subject}, ±{points} points."
        ).format(subject=errors.worst_subject[0] or NO_SUBJECT, points=f"{100 * errors.worst_subject[1]:.1f}"),
        _by_k(strata),
        *_needed(needed),
    ]
    return Report(
        study="sample",
        title=t(f"分層抽樣怎麼影響 {source} 的分數", f"What a stratified sample does to the score of {source}"),
        varied=t(
            "計分的題目：全部，或每科抽若干題",
            "which rows are scored: all of them, or a sample of some rows a subject",
        ),
        held=t(
            "每一則作答，也就是模型、題目、提示詞、解碼設定與讀法",
            "every response, and with it the model, the questions, the prompt, the decoding and the reader",
        ),
        n=t(
            f"{len(strata):,} 科 {n:,} 題；樣本 {rows:,} 題",
            f"{counted(n, 'item')} in {counted(len(strata), 'subject')}; {rows:,} in the sample",
        ),
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


def _measured_line(measured: Mapping[str, Any], expected: float, chance: Span) -> Text:
    gap = measured["accuracy"] - expected
    usual = t("在偶然的範圍內", "as chance allows")
    if not chance.low <= gap <= chance.high:
        usual = t("超出 100 個樣本中 95 個的偶然範圍", "more than chance allows in 95 of 100 samples")
    return t(
        "依內容雜湊值真正抽到的題目，正確率是 {share}（{right}／{n}），與此相差 {gap} 個百分點：{usual}。",
        "The rows that content hashes really draw score {share} ({right} of {n}), {gap} points from that: {usual}.",
    ).format(
        share=percent(measured["accuracy"], 2),
        right=f"{measured['right']:,}",
        n=f"{measured['n']:,}",
        gap=points(gap, 2),
        usual=usual,
    )


def _sizes(strata: Sequence[Stratum]) -> list[tuple[Text, list[Stratum]]]:
    found = []
    for least, below in _BANDS:
        group = [one for one in strata if one.n >= least and (below is None or one.n < below)]
        if below is None:
            name = t(f"{least:,} 題以上", f"{least:,} or more")
        elif least > 1:
            name = t(f"{least:,} 至 {below - 1:,} 題", f"{least:,} to {below - 1:,}")
        else:
            name = t(f"不到 {below} 題", f"below {below}")
        if group:
            found.append((name, group))
    return found


def _mean(group: Sequence[Stratum]) -> float:
    return sum(one.accuracy for one in group) / len(group)


def _weight(group: Sequence[Stratum], n: int) -> float:
    return sum(one.n for one in group) / n


def _drawn(group: Sequence[Stratum], asked: Asked) -> float:
    return sum(asked.drawn.get(one.subject, 0) for one in group) / sum(asked.drawn.values())


def _span(errors: Span) -> Text:
    return span(errors.low, errors.high, 2, signed=True)


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
    header: list[Words] = [
        "k",
        t("題數", "rows"),
        t("預期分數", "expected score"),
        t("95% 半寬", "95% half-width"),
        t("依母體比例加權", "weighted back"),
    ]
    caption = t("每科題數 k 與誤差：", "How the error falls with k, the rows a subject:")
    return Table(caption, header, rows, "rrrrr")


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


def _needed(needed: Mapping[float, tuple[int, int]]) -> list[Words | Table]:
    if not needed:
        return []
    rows = [[f"±{100 * wanted:g}", f"{plain:,}", f"{restored:,}"] for wanted, (plain, restored) in needed.items()]
    header: list[Words] = [t("想要的半寬", "wanted half-width"), "k", t("k（依母體比例加權）", "k, weighted back")]
    return [Table(t("k 至少要多大：", "How large k must be:"), header, rows, "rrr")]


def _json(errors: Mapping[str, Any]) -> dict[str, Any]:
    spans = ("population", "chance", "restored")
    return {name: list(errors[name].values()) if name in spans else list(errors[name]) for name in errors}
