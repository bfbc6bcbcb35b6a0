"""Judges beside each other: how far they agree, and whether a panel of them is one judge in disguise. Pure.

Section 5.4 of the paper: of three judges under a rule of unanimity, two approved 99% and 92% of everything shown to
them and the third 36%. "Three judges agree" was "one judge decides".

An approval is a map from the name of what was shown to whether the judge let it pass; what could not be read in a
judge's answer did not pass.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

Approvals = Mapping[str, bool]

# A member whose word alone is the panel's so often decides it. With the paper's three judges, were they independent,
# the third one's word is the panel's in 97%, and the two others' in 34% and 41%.
DECIDES = 0.95


@dataclass(frozen=True, slots=True)
class Agreement:
    """Two judges over the n things that both were shown. kappa: None where chance alone makes them agree on all."""

    first: str
    second: str
    n: int
    agreed: int
    kappa: float | None

    @property
    def share(self) -> float:
        return self.agreed / self.n


@dataclass(frozen=True, slots=True)
class Seat:
    """A member of a panel. approved: what it let pass. alone: rejections of the panel that only it made.

    same: how often its word alone is the panel's.
    """

    judge: str
    approved: int
    alone: int
    same: int


@dataclass(frozen=True, slots=True)
class Panel:
    """A panel under the rule of unanimity over n things, of which it approved so many."""

    n: int
    approved: int
    seats: tuple[Seat, ...]

    @property
    def decided_by(self) -> str | None:
        """The member that the panel is in disguise: its word is the panel's, and no other member's is."""
        deciding = [seat.judge for seat in self.seats if seat.same >= DECIDES * self.n]
        return deciding[0] if len(deciding) == 1 and len(self.seats) > 1 else None


def kappa(first: Sequence[bool], second: Sequence[bool]) -> float | None:
    """Cohen's κ of two judges' verdicts on the same things (Cohen 1960): the agreement beyond chance, of what chance
    leaves to agree on. None where chance leaves nothing: both always say the same one thing.

    scipy has no κ, and statsmodels, which has, would bring pandas for these lines. Raises ValueError where the lengths
    differ or are 0.
    """
    if not first:
        raise ValueError("there are no verdicts to compare")
    n = len(first)
    observed = sum(a == b for a, b in zip(first, second, strict=True)) / n
    yes = sum(first) / n, sum(second) / n
    expected = yes[0] * yes[1] + (1 - yes[0]) * (1 - yes[1])
    return None if expected == 1 else (observed - expected) / (1 - expected)


def agreements(judges: Mapping[str, Approvals]) -> list[Agreement]:
    """Every pair of judges that were shown something in common, in the order given."""
    found = []
    for first, second in combinations(judges, 2):
        shown = [name for name in judges[first] if name in judges[second]]
        if shown:
            one, other = ([judges[judge][name] for name in shown] for judge in (first, second))
            agreed = sum(a == b for a, b in zip(one, other, strict=True))
            found.append(Agreement(first, second, len(shown), agreed, kappa(one, other)))
    return found


def panel(judges: Mapping[str, Approvals]) -> Panel:
    """The judges as a panel that approves what all of them approve, over what all were shown.

    Raises ValueError without a judge, and where they were shown nothing in common.
    """
    if not judges:
        raise ValueError("a panel needs members")
    shown = set.intersection(*(set(approvals) for approvals in judges.values()))
    if not shown:
        raise ValueError("these judges were shown nothing in common")
    rejecting = {name: [judge for judge in judges if not judges[judge][name]] for name in shown}
    return Panel(
        n=len(shown),
        approved=sum(not by for by in rejecting.values()),
        seats=tuple(
            Seat(
                judge,
                approved=sum(judge not in by for by in rejecting.values()),
                alone=sum(by == [judge] for by in rejecting.values()),
                same=sum((judge in by) == bool(by) for by in rejecting.values()),
            )
            for judge in judges
        ),
    )
