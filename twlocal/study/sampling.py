"""What a stratified sample does to a score (the paper's section 6.1). Pure.

Within a subject, rows are drawn by content hash, which knows nothing of any model; so a sample of min(k, n) a subject
differs from the whole by its composition (every subject weighs about the same) and by chance. The two are told apart:
the first is arithmetic over per-subject accuracies, the second is simulated.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

from twlocal.paired import Span, stats

DRAWS = 10_000
_Z = 1.959963984540054  # of a two-sided 95% interval


@dataclass(frozen=True, slots=True)
class Stratum:
    """A subject of a full run: `right` of `n` items."""

    subject: str
    n: int
    right: int

    def __post_init__(self) -> None:
        if not 0 <= self.right <= self.n or self.n < 1:
            raise ValueError(f"{self.subject}: {self.right} right of {self.n} makes no sense")

    @property
    def accuracy(self) -> float:
        return self.right / self.n


@dataclass(frozen=True)
class Errors:
    """Deviations of simulated samples, each in 95 of 100 draws, as shares of 1.

    population: the sample's score minus the whole's, composition and chance together. chance: the sample's score minus
    what its composition leads to expect. restored: the sample's per-subject accuracies weighted back to the whole's
    composition, minus the whole's score: there only chance is left.
    """

    population: Span
    chance: Span
    restored: Span
    worst_subject: tuple[str, float]  # the subject with the widest 95% half-width, and that


def population(strata: Sequence[Stratum]) -> float:
    """The score over every item."""
    return sum(one.right for one in strata) / sum(one.n for one in strata)


def composition(strata: Sequence[Stratum], k: int) -> dict[str, int]:
    """How many rows of each subject min(k, n) draws."""
    return {one.subject: min(k, one.n) for one in strata}


def reweighted(strata: Sequence[Stratum], drawn: Mapping[str, int]) -> float:
    """Per-subject accuracies weighted by the sample's composition: the score that such a sample leads to expect.

    (80.1% from 82.19% in the paper.) A subject that `drawn` lacks weighs nothing. Raises ValueError where `drawn` names
    one that the full run lacks, or nothing at all is drawn.
    """
    known = {one.subject: one.accuracy for one in strata}
    missing = sorted(set(drawn) - set(known))
    if missing:
        raise ValueError(f"the sample holds subjects that the full run lacks: {', '.join(missing[:5])}")
    total = sum(drawn.values())
    if total == 0:
        raise ValueError("the sample is empty")
    return sum(known[subject] * count for subject, count in drawn.items()) / total


def simulate(strata: Sequence[Stratum], drawn: Mapping[str, int], *, seed: int, draws: int = DRAWS) -> Errors:
    """Draw samples of that composition without replacement, and see how far their scores are from the whole's.

    Raises ValueError where a subject has fewer rows than are to be drawn of it.
    """
    stats()
    import numpy as np

    taken = [(one, drawn.get(one.subject, 0)) for one in strata if drawn.get(one.subject, 0)]
    for one, count in taken:
        if count > one.n:
            raise ValueError(f"{one.subject} has {one.n:,} rows, and {count:,} are to be drawn")
    counts = np.array([count for _, count in taken])
    sizes = np.array([one.n for one, _ in taken])
    right = np.array([one.right for one, _ in taken])
    rng = np.random.default_rng(seed)
    found = rng.hypergeometric(right, sizes - right, counts, size=(draws, len(taken)))
    scores = found.sum(axis=1) / counts.sum()
    restored = (found / counts) @ (sizes / sizes.sum())
    widths = {one.subject: _half_width([(one, count)], {one.subject: 1.0}) for one, count in taken}
    worst = max(widths, key=lambda subject: (widths[subject], subject))
    return Errors(
        population=_middle(scores - population(strata)),
        chance=_middle(scores - reweighted(strata, drawn)),
        restored=_middle(restored - right.sum() / sizes.sum()),
        worst_subject=(worst, widths[worst]),
    )


def _middle(values: Any) -> Span:
    import numpy as np

    low, high = np.percentile(values, [2.5, 97.5])
    return Span(float(low), float(high))


def half_width(strata: Sequence[Stratum], drawn: Mapping[str, int], *, restored: bool = False) -> float:
    """Half of the 95% interval of a sample's score, by the normal formula with finite populations.

    restored: weighted back to the whole's composition instead of the sample's own.
    """
    taken = [(one, drawn[one.subject]) for one in strata if drawn.get(one.subject, 0)]
    weights = {one.subject: float(one.n if restored else count) for one, count in taken}
    return _half_width(taken, weights)


def _half_width(taken: Sequence[tuple[Stratum, int]], weights: Mapping[str, float]) -> float:
    total = sum(weights.values())
    variance = 0.0
    for one, count in taken:
        if one.n > 1:
            share, left = one.accuracy, (one.n - count) / (one.n - 1)
            variance += (weights[one.subject] / total) ** 2 * share * (1 - share) / count * left
    return _Z * sqrt(variance)


def smallest_k(strata: Sequence[Stratum], wanted: float, *, restored: bool = False) -> int:
    """The smallest k whose sample of min(k, n) a subject has a 95% half-width of at most `wanted` (a share of 1).

    Found by bisection: the half-width falls with k, but for ripples where small subjects run out.
    Raises ValueError where `wanted` is not above 0.
    """
    if wanted <= 0:
        raise ValueError(f"the wanted error must be above 0, not {wanted}")
    largest = max(one.n for one in strata)
    low, high = 0, 1
    while high < largest and half_width(strata, composition(strata, high), restored=restored) > wanted:
        low, high = high, min(2 * high, largest)
    while high - low > 1:
        middle = (low + high) // 2
        fits = half_width(strata, composition(strata, middle), restored=restored) <= wanted
        low, high = (low, middle) if fits else (middle, high)
    return high


def by_hash(rows: Iterable[tuple[str, str, bool]], k: int) -> dict[str, tuple[int, int]]:
    """The sample that content hashes really draw: rows (hash, subject, right) → subject: (drawn, right)."""
    subjects: dict[str, list[tuple[str, bool]]] = {}
    for content_hash, subject, right in rows:
        subjects.setdefault(subject, []).append((content_hash, right))
    # Equal rows stay in the order in which they came.
    drawn = {subject: sorted(found, key=lambda row: row[0])[:k] for subject, found in subjects.items()}
    return {subject: (len(found), sum(right for _, right in found)) for subject, found in drawn.items()}
