"""The history: what needs a reason, what it keeps, and that nothing of it can be changed unseen."""

from __future__ import annotations

import json

import pytest

from twlocal.board import history
from twlocal.board.history import HistoryDamaged, changes, extended, read, replay, write
from twlocal.errors import UsageError

OLD = {
    "": {"reader": "box"},
    "a exam": {"accuracy": 0.6, "correct": 60, "n": 100, "engine": "vllm"},
    "b exam": {"accuracy": 0.9, "correct": 90, "n": 100, "engine": ""},
    "c exam": {"accuracy": 0.5, "correct": 50, "n": 100, "engine": ""},
}
FIRST = extended([], OLD, reason="", day="", data_day="2026-08-24")


def corrected(**cells):
    return {key: dict(one) for key, one in OLD.items()} | cells


def test_the_first_entry_takes_the_day_of_the_data():
    assert [(one.no, one.date, one.reason, len(one.changes)) for one in FIRST] == [(1, "2026-08-24", "", 4)]
    assert replay(FIRST) == OLD


def test_nothing_new_adds_nothing():
    assert extended(FIRST, OLD, reason="because", day="2027-01-01", data_day="2027-01-01") == FIRST


def test_a_new_result_needs_no_reason():
    grown = extended(
        FIRST, corrected(**{"d exam": {"accuracy": 0.1, "n": 100}}), reason="", day="", data_day="2026-09-01"
    )
    assert [one.what for one in grown[1].changes] == ["added"] and grown[1].date == "2026-09-01"


def test_telling_an_engine_later_needs_no_reason():
    told = corrected(**{"b exam": OLD["b exam"] | {"engine": "mlx"}})
    grown = extended(FIRST, told, reason="", day="", data_day="2026-08-24")
    assert grown[1].changes[0].before == {"engine": ""} and grown[1].moved["scores"] == 0


@pytest.mark.parametrize(
    "now",
    [
        corrected(**{"a exam": {"accuracy": 0.5, "correct": 50, "n": 100, "engine": "vllm"}}),
        {key: one for key, one in OLD.items() if key != "a exam"},
        corrected(**{"": {"reader": "board"}}),
        corrected(**{"a exam": {"accuracy": 0.6, "n": 100, "engine": "vllm"}}),
    ],
    ids=["changed", "removed", "reader", "field-gone"],
)
def test_what_was_published_changes_only_with_reason_and_day(now):
    for reason, day in (("", ""), ("because", ""), ("", "2026-10-14"), ("  ", "2026-10-14")):
        with pytest.raises(UsageError, match="no reason is given"):
            extended(FIRST, now, reason=reason, day=day, data_day="2026-08-24")
    grown = extended(FIRST, now, reason="The fallback is gone.", day="2026-10-14", data_day="2026-08-24")
    assert (grown[1].reason, grown[1].date) == ("The fallback is gone.", "2026-10-14")
    assert replay(grown) == now and read(write(grown)) == grown


def test_a_correction_says_how_far_scores_moved_as_the_papers_does():
    now = corrected(
        **{
            "a exam": OLD["a exam"] | {"accuracy": 0.57, "correct": 57},
            "b exam": OLD["b exam"] | {"accuracy": 0.7, "correct": 70},
            "c exam": OLD["c exam"] | {"accuracy": 0.505, "correct": 50.5},
        }
    )
    entry = extended(FIRST, now, reason="One protocol for all.", day="2026-10-14", data_day="")[1]
    assert entry.moved == {"scores": 3, "over_1_point": 2, "over_10_points": 1, "median_points": -3.0}
    assert entry.changes[1].before["accuracy"] == 0.9  # what stood there stays to be seen


def test_a_day_is_a_day_and_goes_on():
    grown = extended(FIRST, corrected(d={"accuracy": 1.0}), reason="", day="2026-09-09", data_day="")
    with pytest.raises(UsageError, match="no date"):
        extended(grown, corrected(e={"accuracy": 1.0}), reason="", day="yesterday", data_day="")
    with pytest.raises(UsageError, match="before the last entry"):
        extended(grown, corrected(e={"accuracy": 1.0}), reason="x", day="2026-09-08", data_day="")


def test_the_lines_are_chained():
    grown = extended(FIRST, corrected(d={"accuracy": 1.0}), reason="", day="", data_day="2026-09-01")
    lines = write(grown).splitlines(keepends=True)
    for damaged in (
        lines[0].replace("0.6", "0.7") + lines[1],
        lines[1],
        lines[0] + lines[0],
        lines[0] + lines[1].rstrip("\n"),
        lines[0] + "no json\n",
        lines[0] + lines[1].replace("added", "invented"),
        lines[0] + json.dumps(json.loads(lines[1]), separators=(",", ":")) + "\n",
    ):
        with pytest.raises(HistoryDamaged):
            read(damaged)
    assert read("".join(lines)) == grown


def test_a_reason_cannot_be_taken_out_afterwards():
    now = corrected(**{"a exam": OLD["a exam"] | {"accuracy": 0.5}})
    grown = extended(FIRST, now, reason="Wrong key.", day="2026-10-14", data_day="")
    with pytest.raises(HistoryDamaged, match="without a reason"):
        read(write(grown).replace("Wrong key.", ""))


def test_a_line_that_replaces_what_was_not_there_is_found():
    wrong = history.Change("changed", "a exam", {"accuracy": 0.1}, {"accuracy": 0.2})
    entry = history.Entry(2, "2026-10-14", "x", (wrong,), "", "")
    with pytest.raises(HistoryDamaged, match="what was not there"):
        replay([*FIRST, entry])


def test_changes_are_listed_in_order_with_both_sides():
    found = changes({"b": {"x": 1, "y": 2}, "c": {}}, {"a": {"x": 1}, "b": {"x": 2, "z": 3}})
    assert [(one.what, one.key) for one in found] == [("added", "a"), ("changed", "b"), ("removed", "c")]
    assert (found[1].before, found[1].now) == ({"x": 1, "y": 2}, {"x": 2, "z": 3})
