"""Runs in the store: what a full disk, odd text and repeated writes leave behind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from twlocal import protocol
from twlocal import runs as store_of_runs
from twlocal.backend import Completion, EngineInfo
from twlocal.errors import StoreError, StoreFull, UsageError
from twlocal.evaluate import last_unfinished
from twlocal.item import Item
from twlocal.models import Model
from twlocal.plan import Plan, Wish, plan_order
from twlocal.responses import Answered
from twlocal.runs import RunRow, Runs
from twlocal.store import open_store

AT = "2026-01-02T03:04:05.000000Z"


@pytest.fixture
def runs(tmp_path: Path) -> Iterator[Runs]:
    opened = Runs(open_store(tmp_path / "t.db"), tmp_path / "t.db")
    yield opened
    opened.close()


def _items(count: int) -> list[Item]:
    return [
        Item(f"第{number}題", ("甲", "乙", "丙", "丁"), "ABCD"[number % 4], f"科目{number % 2}", f"q{number}")
        for number in range(count)
    ]


def _planned(*, key: str = "k" * 64, name: str = "m-demo-kkkkkk", count: int = 20, **more: Any) -> Plan:
    return Plan(
        key=key,
        name=name,
        wish=Wish("m.gguf", "demo", "box", private=more.get("private", False)),
        model=Model("m", "m.gguf", "scripted"),
        backend="scripted",
        protocol=protocol.load("box"),
        rows=tuple(plan_order(more.get("items", _items(count)))),
        manifest={"bench": {"name": "demo"}},
    )


def _plan(runs: Runs, **what: Any) -> RunRow:
    return runs.ensure(_planned(**what), at=AT)


def _sit(runs: Runs, row: RunRow) -> int:
    return runs.begin_sitting(row.id, EngineInfo("scripted", "1"), {}, pid=1, host="here", at=AT)


def _answer(no: int, text: str = "\\boxed{A}", repeat: int = 0, **more: Any) -> Answered:
    return Answered(no, repeat, "ABCD", Completion(f"{no}.{repeat}", text, finish="stop", **more), AT)


def test_planning_twice_is_planning_once(runs: Runs) -> None:
    first, again = _plan(runs), _plan(runs)
    assert first == again
    assert first.planned == 20
    assert [row.name for row in runs.all()] == ["m-demo-kkkkkk"]


def test_names_do_not_collide(runs: Runs) -> None:
    _plan(runs)
    assert _plan(runs, key="j" * 64).name == "m-demo-kkkkkk-2"


def test_an_answer_is_written_once_and_never_changed(runs: Runs) -> None:
    row = _plan(runs)
    sitting = _sit(runs, row)
    runs.add(row.id, sitting, [_answer(0, "first")])
    runs.add(row.id, sitting, [_answer(0, "second")])
    assert [record.text for record in runs.records(row.id)] == ["first"]


def test_a_record_comes_back_as_it_went_in(runs: Runs) -> None:
    row = _plan(runs)
    sitting = _sit(runs, row)
    text = "思考\x00\u2028結束 🎓 \\boxed{Ｃ}\r\n"
    runs.add(
        row.id,
        sitting,
        [_answer(3, text, reasoning="想", prompt_tokens=5, reasoning_tokens=2, prompt_hash="ab", flags=("refusal",))],
    )
    (record,) = runs.records(row.id)
    item = plan_order(_items(20))[3].item
    assert (record.text, record.reasoning, record.flags) == (text, "想", ("refusal",))
    assert (record.subject, record.item_id, record.answer) == (item.subject, item.id, item.answer)
    assert (record.content_hash, record.stem_hash) == (item.content_hash, item.stem_hash)
    assert (record.prompt_tokens, record.completion_tokens, record.reasoning_tokens) == (5, None, 2)


def test_a_lone_surrogate_is_replaced_and_flagged(runs: Runs) -> None:
    row = _plan(runs)
    runs.add(row.id, _sit(runs, row), [_answer(0, "好\ud83d\\boxed{B}", flags=("refusal",))])
    (record,) = runs.records(row.id)
    assert record.text == "好\ufffd\\boxed{B}"
    assert record.flags == ("refusal", "surrogate_replaced")


def test_a_full_disk_keeps_what_fits(runs: Runs) -> None:
    row = _plan(runs)
    sitting = _sit(runs, row)
    runs.add(row.id, sitting, [_answer(no) for no in range(3)])
    pages = runs._db.conn.execute("PRAGMA page_count").fetchone()[0]
    runs._db.conn.execute(f"PRAGMA max_page_count={pages + 4}")
    with pytest.raises(StoreFull):
        runs.add(row.id, sitting, [_answer(no, "長" * 1000) for no in range(3, 18)])
    kept = runs.done(row.id)
    assert {(0, 0), (1, 0), (2, 0), (3, 0)} <= kept
    assert len(kept) < 18
    assert all(record.text for record in runs.records(row.id)), "no half-written row"
    assert not runs.get(row.name).complete
    runs._db.conn.execute("PRAGMA max_page_count=100000")
    runs.add(row.id, sitting, [_answer(no, "長" * 1000) for no in range(3, 18) if (no, 0) not in kept])
    assert len(runs.done(row.id)) == 18


@pytest.mark.parametrize("way", ["deleted", "moved", "replaced"])
def test_a_file_that_is_taken_away_costs_no_answer(way: str, runs: Runs, tmp_path: Path) -> None:
    """SQLite writes on into a file without a name, and at the end of a run of hours everything is gone."""
    row = _plan(runs)
    sitting = _sit(runs, row)
    runs.add(row.id, sitting, [_answer(0)])
    path = tmp_path / "t.db"
    if way == "deleted":
        path.unlink()
    else:
        path.rename(tmp_path / "elsewhere.db")
    if way == "replaced":
        path.write_bytes(b"")
    for name, no in (("t-saved.db", 1), ("t-saved2.db", 2)):  # nothing that was saved before is written over
        with pytest.raises(StoreError, match="moved or deleted while it was in use") as caught:
            runs.add(row.id, sitting, [_answer(no)])
        assert name in (caught.value.hint or "")
        saved = Runs(open_store(tmp_path / name), tmp_path / name)
        assert saved.done(saved.get().id) == {(k, 0) for k in range(no + 1)}
        saved.close()


def test_a_drive_that_counts_its_files_anew_is_no_loss(
    runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = _plan(runs)
    sitting = _sit(runs, row)
    numbers = iter(range(100))
    monkeypatch.setattr(store_of_runs, "_identity", lambda path: (0, next(numbers)))
    for no in range(3):
        runs.add(row.id, sitting, [_answer(no)])
    assert len(runs.done(row.id)) == 3
    assert not list(tmp_path.glob("*saved*"))


def test_columns_that_somebody_has_added_are_left_alone(runs: Runs) -> None:
    for table in ("items", "run_items", "responses", "token_sizes", "failures", "sittings", "runs"):
        runs._db.conn.execute(f"ALTER TABLE {table} ADD COLUMN theirs TEXT")
    row = _plan(runs)
    sized = _answer(0, "甲", token_sizes=(1, 2))
    failed = Answered(1, 0, "ABCD", Completion("1.0", error_kind="server", error="500"), AT)
    runs.add(row.id, _sit(runs, row), [sized, failed])
    assert [record.text for record in runs.records(row.id)] == ["甲"]


def test_failures_are_not_answers(runs: Runs) -> None:
    row = _plan(runs)
    sitting = _sit(runs, row)
    runs.add(row.id, sitting, [_answer(0, "先考慮", error_kind="cut", error="the stream broke off"), _answer(1)])
    assert runs.done(row.id) == {(1, 0)}
    assert runs.failures(row.id) == {"cut": 1}
    assert runs.failure_rows(row.id, 0)[0]["partial"] == "先考慮"
    assert runs.get(row.name).failed == 1
    runs.add(row.id, sitting, [_answer(0)])
    assert runs.failures(row.id) == {}, "answered after all"
    assert runs.get(row.name).failed == 0


def test_identical_rows_are_rows_of_their_own(runs: Runs) -> None:
    twin = Item("Q", ("1", "2", "3", "4"), "A", "甲")
    row = _plan(
        runs, items=[twin, twin, Item("Q", ("1", "2", "3", "4"), "A", "乙"), Item("Q", ("1", "2", "3", "4"), "B", "甲")]
    )
    assert row.planned == 4
    assert runs.planned(row.id) == {"乙": 1, "甲": 3}
    runs.add(row.id, _sit(runs, row), [_answer(0)])
    assert len(runs.done(row.id)) == 1


def test_the_plan_does_not_depend_on_the_order_of_the_file() -> None:
    items = _items(30)
    assert plan_order(items) == plan_order(items[::-1])


def test_a_private_run_keeps_no_words_until_an_open_one_brings_them(runs: Runs) -> None:
    _plan(runs, private=True)
    item = _items(1)[0]
    assert runs.words(item.content_hash) is None
    _plan(runs, key="j" * 64, name="open")
    assert runs.words(item.content_hash) == (item.question, item.options)


def test_finding_a_run(runs: Runs) -> None:
    with pytest.raises(UsageError, match="no run yet") as refused:
        runs.get()
    assert "twlocal run " in refused.value.hint  # `twlocal runs` would have nothing to list
    first = _plan(runs, key="a" * 64, name="gemma-demo-aaaaaa")
    second = _plan(runs, key="b" * 64, name="gemma-exam-bbbbbb")
    assert runs.get() == second
    assert runs.get("gemma-d") == first
    assert runs.get(str(first.id)) == first
    with pytest.raises(UsageError, match="may be any of"):
        runs.get("gemma")
    with pytest.raises(UsageError, match="no run 'llama'"):
        runs.get("llama")


def test_finding_a_row(runs: Runs) -> None:
    row = _plan(
        runs,
        items=[
            *_items(3),
            Item("別題", ("甲", "乙", "丙", "丁"), "A", "科目9", "q1"),
            Item("無號", ("甲", "乙", "丙", "丁"), "A", "科目9"),
        ],
    )
    item = _items(1)[0]
    assert runs.find_row(row.id, "q0")["content_hash"] == item.content_hash
    assert runs.find_row(row.id, item.content_hash[:10])["item_id"] == "q0"
    assert runs.find_row(row.id, "4")["no"] == 4
    assert runs.find_row(row.id, "科目9/q1")["subject"] == "科目9"
    with pytest.raises(UsageError, match="may be any of"):
        runs.find_row(row.id, "q1")
    with pytest.raises(UsageError, match="no item"):
        runs.find_row(row.id, "q99")


def test_unfinished_runs_come_latest_first(runs: Runs) -> None:
    old = _plan(runs, key="a" * 64, name="old")
    new = _plan(runs, key="b" * 64, name="new")
    done = _plan(runs, key="c" * 64, name="done", count=1)
    runs.add(done.id, _sit(runs, done), [_answer(0)])
    runs.mark_complete(done.id, at=AT)
    sitting = runs.begin_sitting(new.id, EngineInfo("s", "1"), {}, pid=1, host="h", at="2026-01-01T00:00:00.000000Z")
    runs.add(new.id, sitting, [Answered(0, 0, "ABCD", Completion("0.0", "x"), "2026-01-01T00:00:09.000000Z")])
    runs.begin_sitting(old.id, EngineInfo("s", "1"), {}, pid=1, host="h", at="2026-01-03T00:00:00.000000Z")
    assert [row.name for row in runs.unfinished()] == ["old", "new"]
    assert runs.sittings(new.id)[0].seconds == pytest.approx(9, abs=0.01)


def test_a_number_beyond_what_the_database_counts_to_names_no_item(runs: Runs) -> None:
    row = _plan(runs)
    with pytest.raises(UsageError, match="has no item"):
        runs.find_row(row.id, "9" * 30)


def test_there_is_nothing_to_resume_in_an_empty_database(runs: Runs) -> None:
    with pytest.raises(UsageError, match="no run yet"):
        last_unfinished(runs, None)
