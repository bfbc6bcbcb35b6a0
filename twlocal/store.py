"""The SQLite store: opening it safely, bringing its schema up to date, and translating what SQLite says.

What is in it is told by `db/migrations/*.sql`. Reading and writing of runs is in `twlocal.runs`.
"""

from __future__ import annotations

import re
import shlex
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import TYPE_CHECKING

from twlocal.drives import shared_by_machines
from twlocal.errors import SchemaTooNew, StoreBusy, StoreCorrupt, StoreError, StoreFull, StoreMissing

if TYPE_CHECKING:
    from sqlite_utils import Database

# Another process may hold the write lock for as long as a large import takes.
BUSY_SECONDS = 60.0
_AGAIN_SECONDS = 0.02
_MISSING = re.compile(r"no such (?:table|column)|has no column|has \d+ columns")
_CHANGED = "it was left as it is: take an untouched copy, or begin another file with --db"
_ELSEWHERE = "put the database on a drive of this machine: --db"
# What a drive says that cannot share memory between processes, or locks: there is no write-ahead log on it.
_NO_SHARING = (sqlite3.SQLITE_PROTOCOL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN)
_NO_WRITING = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM)


def _database() -> type[Database]:
    """sqlite-utils' class, imported without numpy and pandas, whose types are never stored here.

    It takes them where they are installed, and a quarter of the time of `twlocal runs` went into that.
    """
    absent = [name for name in ("numpy", "pandas") if name not in sys.modules]
    sys.modules.update(dict.fromkeys(absent))  # type: ignore[arg-type]  # None: importing it fails at once
    try:
        from sqlite_utils import Database
    finally:
        for name in absent:
            del sys.modules[name]
    return Database


def migrations(folder: Traversable | None = None) -> list[tuple[int, str]]:
    """The numbered migrations (number, SQL text), in order, without gaps."""
    place = folder if folder is not None else files("twlocal.db.migrations")
    found = sorted((entry.name, entry) for entry in place.iterdir() if entry.name.endswith(".sql"))
    numbered = [(int(name.split("_", 1)[0]), entry.read_text(encoding="utf-8")) for name, entry in found]
    assert [number for number, _ in numbered] == list(range(1, len(numbered) + 1)), "migrations must be 1, 2, 3, …"
    return numbered


def open_store(
    path: Path,
    *,
    create: bool = True,
    timeout: float = BUSY_SECONDS,
    warn: Callable[[str], None] = lambda message: None,
    folder: Traversable | None = None,
) -> Database:
    """Open (and, with `create`, make) the database at `path`, with its schema brought up to date.

    Durable: WAL with synchronous=FULL, both read back; where WAL is not to be had, or not to be trusted (a network
    drive), the rollback journal is used and `warn` is called once. `timeout` is how many seconds to wait for another
    writer.
    Raises StoreError and its children; a database of a newer twlocal is left untouched.
    """
    Database = _database()
    if not create and not path.is_file():
        raise _no_database(path)
    with translated(path):
        if path.exists() and not path.is_file():
            raise StoreError(f"{path} is not a file", hint="name another place with --db")
        path.parent.mkdir(parents=True, exist_ok=True)
        # Absolute, because SQLite takes ":memory:" for a database that is lost when the process ends.
        connection = sqlite3.connect(path.absolute(), timeout=timeout, check_same_thread=False)
        try:
            if not create and _may_only_be_read(connection, path):
                connection.close()
                # Taken as unchanging: SQLite would have to write beside it even to share it with a writer.
                place = path.resolve().as_uri() + "?immutable=1"
                connection = sqlite3.connect(place, uri=True, timeout=timeout, check_same_thread=False)
                durable = False
            else:
                durable = True
            db = Database(connection, execute_plugins=False)
            steps = migrations(folder)
            _migrate(db, path, steps)
            if create:
                # Ten milliseconds, for those who are about to ask an engine for what would then find no place.
                _check_whole(connection, path, steps)
            if durable:
                _make_durable(connection, warn, timeout, network=shared_by_machines(path))
        except BaseException:
            connection.close()
            raise
        return db


