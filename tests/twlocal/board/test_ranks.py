"""Ranks and the comparisons that they follow from, on cases worked out by hand."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from twlocal.board.ranks import Measured, better_share, compare, holm, ranks


def measured(values, units="s", kind="content"):
    array = np.array(values, dtype=float)
    return Measured({kind: (units, array)}, len(array), float(array.sum()))


def test_paired_comparison_is_mcnemars_exact_test_one_sided():
    one = measured([1] * 9 + [0] * 1 + [1] * 5)
    other = measured([0] * 9 + [1] * 1 + [1] * 5)
    pairs = compare([one, other])
    # 9 gained, 1 lost: P(X >= 9 of 10) = 11/1024, and the other way P(X >= 1) = 1023/1024.
    assert pairs.p[0, 1] == pytest.approx(11 / 1024)
    assert pairs.p[1, 0] == pytest.approx(1023 / 1024)
    assert (pairs.gained[0, 1], pairs.gained[1, 0]) == (9, 1)
    assert pairs.paired[0, 1] and not pairs.paired[0, 0]


def test_equal_models_cannot_be_told_apart():
    pairs = compare([measured([1, 0, 1])] * 3)
    assert not pairs.real.any() and (pairs.p == 1).all()
    assert [(one.place, one.best, one.worst) for one in ranks([measured([1, 0, 1])] * 3, pairs)] == [(1, 1, 3)] * 3


def test_means_over_repeats_are_compared_by_sign():
    one, other = measured([1.0, 0.5, 0.5, 0.0]), measured([0.5, 0.5, 0.0, 1.0])
    pairs = compare([one, other, measured([1, 1, 0, 0])])
    assert (pairs.gained[0, 1], pairs.gained[1, 0]) == (2, 1)
    assert (pairs.gained[0, 2], pairs.gained[2, 0]) == (1, 1)


def test_other_items_are_compared_as_independent_samples():
    one = measured([1] * 80 + [0] * 20, units="a")
    other = measured([1] * 60 + [0] * 40, units="b")
    pairs = compare([one, other])
    assert not pairs.paired.any()
    # z = 0.2 / sqrt(0.7 * 0.3 * 2 / 100) = 3.086
    assert pairs.p[0, 1] == pytest.approx(0.00101, abs=1e-5)
    assert pairs.p[1, 0] == pytest.approx(1 - 0.00101, abs=1e-5)


def test_the_finest_pairing_that_both_share_is_taken():
    with_content = Measured({"content": ("c", np.array([1.0, 0, 1])), "stem": ("s", np.array([0.5, 1]))}, 3, 2)
    without = Measured({"stem": ("s", np.array([0.0, 0]))}, 3, 0)
    pairs = compare([with_content, without, with_content])
    assert pairs.paired[0, 1] and pairs.gained[0, 1] == 2
    assert pairs.paired[0, 2] and pairs.gained[0, 2] == 0


def test_few_independent_items_are_compared_exactly():
    # Fisher: 5 of 5 against 0 of 5 is 1 / C(10, 5).
    assert better_share(5, 5, 0, 5) == pytest.approx(1 / 252)
    assert better_share(0, 5, 5, 5) == 1
    assert better_share(2.9, 5, 2.1, 5) > 0.5  # whole successes, rounded against the claim
    assert better_share(0, 0, 5, 5) == 1


def test_holm_is_the_textbooks():
    p = np.array([[1, 0.01, 0.04], [0.03, 1, 0.5], [0.005, 0.9, 1]])
    want = {(2, 0): 0.03, (0, 1): 0.05, (1, 0): 0.12, (0, 2): 0.12, (1, 2): 1.0, (2, 1): 1.0}
    adjusted = holm(p)
    assert {at: round(float(adjusted[at]), 9) for at in want} == want
    assert (np.diag(adjusted) == 1).all() and holm(np.ones((1, 1))).shape == (1, 1)


def test_rank_intervals_count_who_is_really_better_and_worse():
    rng = np.random.default_rng(1)
    hard = rng.random(2000)
    models = [measured((hard < skill).astype(float)) for skill in (0.9, 0.899, 0.7, 0.3)]
    found = ranks(models, compare(models))
    assert [(one.best, one.worst) for one in found] == [(1, 2), (1, 2), (3, 3), (4, 4)]
    assert [one.place for one in found] in ([1, 2, 3, 4], [1, 1, 3, 4])


def test_more_models_make_every_single_claim_harder():
    one, other = measured([1] * 8 + [0] * 12), measured([0] * 20)
    alone = compare([one, other])
    among = compare([one, other, *(measured([at % 2] * 20) for at in range(12))])
    assert alone.p[0, 1] == among.p[0, 1]
    assert alone.real[0, 1] and not among.real[0, 1]


def test_false_claims_are_rare_among_equal_models():
    """Of 200 boards of ten equal models at most a few may hold any difference for real (5% are allowed)."""
    rng = np.random.default_rng(7)
    wrong = 0
    for _ in range(200):
        models = [measured(row.astype(float)) for row in rng.random((10, 300)) < 0.6]
        wrong += bool(compare(models).real.any())
    assert wrong <= 20


def test_intervals_hold_the_true_order():
    rng = np.random.default_rng(3)
    skills = [0.9, 0.85, 0.8, 0.7, 0.55, 0.5]
    missed = 0
    for _ in range(100):
        models = [measured((rng.random(400) < skill).astype(float)) for skill in skills]
        missed += any(not one.best <= at <= one.worst for at, one in enumerate(ranks(models, compare(models)), 1))
    assert missed <= 10
    assert all(one > other for one, other in pairwise(skills))
