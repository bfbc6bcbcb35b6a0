"""Parquet and Arrow."""

from __future__ import annotations

import builtins
import datetime
import decimal
import io

import pyarrow as pa
import pytest
from pyarrow import parquet

from twlocal.dataset import load


def table(**columns: pa.Array) -> pa.Table:
    base = {"question": ["q"], "A": ["1"], "B": ["2"], "C": ["3"], "D": ["4"], "answer": ["A"]}
    return pa.table(base | columns)


def parquet_bytes(content: pa.Table) -> bytes:
    out = io.BytesIO()
    parquet.write_table(content, out)
    return out.getvalue()


@pytest.mark.parametrize(
    ("array", "text"),
    [
        (pa.array([7]), "7"),
        (pa.array([7], pa.uint8()), "7"),
        (pa.array([1.0]), "1.0"),
        (pa.array([0.1]), "0.1"),
        (pa.array([1e5]), "100000.0"),
        (pa.array([0.1], pa.float32()), "0.1"),
        (pa.array([1.0], pa.float32()), "1.0"),
        (pa.array([True]), "true"),
        (pa.array([decimal.Decimal("1.50")]), "1.50"),
        (pa.array([datetime.date(2024, 1, 2)]), "2024-01-02"),
        (pa.array(["007"], pa.large_string()), "007"),
        (pa.array(["甲"]).dictionary_encode(), "甲"),
        (pa.array(["甲".encode()]), "甲"),
    ],
)
def test_columns_as_text(data, array, text):
    loaded = data.load("x.parquet", parquet_bytes(table(A=array)))
    assert loaded.items[0].options[0] == text


@pytest.mark.parametrize("array", [pa.array([None], pa.string()), pa.nulls(1), pa.array([None], pa.float64())])
def test_a_null_is_an_empty_cell(data, array):
    assert "x.parquet:1: empty option A" in data.error("x.parquet", parquet_bytes(table(A=array)))


@pytest.mark.parametrize(
    ("array", "says"),
    [
        (pa.array([["x"]]), "holds lists"),
        (pa.array([{"a": 1}]), "struct"),
        (pa.array([b"\xff\xfe"]), "cannot be read as text"),
    ],
)
def test_columns_that_are_no_text(data, array, says):
    message = data.error("x.parquet", parquet_bytes(table(A=array)))
    assert "column 'A'" in message and says in message


@pytest.mark.parametrize(
    "kind",
    [
        pa.list_(pa.string()),
        pa.large_list(pa.string()),
        pa.list_(pa.string(), 4),
        pa.list_(pa.int64()),
        pa.list_(pa.float64()),
    ],
)
def test_lists_of_choices(data, kind):
    values = [1, 2, 3, 4] if kind.value_type != pa.string() else ["甲", "乙", "丙", "丁"]
    content = pa.table({"question": ["q"], "choices": pa.array([values], kind), "answer": [0]})
    (item,) = data.load("x.parquet", parquet_bytes(content), answer_base=0).items
    expected = (
        ["1.0", "2.0", "3.0", "4.0"] if pa.types.is_floating(kind.value_type) else [str(value) for value in values]
    )
    assert list(item.options) == expected and item.answer == "A"


def test_choices_that_are_missing_or_nested(data):
    content = pa.table(
        {
            "question": ["q", "r"],
            "choices": pa.array([None, [[1]]], pa.list_(pa.list_(pa.int64()))),
            "answer": ["A", "B"],
        }
    )
    message = data.error("x.parquet", parquet_bytes(content))
    assert ":1: choices is not a list" in message and ":2: choices holds something that is not text" in message


def test_nested_columns_beside_are_kept_as_json(data):
    content = table(extra=pa.array([{"k": "值"}]), tags=pa.array([["x", None]]))
    (item,) = data.load("x.parquet", parquet_bytes(content)).items
    assert dict(item.meta) == {"extra": '{"k": "值"}', "tags": '["x", null]'}


def test_arrow_files_and_streams_are_the_same_rows(data):
    content, prints = table(), set()
    for name, opener in (("f.arrow", pa.ipc.new_file), ("s.arrow", pa.ipc.new_stream), ("f.feather", pa.ipc.new_file)):
        out = io.BytesIO()
        with opener(out, content.schema) as writer:
            writer.write_table(content)
        prints.add(data.load(name, out.getvalue(), subject="s").fingerprint)
    assert len(prints) == 1


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
@pytest.mark.parametrize("content", [b"", b"PAR1", b"not a table at all", b"ARROW1\0\0 damaged"])
def test_damaged_files(data, suffix, content):
    assert "that can be read" in data.error(f"x{suffix}", content)


def test_a_truncated_file(data):
    assert "not a Parquet file" in data.error("x.parquet", parquet_bytes(table())[:-20])


def test_columns_are_missing_or_twice(data):
    assert "no column answer" in data.error("x.parquet", parquet_bytes(table().drop_columns(["answer"])))
    twice = pa.Table.from_arrays([pa.array(["q"])] * 2, names=["question", "question"])
    out = io.BytesIO()
    with pa.ipc.new_file(out, twice.schema) as writer:
        writer.write_table(twice)
    assert "more than once" in data.error("x.arrow", out.getvalue())


def test_no_pyarrow(data, monkeypatch):
    path = data.put("x.parquet", parquet_bytes(table()))
    real = builtins.__import__

    def without(name, *rest):
        if name.split(".")[0] == "pyarrow":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(Exception, match=r"twlocal\[parquet\]"):
        load(str(path))


def test_a_column_whose_name_is_no_text_is_a_damaged_file(data):
    content = parquet_bytes(table().append_column("來源", pa.array(["x"])))
    assert "來源".encode() in content
    message = data.error("x.parquet", content.replace("來源".encode(), b"\xff\xfe\xd3\xf8\xff\xff"))
    assert "x.parquet: not a Parquet file that can be read" in message
