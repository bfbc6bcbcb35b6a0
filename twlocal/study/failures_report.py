"""The study of failures as a report. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from twlocal.compare import difference
from twlocal.html.words import Text, t
from twlocal.plural import counted
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
    Detected,
    Failures,
    Probed,
    offsets,
)
from twlocal.study.report import INTERVAL, Plot, Report, Table, Words, join, p_value, percent, points, span

_HOW = {
    "minguo_prefixed": t("寫明民國", "with 民國"),
    "minguo_bare": t("只寫年份", "bare year"),
    "minguo_sum": t("寫成加法", "as a sum"),
}
_SAID = {
    "minguo_prefixed": t("寫明民國的年份換算錯", "民國 year, wrong"),
    "minguo_bare": t("只寫年份而換算錯", "bare year, wrong"),
    "minguo_sum": t("與 1911 相加而算錯", "sum with 1911, wrong"),
    "corrupted_name": t("名稱有錯字", "name, a glyph wrong"),
    "romanised_name": t("名稱只寫羅馬字", "name in Latin only"),
    "broken_character": t("字元毀損", "broken character"),
    "foreign_character": t("Big5 以外的字", "outside Big5"),
    "simplified_character": t("簡體字", "simplified"),
}
# The same, short enough to stand beside a bar in both languages.
_BESIDE = {
    "minguo_prefixed": t("寫明民國", "with 民國"),
    "minguo_bare": t("只寫年份", "bare year"),
    "minguo_sum": t("加法", "sum"),
    "corrupted_name": t("錯字", "glyph"),
    "romanised_name": t("羅馬字", "Latin"),
    "broken_character": t("毀損", "broken"),
    "foreign_character": t("Big5 以外", "not Big5"),
    "simplified_character": t("簡體", "simplified"),
}
_STATES = {
    WRITTEN: t("寫對", WRITTEN),
    CORRUPTED: t("有錯字", CORRUPTED),
    ROMANISED: t("寫成羅馬字", ROMANISED),
    OTHER: t("沒有寫", OTHER),
}
_NO_PROBE = t(
    "這幾次測驗都沒有問探測題，所以只看得到本身就有錯的內容：twlocal study failures --write-probe FILE 會寫出探測題，"
    "再用 twlocal run --bench FILE 來問。",
    "none of these runs asked the probe set, so only what is wrong by itself is seen: twlocal study failures "
    "--write-probe FILE writes it, and twlocal run --bench FILE asks it.",
)
_YEARS = (("115年", False), ("民國115年", True))
_OFFSETS = (RIGHT, "+1", "-1", FURTHER, UNREAD)


def report(runs: Sequence[Failures], *, commands: Sequence[str] = (), seed: int = 0) -> Report:
    """The study as a report."""
    parts: list[Words | Table] = []
    data = []
    for one in runs:
        if one.probed.n:
            parts += _probed(one, seed)
        parts += _detected(one)
        data.append(_data(one, seed))
    warnings = [] if any(one.probed.n for one in runs) else [_NO_PROBE]
    return Report(
        study="failures",
        title=t(
            "臺灣特有的錯誤：民國年、字形、名稱", "Failures that are particular to Taiwan: Minguo years, glyphs, names"
        ),
        varied=t(
            "年份前面有沒有「民國」（探測題）；此外沒有改變",
            "whether a Minguo year has 民國 before it (probe set); nothing else",
        ),
        held=t(
            "模型、提示詞、解碼設定；偵測只讀存下來的作答",
            "the model, the prompt, the decoding; detectors read stored responses",
        ),
        n=join(
            [
                t(
                    f"{one.run}：{one.detected.n:,} 則作答，其中探測題 {one.probed.n} 則",
                    f"{one.run}: {counted(one.detected.n, 'response')}, {one.probed.n:,} of the probe set",
                )
                for one in runs
            ],
            "；",
            "; ",
        ),
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
        caption = t(f"{one.run}：作答中出現各種錯誤的比例", f"{one.run}: responses with each failure")
        detected = [(_BESIDE[name], one.detected.responses[name], one.detected.n) for name in LOUD]
        found.append(plots.shares(detected, caption, t("比例", "share")))
    return found


def _probed(one: Failures, seed: int) -> list[Words | Table]:
    probed = one.probed
    parts: list[Words | Table] = []
    if probed.years:
        rows: list[list[Words]] = []
        for name, prefixed in ((t("只寫年份（115年）", "bare (115年)"), False), (_HOW["minguo_prefixed"], True)):
            found = offsets(probed.years, prefixed=prefixed)
            n, right = found.total(), found[RIGHT]
            low_high = wilson(right, n)
            rows.append([name, f"{n}", *(f"{found[key]}" for key in _OFFSETS), span(low_high.low, low_high.high)])
        header: list[Words] = [
            t("年份", "year"),
            "n",
            t("對", "right"),
            "+1",
            "-1",
            t("差更多", "further off"),
            t("讀不出", "unread"),
            t("答對的 95% 區間", "95% of right"),
        ]
        caption = t("{run}（{model}），換算民國年份：", "{run} ({model}), Minguo years asked for:")
        parts.append(Table(caption.format(run=one.run, model=one.model), header, rows, "lrrrrrrr"))
        parts.append(_prefix(probed, seed))
    if probed.written:
        n = probed.written.total()
        rows = [[said, f"{probed.written[state]}", _share(probed.written[state], n)] for state, said in _STATES.items()]
        caption = t(f"{one.run}，要用中文寫出的名稱（{n} 個）：", f"{one.run}, names to be written in Chinese ({n}):")
        parts.append(Table(caption, ["", "n", INTERVAL], rows, "lrr"))
    if probed.chosen:
        n, right = probed.chosen.total(), probed.chosen[RIGHT]
        parts.append(
            t(
                "要選出正確寫法的 {n} 題：{right} 題對（95% 區間 {span}），{corrupted} 題選了錯字，{unread} 題讀不出。",
                "Of {n} spellings to choose, {right} right (95% interval {span}), {corrupted} corrupted, {unread} "
                "unread.",
            ).format(
                n=n,
                right=right,
                span=_share(right, n),
                corrupted=probed.chosen[CORRUPTED],
                unread=probed.chosen[UNREAD],
            )
        )
    parts.append(
        t(
            f"探測題答錯的，有 {probed.silent()} 則查不出來（寫成別的年份、別的地方，都是合法的值），"
            f"有 {probed.loud()} 則一查就知道錯（沒有這個名稱）。",
            f"Of its wrong answers to the probe set, no check finds {probed.silent()} (another year, another place: "
            f"legal values) and a look-up finds {probed.loud()} (there is no such name).",
        )
    )
    examples = [_example(text) for texts in probed.examples.values() for text in texts]
    if examples:
        parts.append(t("例如：{examples}。", "For example: {examples}.").format(examples=join(examples, "；", "; ")))
    return parts


def _example(text: str) -> Words:
    """An example as `failures` words it: "左翐 for 左營", "3 of them", or something out of a response."""
    wrong, instead, right = text.partition(" for ")
    if instead:
        return t(f"「{right}」寫成「{wrong}」", text)
    count, of_them, rest = text.partition(" of them")
    return t(f"{count} 個", text) if of_them and not rest and count.isdigit() else text


def _prefix(probed: Probed, seed: int) -> Words:
    pairs = probed.pairs()
    if not pairs:
        return t("沒有哪一年用兩種寫法都問過。", "No year was asked both ways.")
    found = difference([float(bare) for bare, _ in pairs], [float(prefixed) for _, prefixed in pairs], seed)
    return t(
        "{n} 個年份兩種寫法都問過，加上「民國」的差距：{points} 個百分點（95% 區間 {span}，p = {p}；"
        "變對 {gained} 題，變錯 {lost} 題）。",
        "The prefix 民國 on {n} years asked both ways: {points} points (95% interval {span}, p = {p}; {gained} gained, "
        "{lost} lost).",
    ).format(
        n=found.n,
        points=points(found.difference),
        span=span(found.interval.low, found.interval.high, signed=True),
        p=p_value(found.p),
        gained=found.churn.gained,
        lost=found.churn.lost,
    )


def _detected(one: Failures) -> list[Words | Table]:
    found = one.detected
    loud, silent = t("查得出", "found"), t("查不出", "missed")
    rows: list[list[Words]] = []
    for name, said in _SAID.items():
        count = found.responses[name]
        examples = join([_example(text) for text in found.examples.get(name, ())])
        share = percent(count / found.n) if found.n else "-"
        rows.append([said, loud if LOUD[name] else silent, f"{count:,}", share, _share(count, found.n), examples])
    header: list[Words] = [
        t("作答中出現", "in responses"),
        t("查核", "a check"),
        t("則數", "count"),
        t("比例", "share"),
        INTERVAL,
        t("例如", "such as"),
    ]
    caption = t(f"{one.run}，全部 {found.n:,} 則作答：", f"{one.run}, {counted(found.n, 'response')} in all:")
    parts: list[Words | Table] = [Table(caption, header, rows, "llrrrl")]
    if found.equations:
        told = t(
            "把民國年與西元年對起來的敘述：{stated}。",
            "Statements that equate a Minguo year with a common one: {stated}.",
        )
        parts.append(told.format(stated=join([_stated(found, how) for how in _HOW], "；", "; ")))
    return parts


def _stated(found: Detected, how: str) -> Text:
    counts = [(count, off) for (kind, off), count in found.equations.items() if kind == how]
    return t("{how} {all} 則，其中錯 {wrong} 則", "{how} {all}, of these wrong {wrong}").format(
        how=_HOW[how],
        all=f"{sum(count for count, _ in counts):,}",
        wrong=f"{sum(count for count, off in counts if off):,}",
    )


def _share(count: int, n: int) -> Words:
    low_high = wilson(count, n)
    return span(low_high.low, low_high.high) if n else "-"


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
        "written": {state: probed.written[state] for state in _STATES},
        "chosen": dict(probed.chosen),
        "places": dict(probed.places),
        "silent": probed.silent(),
        "loud": probed.loud(),
        "examples": probed.examples,
    }
