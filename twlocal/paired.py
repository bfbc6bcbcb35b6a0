"""Statistics of two measurements of the same items: exact tests, bootstrap intervals, false discovery.

Everything works on plain numbers; scipy does the arithmetic and is imported when it is needed. Pure: the only chance in
here comes from the seed that is given.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType

from twlocal import backend

RESAMPLES = 9_999
CONFIDENCE = 0.95
_AT_ONCE = 5_000_000  # drawn numbers held in memory at a time


@dataclass(frozen=True, slots=True)
class Span:
    """An interval on any scale; of a difference of shares it lies within −1 and 1."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Churn:
    """Items by what became of them from the first measurement to the second.

    partly: no better and no worse, and neither all right nor all wrong (only where items were asked several times).
    """

    both_right: int
    gained: int
    lost: int
    both_wrong: int
    partly: int = 0

    @property
    def n(self) -> int:
        return self.both_right + self.gained + self.lost + self.both_wrong + self.partly

    @property
    def changed(self) -> int:
        return self.gained + self.lost


def stats(extra: str = "study") -> ModuleType:
    """`scipy.stats`. Raises EngineMissing, naming the extra that brings it, where scipy is not installed."""
    try:
        import scipy.stats
    except ImportError as error:
        raise backend.missing(extra, "scipy") from error
    module: ModuleType = scipy.stats
    return module


def churn(first: Sequence[float], second: Sequence[float]) -> Churn:
    """Count the items of two measurements, each 0–1 an item (a mean where an item was asked several times).

    Raises ValueError where they are not equally many.
    """
    both_right = gained = lost = both_wrong = partly = 0
    for before, after in zip(first, second, strict=True):
        if after > before:
            gained += 1
        elif after < before:
            lost += 1
        elif after == 1:
            both_right += 1
        elif after == 0:
            both_wrong += 1
        else:
            partly += 1
    return Churn(both_right, gained, lost, both_wrong, partly)


def mcnemar(gained: int, lost: int) -> float:
    """The two-sided p of McNemar's exact test: were both equally good, each changed item would go either way by a coin.

    Where items were asked several times, it is the sign test over items. Without a changed item p is 1.
    """
    if gained < 0 or lost < 0:
        raise ValueError(f"mcnemar: {gained} gained and {lost} lost make no sense")
    if gained + lost == 0:
        return 1.0
    return float(stats().binomtest(gained, gained + lost, 0.5).pvalue)


def bootstrap_difference(
    first: Sequence[float],
    second: Sequence[float],
    *,
    seed: int,
    resamples: int = RESAMPLES,
    confidence: float = CONFIDENCE,
) -> Span:
    """The paired percentile bootstrap of mean(second) − mean(first), over items.

    Items of equal difference cannot be told apart in the mean, so a resample of n items is one multinomial draw over
    the distinct differences: the same distribution, at a cost that does not depend on n. With fewer than about ten
    changed items the interval is too narrow, and with none it has no width: the exact test is what counts there.
    """
    stats()  # numpy comes with scipy: whoever lacks it is told of the extra
    import numpy as np

    if not first or len(first) != len(second):
        raise ValueError(f"bootstrap_difference: {len(first)} and {len(second)} items make no pairs")
    counts = Counter(after - before for before, after in zip(first, second, strict=True))
    values = sorted(counts)
    n = len(first)
    shares = np.array([counts[value] for value in values], dtype=float) / n
    rng = np.random.default_rng(seed)
    drawn = [rng.multinomial(n, shares, size=size) @ np.array(values) / n for size in _batches(resamples, len(values))]
    tail = 100 * (1 - confidence) / 2
    low, high = np.percentile(np.concatenate(drawn), [tail, 100 - tail])
    return Span(float(low), float(high))


def _batches(resamples: int, width: int) -> list[int]:
    size = max(1, _AT_ONCE // width)
    full, rest = divmod(resamples, size)
    return [size] * full + ([rest] if rest else [])


def false_discovery(ps: Sequence[float]) -> list[float]:
    """Benjamini–Hochberg: each p adjusted, so that those at most q are wrong in a share q of cases at most."""
    if not ps:
        return []
    return [float(p) for p in stats().false_discovery_control(list(ps), method="bh")]
