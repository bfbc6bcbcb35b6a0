"""The study of answer-key noise as a report. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import pairwise

from twlocal.html.charts import Estimate
from twlocal.html.words import t
from twlocal.study import plots
from twlocal.study.noise import Floor, by_subject
from twlocal.study.report import Report, Table, percent

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
    measured = (
        f"{floor.conflicts:,} of {floor.groups:,} groups of re-printed questions have keys that disagree: "
        f"{percent(floor.agreement, 4)} agree, {percent(floor.share, 4)} do not (95% interval "
        f"{percent(low_high.low, 4)} to {percent(low_high.high, 4)})."
    )
    meaning = (
        f"Over {n:,} items at most {floor.disputed(n):,} keys are disputed (in 95 of 100 sets of that size), so a "
        f"difference of accuracies below {100 * floor.smallest_difference(n):.3f} points is one of keys."
    )
    parts: list[str | Table] = [
        measured,
        meaning,
        Table(
            f"The smallest subjects ({min(_MOST, len(subjects))} of {len(subjects)}), where one key weighs most:",
            ["subject", "n", "disputed at most", "smallest difference", "any disputed"],
            [
                [
                    one.subject or "(none)",
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
        told = "; ".join(f"{first} and {second} ({100 * gap:.3f} points)" for first, second, gap in close)
        parts.append(
            f"Neighbours closer than the share of disputed keys: {told}."
            if close
            else "No two neighbouring runs are closer than the share of disputed keys."
        )
    return Report(
        study="noise",
        title=f"What disputed answer keys do to a score over {source}",
        varied="nothing: this is a parameter of the source, stated beside every difference",
        held="the questions and their keys",
        n=f"{n:,} items in {len(sizes):,} subjects; {floor.groups:,} groups of re-printed questions",
        parts=parts,
        commands=commands,
        plots=[
            plots.estimates(
                [
                    Estimate(source, floor.share, low_high.low, low_high.high),
                    *(
                        Estimate(one.subject or "(none)", one.smallest, one.smallest, one.smallest)
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


def _too_close(floor: Floor, scores: Mapping[str, float]) -> list[tuple[str, str, float]]:
    """Neighbours in the order of scores whose difference the floor does not let stand."""
    ordered = sorted(scores.items(), key=lambda one: (-one[1], one[0]))
    return [
        (first, second, high - low) for (first, high), (second, low) in pairwise(ordered) if floor.below(high - low)
    ]
