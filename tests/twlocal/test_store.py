"""The store: durable, upgraded in one piece, and clear about what it cannot open."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from twlocal import store
from twlocal.errors import SchemaTooNew, StoreBusy, StoreCorrupt, StoreError, StoreFull, StoreMissing
from twlocal.store import migrations, open_store, translated


def test_a_new_database_is_durable(tmp_path: Path) -> None:
    db = open_store(tmp_path / "new" / "t.db")
    assert db.conn.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
    assert db.conn.execute("PRAGMA synchronous").fetchone()[0] == 2
    assert db.conn.execute("PRAGMA foreign_keys").fetchone()[0] == 1
    assert db.conn.execute("PRAGMA user_version").fetchone()[0] == len(migrations())
    assert {"runs", "sittings", "items", "run_items", "responses", "failures"} <= set(db.table_names())
    db.close()


def test_opening_again_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    open_store(path).close()
    before = path.read_bytes()
    open_store(path).close()
    assert path.read_bytes() == before


def test_a_missing_database_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreMissing, match="there is no database"):
        open_store(tmp_path / "absent.db", create=False)
    assert not (tmp_path / "absent.db").exists()


@pytest.mark.parametrize("content", [b"\x7fELF not a database" * 100, "題目,A,B\n".encode("big5") * 200])
def test_a_file_that_is_no_database_is_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "t.db"
    path.write_bytes(content)
    with pytest.raises(StoreCorrupt, match="damaged or not a SQLite database"):
        open_store(path)
    assert path.read_bytes() == content


def test_somebody_elses_database_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE mine (x)")
    other.commit()
    other.close()
    with pytest.raises(StoreError, match="not one of twlocal's"):
        open_store(path)


def test_a_newer_schema_is_refused_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    open_store(path).close()
    raw = sqlite3.connect(path)
    raw.execute("PRAGMA user_version=99")
    raw.commit()
    raw.close()
    before = path.read_bytes()
    with pytest.raises(SchemaTooNew, match="99"):
        open_store(path)
    assert path.read_bytes() == before


def _two_versions(folder: Path, second: str) -> Path:
    folder.mkdir()
    (folder / "0001_first.sql").write_text(
        "CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT);\n", encoding="utf-8"
    )
    (folder / "0002_second.sql").write_text(second, encoding="utf-8")
    return folder


def _version_one(folder: Path, path: Path) -> None:
    only_first = folder.with_name("first")
    only_first.mkdir()
    shutil.copy(folder / "0001_first.sql", only_first)
    db = open_store(path, folder=only_first)
    for number in range(10):
        db.table("notes").insert({"text": f"第{number}則"})
    db.close()


def test_an_old_schema_is_upgraded_and_keeps_its_rows(tmp_path: Path) -> None:
    folder = _two_versions(tmp_path / "both", "ALTER TABLE notes ADD COLUMN finish TEXT NOT NULL DEFAULT 'stop';\n")
    _version_one(folder, tmp_path / "t.db")
    db = open_store(tmp_path / "t.db", folder=folder)
    assert [row["finish"] for row in db.table("notes").rows] == ["stop"] * 10
    db.close()


def test_a_migration_that_fails_leaves_the_old_schema_whole(tmp_path: Path) -> None:
    folder = _two_versions(
        tmp_path / "both", "ALTER TABLE notes ADD COLUMN a TEXT;\nALTER TABLE absent ADD COLUMN b TEXT;\n"
    )
    _version_one(folder, tmp_path / "t.db")
    with pytest.raises(StoreError, match="absent"):
        open_store(tmp_path / "t.db", folder=folder)
    raw = sqlite3.connect(tmp_path / "t.db")
    assert raw.execute("PRAGMA user_version").fetchone()[0] == 1
    assert [column[1] for column in raw.execute("PRAGMA table_info(notes)")] == ["id", "text"]
    assert raw.execute("SELECT count(*) FROM notes").fetchone()[0] == 10
    raw.close()


def _changed(path: Path, *statements: str) -> bytes:
    open_store(path).close()
    raw = sqlite3.connect(path)
    for statement in statements:
        raw.execute(statement)
    raw.commit()
    raw.close()
    return path.read_bytes()


@pytest.mark.parametrize(
    ("statement", "lacks"),
    [
        ("ALTER TABLE responses DROP COLUMN finish", "lacks responses.finish: it"),
        ("DROP TABLE failures", "lacks failures.attempt and 9 more"),
    ],
)
def test_a_schema_that_is_not_what_it_says_is_refused_before_anything_is_asked(
    tmp_path: Path, statement: str, lacks: str
) -> None:
    before = _changed(tmp_path / "t.db", statement)
    with pytest.raises(StoreError, match=lacks) as caught:
        open_store(tmp_path / "t.db")
    assert "untouched copy" in (caught.value.hint or "")
    assert (tmp_path / "t.db").read_bytes() == before
    # Who only reads is told when it is missed.
    db = open_store(tmp_path / "t.db", create=False)
    with pytest.raises(StoreError, match="not as its schema says"), translated(tmp_path / "t.db"):
        db.conn.execute("SELECT finish FROM responses JOIN failures USING (run_id)")
    db.close()


def test_what_others_have_added_is_no_fault(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    _changed(path, "CREATE TABLE theirs (x)", "ALTER TABLE runs ADD COLUMN theirs TEXT")
    open_store(path).close()


@pytest.mark.parametrize(
    ("version", "told"), [(-1, "not one of twlocal's"), (0, "not one of twlocal's"), (3, "says it has schema 3, but")]
)
def test_a_schemas_number_that_was_lost_is_no_reason_to_make_it_anew(tmp_path: Path, version: int, told: str) -> None:
    before = _changed(tmp_path / "t.db", f"PRAGMA user_version={version}")
    with pytest.raises(StoreError, match=told) as caught:
        open_store(tmp_path / "t.db")
    assert caught.value.hint
    assert (tmp_path / "t.db").read_bytes() == before


def test_a_locked_database_is_not_half_upgraded(tmp_path: Path) -> None:
    folder = _two_versions(tmp_path / "both", "ALTER TABLE notes ADD COLUMN finish TEXT;\n")
    _version_one(folder, tmp_path / "t.db")
    holder = sqlite3.connect(tmp_path / "t.db", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreBusy, match="locked"):
        open_store(tmp_path / "t.db", folder=folder, timeout=0.1)
    assert holder.execute("PRAGMA user_version").fetchone()[0] == 1
    holder.execute("ROLLBACK")
    open_store(tmp_path / "t.db", folder=folder).close()
    assert holder.execute("PRAGMA user_version").fetchone()[0] == 2
    holder.close()


def test_two_processes_may_make_the_database_at_once(tmp_path: Path) -> None:
    failures: list[BaseException] = []

    def make() -> None:
        try:
            open_store(tmp_path / "t.db").close()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=make) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_a_database_made_between_looking_and_locking_is_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    open_store(tmp_path / "t.db").close()
    looks = [store._version, lambda connection: 0]  # the first look came before the other process made it
    monkeypatch.setattr(store, "_version", lambda connection: (looks.pop() if looks[1:] else looks[0])(connection))
    db = open_store(tmp_path / "t.db")
    assert db.conn.execute("PRAGMA user_version").fetchone()[0] == len(migrations())
    db.close()


def test_a_database_that_somebody_looks_at_becomes_durable_when_they_are_done(tmp_path: Path) -> None:
    # SQLite does not wait for this change as it does for a lock: it says busy at once.
    path = tmp_path / "t.db"
    open_store(path).close()
    reader = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    reader.execute("PRAGMA journal_mode=DELETE")
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM runs").fetchone()
    done = threading.Timer(0.2, reader.close)
    done.start()
    db = open_store(path)
    assert db.conn.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
    db.close()
    done.join()


def test_a_database_that_somebody_keeps_looking_at_is_told_of(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    open_store(path).close()
    reader = sqlite3.connect(path, isolation_level=None)
    reader.execute("PRAGMA journal_mode=DELETE")
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM runs").fetchone()
    with pytest.raises(StoreBusy, match="locked"):
        open_store(path, timeout=0.1)
    reader.close()


def test_a_name_that_sqlite_would_keep_in_memory_is_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    open_store(Path(":memory:")).close()
    assert (tmp_path / ":memory:").stat().st_size > 0


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_in_place_of_a_file_is_explained(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "t.db")
    with pytest.raises(StoreError, match="is not a file"):
        open_store(tmp_path / "t.db")


def test_a_drive_without_wal_falls_back_with_one_warning() -> None:
    # SQLite refuses WAL for a database in memory just as it does on a drive without shared memory.
    from sqlite_utils import Database

    from twlocal.store import _make_durable

    warnings: list[str] = []
    db = Database(memory=True)
    _make_durable(db.conn, warnings.append)
    assert len(warnings) == 1
    assert "write-ahead log" in warnings[0]
    db.close()


def test_on_a_network_drive_the_rollback_journal_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A network drive may grant a write-ahead log; two machines then damage the database without an error."""
    path = tmp_path / "t.db"
    open_store(path).close()
    monkeypatch.setattr(store, "shared_by_machines", lambda path: "nfs4")
    warnings: list[str] = []
    db = open_store(path, warn=warnings.append)
    assert db.conn.execute("PRAGMA journal_mode").fetchone()[0] == "delete"
    assert db.conn.execute("PRAGMA synchronous").fetchone()[0] == 2
    assert ["nfs4" in warning and "--db" in warning for warning in warnings] == [True]
    db.close()
    monkeypatch.undo()
    db = open_store(path, warn=warnings.append)
    assert db.conn.execute("PRAGMA journal_mode").fetchone()[0] == "wal", "copied to a drive of its own"
    assert len(warnings) == 1
    db.close()


