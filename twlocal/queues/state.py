"""Queues in the database: what is to do, what is done, what a queue fetched (see db/migrations/0008_queues.sql)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from twlocal.errors import UsageError
from twlocal.plan import Wish
from twlocal.queues import reason
from twlocal.queues.reason import Reason
from twlocal.store import open_store, open_to_read, translated

if TYPE_CHECKING:
    from sqlite_utils import Database

    from twlocal.queues.file import QueueFile
    from twlocal.runs import Runs

WAITING, FETCHING, RUNNING = "waiting", "fetching", "running"
OK, SKIPPED, FAILED = "ok", "skipped", "failed"
_ITEM = "no, model, bench, words, wish, state, reason, engine, cards, pid, planned, begun_at, ended_at"


@dataclass(frozen=True)
class QueueRow:
    """A queue as stored. ended_at: None while it is worked on, and after a kill."""

    id: int
    key: str
    name: str
    file: str
    begun_at: str
    seen_at: str
    ended_at: str | None
    outcome: str | None
    pid: int
    host: str


@dataclass(frozen=True)
class ItemRow:
    """An item as stored. wish: the call by which its run is found. planned: answers in all, None where not known."""

    no: int
    model: str
    bench: str
    words: tuple[str, ...]
    wish: Wish
    state: str
    why: Reason
    engine: str
    cards: str
    pid: int | None
    planned: int | None
    begun_at: str | None
    ended_at: str | None

    @property
    def reason(self) -> str:
        """Why, in English."""
        return self.why.en

    @property
    def ended(self) -> bool:
        return self.state in (OK, SKIPPED, FAILED)


@contextmanager
def opened(
    database: Path, *, look: bool = False, warn: Callable[[str], None] = lambda line: None
) -> Iterator[tuple[Runs, Queues]]:
    """The runs and queues of a database, made where it is not there; with `look`, nothing is ever written."""
    from twlocal.runs import Runs

    db = open_to_read(database) if look else open_store(database, create=True, warn=warn)
    runs = Runs(db, database)
    try:
        yield runs, Queues(db, database)
    finally:
        runs.close()


class Queues:
    """The queues of one database. All methods raise StoreError and its children."""

    def __init__(self, db: Database, path: Path) -> None:
        self._db, self._path = db, path

    def begin(self, file: QueueFile, wishes: Sequence[Wish], *, pid: int, host: str, at: str) -> QueueRow:
        """The queue of this file, written now if it is new. What was killed in the middle of something waits again."""
        with translated(self._path), self._db.atomic():
            self._db.conn.execute("UPDATE queues SET id=id WHERE 0")  # takes the write lock before looking
            found = self._db.conn.execute("SELECT id FROM queues WHERE key=?", [file.key]).fetchone()
            if found is None:
                row: dict[str, Any] = {"key": file.key, "name": self._free_name(file.path.stem), "file": file.path.name}
                row |= {"begun_at": at, "seen_at": at, "pid": pid, "host": host}
                queue_id = self._db.table("queues").insert(row).last_pk
                items = [
                    (queue_id, one.no, one.model, one.bench, json.dumps(one.words, ensure_ascii=False), _json(wish))
                    for one, wish in zip(file.entries, wishes, strict=True)
                ]
                self._db.conn.executemany(
                    "INSERT INTO queue_items (queue_id, no, model, bench, words, wish, state) "
                    "VALUES (?,?,?,?,?,?,'waiting')",
                    items,
                )
            else:
                queue_id = found[0]
                self._db.conn.execute(
                    "UPDATE queues SET ended_at=NULL, outcome=NULL, seen_at=?, pid=?, host=? WHERE id=?",
                    [at, pid, host, queue_id],
                )
                self._db.conn.execute(
                    "UPDATE queue_items SET state='waiting', reason='' WHERE queue_id=? AND state!='ok'", [queue_id]
                )
        return self.get(key=file.key)

    def _free_name(self, name: str) -> str:
        taken = {row[0] for row in self._db.conn.execute("SELECT name FROM queues")}
        number, free = 2, name
        while free in taken:
            free, number = f"{name}-{number}", number + 1
        return free

    def change(self, queue_id: int, no: int, *, at: str, **facts: Any) -> None:
        """Set facts of an item (state, reason, engine, cards, pid, planned, begun_at, ended_at)."""
        names = ", ".join(f"{name}=?" for name in facts)
        with translated(self._path), self._db.atomic():
            self._db.conn.execute(
                f"UPDATE queue_items SET {names} WHERE queue_id=? AND no=?", [*facts.values(), queue_id, no]
            )
            self._db.conn.execute("UPDATE queues SET seen_at=? WHERE id=?", [at, queue_id])

    def end(self, queue_id: int, outcome: str, *, at: str) -> None:
        """Record how the queue ended; what was in the middle of something waits again."""
        with translated(self._path), self._db.atomic():
            self._db.conn.execute(
                "UPDATE queue_items SET state='waiting', pid=NULL "
                "WHERE queue_id=? AND state IN ('fetching', 'running')",
                [queue_id],
            )
            self._db.conn.execute(
                "UPDATE queues SET ended_at=?, seen_at=?, outcome=? WHERE id=?", [at, at, outcome, queue_id]
            )

    # ── what it fetches ───────────────────────────────────────────────────────────────────────────────────────────

    def will_fetch(self, queue_id: int, repository: str, revision: str, files: Sequence[str], *, at: str) -> None:
        """Write down what the queue is about to fetch, before it does; what it wrote down earlier stays with it."""
        with translated(self._path), self._db.atomic():
            known = self.fetched(queue_id).get((repository, revision), ())
            self._db.conn.execute(
                "INSERT OR REPLACE INTO queue_fetches VALUES (?,?,?,?,?,NULL)",
                [queue_id, repository, revision, json.dumps(sorted({*known, *files})), at],
            )

    def fetched(self, queue_id: int) -> dict[tuple[str, str], tuple[str, ...]]:
        """What the queue fetched and has not given up again: files by repository and commit."""
        sql = "SELECT repository, revision, files FROM queue_fetches WHERE queue_id=? AND reclaimed_at IS NULL"
        with translated(self._path):
            rows = self._db.conn.execute(sql, [queue_id]).fetchall()
        return {(repository, revision): tuple(json.loads(files)) for repository, revision, files in rows}

    def reclaimed(self, queue_id: int, repository: str, revision: str, *, at: str) -> None:
        with translated(self._path), self._db.atomic():
            self._db.conn.execute(
                "UPDATE queue_fetches SET reclaimed_at=? WHERE queue_id=? AND repository=? AND revision=?",
                [at, queue_id, repository, revision],
            )

    # ── reading ───────────────────────────────────────────────────────────────────────────────────────────────────

    def all(self) -> list[QueueRow]:
        """Every queue, the one worked on last first."""
        return self._queues("ORDER BY seen_at DESC, id DESC", [])

    def get(self, name: str | None = None, *, key: str | None = None) -> QueueRow:
        """One queue by name or key, or the one worked on last. Raises UsageError."""
        rows = self._queues("WHERE key=?", [key]) if key is not None else self.all()
        if name is not None:
            rows = [row for row in rows if row.name == name] or [row for row in rows if row.name.startswith(name)]
        if not rows:
            raise UsageError("there is no queue yet" if name is None else f"there is no queue {name!r}")
        return rows[0]

    def _queues(self, where: str, params: Sequence[object]) -> list[QueueRow]:
        sql = f"SELECT id, key, name, file, begun_at, seen_at, ended_at, outcome, pid, host FROM queues {where}"
        with translated(self._path):
            return [QueueRow(*row) for row in self._db.conn.execute(sql, params)]

    def items(self, queue_id: int) -> list[ItemRow]:
        """The items of a queue in the order of its file."""
        sql = f"SELECT {_ITEM} FROM queue_items WHERE queue_id=? ORDER BY no"
        with translated(self._path):
            return [_item(row) for row in self._db.conn.execute(sql, [queue_id])]


def _json(wish: Wish) -> str:
    return json.dumps(wish.as_json(), ensure_ascii=False, sort_keys=True)


def _item(row: Sequence[Any]) -> ItemRow:
    no, model, bench, words, wish, state, why, *rest = row
    told: Mapping[str, Any] = json.loads(wish)
    return ItemRow(no, model, bench, tuple(json.loads(words)), Wish.from_json(told), state, reason.read(why), *rest)
