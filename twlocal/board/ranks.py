"""Which differences between models are real, and the ranks that follow from that. Pure.

For every ordered pair of models one question: is the first one better? Where both answered the same items it is asked
item by item (McNemar's exact test, the sign test where items were asked several times), otherwise of two independent
shares. Holm's step-down over all these one-sided questions of a bench holds the chance of even one wrong "yes" below
5%. A model's rank interval is then [1 + how many are really better, N − how many are really worse], and all intervals
of a bench hold at once, with 95% certainty (Mogstad, Romano, Shaikh and Wilhelm, Review of Economic Studies 2024).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from twlocal.paired import stats

LEVEL = 0.05
PAIRED, UNPAIRED = "paired", "unpaired"
_LARGE = 10  # expected successes and failures from which the normal approximation is taken


@dataclass(frozen=True)
class Measured:
    """One model on one bench: right as a share of each unit, in a fixed order.

    units: by what items are paired (content hash, stem hash) → (which set of units, the shares right). n, right: over
    items, for a comparison with somebody who answered others.
    """

    units: Mapping[str, tuple[Hashable, Any]]
    n: int
    right: float

    @property
    def accuracy(self) -> float:
        return self.right / self.n


@dataclass(frozen=True)
class Pairs:
    """Every comparison of a bench, as square arrays: row against column.

    p: of the one-sided question whether the row's model is better. real: whether that holds after Holm. gained: units
    on which it is better (paired only). paired: which comparisons are.
    """

    p: Any
    adjusted: Any
    real: Any
    gained: Any
    paired: Any


@dataclass(frozen=True, slots=True)
class Rank:
    """Rank by score (equal scores share the best place of theirs) and the interval of ranks that the data allow."""

    place: int
    best: int
    worst: int


def compare(models: Sequence[Measured], level: float = LEVEL) -> Pairs:
    """Compare every model with every other. Raises EngineMissing without scipy."""
    size = len(models)
    p = np.ones((size, size))
    gained: Any = np.zeros((size, size), dtype=np.int64)
    paired: Any = np.zeros((size, size), dtype=bool)  # its diagonal stays false
    for by in dict.fromkeys(name for model in models for name in model.units):
        groups: defaultdict[Hashable, list[int]] = defaultdict(list)
        for at, model in enumerate(models):
            if by in model.units:
                groups[model.units[by][0]].append(at)
        for group in groups.values():
            square: Any = np.ix_(group, group)
            new = ~paired[square]
            if new.sum() > len(group):  # any pair that nothing finer has paired, beside each with itself
                counts = _gained([models[one].units[by][1] for one in group])
                gained[square] = np.where(new, counts, gained[square])
                paired[square] = True
                np.fill_diagonal(paired, False)
    changed = gained + gained.T
    # P(X ≥ gained) were each changed unit to go either way by a coin; 1 where none changed.
    exact = stats().binom.sf(gained - 1, changed, 0.5)
    p = np.where(paired, np.where(changed > 0, exact, 1.0), p)
    for one, other in zip(*np.nonzero(~paired & ~np.eye(size, dtype=bool)), strict=True):
        p[one, other] = better_share(models[one].right, models[one].n, models[other].right, models[other].n)
    adjusted = holm(p)
    return Pairs(p, adjusted, adjusted <= level, gained, paired)


def _gained(vectors: Sequence[Any]) -> Any:
    """For each pair, the units on which the row is better than the column."""
    stack = np.stack(vectors)
    whole = [at for at, row in enumerate(stack) if ((row == 0) | (row == 1)).all()]
    binary = stack[whole].astype(np.float32)  # exact up to 16 million units
    found: Any = np.zeros((len(vectors), len(vectors)), dtype=np.int64)
    found[np.ix_(whole, whole)] = np.rint(binary.sum(axis=1, keepdims=True) - binary @ binary.T).astype(np.int64)
    rest = set(range(len(vectors))) - set(whole)
    for one in range(len(vectors)):
        for other in rest:
            found[one, other] = int((stack[one] > stack[other]).sum())
            found[other, one] = int((stack[other] > stack[one]).sum())
    return found


def better_share(right: float, n: int, other_right: float, other_n: int) -> float:
    """The one-sided p of the first of two independent shares being the larger one.

    The pooled normal approximation where ten successes and ten failures are expected in each, else Fisher's exact test
    (of whole successes: the mean over repeats is rounded against the claim).
    """
    total, successes = n + other_n, right + other_right
    if total == 0 or n == 0 or other_n == 0:
        return 1.0
    pooled = successes / total
    if min(n, other_n) * min(pooled, 1 - pooled) >= _LARGE:
        spread = (pooled * (1 - pooled) * (1 / n + 1 / other_n)) ** 0.5
        return float(stats().norm.sf((right / n - other_right / other_n) / spread))
    first, second = int(right), int(np.ceil(other_right))
    return float(stats().hypergeom.sf(first - 1, total, first + second, n))


def holm(p: Any) -> Any:
    """Holm's step-down over everything but the diagonal: each p adjusted, at most 1."""
    size = len(p)
    adjusted = np.ones_like(p)
    if size < 2:
        return adjusted
    off: Any = ~np.eye(size, dtype=bool)
    values = p[off]
    order = np.argsort(values, kind="stable")
    steps = values[order] * np.arange(len(values), 0, -1)
    found = np.empty_like(values)
    found[order] = np.minimum(1, np.maximum.accumulate(steps))
    adjusted[off] = found
    return adjusted


def ranks(models: Sequence[Measured], pairs: Pairs) -> list[Rank]:
    """Each model's rank and its interval."""
    scores = np.array([model.accuracy for model in models])
    better, worse = pairs.real.sum(axis=0), pairs.real.sum(axis=1)
    return [
        # 1e-12: the same share of the same n, counted in another order.
        Rank(1 + int((scores > scores[at] + 1e-12).sum()), 1 + int(better[at]), len(models) - int(worse[at]))
        for at in range(len(models))
    ]