def open_to_read(path: Path, *, timeout: float = BUSY_SECONDS) -> Database:
    """Open the database at `path` for somebody who only looks: nothing is written, not even its schema's new tables.

    Raises StoreError and its children, also for a database of an older twlocal.
    """
    Database = _database()
    if not path.is_file():
        raise _no_database(path)
    with translated(path):
        place = path.resolve().as_uri()
        connection = sqlite3.connect(place + "?mode=ro", uri=True, timeout=timeout, check_same_thread=False)
        try:
            if _may_only_be_read(connection, path):
                connection.close()
                connection = sqlite3.connect(place + "?immutable=1", uri=True, check_same_thread=False)
            version, known = _version(connection), len(migrations())
            if version > known:
                raise SchemaTooNew(
                    f"{path} has schema {version}, this twlocal knows {known}", hint="pip install --upgrade twlocal"
                )
            if version < known:
                raise StoreError(
                    f"{path} was made by an older twlocal, and looking at it changes nothing",
                    hint="twlocal runs brings it up to date",
                )
        except BaseException:
            connection.close()
            raise
        return Database(connection, execute_plugins=False)


def _may_only_be_read(connection: sqlite3.Connection, path: Path) -> bool:
    """Whether nothing can be written beside the database, and nobody else is writing: no log of theirs is there."""
    try:
        _version(connection)
    except sqlite3.OperationalError as error:
        log = path.resolve().with_name(path.resolve().name + "-wal")
        return _code(error) in _NO_WRITING and not (log.exists() and log.stat().st_size)
    return False


def _make_durable(
    connection: sqlite3.Connection, warn: Callable[[str], None], timeout: float = 0, *, network: str = ""
) -> None:
    mode = _journal(connection, timeout, "delete" if network else "wal")
    if network:
        warn(
            f"the database is on a network drive ({network}), where SQLite's write-ahead log is not safe: the rollback "
            "journal is used, which is slower. Let one machine at a time use it, or name a drive of this one with --db"
        )
    elif mode != "wal":
        warn(f"this drive gives no write-ahead log (it stays with {mode}): still safe, only slower")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("PRAGMA foreign_keys=ON")
    if connection.execute("PRAGMA synchronous").fetchone()[0] != 2:
        raise StoreError("SQLite does not take synchronous=FULL here: answers would not survive a power cut")


def _journal(connection: sqlite3.Connection, timeout: float, wanted: str) -> str:
    """Ask for a way of keeping a journal (wal or delete); returns the one in force. SQLite's own timeout does not cover
    this: it needs the database to itself for a moment, and says busy at once where another process looks at it.
    """
    end = time.monotonic() + timeout
    while True:
        try:
            mode: str = connection.execute("PRAGMA journal_mode").fetchone()[0]
            return mode if mode == wanted else connection.execute(f"PRAGMA journal_mode={wanted}").fetchone()[0]
        except sqlite3.OperationalError as error:
            if wanted == "wal" and _code(error) in _NO_SHARING:
                wanted = "delete"
                continue
            if not _is_busy(error) or time.monotonic() > end:
                raise
            time.sleep(_AGAIN_SECONDS)


