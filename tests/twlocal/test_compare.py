"""Two runs compared, as data."""

from __future__ import annotations

import pytest

from twlocal.compare import Outcome, Side, common, compare
from twlocal.errors import UsageError


def side(name: str, rows: list[tuple[float, float]], *, start: int = 0, planned: int | None = None) -> Side:
    """Outcomes (strict, lenient) of items numbered from `start`, two subjects in turn."""
    found = {
        (f"{at:04}", "民法" if at % 2 else "刑法", 0): Outcome(strict, lenient, "A" if strict else "B")
        for at, (strict, lenient) in enumerate(rows, start)
    }
    return Side(name, found, planned or len(found))


def test_a_change_of_knowledge_a_change_of_format_and_a_hidden_one() -> None:
    right, wrong, unread = (1.0, 1.0), (0.0, 0.0), (0.0, 1.0)
    base = [right] * 40 + [wrong] * 40 + [unread] * 20

    knows = compare(side("a", base), side("b", [right] * 60 + [wrong] * 20 + [unread] * 20))
    assert (knows.strict.churn.gained, knows.strict.churn.lost) == (20, 0)
    assert (knows.format.gained_known, knows.format.gained_format) == (20, 0)
    assert knows.verdict == "both"

    writes = compare(side("a", base), side("b", [right] * 40 + [wrong] * 40 + [right] * 20))
    assert writes.strict.difference == pytest.approx(0.2)
    assert writes.lenient.difference == 0
    assert (writes.format.gained_known, writes.format.gained_format) == (0, 20)
    assert writes.format.behind == (20, 0)
    assert writes.verdict == "format"

    hidden = compare(side("a", base), side("b", [right] * 40 + [unread] * 60))
    assert hidden.verdict == "knowledge_hidden"
    opposite = compare(side("a", base), side("b", [right] * 20 + [unread] * 80))
    assert opposite.verdict == "opposite"
    assert compare(side("a", base), side("b", base)).verdict == "neither"


def test_subjects_are_corrected_for_their_number() -> None:
    first = [(1.0, 1.0)] * 40
    # Only 刑法 (even numbers) loses: 20 of 20; 民法 loses one.
    second = [(0.0, 0.0) if at % 2 == 0 or at == 1 else (1.0, 1.0) for at in range(40)]
    law, civil = sorted(compare(side("a", first), side("b", second)).subjects, key=lambda one: one.p)
    assert (law.subject, law.churn.lost, civil.churn.lost) == ("刑法", 20, 1)
    assert law.q == pytest.approx(2 * law.p)
    assert civil.q == civil.p == 1.0


def test_other_items_are_refused_unless_told_to_intersect() -> None:
    one, other = side("a", [(1.0, 1.0)] * 10), side("b", [(0.0, 0.0)] * 10, start=4)
    with pytest.raises(UsageError, match="6 in common, 4 only in the first, 4 only in the second") as caught:
        compare(one, other)
    assert "--intersect" in caught.value.hint
    found = compare(one, other, intersect=True)
    assert (found.strict.n, found.strict.difference, found.left_out) == (6, -1.0, (4, 4))
    with pytest.raises(UsageError, match="no answered item in common"):
        compare(one, side("c", [(1.0, 1.0)] * 3, start=50), intersect=True)


def test_an_incomplete_run_is_refused_also_where_both_lack_the_same_items() -> None:
    one, other = side("a", [(1.0, 1.0)] * 10, planned=12), side("b", [(1.0, 1.0)] * 10)
    with pytest.raises(UsageError, match="a is incomplete: 2 of 12"):
        common(one, other)
    assert len(common(one, other, intersect=True)) == 10
