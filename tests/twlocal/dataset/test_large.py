"""What is done differently so that large files load fast: it must give the same."""

from __future__ import annotations

import gc
import io
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twlocal import garbage
from twlocal.dataset import arrow_rows, csv_rows, load
from twlocal.errors import DatasetError
from twlocal.item import Item
from twlocal.plan import PlannedItem, plan_order


@given(st.text(st.sampled_from('a甲,"\r\n\u2028\x85\x0b\x1c'), max_size=40), st.sampled_from([0, 1, 5, csv_rows._PART]))
def test_lines_are_those_of_a_text_stream_that_keeps_line_ends(text, part):
    with mock.patch.object(csv_rows, "_PART", part):
        assert list(csv_rows._lines(text)) == list(io.StringIO(text, newline=""))


def test_a_table_read_in_slices_is_the_table(tmp_path, monkeypatch):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    columns = {
        "question": [f"題{n}" for n in range(7)],
        "choices": [[f"{n}{letter}" for letter in "甲乙丙丁"] for n in range(7)],
        "answer": pa.array([n % 4 for n in range(7)], pa.int8()),
        "year": pa.array([1.0, 2.5, None, 4.0, 5.0, 6.0, 7.0], pa.float32()),
    }
    parquet.write_table(pa.table(columns), tmp_path / "few.parquet")
    whole = load(str(tmp_path / "few.parquet"))
    monkeypatch.setattr(arrow_rows, "_SLICE", 3)
    sliced = load(str(tmp_path / "few.parquet"))
    assert sliced == whole and [item.answer for item in whole.items] == list("ABCDABC")
    assert [item.meta for item in sliced.items] == [item.meta for item in whole.items]
    assert sliced.items[3].meta == {"year": "4.0"} and sliced.items[2].meta == {"year": ""}


def test_an_empty_table_still_has_its_columns_checked(tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    texts = {name: pa.array([], pa.string()) for name in "ABCD"}
    parquet.write_table(pa.table({"question": pa.array([], pa.list_(pa.string())), **texts, "answer": texts["A"]}),
                        tmp_path / "empty.parquet")  # fmt: skip
    with pytest.raises(DatasetError, match="'question' cannot be read as text"):
        load(str(tmp_path / "empty.parquet"))


def test_rows_without_other_columns_share_nothing_that_differs(tmp_path):
    (tmp_path / "a.csv").write_text("question,A,B,C,D,answer\n一,1,2,3,4,A\n二,1,2,3,4,B\n", encoding="utf-8")
    first, second = load(str(tmp_path / "a.csv")).items
    assert first.meta == second.meta == {}
    assert first.content_hash != second.content_hash
    assert first.content_hash == Item("一", ("1", "2", "3", "4"), "A").content_hash


_items = st.builds(
    Item,
    st.sampled_from("甲乙"),
    st.just(("1", "2", "3", "4")),
    st.sampled_from("AB"),
    st.sampled_from("xy"),
    st.sampled_from(["", "1", "2"]),
)


@given(st.lists(_items, max_size=12))
def test_the_plans_order_is_by_hash_then_subject_then_id(items):
    ordered = sorted(items, key=lambda item: (item.content_hash, item.subject, item.id))
    seen: list[tuple[str, str]] = []
    expected = []
    for no, item in enumerate(ordered):
        expected.append(PlannedItem(no, item, seen.count((item.content_hash, item.subject))))
        seen.append((item.content_hash, item.subject))
    planned = plan_order(items)
    assert planned == expected and [row.item.id for row in planned] == [row.item.id for row in expected]


@pytest.mark.parametrize("running", [True, False])
def test_the_collector_is_left_as_it_was(running):
    before = gc.isenabled()
    (gc.enable if running else gc.disable)()
    try:
        with pytest.raises(RuntimeError), garbage.paused():
            with garbage.paused():
                assert not gc.isenabled()
            assert not gc.isenabled()
            raise RuntimeError
        assert gc.isenabled() is running
    finally:
        (gc.enable if before else gc.disable)()