def _code(error: sqlite3.Error) -> int:
    """The primary result code; 0 where SQLite gave none."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


def _is_busy(error: sqlite3.Error) -> bool:
    return _code(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def _migrate(db: Database, path: Path, steps: list[tuple[int, str]]) -> None:
    connection = db.conn
    version = _version(connection)
    if version < 0:
        raise _foreign(path)
    if version > len(steps):
        raise SchemaTooNew(
            f"{path} has schema {version}, this twlocal knows {len(steps)}",
            hint="pip install --upgrade twlocal, or name another file with --db",
        )
    if version == len(steps):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Looked at again: another process may have migrated it while this one waited for the lock.
        version = _version(connection)
        if version == 0 and db.table_names():
            raise _foreign(path)
        for number, text in steps[version:]:
            for statement in _statements(text):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version={number}")
        connection.execute("COMMIT")
    except BaseException as error:
        connection.rollback()
        if isinstance(error, sqlite3.OperationalError) and _code(error) == sqlite3.SQLITE_ERROR:
            raise StoreError(
                f"{path} says it has schema {version}, but cannot be brought to {len(steps)} from there ({error})",
                hint=_CHANGED,
            ) from error
        raise


def _no_database(path: Path) -> StoreMissing:
    return StoreMissing(f"there is no database at {path}", hint="twlocal run … makes one; --db names another")


def _foreign(path: Path) -> StoreError:
    return StoreError(f"{path} is a SQLite database, but not one of twlocal's", hint="name another file with --db")


def _check_whole(connection: sqlite3.Connection, path: Path, steps: list[tuple[int, str]]) -> None:
    """Refuse a database without a table or column that its schema should have, before anything is asked for it."""
    made = sqlite3.connect(":memory:")
    try:
        for _, text in steps:
            made.executescript(text)
        missing = sorted(_columns(made) - _columns(connection))
    finally:
        made.close()
    if missing:
        more = f" and {len(missing) - 1} more" if missing[1:] else ""
        raise StoreError(
            f"{path} says it has schema {len(steps)}, but lacks {missing[0]}{more}: it has been changed",
            hint=_CHANGED,
        )


def _columns(connection: sqlite3.Connection) -> set[str]:
    """Every column of every table, as `table.column`."""
    sql = "SELECT m.name || '.' || c.name FROM sqlite_master m JOIN pragma_table_info(m.name) c WHERE m.type='table'"
    return {row[0] for row in connection.execute(sql)}


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _statements(text: str) -> Iterator[str]:
    # Not executescript(): that commits first, and a migration must be all or nothing.
    statement = ""
    for line in text.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


@contextmanager
def translated(path: Path | str) -> Iterator[None]:
    """Turn what SQLite raises into the StoreError that says what to do."""
    try:
        yield
    except sqlite3.Error as error:
        raise _translate(error, str(path)) from error
    except OSError as error:
        raise StoreError(f"cannot use {path}: {error.strerror or error}", hint="name another file with --db") from error


def _translate(error: sqlite3.Error, path: str) -> StoreError:
    code, extended = _code(error), getattr(error, "sqlite_errorcode", 0)
    if _is_busy(error):
        return StoreBusy(
            f"{path} is locked by another process",
            hint="wait for it to end, or find it with: fuser -v " + shlex.quote(path),
        )
    # Even reading takes a little room, for what the processes share of the write-ahead log.
    if code == sqlite3.SQLITE_FULL or extended == sqlite3.SQLITE_IOERR_SHMSIZE:
        return StoreFull(f"no room left for {path}", hint="free some space and run the same command again: it goes on")
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return StoreCorrupt(
            f"{path} is damaged or not a SQLite database ({error})",
            hint=f'sqlite3 {shlex.quote(path)} ".recover" | sqlite3 recovered.db saves what can be read; '
            "--db names another file",
        )
    if code in _NO_WRITING:
        return StoreError(f"cannot write {path} ({error})", hint="check the folder's permissions, or use --db")
    if code == sqlite3.SQLITE_PROTOCOL:
        return StoreError(f"the drive under {path} does not lock files as SQLite needs it ({error})", hint=_ELSEWHERE)
    if code == sqlite3.SQLITE_IOERR:
        return StoreError(f"the disk under {path} fails to read or write ({error})", hint=_ELSEWHERE)
    if _MISSING.search(str(error)):
        return StoreError(f"{path} is not as its schema says ({error}): it has been changed", hint=_CHANGED)
    return StoreError(f"{path}: {error}")


def is_storable(text: str) -> bool:
    """Whether UTF-8, and so SQLite, can hold the text."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def storable(text: str) -> str:
    """The text with lone surrogates, which UTF-8 cannot hold, replaced by U+FFFD."""
    return text if is_storable(text) else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
