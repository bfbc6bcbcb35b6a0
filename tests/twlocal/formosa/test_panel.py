"""Agreement of judges, and panels that are one judge in disguise."""

from __future__ import annotations

import random

import pytest

from twlocal.formosa.panel import agreements, kappa, panel


def said(yes_yes: int, yes_no: int, no_yes: int, no_no: int) -> tuple[list[bool], list[bool]]:
    pairs = [(True, True)] * yes_yes + [(True, False)] * yes_no + [(False, True)] * no_yes + [(False, False)] * no_no
    return [a for a, _ in pairs], [b for _, b in pairs]


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        # statsmodels.stats.inter_rater.cohens_kappa gives the same figures (0.15.0).
        ((20, 5, 10, 15), 0.4),
        ((45, 15, 25, 15), 0.13043478260869565),
        ((25, 35, 5, 35), 0.25925925925925924),
        ((0, 50, 50, 0), -1.0),
        ((30, 0, 0, 70), 1.0),
        ((99, 0, 1, 0), 0.0),  # 99% agreement, none of it beyond chance: the one judge says yes to everything
    ],
)
def test_kappa(table: tuple[int, int, int, int], expected: float) -> None:
    first, second = said(*table)
    assert kappa(first, second) == pytest.approx(expected)
    assert kappa(second, first) == pytest.approx(expected)


def test_kappa_where_chance_leaves_nothing() -> None:
    assert kappa([True] * 5, [True] * 5) is None
    with pytest.raises(ValueError, match="no verdicts"):
        kappa([], [])
    with pytest.raises(ValueError):
        kappa([True], [True, False])


def test_pairs_are_compared_over_what_both_were_shown() -> None:
    judges = {"a": {"1": True, "2": False, "3": True}, "b": {"2": False, "3": False}, "c": {"9": True}}
    (found,) = agreements(judges)
    assert (found.first, found.second, found.n, found.agreed, found.share) == ("a", "b", 2, 1, 0.5)


def test_the_papers_panel_is_its_third_judge() -> None:
    """Section 5.4: two members approve 99% and 92% of everything, the third 36%."""
    rng = random.Random(5)
    rates = {"first": 0.99, "second": 0.92, "third": 0.36}
    judges = {name: {f"{at}": rng.random() < rate for at in range(2_000)} for name, rate in rates.items()}
    found = panel(judges)
    assert found.decided_by == "third"
    shares = {seat.judge: seat.same / found.n for seat in found.seats}
    # Independent members: the panel approves 0.99 × 0.92 × 0.36, and differs from the third where the others reject.
    assert found.approved / found.n == pytest.approx(0.328, abs=0.03)
    assert shares["third"] == pytest.approx(0.968, abs=0.015)
    assert shares["first"] == pytest.approx(0.34, abs=0.04) and shares["second"] == pytest.approx(0.41, abs=0.04)
    alone = {seat.judge: seat.alone for seat in found.seats}
    assert alone["third"] > 0.8 * (found.n - found.approved) and alone["first"] < 20


def test_judges_of_one_mind_and_a_panel_without_one_are_no_disguise() -> None:
    honest = {f"{at}": at % 4 == 0 for at in range(40)}
    stamp = dict.fromkeys(honest, True)
    contrarian = {name: not verdict for name, verdict in honest.items()}
    assert panel({"a": honest, "b": honest}).decided_by is None
    assert panel({"a": honest, "b": dict(honest), "stamp": stamp}).decided_by is None
    assert panel({"a": honest, "stamp": stamp}).decided_by == "a"
    assert panel({"a": honest}).decided_by is None
    split = panel({"a": honest, "contrarian": contrarian})
    assert (split.approved, split.decided_by) == (0, None)
    assert [seat.alone for seat in split.seats] == [30, 10]
    with pytest.raises(ValueError, match="needs members"):
        panel({})
    with pytest.raises(ValueError, match="nothing in common"):
        panel({"a": {"1": True}, "b": {"2": True}})
