"""A comparison of two runs as a report. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from twlocal.apparatus import Difference as Apart
from twlocal.compare import LEVEL, VERDICTS, Comparison, Difference, SubjectDifference
from twlocal.html.charts import Estimate
from twlocal.html.words import Text, t
from twlocal.paired import Churn
from twlocal.plural import counted
from twlocal.study import apparatus_words, plots
from twlocal.study.noise import Floor
from twlocal.study.report import (
    INTERVAL,
    NO_SUBJECT,
    Plot,
    Report,
    Table,
    Words,
    p_value,
    percent,
    points,
    span,
)

_FIRST, _SECOND, _DIFFERENCE = t("第一個", "first"), t("第二個", "second"), t("差距", "difference")
_STRICT, _LENIENT, _READER = t("嚴格", "strict"), t("寬鬆", "lenient"), t("讀法", "reader")
_GAINED, _LOST = t("變對", "gained"), t("變錯", "lost")
_VERDICTS = {
    "neither": "兩種讀法都分不出這兩次測驗的高下",
    "both": "兩種讀法都看得到差距，所以不只是格式",
    "format": "只有嚴格讀法看得到差距：就這些題目而言，差的是格式",
    "knowledge_hidden": "只有寬鬆讀法看得到差距：嚴格分數讓格式把它蓋住了",
    "opposite": "兩種讀法的方向相反：一方知道得多，卻因為格式而失分",
}
_FEW = 10  # changed items below which a bootstrap interval is too narrow
_MOST = 20  # subjects in the text; the JSON has all of them


def report(
    found: Comparison,
    apart: Sequence[Apart],
    held: Sequence[str],
    *,
    floor: Floor | None = None,
    commands: Sequence[str] = (),
    study: str = "compare",
    title: Words | None = None,
) -> Report:
    """What a comparison says, with the apparatus that differs (`apart`) and the parts that do not (`held`)."""
    parts = list(dict.fromkeys(one.part for one in apart))
    return Report(
        study=study,
        title=title or t(f"{found.first} 與 {found.second}", f"{found.first} against {found.second}"),
        varied=apparatus_words.parts(parts) if parts else t("紀錄中沒有不同", "nothing that is recorded"),
        held=apparatus_words.parts(held) if held else t("沒有", "nothing"),
        n=_sizes(found),
        parts=[*_apparatus(apart), *_scores(found), *_changes(found), *_subjects(found)],
        warnings=list(_warnings(found, parts, floor)),
        commands=commands,
        plots=_plots(found),
        data=_data(found, apart, held, floor),
    )


def _plots(found: Comparison) -> list[Plot]:
    both = [(_STRICT, found.strict), (_LENIENT, found.lenient)]
    differences = plots.estimates(
        [Estimate(name, one.difference, one.interval.low, one.interval.high) for name, one in both],
        t("第二個減第一個（95% 信賴區間）", "Second minus first (95% intervals)"),
        _DIFFERENCE,
        reference=0.0,
    )
    subjects = sorted(found.subjects, key=lambda one: (one.q, -abs(one.second - one.first)))[:_MOST]
    if len(subjects) < 2:
        return [differences]
    points = [(one.subject or NO_SUBJECT, one.first, one.second, "") for one in subjects]
    return [differences, plots.scatter(points, t("各科目的正確率", "Accuracy by subject"), _FIRST, _SECOND)]


def _sizes(found: Comparison) -> Text:
    n = t(f"兩邊都作答的 {found.strict.n:,} 題", f"{counted(found.strict.n, 'item')} that both answered")
    if found.left_out == (0, 0):
        return n
    first, second = (f"{count:,}" for count in found.left_out)
    return Text(
        f"{n.zh}；略去第一個的 {first} 題、第二個的 {second} 題",
        f"{n.en}; left out: {first} of the first, {second} of the second",
    )


def _apparatus(apart: Sequence[Apart]) -> list[Words | Table]:
    if not apart:
        same = "The apparatus of the two runs is the same as far as it is recorded."
        return [t("就紀錄所及，兩次測驗的測量條件相同。", same)]
    value = apparatus_words.value
    rows = [
        [apparatus_words.part(one.part), apparatus_words.name(one.name), value(one.first), value(one.second)]
        for one in apart
    ]
    header: list[Words] = [t("部分", "part"), t("項目", "what"), _FIRST, _SECOND]
    return [Table(t("測量條件的不同：", "What differs in the apparatus:"), header, rows, "llll")]


def _scores(found: Comparison) -> list[Words | Table]:
    rows = [_score_row(_STRICT, found.strict), _score_row(_LENIENT, found.lenient)]
    header: list[Words] = [_READER, _FIRST, _SECOND, _DIFFERENCE, INTERVAL, "p"]
    caption = t(
        "同樣題目的正確率（配對拔靴法；p 為 McNemar 精確檢定）：",
        "Accuracy over the same items (paired bootstrap; p of McNemar's exact test):",
    )
    return [Table(caption, header, rows, "lrrrrr")]


def _score_row(name: Words, one: Difference) -> list[Words]:
    digits = 2 if one.n >= 10_000 else 1
    return [
        name,
        percent(one.first, digits),
        percent(one.second, digits),
        points(one.difference, digits),
        span(one.interval.low, one.interval.high, digits, signed=True),
        p_value(one.p),
    ]


def _changes(found: Comparison) -> list[Words | Table]:
    rows = [_churn_row(_STRICT, found.strict.churn), _churn_row(_LENIENT, found.lenient.churn)]
    header: list[Words] = [
        _READER,
        t("都對", "both right"),
        _GAINED,
        _LOST,
        t("都錯", "both wrong"),
        t("部分", "in part"),
    ]
    if not _partly(found):
        header, rows = header[:-1], [row[:-1] for row in rows]
    caption = t("從第一次測驗到第二次，題目的變化：", "Items, from the first run to the second:")
    told: list[Words | Table] = [Table(caption, header, rows, "lrrrrr")]
    if found.other_letter is not None:
        told.append(
            t(
                f"有 {found.other_letter:,} 題，兩次都選了選項，但選的不同。",
                f"In {counted(found.other_letter, 'item')} both runs named an option, and not the same one.",
            )
        )
    told.append(_formats(found))
    verdict = t(_VERDICTS[found.verdict], VERDICTS[found.verdict])
    told.append(t("格式還是知識：{verdict}。", "Format against knowledge: {verdict}.").format(verdict=verdict))
    return told


def _formats(found: Comparison) -> Text:
    form, churn = found.format, found.strict.churn
    return t(
        f"變對的 {churn.gained:,} 題中，{form.gained_format:,} 題在寬鬆讀法下兩次都對（增加的是格式），"
        f"{form.gained_known:,} 題在寬鬆讀法下也是變對；變錯的 {churn.lost:,} 題中，分別是 {form.lost_format:,} 與 "
        f"{form.lost_known:,} 題。只有寬鬆讀法算對的，第一次有 {form.behind[0]:,} 題，第二次有 {form.behind[1]:,} 題。",
        f"Of the {churn.gained:,} gained, {form.gained_format:,} were right under the lenient reader in "
        f"both runs (a gain of format) and {form.gained_known:,} are gained under it too; of the "
        f"{churn.lost:,} lost, {form.lost_format:,} and {form.lost_known:,}. "
        f"Only the lenient reader calls {counted(form.behind[0], 'item')} of the first run right, and "
        f"{form.behind[1]:,} of the second.",
    )


def _partly(found: Comparison) -> bool:
    return bool(found.strict.churn.partly or found.lenient.churn.partly)


def _churn_row(name: Words, one: Churn) -> list[Words]:
    return [name, *(f"{count:,}" for count in (one.both_right, one.gained, one.lost, one.both_wrong, one.partly))]


def _subjects(found: Comparison) -> list[Words | Table]:
    if len(found.subjects) < 2:
        return []
    ordered = sorted(found.subjects, key=lambda one: (one.q, one.p, -abs(one.second - one.first), one.subject))
    sure = sum(one.q <= LEVEL for one in ordered)
    rest = t("", "")
    if len(ordered) > _MOST:
        rest = t(f"（最確定的 {_MOST} 科；全部見 --json）", f" (the {_MOST} surest; --json has all)")
    caption = t(
        f"各科目，嚴格讀法：{len(ordered)} 科中有 {sure} 科在 5% 的偽發現率下有差距{rest.zh}；"
        "q 是經 Benjamini-Hochberg 校正的 p：",
        f"Subjects, strict: {sure} of {len(ordered)} differ at a false discovery rate of 5%{rest.en}; "
        "q is p after Benjamini-Hochberg:",
    )
    header: list[Words] = [t("科目", "subject"), "n", _FIRST, _SECOND, _DIFFERENCE, _GAINED, _LOST, "p", "q"]
    return [Table(caption, header, [_subject_row(one) for one in ordered[:_MOST]], "lrrrrrrrr")]


def _subject_row(one: SubjectDifference) -> list[Words]:
    return [
        one.subject or NO_SUBJECT,
        f"{one.n:,}",
        percent(one.first),
        percent(one.second),
        points(one.second - one.first),
        f"{one.churn.gained:,}",
        f"{one.churn.lost:,}",
        p_value(one.p),
        p_value(one.q),
    ]


def _warnings(found: Comparison, parts: Sequence[str], floor: Floor | None) -> list[Words]:
    told: list[Words] = []
    # The prompt is a part of the protocol, and a sample follows from its dataset.
    follows = {"prompt": "protocol", "sample": "dataset"}
    causes = [part for part in parts if follows.get(part) not in parts]
    if len(causes) > 1:
        told.append(
            t(
                "測量條件不只一處不同（{causes}），所以差距不能歸因於其中任何一處。",
                "more than one part of the apparatus differs ({causes}), so the difference cannot be put down to any "
                "one of them.",
            ).format(causes=apparatus_words.parts(causes))
        )
    if floor is not None and floor.below(found.strict.difference):
        told.append(
            t(
                f"{points(found.strict.difference, 3)} 個百分點的差距，不大於題目來源中有爭議答案的比例"
                f"（{percent(floor.share, 3)}）：量到的既是模型，也是答案。",
                f"the difference of {points(found.strict.difference, 3)} points is not larger than the share of "
                f"disputed answer keys in the source ({percent(floor.share, 3)}): it measures the keys as much as the "
                "models.",
            )
        )
    if 0 < found.strict.churn.changed < _FEW:
        told.append(
            t(
                f"只有 {found.strict.churn.changed} 題有變化，拔靴法的區間會太窄：請以精確檢定為準。",
                f"only {counted(found.strict.churn.changed, 'item')} changed, so the bootstrap interval is too narrow: "
                "go by the exact test.",
            )
        )
    return told


def _data(found: Comparison, apart: Sequence[Apart], held: Sequence[str], floor: Floor | None) -> Mapping[str, Any]:
    return {
        "first": found.first,
        "second": found.second,
        "items": found.strict.n,
        "left_out": list(found.left_out),
        "apparatus": {"differs": [asdict(one) for one in apart], "held": list(held)},
        "strict": difference_json(found.strict),
        "lenient": difference_json(found.lenient),
        "other_letter": found.other_letter,
        "format": asdict(found.format),
        "verdict": found.verdict,
        "subjects": [asdict(one) for one in found.subjects],
        "key_noise": None
        if floor is None
        else {
            "conflicts": floor.conflicts,
            "groups": floor.groups,
            "share": floor.share,
            "below": floor.below(found.strict.difference),
        },
    }


def difference_json(one: Difference) -> dict[str, Any]:
    """A paired difference as JSON-able data."""
    return {
        "first": one.first,
        "second": one.second,
        "difference": one.difference,
        "interval": [one.interval.low, one.interval.high],
        "p": one.p,
        "churn": asdict(one.churn),
    }
