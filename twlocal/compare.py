"""Two runs over the same items, compared item by item. Pure.

The items are the same where content hash, subject and occurrence are: the order of files, and which rows a run was
interrupted at, do not matter.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from twlocal.errors import UsageError
from twlocal.item import LABELS, source_letter
from twlocal.judge import PUBLISHED, judge
from twlocal.paired import RESAMPLES, Churn, Span, bootstrap_difference, churn, false_discovery, mcnemar
from twlocal.plural import counted
from twlocal.record import Record

LEVEL = 0.05
Key = tuple[str, str, int]  # content hash, subject, occurrence


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an item came to: the share of its askings (one, unless it was repeated) that were right under each reader.

    chosen: the source's letter that the strict reading of the first asking names, "" for none, None where unknown.
    """

    strict: float
    lenient: float
    chosen: str | None = None


@dataclass(frozen=True)
class Side:
    """One run's outcomes by item; `planned` is how many items it has, answered or not."""

    name: str
    outcomes: Mapping[Key, Outcome]
    planned: int

    @property
    def missing(self) -> int:
        return self.planned - len(self.outcomes)


@dataclass(frozen=True)
class Difference:
    """Second minus first over the same n items, under one reader. Shares are fractions of 1."""

    n: int
    first: float
    second: float
    interval: Span
    churn: Churn
    p: float

    @property
    def difference(self) -> float:
        return self.second - self.first

    @property
    def direction(self) -> int:
        """1 where the second is better, −1 where the first is, 0 where the test cannot tell."""
        if self.p > LEVEL:
            return 0
        return 1 if self.difference > 0 else -1


@dataclass(frozen=True)
class SubjectDifference:
    """A subject's difference; `q` is p after Benjamini–Hochberg over all subjects."""

    subject: str
    n: int
    first: float
    second: float
    churn: Churn
    p: float
    q: float


@dataclass(frozen=True)
class Format:
    """How much of a change is format: items whose knowledge, as far as the lenient reader sees, did not change.

    gained_format, lost_format: gained or lost under the strict reader while the lenient one calls both right.
    gained_known, lost_known: gained or lost under both. behind: items that only the lenient reader calls right, in each
    run.
    """

    gained_format: int
    lost_format: int
    gained_known: int
    lost_known: int
    behind: tuple[int, int]


@dataclass(frozen=True)
class Comparison:
    """Two runs compared over `strict.n` items, of which `other_letter` got another option (both having named one)."""

    first: str
    second: str
    strict: Difference
    lenient: Difference
    format: Format
    subjects: tuple[SubjectDifference, ...]
    other_letter: int | None
    left_out: tuple[int, int]  # items of each run that the other has not answered

    @property
    def verdict(self) -> str:
        """What the two readers say together, as a stable name (see `VERDICTS`)."""
        strict, lenient = self.strict.direction, self.lenient.direction
        if strict == lenient:
            return "neither" if strict == 0 else "both"
        if lenient == 0:
            return "format"
        return "knowledge_hidden" if strict == 0 else "opposite"


VERDICTS = {
    "neither": "under neither reader can the two runs be told apart",
    "both": "the difference shows under both readers, so it is not one of format alone",
    "format": "the difference shows only under the strict reader: it is one of format, as far as these items tell",
    "knowledge_hidden": "the difference shows only under the lenient reader: the strict score hides it behind format",
    "opposite": "the two readers point in opposite directions: what one run knows more, it loses by its format",
}


def outcomes(records: Iterable[Record], occurrences: Mapping[int, int], reader: str = PUBLISHED) -> dict[Key, Outcome]:
    """The outcomes of a run's records, in whatever order they come. occurrences: of each number of the plan."""
    right: defaultdict[Key, list[tuple[bool, bool]]] = defaultdict(list)
    chosen: dict[Key, str] = {}
    for record in records:
        judged = judge(record, reader)
        key = (record.content_hash, record.subject, occurrences[record.no])
        right[key].append((judged.correct, judged.correct_lenient))
        if record.repeat == 0:
            letter = judged.box.letter or ""
            chosen[key] = source_letter(letter, record.order) if letter and letter in LABELS else letter
    return {
        key: Outcome(
            sum(strict for strict, _ in askings) / len(askings),
            sum(lenient for _, lenient in askings) / len(askings),
            chosen.get(key),
        )
        for key, askings in right.items()
    }


