"""Rows as JSONL: whole or not at all, and never in the place of a device or a database."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from twlocal.errors import UsageError
from twlocal.formosa import jsonl, native
from twlocal.formosa.calibrated import read_listed
from twlocal.formosa.drafts import read_drafts


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


@pytest.mark.parametrize("mark", ["\u2028", "\u2029", "\u0085", "\x1c", "\x0b"])
def test_a_line_ends_at_a_line_feed_alone(tmp_path: Path, mark: str) -> None:
    # These are legal inside a JSON string, and models write them.
    path, text = tmp_path / "rows.jsonl", f"題{mark}目"
    written = mark if mark >= " " else f"\\u{ord(mark):04x}"
    rows = [f'{{"window": "w", "id": "{letter * 64}", "question": "題{written}目"}}' for letter in "ab"]
    path.write_text("\r\n".join(rows) + "\r\n", encoding="utf-8", newline="")
    assert [draft.question for draft in read_drafts(path)] == [text] * 2
    assert read_listed(path) == {"a" * 64, "b" * 64}
    assert list(native.questions(path)).count(text) == 2
