"""Intervals and exact tests over counts, in plain arithmetic.

Pure: no I/O, no clock, no global state. Everything here works on counts; what is counted is `twlocal.score`'s business.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

CHANCE = 0.25  # what guessing scores on a four-option item
_NEGLIGIBLE = 1e-18  # of the sum so far: below it, further terms of a falling tail change nothing


@dataclass(frozen=True, slots=True)
class Interval:
    """A confidence interval of a share, both ends within 0–1."""

    low: float
    high: float


@lru_cache(maxsize=16)
def _z(confidence: float) -> float:
    from statistics import NormalDist  # `decimal` and `fractions` come with it

    return NormalDist().inv_cdf((1 + confidence) / 2)


def wilson(k: float, n: int, confidence: float = 0.95) -> Interval:
    """Wilson's score interval of the share k/n, the one beside every published score (the paper's sections 4 and 6).

    k: successes, 0 ≤ k ≤ n; it need not be whole, because the mean over repeats of an item is not. n: trials; with
    none, nothing is known and the interval is 0–1. confidence: strictly between 0 and 1. Raises ValueError outside.
    """
    if not 0 <= k <= n or not 0 < confidence < 1:
        raise ValueError(f"wilson: {k} of {n} at confidence {confidence} makes no sense")
    if n == 0:
        return Interval(0.0, 1.0)
    z2 = _z(confidence) ** 2
    share = k / n
    centre = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = math.sqrt(z2 * (share * (1 - share) / n + z2 / (4 * n * n))) / (1 + z2 / n)
    # At 0 and n the formula's own end is the share itself; rounding may put it a hair to the wrong side.
    return Interval(max(0.0, min(centre - half, share)), min(1.0, max(centre + half, share)))


def binomial_tail(k: int, n: int, p: float) -> float:
    """P(X ≥ k) for X the number of successes in n trials of probability p, exact to about 1e-9 of its value."""
    if not 0 < p < 1 or n < 0:
        raise ValueError(f"binomial_tail: {n} trials of probability {p} make no sense")
    if k <= 0:
        return 1.0
    if k > n:
        return 0.0
    if k <= n * p:  # the long side: the other one is summed instead
        return max(0.0, 1.0 - _rising(n - k + 1, n, 1 - p))
    return _rising(k, n, p)


def _rising(k: int, n: int, p: float) -> float:
    """P(X ≥ k) for k beyond the mean, where the terms only fall: the first from logarithms, the rest by their ratio."""
    term = total = math.exp(_log_choose(n, k) + k * math.log(p) + (n - k) * math.log1p(-p))
    odds = p / (1 - p)
    for i in range(k, n):
        term *= (n - i) / (i + 1) * odds
        total += term
        if term <= total * _NEGLIGIBLE:
            break
    return min(1.0, total)


def versus_chance(k: int, n: int, chance: float = CHANCE, level: float = 0.05) -> str:
    """Whether k right of n can be told from guessing: "above", "below", or "at" where it cannot.

    A two-sided exact binomial test: each side gets half of `level`. With n = 0 the answer is "at".
    """
    if n and binomial_tail(k, n, chance) <= level / 2:
        return "above"
    if n and binomial_tail(n - k, n, 1 - chance) <= level / 2:
        return "below"
    return "at"


def fewer_than_rest(k: int, n: int, rest_k: int, rest_n: int) -> float:
    """P that a group of n would hold k successes or fewer, were its share that of the rest (Fisher's exact, one-sided).

    It conditions on both margins, so that a rest without a single failure does not make one failure impossible.
    """
    total_k, total_n = k + rest_k, n + rest_n
    lowest = max(0, n - (total_n - total_k))
    if min(k, rest_k) < 0 or k > n or rest_k > rest_n:
        raise ValueError(f"fewer_than_rest: {k} of {n} and {rest_k} of {rest_n} make no sense")
    # Summed downwards from k: towards the mean the terms may rise first, which the ratio follows just as well.
    term = total = math.exp(_log_choose(total_k, k) + _log_choose(total_n - total_k, n - k) - _log_choose(total_n, n))
    for i in range(k, lowest, -1):
        term *= i * (total_n - total_k - n + i) / ((total_k - i + 1) * (n - i + 1))
        total += term
    return min(1.0, total)


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