def common(first: Side, second: Side, *, intersect: bool = False) -> list[Key]:
    """The items to compare over, in a fixed order; those that both answered, with `intersect`.

    Raises UsageError where there are none, and without `intersect` where the runs differ in them or one is incomplete.
    """
    keys = sorted(first.outcomes.keys() & second.outcomes.keys())
    only = (len(first.outcomes) - len(keys), len(second.outcomes) - len(keys))
    hint = "--intersect compares over the items that both answered"
    if not keys:
        raise UsageError(
            f"{first.name} and {second.name} have no answered item in common",
            hint="twlocal report RUN says which dataset and sample each one asked",
        )
    if intersect:
        return keys
    if only != (0, 0):
        raise UsageError(
            f"{first.name} and {second.name} were not answered over the same items: {len(keys):,} in common, "
            f"{only[0]:,} only in the first, {only[1]:,} only in the second",
            hint=hint,
        )
    for side in (first, second):
        if side.missing:
            raise UsageError(
                f"{side.name} is incomplete: {side.missing:,} of {counted(side.planned, 'item')} not answered",
                hint=hint,
            )
    return keys


def compare(
    first: Side, second: Side, *, intersect: bool = False, seed: int = 0, resamples: int = RESAMPLES
) -> Comparison:
    """Compare two runs. Raises UsageError where their items differ (see `common`), EngineMissing without scipy."""
    keys = common(first, second, intersect=intersect)
    one, other = ([side.outcomes[key] for key in keys] for side in (first, second))
    return Comparison(
        first=first.name,
        second=second.name,
        strict=difference([row.strict for row in one], [row.strict for row in other], seed, resamples),
        lenient=difference([row.lenient for row in one], [row.lenient for row in other], seed, resamples),
        format=_format(one, other),
        subjects=_subjects(keys, one, other),
        other_letter=_other_letter(one, other),
        left_out=(first.planned - len(keys), second.planned - len(keys)),
    )


def difference(first: Sequence[float], second: Sequence[float], seed: int, resamples: int = RESAMPLES) -> Difference:
    """The paired difference of two measurements of the same items, each 0–1 an item."""
    counted = churn(first, second)
    return Difference(
        n=len(first),
        first=sum(first) / len(first),
        second=sum(second) / len(second),
        interval=bootstrap_difference(first, second, seed=seed, resamples=resamples),
        churn=counted,
        p=mcnemar(counted.gained, counted.lost),
    )


def _format(first: Sequence[Outcome], second: Sequence[Outcome]) -> Format:
    pairs = list(zip(first, second, strict=True))
    gained = [(one, other) for one, other in pairs if other.strict > one.strict]
    lost = [(one, other) for one, other in pairs if other.strict < one.strict]
    return Format(
        gained_format=sum(one.lenient == other.lenient == 1 for one, other in gained),
        lost_format=sum(one.lenient == other.lenient == 1 for one, other in lost),
        gained_known=sum(other.lenient > one.lenient for one, other in gained),
        lost_known=sum(other.lenient < one.lenient for one, other in lost),
        behind=(sum(one.lenient > one.strict for one in first), sum(other.lenient > other.strict for other in second)),
    )


def _subjects(
    keys: Sequence[Key], first: Sequence[Outcome], second: Sequence[Outcome]
) -> tuple[SubjectDifference, ...]:
    rows: defaultdict[str, tuple[list[float], list[float]]] = defaultdict(lambda: ([], []))
    for (_, subject, _), one, other in zip(keys, first, second, strict=True):
        before, after = rows[subject]
        before.append(one.strict)
        after.append(other.strict)
    churns = {subject: churn(before, after) for subject, (before, after) in rows.items()}
    names = sorted(rows)
    ps = [mcnemar(churns[name].gained, churns[name].lost) for name in names]
    return tuple(
        SubjectDifference(
            subject=name,
            n=len(rows[name][0]),
            first=sum(rows[name][0]) / len(rows[name][0]),
            second=sum(rows[name][1]) / len(rows[name][1]),
            churn=churns[name],
            p=p,
            q=q,
        )
        for name, p, q in zip(names, ps, false_discovery(ps), strict=True)
    )


def _other_letter(first: Sequence[Outcome], second: Sequence[Outcome]) -> int | None:
    """Items where both named an option, and not the same one; None where a run does not tell its letters."""
    pairs = [(one.chosen, other.chosen) for one, other in zip(first, second, strict=True)]
    if any(None in pair for pair in pairs):
        return None
    return sum(bool(one and other and one != other) for one, other in pairs)
