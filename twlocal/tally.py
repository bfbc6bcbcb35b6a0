"""Counts over judged records, and the rates that are made of them.

The denominator (see the protocol): every answered row counts, also a truncated, refused or filtered one, and an
unreadable one is wrong. A row that failed for a reason of the machine is not answered, and is not in here.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from twlocal.backend import FINISH_FILTER
from twlocal.judge import Judged
from twlocal.record import Record
from twlocal.stats import Interval, versus_chance, wilson

REFUSED = "refusal"  # the flag of a response that the server itself marks as a refusal
ORDINAL = "ordinal"  # the flag of a box that was read by position (甲乙丙丁)


class Rates:
    """Rates and intervals that follow from counts of n responses: of a `Tally`, or of the board's own columns.

    A rate is a share of n; None while that is 0, or where the count is not told (None).
    """

    __slots__ = ()
    n: int
    items: int
    correct: int
    lenient_correct: int
    boxes: int | None
    parsed: int
    lenient_parsed: int

    def share(self, count: int | None) -> float | None:
        """`count` as a share of the answered rows; None where there is none."""
        return None if count is None or not self.n else count / self.n

    @property
    def accuracy(self) -> float | None:
        return self.share(self.correct)

    @property
    def lenient_accuracy(self) -> float | None:
        return self.share(self.lenient_correct)

    @property
    def box_rate(self) -> float | None:
        return self.share(self.boxes)

    @property
    def parse_rate(self) -> float | None:
        return self.share(self.parsed)

    @property
    def lenient_parse_rate(self) -> float | None:
        return self.share(self.lenient_parsed)

    @property
    def interval(self) -> Interval:
        """Wilson 95% of `accuracy`.

        Repeats of one question are not independent, so its n is the number of distinct questions: as if repeats told
        nothing new. With one response a question this is the plain interval over rows.
        """
        return self._wilson(self.correct)

    @property
    def lenient_interval(self) -> Interval:
        """Wilson 95% of `lenient_accuracy`, over distinct questions as in `interval`."""
        return self._wilson(self.lenient_correct)

    def _wilson(self, count: int) -> Interval:
        return wilson(count * self.items / self.n, self.items) if self.n else wilson(0, 0)


@dataclass(frozen=True, slots=True)
class Tally(Rates):
    """Counts of responses; those of disjoint sets add up with `+`. Rates are shares of `n`, or None while it is 0.

    n: responses answered, of `planned`. items: distinct questions among them, fewer than n where each is asked several
    times. parsed, lenient_parsed: those the score's and the lenient reader could read. boxes: those with a `\\boxed{}`.
    refused: refused by the model in so many words; filtered: cut or withheld by a filter (no row counts as both).
    ordinal: read from 甲乙丙丁. no_final: without a final text (a thought that never ended). reasoning_only: nothing
    but a reasoning field came back. empty: nothing at all came back. Token sums are over the rows that tell; `untold`
    are those that do not say how many tokens they wrote.
    """

    n: int = 0
    planned: int = 0
    items: int = 0
    correct: int = 0
    lenient_correct: int = 0
    boxes: int = 0
    parsed: int = 0
    lenient_parsed: int = 0
    ordinal: int = 0
    truncated: int = 0
    refused: int = 0
    filtered: int = 0
    loops: int = 0
    no_final: int = 0
    thought: int = 0
    reasoning_only: int = 0
    empty: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    reasoning_tokens: int = 0
    untold: int = 0

    def __add__(self, other: Tally) -> Tally:
        return Tally(*(getattr(self, name) + getattr(other, name) for name in _FIELDS))

    @property
    def complete(self) -> bool:
        """Whether every planned row is answered."""
        return self.n == self.planned > 0

    @property
    def against_chance(self) -> str | None:
        """ "above", "below" or "at" (not to be told from guessing) of the answers that could be read; None without any.

        Unreadable rows say nothing about knowledge, so they are left out of this one question.
        """
        if not self.parsed:
            return None
        read = max(1, self.parsed * self.items // self.n)
        return versus_chance(min(read, round(self.correct * self.items / self.n)), read)


_FIELDS = tuple(field.name for field in fields(Tally))
_FACTS = _FIELDS[_FIELDS.index("correct") : _FIELDS.index("empty") + 1]


def _facts(record: Record, judged: Judged) -> tuple[bool, ...]:
    """What is true of one row, in the order of `_FACTS`."""
    flags = judged.flags
    silent = not record.text or record.text.isspace()
    return (
        judged.correct,
        judged.correct_lenient,
        judged.wrote_box,
        judged.box.letter is not None,
        judged.lenient.letter is not None,
        ORDINAL in flags,
        judged.truncated,
        REFUSED in flags,
        record.finish == FINISH_FILTER and REFUSED not in flags,
        judged.loop,
        not judged.final,
        judged.thought,
        silent and bool(record.reasoning),
        silent and not record.reasoning,
    )


class Counts:
    """A tally in the making: rows with the same facts are counted together, so that a row costs one look-up."""

    def __init__(self) -> None:
        self._rows: dict[tuple[bool, ...], int] = {}
        self._numbers: set[int] = set()
        self._tokens = [0, 0, 0]
        self._untold = 0

    def add(self, record: Record, judged: Judged) -> None:
        """Count one answered row."""
        facts = _facts(record, judged)
        self._rows[facts] = self._rows.get(facts, 0) + 1
        self._numbers.add(record.no)
        tokens = self._tokens
        tokens[0] += record.prompt_tokens or 0
        tokens[1] += record.completion_tokens or 0
        tokens[2] += record.reasoning_tokens or 0
        self._untold += record.completion_tokens is None

    def tally(self, planned: int) -> Tally:
        """What was counted, of so many planned rows."""
        rows = self._rows.items()
        sums = {name: sum(count for facts, count in rows if facts[at]) for at, name in enumerate(_FACTS)}
        prompt, completion, reasoning = self._tokens
        return Tally(
            n=sum(self._rows.values()),
            planned=planned,
            items=len(self._numbers),
            prompt_tokens=prompt,
            completion_tokens=completion,
            reasoning_tokens=reasoning,
            untold=self._untold,
            **sums,
        )
