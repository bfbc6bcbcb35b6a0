"""The noise of the answer keys as a parameter of the apparatus (the paper's sections 3.2 and 5.5). Pure.

Where the same question was printed several times, its keys can be compared: of 31,312 such groups of the examinations,
27 disagree, and 99.9138% agree. A difference between two scores that is smaller than the share of disputed keys
measures the keys. On few items a single disputed key is a large share, so a number of items decides as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from twlocal.paired import stats
from twlocal.stats import Interval, wilson

# The paper's count over tw-exam-bench: conflicting groups, all groups of re-printed questions.
EXAM = (27, 31_312)
_SURE = 0.95


@dataclass(frozen=True, slots=True)
class Floor:
    """A measured share of disputed keys: `conflicts` of `groups` whose printings name different answers."""

    conflicts: int
    groups: int

    def __post_init__(self) -> None:
        if not 0 <= self.conflicts <= self.groups or self.groups < 1:
            raise ValueError(f"{self.conflicts} conflicts in {self.groups} groups make no sense")

    @property
    def share(self) -> float:
        """The share of disputed keys: below it, a difference of accuracies is not a difference of models."""
        return self.conflicts / self.groups

    @property
    def agreement(self) -> float:
        return 1 - self.share

    @property
    def interval(self) -> Interval:
        """Wilson 95% of `share`."""
        return wilson(self.conflicts, self.groups)

    def disputed(self, n: int) -> int:
        """How many of n items have a disputed key at the most, in 95 of 100 sets of that size."""
        return int(stats().binom.ppf(_SURE, n, self.share)) if n else 0

    def smallest_difference(self, n: int) -> float:
        """The smallest difference of accuracies over n items that disputed keys do not explain (with 95% certainty).

        All disputed keys may favour the same model, so it is the share of one item more than can be disputed; at the
        most 1, where they explain every difference.
        """
        return min(max(self.share, (self.disputed(n) + 1) / n), 1.0) if n else 1.0

    def any_disputed(self, n: int) -> float:
        """The chance that at least one of n items has a disputed key."""
        return float(1 - (1 - self.share) ** n)

    def below(self, difference: float) -> bool:
        """Whether a difference of accuracies (a share of 1, either sign) is not larger than the share of disputed keys.

        No difference at all is not below it: there is nothing to misread.
        """
        return 0 < abs(difference) <= self.share


@dataclass(frozen=True, slots=True)
class SubjectNoise:
    """A subject's part of the noise: n items, the most disputed keys among them, the smallest difference to report."""

    subject: str
    n: int
    disputed: int
    smallest: float


def by_subject(floor: Floor, sizes: Mapping[str, int]) -> tuple[SubjectNoise, ...]:
    """What the floor means on each subject's number of items, the smallest subject first."""
    return tuple(
        SubjectNoise(name, n, floor.disputed(n), floor.smallest_difference(n))
        for name, n in sorted(sizes.items(), key=lambda row: (row[1], row[0]))
    )


def parse(text: str) -> Floor:
    """A floor from "27/31312". Raises ValueError, saying what was expected."""
    conflicts, slash, groups = text.replace(",", "").partition("/")
    try:
        if not slash:
            raise ValueError
        return Floor(int(conflicts), int(groups))
    except ValueError as error:
        raise ValueError(f"expected CONFLICTS/GROUPS such as 27/31312, not {text!r}") from error
