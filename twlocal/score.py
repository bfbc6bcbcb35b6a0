"""The score of a run: a view over its stored responses.

`score` is a pure function of the records and of what was planned; nothing is generated again because somebody wants
another number. `judge` and `Tally` live beside it and are named here for whoever needs all of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from twlocal import readers
from twlocal.alarms import Alarm, Evidence, find
from twlocal.item import LABELS, source_letter
from twlocal.judge import PUBLISHED, Judged, judge, right
from twlocal.record import Record
from twlocal.tally import Counts, Tally

__all__ = ["Judged", "Repeats", "Running", "Score", "Tally", "judge", "score"]


@dataclass(frozen=True, slots=True)
class Repeats:
    """How far the answers to one question agree, where each was asked several times.

    asked: times each question is asked. accuracies: strict accuracy of the first asking, the second, …; None where
    nothing of it is answered. compared: questions with all their answers in. same: those of them whose answers all name
    the same option of the source (or are all unreadable).
    """

    asked: int
    accuracies: tuple[float | None, ...]
    compared: int
    same: int


@dataclass(frozen=True)
class Score:
    """What a run's responses come to under one reader.

    subjects: sorted by name. failures: rows without an answer by the kind of failure; rows neither answered nor failed
    are still to come. withdrawn: rows of the sample that are not scored because their source withdrew them, of which
    `withdrawn_since` were asked before that.
    """

    reader: str
    overall: Tally
    subjects: tuple[tuple[str, Tally], ...]
    alarms: tuple[Alarm, ...] = ()
    failures: Mapping[str, int] = field(default_factory=dict)
    withdrawn: int = 0
    repeats: Repeats | None = None
    withdrawn_since: int = 0

    @property
    def complete(self) -> bool:
        """Whether every planned row is answered; otherwise the score is one of `overall.n` of `overall.planned`."""
        return self.overall.complete

    @property
    def failed(self) -> int:
        return sum(self.failures.values())


def score(
    records: Iterable[Record],
    planned: Mapping[str, int],
    reader: str = PUBLISHED,
    failures: Mapping[str, int] | None = None,
    *,
    repeats: int = 1,
    withdrawn: int = 0,
    withdrawn_since: int = 0,
    max_tokens: int | None = None,
    temperature: float | None = None,
) -> Score:
    """Score a run's records, in whatever order they come; none is kept.

    planned: questions by subject, each asked `repeats` times. reader: the protocol's. failures: rows without an answer,
    by kind. max_tokens, temperature: what was asked of the decoder, for the alarms about them.
    Raises ValueError where a subject has more responses than its plan: two runs were mixed, or the plan is another's.
    """
    counts = {name: Counts() for name in planned}
    evidence = Evidence()
    agreement = _Agreement(repeats)
    for record in records:
        judged = judge(record, reader)
        if record.subject not in counts:
            raise ValueError(f"a response belongs to the subject {record.subject!r}, which this run did not plan")
        counts[record.subject].add(record, judged)
        evidence.add(record, judged)
        if repeats > 1:
            agreement.add(record, judged)
    subjects = {name: counts[name].tally(planned[name] * repeats) for name in sorted(planned)}
    for name, tally in subjects.items():
        if tally.n > tally.planned:
            raise ValueError(f"{name!r} has {tally.n} responses where {tally.planned} were planned")
    overall = sum(subjects.values(), Tally())
    return Score(
        reader=reader,
        overall=overall,
        subjects=tuple(subjects.items()),
        alarms=find(evidence, overall, subjects, max_tokens=max_tokens, temperature=temperature),
        failures=dict(failures or {}),
        withdrawn=withdrawn,
        repeats=agreement.repeats() if repeats > 1 else None,
        withdrawn_since=withdrawn_since,
    )


class _Agreement:
    """Which option each asking of a question chose."""

    def __init__(self, asked: int) -> None:
        self._asked = asked
        self._chosen: dict[int, list[str]] = {}
        self._right: Counter[int] = Counter()
        self._answered: Counter[int] = Counter()

    def add(self, record: Record, judged: Judged) -> None:
        letter = judged.box.letter or ""
        # Each asking has its own permutation: only the source's letters can be compared.
        named = source_letter(letter, record.order) if letter and letter in LABELS else letter
        self._chosen.setdefault(record.no, []).append(named)
        self._answered[record.repeat] += 1
        self._right[record.repeat] += judged.correct

    def repeats(self) -> Repeats:
        whole = [letters for letters in self._chosen.values() if len(letters) == self._asked]
        answered, right = self._answered, self._right
        return Repeats(
            asked=self._asked,
            accuracies=tuple(right[at] / answered[at] if answered[at] else None for at in range(self._asked)),
            compared=len(whole),
            same=sum(len(set(letters)) == 1 for letters in whole),
        )


class Running:
    """The score so far, for a progress bar: strict accuracy and box rate only, cheap enough for every answer."""

    def __init__(self, reader: str = PUBLISHED) -> None:
        self.n = 0
        self._reader = reader
        self._correct = self._boxes = 0

    def add(self, record: Record) -> None:
        """Count one answered row."""
        final = readers.final_text(record.text, record.reasoning, record.finish)
        if self._reader == PUBLISHED:
            letter = readers.box(final).letter
        else:
            letter = readers.read(self._reader, record.text, record.reasoning, record.finish, LABELS).letter
        self.n += 1
        self._boxes += readers.wrote_box(final)
        self._correct += right(letter, record)

    @property
    def accuracy(self) -> float | None:
        """Strict accuracy of the rows so far; None before the first."""
        return self._correct / self.n if self.n else None

    @property
    def box_rate(self) -> float | None:
        """Share of the rows so far that wrote a `\\boxed{}`; None before the first."""
        return self._boxes / self.n if self.n else None
