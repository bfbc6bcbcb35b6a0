"""Intervals and tests on counts, against published figures, closed forms and exact fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twlocal.stats import Interval, binomial_tail, fewer_than_rest, versus_chance, wilson


@pytest.mark.parametrize(
    ("k", "n", "low", "high"),
    [
        (1000, 1696, 56.6, 61.3),  # the paper's section 4.2: 59.0% [56.6–61.3]
        (784, 1696, 43.9, 48.6),  # section 6.2: 46.2% [43.9–48.6]
        (658, 1696, 36.5, 41.1),  # section 6.2: 38.8% [36.5–41.1]
    ],
)
def test_intervals_of_the_paper(k: int, n: int, low: float, high: float) -> None:
    found = wilson(k, n)
    assert (round(100 * found.low, 1), round(100 * found.high, 1)) == (low, high)


def test_interval_of_the_full_corpus() -> None:
    found = wilson(round(0.8219 * 253_674), 253_674)  # section 6.1: 82.19% [82.04–82.34]
    assert (round(100 * found.low, 2), round(100 * found.high, 2)) == (82.04, 82.34)


def test_interval_against_the_textbook_form() -> None:
    z, n, p = 1.959963984540054, 40, 0.3
    middle, half = (p + z * z / 80) / (1 + z * z / 40), z * math.sqrt(p * 0.7 / n + z * z / 6400) / (1 + z * z / 40)
    found = wilson(12, 40)
    assert (found.low, found.high) == pytest.approx((middle - half, middle + half), abs=1e-12)


def test_a_wider_confidence_is_a_wider_interval() -> None:
    assert wilson(30, 100, 0.99).low < wilson(30, 100).low < wilson(30, 100, 0.5).low < 0.3


def test_nothing_counted_means_nothing_known() -> None:
    assert wilson(0, 0) == Interval(0.0, 1.0)


@pytest.mark.parametrize(("k", "n", "confidence"), [(-1, 5, 0.95), (6, 5, 0.95), (1, 5, 0), (1, 5, 1), (1, 0, 0.95)])
def test_senseless_counts_are_refused(k: int, n: int, confidence: float) -> None:
    with pytest.raises(ValueError, match="makes no sense"):
        wilson(k, n, confidence)


@given(st.integers(0, 300_000), st.data(), st.floats(0.01, 0.999))
def test_the_interval_holds_the_share_and_stays_within_zero_and_one(n: int, data: st.DataObject, level: float) -> None:
    k = data.draw(st.integers(0, n))
    found = wilson(k, n, level)
    assert 0.0 <= found.low <= found.high <= 1.0
    assert n == 0 or found.low <= k / n <= found.high
    mirrored = wilson(n - k, n, level)
    assert (1 - mirrored.high, 1 - mirrored.low) == pytest.approx((found.low, found.high), abs=1e-9)


def exact_tail(k: int, n: int, p: Fraction) -> float:
    return float(sum(math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(max(k, 0), n + 1)))


@given(st.integers(0, 90), st.integers(-2, 92), st.sampled_from([Fraction(1, 4), Fraction(3, 4), Fraction(1, 50)]))
def test_the_binomial_tail_is_exact(n: int, k: int, p: Fraction) -> None:
    assert binomial_tail(k, n, float(p)) == pytest.approx(exact_tail(k, n, p), rel=1e-9, abs=1e-12)


def test_the_binomial_tail_of_a_whole_corpus() -> None:
    n, p = 253_674, 0.25
    mean, sigma = n * p, math.sqrt(n * p * (1 - p))
    normal = 0.5 * math.erfc(2 / math.sqrt(2))  # with n this large, the normal tail is close
    assert binomial_tail(math.ceil(mean + 2 * sigma + 0.5), n, p) == pytest.approx(normal, rel=0.02)
    assert binomial_tail(n, n, p) == 0.0  # 4^-253674 underflows rather than raising


@pytest.mark.parametrize(("k", "n", "p"), [(1, 2, 0), (1, 2, 1), (1, -1, 0.5)])
def test_senseless_trials_are_refused(k: int, n: int, p: float) -> None:
    with pytest.raises(ValueError, match="make no sense"):
        binomial_tail(k, n, p)


@pytest.mark.parametrize(
    ("k", "n", "verdict"),
    [(784, 1696, "above"), (424, 1696, "at"), (440, 1696, "at"), (300, 1696, "below"), (2, 3, "at"), (0, 0, "at")],
)
def test_versus_chance(k: int, n: int, verdict: str) -> None:
    assert versus_chance(k, n) == verdict


def test_chance_is_called_by_its_two_sided_level() -> None:
    # 35 of 100 is where P(X >= k) first falls below 2.5%.
    assert exact_tail(34, 100, Fraction(1, 4)) > 0.025 > exact_tail(35, 100, Fraction(1, 4))
    assert (versus_chance(34, 100), versus_chance(35, 100)) == ("at", "above")


def exact_fisher(k: int, n: int, rest_k: int, rest_n: int) -> float:
    total, hits = n + rest_n, k + rest_k
    ways = [
        math.comb(hits, i) * math.comb(total - hits, n - i) for i in range(min(n, hits) + 1) if n - i <= total - hits
    ]
    least = max(0, n - (total - hits))
    return float(Fraction(sum(ways[: k - least + 1]), math.comb(total, n)))


@given(st.integers(1, 60), st.integers(1, 60), st.data())
def test_fishers_test_is_exact(n: int, rest_n: int, data: st.DataObject) -> None:
    k, rest_k = data.draw(st.integers(0, n)), data.draw(st.integers(0, rest_n))
    assert fewer_than_rest(k, n, rest_k, rest_n) == pytest.approx(exact_fisher(k, n, rest_k, rest_n), rel=1e-9)


def test_one_failure_beside_a_perfect_rest_is_not_impossible() -> None:
    assert fewer_than_rest(19, 20, 980, 980) == pytest.approx(20 / 1000)


@pytest.mark.parametrize("counts", [(3, 2, 1, 5), (1, 2, 6, 5), (-1, 2, 1, 5)])
def test_senseless_groups_are_refused(counts: tuple[int, int, int, int]) -> None:
    with pytest.raises(ValueError, match="make no sense"):
        fewer_than_rest(*counts)
