"""The table of an accounting: every row stands under what it is a part of."""

from __future__ import annotations

from twlocal.exam.accounting import Accounting, Counts, table


def test_rows_stand_under_the_stage_whose_items_they_take_away() -> None:
    items = Counts(raw=9, folded=1, filtered={"figure": 2}, published=6, withdrawn={"key": 1})
    rows = table(Accounting(3, {"incomplete": 1}, items))
    assert [stage for stage, _ in rows] == [
        "Papers seen / parsed",
        "  rejected: incomplete",
        "Raw items extracted",
        "  folded as re-printings of an earlier item",
        "  filtered: figure",
        "Published",
        "  withdrawn: key",
        "Scored",
    ]
