"""Runs in the store: planning one, finding what is left of it, adding to it, reading it back."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from twlocal import backend as backends
from twlocal.backend import ENGINE_DIED, EngineInfo
from twlocal.errors import StoreError, StoreFull, UsageError
from twlocal.record import Record
from twlocal.responses import (
    INSERT_FAILURE,
    INSERT_RESPONSE,
    INSERT_SIZES,
    SELECT_NEWER,
    SELECT_RECORD,
    Answered,
    failure_row,
    record,
    response_row,
    sizes_row,
)
from twlocal.store import BUSY_SECONDS, translated

if TYPE_CHECKING:
    from sqlite_utils import Database

    from twlocal.plan import Plan, Wish

Key = tuple[int, int]  # (no, repeat)


@dataclass(frozen=True)
class RunRow:
    """A run as stored, with what is known of its progress. `wish` and `manifest` are as they were given."""

    id: int
    key: str
    name: str
    model: str
    backend: str
    bench: str
    protocol: str
    repeats: int
    private: bool
    created_at: str
    completed_at: str | None
    rows: int  # items in the plan
    answered: int  # responses stored, over all repeats
    failed: int  # rows that have no answer and a recorded failure
    wish: Mapping[str, Any] = field(default_factory=dict)
    manifest: Mapping[str, Any] = field(default_factory=dict)

    @property
    def planned(self) -> int:
        """How many responses the whole run has: items times repeats."""
        return self.rows * self.repeats

    @property
    def complete(self) -> bool:
        return self.answered >= self.planned


@dataclass(frozen=True)
class Sitting:
    """One stretch of work on a run; `seconds` runs to its last commit where it was killed."""

    id: int
    started_at: str
    ended_at: str | None
    outcome: str | None
    note: str
    pid: int
    host: str
    engine: str
    engine_version: str
    engine_info: Mapping[str, Any]
    machine: Mapping[str, Any]
    seconds: float


def _identity(path: Path) -> tuple[int, int] | None:
    """What file a name leads to; None where there is none, and where the system has no numbers for files."""
    try:
        found = path.stat()
    except OSError:
        return None
    return (found.st_dev, found.st_ino) if found.st_ino else None


class Runs:
    """The runs of one database. All methods raise StoreError and its children."""

    def __init__(self, db: Database, path: Path) -> None:
        self._db = db
        self._path = path
        self._place = path.absolute()
        self._file = _identity(self._place)

    def close(self) -> None:
        self._db.close()

    def wait_for_others(self, seconds: float = BUSY_SECONDS) -> None:
        """How long from now on a call waits for another process that writes, before it raises StoreBusy."""
        with translated(self._path):
            self._db.conn.execute(f"PRAGMA busy_timeout={round(seconds * 1000)}")

    # -- planning -----------------------------------------------------------------------------------------------

    def ensure(self, plan: Plan, *, at: str) -> RunRow:
        """The run of this plan, written now if it is new, in one transaction."""
        with translated(self._path), self._db.atomic():
            self._db.conn.execute("UPDATE runs SET id=id WHERE 0")  # takes the write lock before looking
            if not self._db.conn.execute("SELECT 1 FROM runs WHERE key=?", [plan.key]).fetchone():
                self._write_plan(plan, at)
        return self.get(key=plan.key)

    def _write_plan(self, plan: Plan, at: str) -> None:
        private = plan.wish.private
        row = {
            "key": plan.key,
            "name": self._free_name(plan.name),
            "model": plan.model.id,
            "backend": plan.backend,
            "bench": plan.manifest["bench"]["name"],
            "protocol": plan.protocol.name,
            "repeats": plan.wish.repeats,
            "private": int(private),
            "wish": _json(plan.wish.as_json()),
            "manifest": _json(plan.manifest),
            "created_at": at,
        }
        if plan.stage:
            row |= {"stage": plan.stage, "asker": plan.asker}
        run_id = self._db.table("runs").insert(row).last_pk
        # executemany, not insert_all: 250,000 rows, and the same words may already be there from another run.
        self._db.conn.executemany(
            "INSERT INTO items (content_hash, stem_hash, question, a, b, c, d) VALUES (?,?,?,?,?,?,?) "
            "ON CONFLICT(content_hash) DO UPDATE SET "
            "question=excluded.question, a=excluded.a, b=excluded.b, c=excluded.c, d=excluded.d "
            "WHERE items.question IS NULL",
            (
                (
                    planned.item.content_hash,
                    planned.item.stem_hash,
                    *((None,) * 5 if private else planned.item.texts),
                )
                for planned in plan.rows
            ),
        )
        self._db.conn.executemany(
            "INSERT INTO run_items (run_id, no, content_hash, subject, occurrence, item_id, answer) "
            "VALUES (?,?,?,?,?,?,?)",
            (
                (run_id, row.no, row.item.content_hash, row.item.subject, row.occurrence, row.item.id, row.item.answer)
                for row in plan.rows
            ),
        )

    def _free_name(self, name: str) -> str:
        taken = {
            row[0]
            for row in self._db.conn.execute("SELECT name FROM runs WHERE name=? OR name LIKE ?", [name, name + "-%"])
        }
        number = 2
        free = name
        while free in taken:
            free, number = f"{name}-{number}", number + 1
        return free

    # -- working ------------------------------------------------------------------------------------------------

    def done(self, run_id: int) -> set[Key]:
        """The (no, repeat) of every row that has its answer."""
        with translated(self._path):
            return set(self._db.conn.execute("SELECT no, repeat FROM responses WHERE run_id=?", [run_id]))

    def deaths(self, run_id: int) -> dict[Key, int]:
        """How often each row was alone in flight when its engine died."""
        with translated(self._path):
            rows = self._db.conn.execute(
                "SELECT no, repeat, count(*) FROM failures WHERE run_id=? AND kind=? GROUP BY no, repeat",
                [run_id, ENGINE_DIED],
            )
            return {(no, repeat): count for no, repeat, count in rows}

    def forget_failures(self, key: str) -> None:
        """Let rows that killed their engine be tried again."""
        with translated(self._path), self._db.atomic():
            self._db.conn.execute("DELETE FROM failures WHERE run_id IN (SELECT id FROM runs WHERE key=?)", [key])

    def begin_sitting(
        self, run_id: int, info: EngineInfo, machine: Mapping[str, Any], *, pid: int, host: str, at: str
    ) -> int:
        """Record that work on the run begins; returns the sitting's id."""
        with translated(self._path):
            row = {
                "run_id": run_id,
                "started_at": at,
                "last_seen_at": at,
                "pid": pid,
                "host": host,
                "engine": info.engine,
                "engine_version": info.version,
                "engine_info": _json(engine_json(info)),
                "machine": _json(machine),
            }
            return int(cast(int, self._db.table("sittings").insert(row).last_pk))

    def end_sitting(self, sitting_id: int, outcome: str, note: str, info: EngineInfo | None, *, at: str) -> None:
        """Record how a sitting ended, and what its engine had become by then."""
        with translated(self._path):
            row: dict[str, Any] = {"ended_at": at, "last_seen_at": at, "outcome": outcome, "note": note}
            if info is not None:
                row["engine_info"] = _json(engine_json(info))
            self._db.table("sittings").update(sitting_id, row)

    def add(self, run_id: int, sitting_id: int, batch: Sequence[Answered]) -> None:
        """Commit a batch of completions, answers and failures alike, durably.

        On a full disk what still fits is kept, row by row, before StoreFull is raised.
        """
        try:
            self._commit(run_id, sitting_id, batch)
        except StoreFull:
            for answered in batch:
                self._commit(run_id, sitting_id, [answered])
            # Every row fitted by itself: what was too big was the transaction.

    def _commit(self, run_id: int, sitting_id: int, batch: Sequence[Answered]) -> None:
        answers = [row for row in batch if not row.completion.error_kind]
        failures = [row for row in batch if row.completion.error_kind]
        with translated(self._path), self._db.atomic():
            self._db.conn.executemany(INSERT_RESPONSE, (response_row(run_id, sitting_id, row) for row in answers))
            if sizes := [told for row in answers if (told := sizes_row(run_id, row)) is not None]:
                self._db.conn.executemany(INSERT_SIZES, sizes)
            self._db.conn.executemany(INSERT_FAILURE, (failure_row(run_id, sitting_id, row) for row in failures))
            self._db.conn.execute("UPDATE sittings SET last_seen_at=? WHERE id=?", [batch[-1].at, sitting_id])
        self._check_place(sitting_id, batch[-1].at)

    def _check_place(self, sitting_id: int, at: str) -> None:
        """Raise StoreError where the file is no longer what its name leads to: SQLite would write on, into nowhere.

        `at`: what was just stored for the sitting, as its last moment.
        """
        found = _identity(self._place)
        if self._file is None or found == self._file:
            return
        if found is not None and self._is_written(sitting_id, at):
            self._file = found  # a network drive that counts its files anew
            return
        names = (f"{self._path.stem}-saved{number}{self._path.suffix}" for number in ("", *range(2, 1000)))
        saved = next(place for name in names if not (place := self._path.with_name(name)).exists())
        with translated(saved):
            self._db.conn.execute("VACUUM INTO ?", [str(saved.absolute())])
        raise StoreError(
            f"{self._path} was moved or deleted while it was in use",
            hint=f"all that was stored in it is in {saved}: name that with --db, and the same command goes on",
        )

    def _is_written(self, sitting_id: int, at: str) -> bool:
        """Whether a reader who comes by the file's name finds what was just stored."""
        try:
            with closing(sqlite3.connect(self._place.as_uri() + "?mode=ro", uri=True)) as reader:
                row = reader.execute("SELECT last_seen_at FROM sittings WHERE id=?", [sitting_id]).fetchone()
        except sqlite3.Error:
            return False
        return bool(row == (at,))

    def mark_complete(self, run_id: int, *, at: str) -> None:
        with translated(self._path):
            self._db.execute("UPDATE runs SET completed_at=? WHERE id=? AND completed_at IS NULL", [at, run_id])

    # -- reading ------------------------------------------------------------------------------------------------

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """Within the block all that is read is of one moment, however much a run writes meanwhile; nothing waits."""
        with translated(self._path):
            self._db.conn.execute("BEGIN")
        try:
            yield
        finally:
            with translated(self._path):
                self._db.conn.execute("COMMIT")

    def get(self, name: str | None = None, *, key: str | None = None, detail: bool = True) -> RunRow:
        """One run by its name, number, or beginning of its name; by key; or the newest. Raises UsageError.

        What a stage asked (`twlocal formosa draft`) has no score: it is found by its key alone.
        """
        if key is not None:
            rows = self._select("WHERE r.key=?", [key], detail)
        elif name is None:
            rows = self._select("WHERE r.stage='' ORDER BY r.id DESC LIMIT 1", [], detail)
        else:
            rows = self._select("WHERE r.stage='' AND (r.name=? OR CAST(r.id AS TEXT)=?)", [name, name], detail)
            rows = rows or self._select("WHERE r.stage='' AND substr(r.name, 1, length(?))=?", [name, name], detail)
        if not rows:
            if name is None:
                raise UsageError("there is no run yet", hint="twlocal run MODEL --bench demo makes one")
            raise UsageError(f"there is no run {name!r}", hint="twlocal runs lists them")
        if len(rows) > 1:
            raise UsageError(
                f"{name!r} may be any of {', '.join(row.name for row in rows[:6])}", hint="give more of the name"
            )
        return rows[0]

    def find(self, key: str) -> RunRow | None:
        """The run with this key, if it was begun."""
        rows = self._select("WHERE r.key=?", [key], True)
        return rows[0] if rows else None

    def begun(self, wish: Wish) -> RunRow | None:
        """The newest run of this call, if it was begun; how fast it asks may differ (`plan.make` tells what counts)."""
        told = _json(wish.as_json())
        rows = self._select("WHERE r.wish=? ORDER BY r.id DESC LIMIT 1", [told], False)
        if rows:
            return rows[0]
        same = "json_remove({}, '$.settings', '$.spread')"
        with translated(self._path):
            found = self._db.conn.execute(
                f"""SELECT id, backend, json_extract(wish, '$.settings') FROM runs
                    WHERE stage='' AND {same.format("wish")}={same.format("?")} ORDER BY id DESC""",
                [told],
            ).fetchall()
        for run_id, engine, settings in found:
            if _answering(engine, wish.settings) == _answering(engine, json.loads(settings or "{}")):
                return self._select("WHERE r.id=?", [run_id], False)[0]
        return None

    def all(self) -> list[RunRow]:
        """Every run over a benchmark, oldest first, without manifests."""
        return self._select("WHERE r.stage='' ORDER BY r.id", [], False)

    def asked_by(self, asker: str) -> list[RunRow]:
        """The runs in which a stage asked under this key, oldest first."""
        return self._select("WHERE r.asker=? ORDER BY r.id", [asker], False)

    def planned_texts(self, run_id: int) -> dict[str, str]:
        """What a run asks: content hash → the text of the question. A private run keeps no texts."""
        sql = """SELECT i.content_hash, w.question FROM run_items i JOIN items w ON w.content_hash=i.content_hash
                 WHERE i.run_id=? AND w.question IS NOT NULL"""
        with translated(self._path):
            return dict(self._db.conn.execute(sql, [run_id]))

    def unfinished(self) -> list[RunRow]:
        """Runs over a benchmark that still have unanswered rows, the one worked on last first."""
        order = "ORDER BY (SELECT max(last_seen_at) FROM sittings s WHERE s.run_id=r.id) DESC, r.id DESC"
        where = "WHERE r.completed_at IS NULL AND r.stage='' " + order
        return [row for row in self._select(where, [], True) if not row.complete]

    def _select(self, where: str, params: Sequence[object], detail: bool) -> list[RunRow]:
        heavy = "r.wish, r.manifest" if detail else "'{}', '{}'"
        sql = f"""
            SELECT r.id, r.key, r.name, r.model, r.backend, r.bench, r.protocol, r.repeats, r.private,
              r.created_at, r.completed_at,
              (SELECT count(*) FROM run_items i WHERE i.run_id=r.id),
              (SELECT count(*) FROM responses a WHERE a.run_id=r.id),
              (SELECT count(DISTINCT f.no * 1000000 + f.repeat) FROM failures f WHERE f.run_id=r.id AND NOT EXISTS
                (SELECT 1 FROM responses a WHERE a.run_id=f.run_id AND a.no=f.no AND a.repeat=f.repeat)),
              {heavy}
            FROM runs r {where}"""
        with translated(self._path):
            return [_run_row(row) for row in self._db.conn.execute(sql, list(params))]

    def sittings(self, run_id: int) -> list[Sitting]:
        sql = """SELECT id, started_at, ended_at, outcome, note, pid, host, engine, engine_version, engine_info,
                   machine, (julianday(coalesce(ended_at, last_seen_at)) - julianday(started_at)) * 86400.0
                 FROM sittings WHERE run_id=? ORDER BY id"""
        with translated(self._path):
            return [_sitting(row) for row in self._db.conn.execute(sql, [run_id])]

    def told_of_model(self, run_id: int) -> list[Mapping[str, Any]]:
        """What the engines told of the model (`EngineInfo.model`) in each sitting that answered something."""
        sql = """SELECT json_extract(engine_info, '$.model') FROM sittings WHERE run_id=? AND id IN
                   (SELECT sitting_id FROM responses WHERE run_id=?) ORDER BY id"""
        with translated(self._path):
            return [json.loads(row[0] or "{}") for row in self._db.conn.execute(sql, [run_id, run_id])]

    def planned(self, run_id: int, without: Collection[str] = ()) -> dict[str, int]:
        """How many rows the plan has in each subject (times repeats is how many responses).

        `without` are content hashes of rows that do not count.
        """
        sql = """SELECT subject, count(*) FROM run_items WHERE run_id=?
                   AND content_hash NOT IN (SELECT value FROM json_each(?)) GROUP BY 1 ORDER BY 1"""
        with translated(self._path):
            return dict(self._db.conn.execute(sql, [run_id, json.dumps(sorted(without))]))

    def failures(self, run_id: int, without: Collection[str] = ()) -> dict[str, int]:
        """Rows without an answer, by the kind of their last failure; `without` as in `planned`."""
        sql = """SELECT kind, count(*) FROM (
                   SELECT f.kind, max(f.id) FROM failures f WHERE f.run_id=? AND NOT EXISTS
                     (SELECT 1 FROM responses a WHERE a.run_id=f.run_id AND a.no=f.no AND a.repeat=f.repeat)
                     AND f.no NOT IN (SELECT i.no FROM run_items i WHERE i.run_id=f.run_id
                       AND i.content_hash IN (SELECT value FROM json_each(?)))
                   GROUP BY f.no, f.repeat) GROUP BY kind ORDER BY kind"""
        with translated(self._path):
            return dict(self._db.conn.execute(sql, [run_id, json.dumps(sorted(without))]))

    def failure_rows(self, run_id: int, no: int) -> list[dict[str, Any]]:
        """What went wrong with one row, oldest first."""
        with translated(self._path):
            return list(self._db.query("SELECT * FROM failures WHERE run_id=? AND no=? ORDER BY id", [run_id, no]))

    def records(self, run_id: int, *, no: int | None = None) -> Iterator[Record]:
        """Every stored response of a run with its item's identity, in the order of the plan."""
        sql = SELECT_RECORD + (" AND a.no=?" if no is not None else "") + " ORDER BY a.no, a.repeat"
        with translated(self._path):
            for row in self._db.conn.execute(sql, [run_id] if no is None else [run_id, no]):
                yield record(row)

    def token_sizes(self, run_id: int, above: int) -> dict[Key, bytes]:
        """Where the tokens of responses with more than `above` of them end, packed (see `twlocal.token_sizes`)."""
        sql = """SELECT s.no, s.repeat, s.sizes FROM token_sizes s
                 JOIN responses a ON a.run_id=s.run_id AND a.no=s.no AND a.repeat=s.repeat
                 WHERE s.run_id=? AND a.completion_tokens>?"""
        with translated(self._path):
            return {(no, repeat): sizes for no, repeat, sizes in self._db.conn.execute(sql, [run_id, above])}

    def newer(self, run_id: int, than: int) -> Iterator[tuple[int, str, Record]]:
        """Responses stored after place `than` (0: all of them): their place, when they were answered, and they."""
        with translated(self._path):
            for place, at, *row in self._db.conn.execute(SELECT_NEWER, [run_id, than]):
                yield place, at, record(row)

    def speeds(self, host: str) -> Iterator[tuple[str, str, str, str, int, float]]:
        """What earlier runs took on this host: model, backend, bench, protocol, answers, and seconds of asking."""
        sql = """
            SELECT r.model, r.backend, r.bench, r.protocol,
              sum((SELECT count(*) FROM responses a WHERE a.run_id=r.id AND a.sitting_id=s.id)),
              sum((julianday(coalesce(s.ended_at, s.last_seen_at)) - julianday(s.started_at)) * 86400.0)
            FROM runs r JOIN sittings s ON s.run_id=r.id WHERE s.host=? AND r.stage='' GROUP BY r.id ORDER BY r.id"""
        with translated(self._path):
            yield from self._db.conn.execute(sql, [host])

    def timings(self, run_id: int) -> Iterator[dict[str, Any]]:
        """What an export leaves out by default: when, how long, and by which engine each response was made."""
        sql = """SELECT a.no, a.repeat, a.latency, a.attempt, a.answered_at, a.sitting_id, s.engine, s.engine_version
                 FROM responses a JOIN sittings s ON s.id=a.sitting_id WHERE a.run_id=? ORDER BY a.no, a.repeat"""
        with translated(self._path):
            yield from self._db.query(sql, [run_id])

    def words(self, content_hash: str) -> tuple[str, tuple[str, str, str, str]] | None:
        """Question and options of an item, or None where a private run kept only its hash."""
        with translated(self._path):
            row = self._db.conn.execute(
                "SELECT question, a, b, c, d FROM items WHERE content_hash=?", [content_hash]
            ).fetchone()
        return None if row is None or row[0] is None else (row[0], (row[1], row[2], row[3], row[4]))

    def find_row(self, run_id: int, item: str) -> dict[str, Any]:
        """The plan's row named by its number, its id, or the beginning of its content hash. Raises UsageError."""
        sql = """SELECT no, content_hash, subject, item_id, answer FROM run_items WHERE run_id=?
                   AND (item_id=? OR (length(?)>=6 AND substr(content_hash, 1, length(?))=?) OR subject||'/'||item_id=?)
                 ORDER BY no"""
        with translated(self._path):
            rows = list(self._db.query(sql, [run_id, item, item, item, item, item]))
            if not rows and item.isascii() and item.isdigit() and len(item) < 19:  # more than SQLite counts to
                by_no = "SELECT no, content_hash, subject, item_id, answer FROM run_items WHERE run_id=? AND no=?"
                rows = list(self._db.query(by_no, [run_id, int(item)]))
        if not rows:
            raise UsageError(
                f"the run has no item {item!r}", hint="an item is named by its number, its id, or its content hash"
            )
        if len(rows) > 1:
            several = ", ".join(f"{row['subject']}/{row['item_id']} (number {row['no']})" for row in rows[:5])
            raise UsageError(f"{item!r} may be any of {several}", hint="give the number, or subject/id")
        return dict(rows[0])

    # -- hashes of local files ----------------------------------------------------------------------------------

    def known_hash(self, path: str, size: int, modified_ns: int) -> str | None:
        with translated(self._path):
            row = self._db.conn.execute(
                "SELECT sha256 FROM file_hashes WHERE path=? AND size=? AND modified_ns=?", [path, size, modified_ns]
            ).fetchone()
        return row[0] if row else None

    def remember_hash(self, path: str, size: int, modified_ns: int, sha256: str) -> None:
        with translated(self._path):
            row = {"path": path, "size": size, "modified_ns": modified_ns, "sha256": sha256}
            self._db.table("file_hashes").insert(row, pk="path", replace=True)


def engine_json(info: EngineInfo) -> dict[str, Any]:
    """An EngineInfo as plain data for the manifest."""
    return {
        "engine": info.engine,
        "version": info.version,
        "settings": dict(info.settings),
        "sent": dict(info.sent),
        "model": dict(info.model),
        "quantised": info.quantised,
    }


def _answering(engine: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the settings that may change an answer; all of them where the engine is not known here."""
    try:
        counts = backends.load(engine).ANSWERING
    except UsageError:
        return dict(settings)
    return {name: value for name, value in settings.items() if name in counts}


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def _run_row(row: Sequence[Any]) -> RunRow:
    *plain, wish, manifest = row
    plain[8] = bool(plain[8])
    return RunRow(*[*plain, json.loads(wish), json.loads(manifest)])


def _sitting(row: Sequence[Any]) -> Sitting:
    *plain, engine_info, machine, seconds = row
    return Sitting(*[*plain, json.loads(engine_info), json.loads(machine), seconds])
