"""The database under a build: whole transactions, and rows."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from twlocal.store import translated

if TYPE_CHECKING:
    from sqlite_utils import Database


class Tables:
    """A database that stages keep their state in; `path` is for messages."""

    def __init__(self, db: Database, path: Path) -> None:
        self._db = db
        self._path = path

    @contextmanager
    def _writing(self) -> Iterator[Any]:
        with translated(self._path):
            connection = self._db.conn
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                connection.rollback()
                raise

    def _rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with translated(self._path):
            return list(self._db.conn.execute(sql, values))

    def close(self) -> None:
        """Close the database."""
        self._db.conn.close()


def as_json(value: Any) -> str:
    """JSON as it is kept: the same value, the same text."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
