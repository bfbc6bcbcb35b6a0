"""Rows as JSONL: whole or not at all, and never in the place of a device or a database."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from twlocal.errors import UsageError
from twlocal.formosa import jsonl


def test_rows_in_their_order(tmp_path: Path) -> None:
    path = tmp_path / "new" / "rows.jsonl"
    assert jsonl.write(path, [{"題": "一"}, {"題": "二"}]) == 2
    assert path.read_bytes() == '{"題": "一"}\n{"題": "二"}\n'.encode()


def test_a_failure_in_the_middle_leaves_what_was_there(tmp_path: Path) -> None:
    def broken() -> Iterator[dict[str, Any]]:
        yield {"a": 1}
        raise RuntimeError

    path = tmp_path / "rows.jsonl"
    path.write_text("before", encoding="utf-8")
    with pytest.raises(RuntimeError):
        jsonl.write(path, broken())
    assert [entry.name for entry in tmp_path.iterdir()] == ["rows.jsonl"]
    assert path.read_text(encoding="utf-8") == "before"


def test_a_pipe_is_written_to_and_a_database_is_not(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    assert jsonl.write(pipe, [{"a": 1}]) == 1
    assert os.read(reader, 100) == b'{"a": 1}\n'
    os.close(reader)
    assert pipe.is_fifo()

    database = tmp_path / "twlocal.db"
    sqlite3.connect(database).execute("CREATE TABLE t (x)").connection.close()
    with pytest.raises(UsageError, match="is a database"):
        jsonl.write(database, [{"a": 1}])


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(UsageError, match="cannot write"):
        jsonl.write(tmp_path / "file" / "rows.jsonl", [])
