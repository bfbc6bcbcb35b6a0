"""Nouns follow their numbers."""

from __future__ import annotations

import pytest

from twlocal.plural import Count, counted


@pytest.mark.parametrize(("count", "said"), [(0, "0 rows"), (1, "1 row"), (2, "2 rows"), (1234, "1,234 rows")])
def test_a_noun_follows_its_number(count: int, said: str) -> None:
    assert counted(count, "row") == said
    one, two = "{n:row}", "{n:long row}"
    assert one.format(n=Count(count)) == said
    assert two.format(n=Count(count)) == said.replace(" ", " long ")


def test_a_plural_of_its_own() -> None:
    assert [counted(n, "entry", "entries") for n in (1, 2)] == ["1 entry", "2 entries"]


def test_other_formats_of_a_count_are_those_of_numbers() -> None:
    assert f"{Count(1234):,} {Count(7):d} {Count(7):>3} {Count(7)}" == "1,234 7   7 7"
