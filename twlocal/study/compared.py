"""A comparison of two runs as a report. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from twlocal.apparatus import Difference as Apart
from twlocal.compare import LEVEL, VERDICTS, Comparison, Difference, SubjectDifference
from twlocal.html.charts import Estimate
from twlocal.html.words import t
from twlocal.paired import Churn
from twlocal.study import plots
from twlocal.study.noise import Floor
from twlocal.study.report import Plot, Report, Table, interval, p_value, percent, points

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
    title: str | None = None,
) -> Report:
    """What a comparison says, with the apparatus that differs (`apart`) and the parts that do not (`held`)."""
    parts = list(dict.fromkeys(one.part for one in apart))
    return Report(
        study=study,
        title=title or f"{found.first} against {found.second}",
        varied=", ".join(parts) if parts else "nothing that is recorded",
        held=", ".join(held) if held else "nothing",
        n=_sizes(found),
        parts=[*_apparatus(apart), *_scores(found), *_changes(found), *_subjects(found)],
        warnings=list(_warnings(found, parts, floor)),
        commands=commands,
        plots=_plots(found),
        data=_data(found, apart, held, floor),
    )


def _plots(found: Comparison) -> list[Plot]:
    both = [("strict", found.strict), ("lenient", found.lenient)]
    differences = plots.estimates(
        [Estimate(name, one.difference, one.interval.low, one.interval.high) for name, one in both],
        t("第二個減第一個（95% 信賴區間）", "Second minus first (95% intervals)"),
        t("差距", "difference"),
        reference=0.0,
    )
    subjects = sorted(found.subjects, key=lambda one: (one.q, -abs(one.second - one.first)))[:_MOST]
    if len(subjects) < 2:
        return [differences]
    points = [(one.subject or "(none)", one.first, one.second, "") for one in subjects]
    caption = t("各科目的正確率", "Accuracy by subject")
    return [differences, plots.scatter(points, caption, t("第一個", "first"), t("第二個", "second"))]


def _sizes(found: Comparison) -> str:
    n = f"{found.strict.n:,} items that both answered"
    if found.left_out != (0, 0):
        n += f"; left out: {found.left_out[0]:,} of the first, {found.left_out[1]:,} of the second"
    return n


def _apparatus(apart: Sequence[Apart]) -> list[str | Table]:
    if not apart:
        return ["The apparatus of the two runs is the same as far as it is recorded."]
    rows = [[one.part, one.name, one.first, one.second] for one in apart]
    return [Table("What differs in the apparatus:", ["part", "what", "first", "second"], rows, "llll")]


def _scores(found: Comparison) -> list[str | Table]:
    rows = [_score_row("strict", found.strict), _score_row("lenient", found.lenient)]
    header = ["reader", "first", "second", "difference", "95% interval", "p"]
    caption = "Accuracy over the same items (paired bootstrap; p of McNemar's exact test):"
    return [Table(caption, header, rows, "lrrrrr")]


def _score_row(name: str, one: Difference) -> list[str]:
    digits = 2 if one.n >= 10_000 else 1
    return [
        name,
        percent(one.first, digits),
        percent(one.second, digits),
        points(one.difference, digits),
        interval(one.interval.low, one.interval.high, digits, signed=True),
        p_value(one.p),
    ]


def _changes(found: Comparison) -> list[str | Table]:
    rows = [_churn_row("strict", found.strict.churn), _churn_row("lenient", found.lenient.churn)]
    header = ["reader", "both right", "gained", "lost", "both wrong", *(["in part"] if _partly(found) else [])]
    if not _partly(found):
        rows = [row[:-1] for row in rows]
    told: list[str | Table] = [Table("Items, from the first run to the second:", header, rows, "lrrrrr")]
    if found.other_letter is not None:
        told.append(f"In {found.other_letter:,} items both runs named an option, and not the same one.")
    form = found.format
    told.append(
        f"Of the {found.strict.churn.gained:,} gained, {form.gained_format:,} were right under the lenient reader in "
        f"both runs (a gain of format) and {form.gained_known:,} are gained under it too; of the "
        f"{found.strict.churn.lost:,} lost, {form.lost_format:,} and {form.lost_known:,}. "
        f"Only the lenient reader calls {form.behind[0]:,} items of the first run right, and {form.behind[1]:,} of the "
        "second."
    )
    told.append(f"Format against knowledge: {VERDICTS[found.verdict]}.")
    return told


def _partly(found: Comparison) -> bool:
    return bool(found.strict.churn.partly or found.lenient.churn.partly)


def _churn_row(name: str, one: Churn) -> list[str]:
    return [name, *(f"{count:,}" for count in (one.both_right, one.gained, one.lost, one.both_wrong, one.partly))]


def _subjects(found: Comparison) -> list[str | Table]:
    if len(found.subjects) < 2:
        return []
    ordered = sorted(found.subjects, key=lambda one: (one.q, one.p, -abs(one.second - one.first), one.subject))
    sure = sum(one.q <= LEVEL for one in ordered)
    rest = f" (the {_MOST} surest; --json has all)" if len(ordered) > _MOST else ""
    caption = (
        f"Subjects, strict: {sure} of {len(ordered)} differ at a false discovery rate of 5%{rest}; "
        "q is p after Benjamini-Hochberg:"
    )
    header = ["subject", "n", "first", "second", "difference", "gained", "lost", "p", "q"]
    return [Table(caption, header, [_subject_row(one) for one in ordered[:_MOST]], "lrrrrrrrr")]


def _subject_row(one: SubjectDifference) -> list[str]:
    return [
        one.subject or "(none)",
        f"{one.n:,}",
        percent(one.first),
        percent(one.second),
        points(one.second - one.first),
        f"{one.churn.gained:,}",
        f"{one.churn.lost:,}",
        p_value(one.p),
        p_value(one.q),
    ]


def _warnings(found: Comparison, parts: Sequence[str], floor: Floor | None) -> list[str]:
    told = []
    # The prompt is a part of the protocol, and a sample follows from its dataset.
    causes = {"protocol" if part == "prompt" else "dataset" if part == "sample" else part for part in parts}
    if len(causes) > 1:
        told.append(
            f"more than one part of the apparatus differs ({', '.join(sorted(causes))}), so the difference cannot be "
            "put down to any one of them."
        )
    if floor is not None and floor.below(found.strict.difference):
        told.append(
            f"the difference of {points(found.strict.difference, 3)} points is not larger than the share of disputed "
            f"answer keys in the source ({percent(floor.share, 3)}): it measures the keys as much as the models."
        )
    if 0 < found.strict.churn.changed < _FEW:
        told.append(
            f"only {found.strict.churn.changed} items changed, so the bootstrap interval is too narrow: "
            "go by the exact test."
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