class _Drive:
    """A connection to a database on a drive that fails to share memory between processes."""

    def __init__(self, connection: sqlite3.Connection, code: int) -> None:
        self._connection, self._code = connection, code

    def execute(self, sql: str) -> sqlite3.Cursor:
        if sql == "PRAGMA journal_mode=wal":
            error = sqlite3.OperationalError("locking protocol")
            error.sqlite_errorcode = self._code
            raise error
        return self._connection.execute(sql)


@pytest.mark.parametrize("code", [sqlite3.SQLITE_PROTOCOL, sqlite3.SQLITE_IOERR | 18 << 8, sqlite3.SQLITE_CANTOPEN])
def test_a_drive_that_fails_at_a_write_ahead_log_falls_back(tmp_path: Path, code: int) -> None:
    warnings: list[str] = []
    connection = sqlite3.connect(tmp_path / "t.db")
    store._make_durable(_Drive(connection, code), warnings.append)  # type: ignore[arg-type]
    assert ["stays with delete" in warning for warning in warnings] == [True]
    connection.close()


def test_a_drive_that_does_not_lock_is_called_so(tmp_path: Path) -> None:
    error = sqlite3.OperationalError("locking protocol")
    error.sqlite_errorcode = sqlite3.SQLITE_PROTOCOL
    with pytest.raises(StoreError, match="does not lock files") as caught, translated(tmp_path / "t.db"):
        raise error
    assert "--db" in (caught.value.hint or "")


def test_a_full_disk_is_called_so(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "t.db")
    connection.execute("CREATE TABLE t (x)")
    connection.execute("PRAGMA max_page_count=2")
    with pytest.raises(StoreFull, match="no room left"), translated(tmp_path / "t.db"):
        connection.executemany("INSERT INTO t VALUES (?)", [("x" * 4000,) for _ in range(9)])
    connection.close()


def test_a_folder_in_place_of_a_file_is_explained(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="is not a file"):
        open_store(tmp_path)


def test_opening_a_store_brings_no_numpy_and_leaves_it_importable(tmp_path):
    """sqlite-utils imports numpy where it is installed, which costs more than reading the list of runs."""
    code = (
        "import sys; from pathlib import Path; from twlocal.store import open_store\n"
        "open_store(Path(sys.argv[1])).close()\n"
        "print('numpy' in sys.modules, 'pandas' in sys.modules)"
    )
    words = [sys.executable, "-c", code, str(tmp_path / "a.db")]
    done = subprocess.run(words, capture_output=True, text=True, encoding="utf-8", check=True)
    assert done.stdout.split() == ["False", "False"]
