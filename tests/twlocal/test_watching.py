"""A run seen from outside while it grows: the same numbers as its report, and a speed that shows a standstill."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from twlocal import evaluate
from twlocal.backend import Completion, EngineInfo
from twlocal.errors import SchemaTooNew, StoreError
from twlocal.plan import Plan, Wish
from twlocal.report.build import build
from twlocal.responses import Answered
from twlocal.runs import Runs
from twlocal.store import open_store, open_to_read
from twlocal.watching import COMPLETE, RUNNING, STOPPED, Watched

BEGUN = datetime(2026, 1, 2, 3, 0, 0, tzinfo=UTC)


def stamp(seconds: float) -> str:
    return (BEGUN + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class Growing:
    """A run of forty questions in a database, answered as a test wants."""

    def __init__(self, runs: Runs, plan: Plan) -> None:
        self.runs, self.plan = runs, plan
        self.run = runs.ensure(plan, at=stamp(0))
        self.sit(0)

    def sit(self, at: float) -> None:
        self.sitting = self.runs.begin_sitting(self.run.id, EngineInfo("e", "1"), {}, pid=1, host="h", at=stamp(at))

    def answer(self, numbers: range, *, begin: float, every: float = 1.0, text: str = "\\boxed{A}") -> None:
        for count, no in enumerate(numbers):
            done = Completion(f"{no}.0", text=text, finish="stop", prompt_hash=f"{no}")
            row = Answered(no, 0, "ABCD", done, stamp(begin + (count + 1) * every))
            self.runs.add(self.run.id, self.sitting, [row])


@pytest.fixture
def growing(tmp_path: Path, model_file: Path, make_questions: Callable[[int], Path]) -> Iterator[Growing]:
    runs = Runs(open_store(tmp_path / "t.db"), tmp_path / "t.db")
    wish = Wish(model=str(model_file), bench=str(make_questions(40)), protocol="box", backend="scripted")
    yield Growing(runs, evaluate.prepare(wish, runs, evaluate.Surroundings(environ={})).plan)
    runs.close()


def at(seconds: float) -> datetime:
    return BEGUN + timedelta(seconds=seconds)


def test_it_says_what_the_report_says_however_often_it_looks(growing: Growing) -> None:
    watched = Watched(growing.runs, growing.run)
    assert watched.look(busy=True, now=at(1)).tally.n == 0
    growing.answer(range(25), begin=0, text="答案是甲")
    watched.look(busy=True, now=at(26))
    growing.answer(range(25, 30), begin=30)
    seen = watched.look(busy=True, now=at(36))
    report = build(growing.runs, growing.runs.get(key=growing.plan.key)).score
    assert seen.tally == report.overall
    assert seen.alarms == report.alarms and {one.kind for one in seen.alarms} >= {"low_box_rate"}
    assert (seen.state, seen.done, seen.of, seen.failed) == (RUNNING, 30, 40, 0)
    again = watched.look(busy=True, now=at(36))
    assert (again.tally, again.last) == (seen.tally, seen.last), "nothing is counted twice"


def test_the_last_answers_are_the_newest_first(growing: Growing) -> None:
    growing.answer(range(10), begin=0)
    seen = Watched(growing.runs, growing.run).look(busy=True, now=at(10))
    assert [one.no for one in seen.last] == [9, 8, 7, 6, 5]
    assert {one.letter for one in seen.last} == {"A"}
    assert [one.right for one in seen.last] == [growing.plan.rows[no].item.answer == "A" for no in (9, 8, 7, 6, 5)]


def test_the_speed_is_that_of_this_sitting_and_falls_at_a_standstill(growing: Growing) -> None:
    watched = Watched(growing.runs, growing.run)
    growing.answer(range(20), begin=0)
    seen = watched.look(busy=True, now=at(20))
    assert seen.rate == pytest.approx(1.0) and seen.left == pytest.approx(20)
    assert watched.look(busy=True, now=at(200)).rate == pytest.approx(0.1)
    growing.sit(1000)
    assert watched.look(busy=True, now=at(1001)).rate is None, "nothing was answered in it yet"
    growing.answer(range(20, 30), begin=1000, every=0.5)
    seen = watched.look(busy=True, now=at(1005))
    assert seen.rate == pytest.approx(2.0) and seen.left == pytest.approx(5)


def test_states(growing: Growing) -> None:
    watched = Watched(growing.runs, growing.run)
    growing.answer(range(39), begin=0)
    seen = watched.look(busy=False, now=at(40))
    assert (seen.state, seen.rate, seen.left) == (STOPPED, None, None)
    failure = Answered(39, 0, "ABCD", Completion("39.0", error_kind="server", error="500"), stamp(41))
    growing.runs.add(growing.run.id, growing.sitting, [failure])
    assert watched.look(busy=True, now=at(41)).failed == 1
    growing.answer(range(39, 40), begin=41)
    assert watched.look(busy=True, now=at(43)).state == COMPLETE


def test_looking_sees_what_another_connection_writes_and_cannot_write(growing: Growing, tmp_path: Path) -> None:
    db = open_to_read(tmp_path / "t.db")
    outside = Runs(db, tmp_path / "t.db")
    watched = Watched(outside, outside.get())
    growing.answer(range(3), begin=0)
    assert watched.look(busy=True, now=at(3)).done == 3
    with pytest.raises(StoreError, match="cannot write"):
        outside.mark_complete(growing.run.id, at=stamp(1))
    outside.close()


def test_looking_at_a_newer_or_older_schema(tmp_path: Path) -> None:
    db = open_store(tmp_path / "t.db")
    db.conn.execute("PRAGMA user_version=9999")
    db.close()
    with pytest.raises(SchemaTooNew):
        open_to_read(tmp_path / "t.db")
