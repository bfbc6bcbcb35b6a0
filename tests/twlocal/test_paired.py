"""Paired statistics against values worked out by hand or published."""

from __future__ import annotations

import math

import pytest

from twlocal.paired import Churn, bootstrap_difference, churn, false_discovery, mcnemar


def test_mcnemar_is_the_exact_binomial_test() -> None:
    # 2 · P(X ≤ 1 of 8 at 1/2) = 2 · 9/256
    assert mcnemar(7, 1) == pytest.approx(18 / 256)
    assert mcnemar(1, 7) == mcnemar(7, 1)
    assert mcnemar(5, 5) == pytest.approx(1.0)
    assert mcnemar(0, 0) == 1.0
    # The paper's budget study (section 5.3): 130 rescued and 103 newly lost cannot be told apart.
    assert 0.07 < mcnemar(130, 103) < 0.1
    with pytest.raises(ValueError, match="-1 gained"):
        mcnemar(-1, 2)


def test_churn_counts_items_also_those_that_were_asked_several_times() -> None:
    assert churn([1, 0, 1, 0, 0.5, 0.5, 0.25], [1, 1, 0, 0, 0.5, 0.75, 0]) == Churn(1, 2, 2, 1, 1)
    with pytest.raises(ValueError, match="zip"):
        churn([1, 0], [1])


def test_the_bootstrap_has_the_spread_of_the_paired_difference() -> None:
    # 1,000 items, 60 gained and 20 lost: the standard error is sqrt((0.08 − 0.04²) / 1000).
    first = [1.0] * 20 + [0.0] * 60 + [1.0] * 500 + [0.0] * 420
    second = [0.0] * 20 + [1.0] * 60 + [1.0] * 500 + [0.0] * 420
    half = 1.96 * math.sqrt((0.08 - 0.04**2) / 1000)
    found = bootstrap_difference(first, second, seed=1)
    assert found.low == pytest.approx(0.04 - half, abs=0.002)
    assert found.high == pytest.approx(0.04 + half, abs=0.002)
    assert found == bootstrap_difference(first, second, seed=1)
    assert found != bootstrap_difference(first, second, seed=2)
    # Pairing is what makes it narrow: the same accuracies, unrelated to each other, spread far wider.
    unpaired = 1.96 * math.sqrt(0.52 * 0.48 / 1000 + 0.56 * 0.44 / 1000)
    assert found.high - found.low < unpaired
    with pytest.raises(ValueError, match="no pairs"):
        bootstrap_difference([], [], seed=1)


def test_the_bootstrap_agrees_with_scipys_over_items() -> None:
    import numpy as np
    from scipy.stats import bootstrap

    rng = np.random.default_rng(3)
    first, second = rng.integers(0, 2, 200).astype(float), rng.integers(0, 2, 200).astype(float)
    ours = bootstrap_difference(list(first), list(second), seed=4)
    theirs = bootstrap((second - first,), np.mean, n_resamples=4_000, method="percentile", rng=5).confidence_interval
    assert ours.low == pytest.approx(theirs.low, abs=0.015)
    assert ours.high == pytest.approx(theirs.high, abs=0.015)


def test_false_discovery_is_benjamini_hochberg() -> None:
    # p·m/rank, made monotone from the largest downwards.
    assert false_discovery([0.01, 0.04, 0.03, 0.5]) == pytest.approx([0.04, 0.16 / 3, 0.16 / 3, 0.5])
    assert false_discovery([]) == []


def test_without_scipy_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    from twlocal.errors import EngineMissing
    from twlocal.paired import stats

    monkeypatch.setitem(sys.modules, "scipy", None)
    monkeypatch.setitem(sys.modules, "scipy.stats", None)
    with pytest.raises(EngineMissing, match="scipy is not installed") as caught:
        stats()
    assert "twlocal[study]" in caught.value.hint
    with pytest.raises(EngineMissing) as caught:
        stats("board")
    assert "twlocal[board]" in caught.value.hint
