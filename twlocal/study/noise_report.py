"""The study of answer-key noise as a report. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import pairwise

from twlocal.html.charts import Estimate
from twlocal.html.words import Text, t
from twlocal.plural import counted
from twlocal.study import plots
from twlocal.study.noise import Floor, by_subject
from twlocal.study.report import NO_SUBJECT, Report, Table, Words, join, percent

_MOST = 15  # subjects in the text; the JSON has all of them


def report(
    floor: Floor, source: str, sizes: Mapping[str, int], scores: Mapping[str, float], *, commands: Sequence[str] = ()
) -> Report:
    """What a floor means for a set of questions.

    sizes: items by subject. scores: accuracies by run over these items, to see which neighbours are too close.
    """
    n = sum(sizes.values())
    subjects = by_subject(floor, sizes)
    low_high = floor.interval
    close = _too_close(floor, scores)
    parts: list[Words | Table] = [
        _measured(floor),
        t(
            f"在 {n:,} 題之中，有爭議的答案至多 {floor.disputed(n):,} 題（100 份這樣大小的題目中有 95 份如此），"
            f"所以正確率的差距若小於 {100 * floor.smallest_difference(n):.3f} 個百分點，就可能只是答案的差距。",
            f"Over {counted(n, 'item')} at most {counted(floor.disputed(n), 'key is', 'keys are')} disputed "
            "(in 95 of 100 sets of that size), so a "
            f"difference of accuracies below {100 * floor.smallest_difference(n):.3f} points is one of keys.",
        ),
        Table(
            t(
                f"題數最少的科目（{len(subjects)} 科中的 {min(_MOST, len(subjects))} 科），一題的答案影響最大：",
                f"The smallest subjects ({min(_MOST, len(subjects))} of {len(subjects)}), where one key weighs most:",
            ),
            [
                t("科目", "subject"),
                "n",
                t("至多有爭議", "disputed at most"),
                t("最小差距", "smallest difference"),
                t("至少一題有爭議", "any disputed"),
            ],
            [
                [
                    one.subject or NO_SUBJECT,
                    f"{one.n:,}",
                    f"{one.disputed:,}",
                    f"{100 * one.smallest:.2f}",
                    percent(floor.any_disputed(one.n)),
                ]
                for one in subjects[:_MOST]
            ],
            "lrrrr",
        ),
    ]
    if len(scores) > 1:
        parts.append(_neighbours(close))
    return Report(
        study="noise",
        title=t(f"有爭議的答案怎麼影響 {source} 的分數", f"What disputed answer keys do to a score over {source}"),
        varied=t(
            "沒有：這是題目來源的參數，應與每一個差距一併說明",
            "nothing: this is a parameter of the source, stated beside every difference",
        ),
        held=t("題目與官方答案", "the questions and their keys"),
        n=t(
            f"{len(sizes):,} 科 {n:,} 題；{floor.groups:,} 組重複出現的題目",
            f"{counted(n, 'item')} in {counted(len(sizes), 'subject')}; "
            f"{counted(floor.groups, 'group')} of re-printed questions",
        ),
        parts=parts,
        commands=commands,
        plots=[
            plots.estimates(
                [
                    Estimate(source, floor.share, low_high.low, low_high.high),
                    *(
                        Estimate(one.subject or NO_SUBJECT, one.smallest, one.smallest, one.smallest)
                        for one in subjects[:_MOST]
                    ),
                ],
                t(
                    "有爭議的答案比例，以及各科能說明什麼的最小差距",
                    "Disputed keys, and the smallest difference that says anything, by subject",
                ),
                t("比例", "share"),
            )
        ],
        data={
            "conflicts": floor.conflicts,
            "groups": floor.groups,
            "share": floor.share,
            "agreement": floor.agreement,
            "interval": [low_high.low, low_high.high],
            "items": n,
            "disputed": floor.disputed(n),
            "smallest_difference": floor.smallest_difference(n),
            "subjects": [asdict(one) for one in subjects],
            "scores": dict(scores),
            "too_close": [list(one) for one in close],
        },
    )


def _measured(floor: Floor) -> Text:
    conflicts, groups = f"{floor.conflicts:,}", f"{floor.groups:,}"
    agree, differ, low, high = (
        percent(share, 4) for share in (floor.agreement, floor.share, floor.interval.low, floor.interval.high)
    )
    return t(
        f"重複出現的題目有 {groups} 組，其中 {conflicts} 組的官方答案互相矛盾：一致的占 {agree}，"
        f"矛盾的占 {differ}（95% 區間 {low} 至 {high}）。",
        f"Keys disagree in {conflicts} of {counted(floor.groups, 'group')} of re-printed questions: "
        f"{agree} agree, {differ} do not (95% interval {low} to {high}).",
    )


def _neighbours(close: Sequence[tuple[str, str, float]]) -> Text:
    if not close:
        return t(
            "名次相鄰的測驗，差距都大於有爭議答案的比例。",
            "No two neighbouring runs are closer than the share of disputed keys.",
        )
    told = join(
        [
            t(f"{first} 與 {second}（{100 * gap:.3f} 個百分點）", f"{first} and {second} ({100 * gap:.3f} points)")
            for first, second, gap in close
        ],
        "；",
        "; ",
    )
    return t(
        "名次相鄰、差距卻不大於有爭議答案比例的測驗：{told}。",
        "Neighbours closer than the share of disputed keys: {told}.",
    ).format(told=told)


def _too_close(floor: Floor, scores: Mapping[str, float]) -> list[tuple[str, str, float]]:
    """Neighbours in the order of scores whose difference the floor does not let stand."""
    ordered = sorted(scores.items(), key=lambda one: (-one[1], one[0]))
    return [
        (first, second, high - low) for (first, high), (second, low) in pairwise(ordered) if floor.below(high - low)
    ]
