"""What counts as right for a pool, and what of its apparatus differs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from twlocal.compare import Key, Outcome, Side
from twlocal.errors import UsageError
from twlocal.formosa.band import Member
from twlocal.formosa.curate_pool import load, one_vote, unlike


def source(outcomes: dict[Key, Outcome], *, complete: bool | None = None) -> Any:
    """A database with one imported result."""
    result = SimpleNamespace(name="r", model="m", protocol="box", checksum="c", complete=complete)
    return SimpleNamespace(
        side=lambda name, reader=None: (Side(name, outcomes, len(outcomes)), None, None),
        stored=SimpleNamespace(result=lambda name: result),
    )


def test_an_item_asked_several_times_passes_by_its_majority() -> None:
    outcomes = {
        ("a", "", 0): Outcome(0.6, 1 / 3),
        ("b", "", 0): Outcome(0.5, 1.0),
        # The same item in two subjects, and twice in one: four askings of one item.
        ("c", "史", 0): Outcome(1.0, 0.0),
        ("c", "地", 0): Outcome(1.0, 0.0),
        ("c", "地", 1): Outcome(0.0, 0.0),
    }
    (strict,) = load(source(outcomes), ["r"], None)
    assert strict.right == {"a": True, "b": False, "c": True}
    (lenient,) = load(source(outcomes), ["r"], ["a", "b"], lenient=True)
    assert lenient.right == {"a": False, "b": True, "c": False}
    assert lenient.about == {"imported": "c", "protocol": "box"}


def test_what_its_source_calls_incomplete_is_refused() -> None:
    outcomes = {("a", "", 0): Outcome(1.0, 1.0)}
    assert load(source(outcomes, complete=True), ["r"], None)
    with pytest.raises(UsageError, match="r is incomplete, as its source tells"):
        load(source(outcomes, complete=False), ["r"], None)
    with pytest.raises(UsageError, match="r was not asked 1 of 2 items: b"):
        load(source(outcomes), ["r"], ["a", "b"])


def test_a_difference_of_the_apparatus_is_told() -> None:
    def member(name: str, **about: Any) -> Member:
        return Member(name, name, {}, about)

    alike = [member("a", protocol="box", max_tokens=4096), member("b", protocol="box", max_tokens=4096), member("c")]
    assert unlike(alike) == []
    (one, other) = unlike([*alike, member("d", protocol="box-2shot", max_tokens=512)])
    assert one.en == "the models were not asked alike: protocol is box, box-2shot"
    assert "max_tokens 有 4096, 512" in other.zh


def test_a_model_votes_once() -> None:
    one_vote([Member("a", "x", {}), Member("b", "y", {})])
    with pytest.raises(UsageError, match="x is in the pool twice"):
        one_vote([Member("a", "x", {}), Member("b", "x", {})])
