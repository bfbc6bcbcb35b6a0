"""The difficulty band: which items a pool of models finds hard (section 4.2 of the paper). Pure.

The paper publishes, of 2,665 grounded items, the 1,696 that at least one of seven models answers wrongly: the band
"pass ≤ 6 of 7".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from twlocal.stats import Interval, wilson


@dataclass(frozen=True)
class Member:
    """A model of a pool, or a fresh one, by what it got right.

    name: of its stored run, unique in a pool. right: by content hash. about: what a manifest tells of it (revision,
    protocol, …).
    """

    name: str
    model: str
    right: Mapping[str, bool]
    about: Mapping[str, Any] = field(default_factory=dict)

    def score(self, items: Iterable[str]) -> Score:
        """Right answers over these items. Raises KeyError for one that it was not asked."""
        found = [self.right[item] for item in items]
        return Score(sum(found), len(found))


@dataclass(frozen=True, slots=True)
class Score:
    """k right of n."""

    k: int
    n: int

    @property
    def share(self) -> float | None:
        """A share of 1; None for no items."""
        return self.k / self.n if self.n else None

    @property
    def interval(self) -> Interval:
        """Wilson's 95% interval."""
        return wilson(self.k, self.n)


@dataclass(frozen=True, slots=True)
class Span:
    """Where a pool's scores over a band lie, as shares of 1."""

    low: float
    median: float
    mean: float
    high: float


def passes(item: str, members: Sequence[Member]) -> int:
    """How many members get the item right."""
    return sum(member.right[item] for member in members)


def band(items: Iterable[str], members: Sequence[Member], at_most: int) -> list[str]:
    """The items that at most so many members get right, in the order given.

    Raises ValueError where that would be no selection: no member, or `at_most` below 0 or above their number.
    """
    if not members or not 0 <= at_most <= len(members):
        raise ValueError(f"pass ≤ {at_most} of {len(members)} is no band: 0 to the number of models")
    return [item for item in items if passes(item, members) <= at_most]


def mean_score(items: Sequence[str], members: Sequence[Member]) -> float:
    """The mean of the members' accuracies over the items. Raises ValueError without items or members."""
    if not items or not members:
        raise ValueError("there is nothing to take a mean over")
    return sum(passes(item, members) for item in items) / (len(items) * len(members))


def span(items: Sequence[str], members: Sequence[Member]) -> Span:
    """Where the members' scores over the items lie. Raises ValueError without items or members."""
    mean = mean_score(items, members)
    shares = [score.k / score.n for score in (member.score(items) for member in members)]
    return Span(min(shares), median(shares), mean, max(shares))
