"""What a bundle takes from the database, and what an import puts there."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from twlocal.errors import UsageError
from twlocal.record import Record
from twlocal.store import open_store, translated

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlite_utils import Database

    from twlocal.bundle.manifest import RunManifest
    from twlocal.runs import Runs

_SITTING = ("started_at", "last_seen_at", "ended_at", "outcome", "engine", "engine_version", "engine_info", "machine")


@dataclass(frozen=True, slots=True)
class ResultRow:
    """One row of an imported result; None: its source does not tell (see db/migrations/0002_imported.sql)."""

    repeat: int = 0
    subject: str | None = None
    qh: str | None = None
    ch: str | None = None
    ok: bool | None = None
    boxp: bool | None = None
    lenp: bool | None = None
    correct: bool | None = None
    lenient_correct: bool | None = None
    wrote_box: bool | None = None
    parsed: bool | None = None
    lenient_parsed: bool | None = None
    truncated: bool | None = None
    detail: str | None = None  # JSON


_ROW = tuple(sorted(one.name for one in fields(ResultRow)))
FACTS = tuple(one.name for one in fields(ResultRow) if one.name not in ("repeat", "subject", "qh", "ch", "detail"))


@dataclass(frozen=True)
class Result:
    """A result as it comes in. kind: bundle, runner or twinkle. complete, quantised: None where it is not told.

    part: which of several measurements of the same thing it is; at temperature 0 their rows may be the same.
    """

    name: str
    kind: str
    source: str
    model: str
    bench: str
    rows: Sequence[ResultRow]
    protocol: str = ""
    part: str = ""
    complete: bool | None = None
    quantised: bool | None = None
    marks: tuple[str, ...] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict)

    @property
    def checksum(self) -> str:
        """sha256 (hex) over what was measured: equal for the same rows in another order or from another file."""
        # Not asdict(), which copies every value deeply: eight times the time, for rows that are flat.
        rows = sorted(json.dumps({name: getattr(row, name) for name in _ROW}, ensure_ascii=False) for row in self.rows)
        identity = json.dumps([self.kind, self.model, self.bench, self.protocol, self.part], ensure_ascii=False)
        return hashlib.sha256("\n".join([identity, *rows]).encode("utf-8")).hexdigest()


@dataclass(frozen=True)
class Imported:
    """A result as it is stored. `n`: its rows."""

    id: int
    name: str
    kind: str
    source: str
    model: str
    bench: str
    protocol: str
    complete: bool | None
    quantised: bool | None
    marks: tuple[str, ...]
    provenance: Mapping[str, Any]
    checksum: str
    imported_at: str
    n: int


@dataclass(frozen=True)
class Row:
    """A response of a full bundle on its way into the store: its record and what stands beside it."""

    record: Record
    occurrence: int
    sitting: int  # from 0
    latency: float | None
    attempt: int
    answered_at: str
    words: tuple[str, tuple[str, str, str, str]] | None


FIELD = "\x1f"  # between the fields of a packed column
FACT = 1000  # added to each packed fact, so that all have four digits
UNTOLD = (8, 32, 2)


@dataclass(frozen=True, slots=True)
class Packed:
    """An imported result's rows as long texts, in one order.

    rows: all ch, all qh, all subjects and all repeats, by FIELD, which is a space where a subject holds it; "" where
    one is not told. facts: four digits a row, FACT + board + 16·own + 1024·cut with board = ok + 2·boxp + 4·lenp, own =
    correct + 2·lenient_correct + 4·wrote_box + 8·parsed + 16·lenient_parsed, cut = truncated; UNTOLD where any part of
    one is not told.
    """

    rows: tuple[str, str, str, str]
    facts: str


@contextmanager
def opened(
    database: Path, *, create: bool, warn: Callable[[str], None] = lambda message: None
) -> Iterator[tuple[Runs, Stored]]:
    """The runs of a database and what was imported into it, closed afterwards."""
    from twlocal.runs import Runs

    db = open_store(database, create=create, warn=warn)
    runs = Runs(db, database)
    try:
        yield runs, Stored(db, database)
    finally:
        runs.close()


class Stored:
    """What is in a database for bundles and imports. All methods raise StoreError and its children."""

    def __init__(self, db: Database, path: Path) -> None:
        self._db = db
        self._path = path

    # -- for a bundle -------------------------------------------------------------------------------------------

    def sittings(self, run_id: int) -> tuple[list[dict[str, Any]], dict[int, int], set[str]]:
        """A run's sittings without process, host and note; the place of each sitting's id among them; the hosts."""
        with translated(self._path):
            found = list(self._db.query("SELECT * FROM sittings WHERE run_id=? ORDER BY id", [run_id]))
        told = [{name: row[name] for name in _SITTING} for row in found]
        for row in told:
            row["engine_info"], row["machine"] = json.loads(row["engine_info"]), json.loads(row["machine"])
        return told, {row["id"]: at for at, row in enumerate(found)}, {row["host"] for row in found}

    def occurrences(self, run_id: int) -> dict[int, int]:
        """Which of several equal rows each row of a plan is."""
        with translated(self._path):
            return dict(self._db.conn.execute("SELECT no, occurrence FROM run_items WHERE run_id=?", [run_id]))

    def hashes(self, run_id: int) -> Counter[str]:
        """The content hashes of a plan, each with its number of rows."""
        sql = "SELECT content_hash, count(*) FROM run_items WHERE run_id=? GROUP BY 1"
        with translated(self._path):
            return Counter(dict(self._db.conn.execute(sql, [run_id])))

    def flags(self, run_id: int) -> Counter[str]:
        """How many responses of a run have which flag."""
        sql = "SELECT flags, count(*) FROM responses WHERE run_id=? AND flags<>'[]' GROUP BY 1"
        counted: Counter[str] = Counter()
        with translated(self._path):
            for flags, count in self._db.conn.execute(sql, [run_id]):
                for flag in json.loads(flags):
                    counted[flag] += count
        return counted

    # -- an imported run ----------------------------------------------------------------------------------------

    def add_run(
        self, run: RunManifest, rows: Iterable[Row], *, checksum: str, source: str, marks: Sequence[str], at: str
    ) -> tuple[str, bool]:
        """Store a full bundle's run with all its responses, in one transaction; its name, and whether it is new."""
        from twlocal.responses import INSERT_RESPONSE

        connection = self._db.conn
        with translated(self._path), self._db.atomic():
            connection.execute("UPDATE runs SET id=id WHERE 0")  # takes the write lock before looking
            there = connection.execute(
                "SELECT r.name FROM imported_runs i JOIN runs r ON r.id=i.run_id WHERE i.checksum=?", [checksum]
            ).fetchone()
            if there:
                return str(there[0]), False
            name = self._free_name(run.name)
            wish = {"model": run.model, "bench": run.bench, "protocol": run.protocol, "repeats": run.repeats}
            run_id = connection.execute(
                "INSERT INTO runs (key, name, model, backend, bench, protocol, repeats, private, wish, manifest, "
                "created_at, completed_at) VALUES (?,?,?,?,?,?,?,?,?,?,?,?)",
                [
                    hashlib.sha256(f"imported {checksum}".encode()).hexdigest(),
                    *(name, run.model, run.backend, run.bench, run.protocol, run.repeats, int(run.private)),
                    *(_json(wish | {"private": run.private}), _json(run.manifest), run.created_at, run.completed_at),
                ],
            ).lastrowid
            connection.execute(
                "INSERT INTO imported_runs VALUES (?,?,?,?,?)", [run_id, checksum, source, _json(list(marks)), at]
            )
            sittings = [self._add_sitting(run_id, sitting) for sitting in run.sittings]
            for row in rows:
                record = row.record
                if record.repeat == 0:
                    self._plan_row(run_id, row)
                connection.execute(
                    INSERT_RESPONSE,
                    [
                        *(run_id, record.no, record.repeat, sittings[row.sitting], record.order, record.text),
                        *(record.reasoning, record.finish, record.prompt_tokens, record.completion_tokens),
                        *(record.reasoning_tokens, row.latency, record.prompt_hash, row.attempt),
                        *(json.dumps(record.flags) if record.flags else "[]", row.answered_at),
                    ],
                )
        return name, True

    def _add_sitting(self, run_id: int | None, sitting: Mapping[str, Any]) -> int | None:
        values = [_json(sitting[name]) if name in ("engine_info", "machine") else sitting[name] for name in _SITTING]
        return self._db.conn.execute(
            f"INSERT INTO sittings (run_id, pid, host, {', '.join(_SITTING)}) VALUES (?,0,'',?,?,?,?,?,?,?,?)",
            [run_id, *values],
        ).lastrowid

    def _plan_row(self, run_id: int | None, row: Row) -> None:
        record = row.record
        words: Sequence[str | None] = (None,) * 5 if row.words is None else (row.words[0], *row.words[1])
        self._db.conn.execute(
            "INSERT INTO items (content_hash, stem_hash, question, a, b, c, d) VALUES (?,?,?,?,?,?,?) "
            "ON CONFLICT(content_hash) DO UPDATE SET "
            "question=excluded.question, a=excluded.a, b=excluded.b, c=excluded.c, d=excluded.d "
            "WHERE items.question IS NULL",
            [record.content_hash, record.stem_hash, *words],
        )
        self._db.conn.execute(
            "INSERT INTO run_items (run_id, no, content_hash, subject, occurrence, item_id, answer) "
            "VALUES (?,?,?,?,?,?,?)",
            [
                *(run_id, record.no, record.content_hash, record.subject, row.occurrence),
                *(record.item_id, record.answer),
            ],
        )

    def imported_runs(self) -> dict[int, tuple[str, ...]]:
        """The marks of every run that came in a bundle, by the run's id."""
        with translated(self._path):
            rows = self._db.conn.execute("SELECT run_id, marks FROM imported_runs").fetchall()
        return {run_id: tuple(json.loads(marks)) for run_id, marks in rows}

    def run_checksum(self, run_id: int) -> str | None:
        """The checksum under which a run was imported; None for a run made here."""
        with translated(self._path):
            row = self._db.conn.execute("SELECT checksum FROM imported_runs WHERE run_id=?", [run_id]).fetchone()
        return row[0] if row else None

    # -- an imported result -------------------------------------------------------------------------------------

    def add_result(self, result: Result, *, at: str) -> tuple[str, bool]:
        """Store a result in one transaction; its name, and whether it is new."""
        checksum = result.checksum
        connection = self._db.conn
        with translated(self._path), self._db.atomic():
            connection.execute("UPDATE runs SET id=id WHERE 0")
            there = connection.execute("SELECT name FROM imported_results WHERE checksum=?", [checksum]).fetchone()
            if there:
                return str(there[0]), False
            name = self._free_name(result.name)
            result_id = connection.execute(
                "INSERT INTO imported_results (name, kind, source, model, bench, protocol, complete, quantised, marks, "
                "provenance, checksum, imported_at) VALUES (?,?,?,?,?,?,?,?,?,?,?,?)",
                [
                    *(name, result.kind, result.source, result.model, result.bench, result.protocol),
                    *(result.complete, result.quantised, _json(list(result.marks)), _json(result.provenance)),
                    *(checksum, at),
                ],
            ).lastrowid
            connection.executemany(
                f"INSERT INTO imported_rows VALUES (?,?{',?' * 14})",
                ((result_id, number, *_values(row)) for number, row in enumerate(result.rows)),
            )
        return name, True

    def results(self) -> list[Imported]:
        """Every imported result, oldest first."""
        return self._results("", [])

    def result(self, name: str) -> Imported | None:
        """The imported result of that name, or of the only name that begins so; None where there is none."""
        found = self._results("WHERE r.name=?", [name])
        found = found or self._results("WHERE substr(r.name, 1, length(?))=?", [name, name])
        if len(found) > 1:
            names = ", ".join(one.name for one in found[:6])
            raise UsageError(f"{name!r} may be any of {names}", hint="give more of the name")
        return found[0] if found else None

    def _results(self, where: str, params: Sequence[object]) -> list[Imported]:
        # `at` counts from 0 without a gap. Asking for the last one looks at one row, counting would read all of them.
        sql = f"""
            SELECT r.id, r.name, r.kind, r.source, r.model, r.bench, r.protocol, r.complete, r.quantised, r.marks,
              r.provenance, r.checksum, r.imported_at,
              (SELECT coalesce(max(at) + 1, 0) FROM imported_rows a WHERE a.result_id=r.id)
            FROM imported_results r {where} ORDER BY r.id"""
        with translated(self._path):
            return [_imported(row) for row in self._db.conn.execute(sql, list(params))]

    def rows(self, result_id: int) -> Iterator[ResultRow]:
        """The rows of an imported result, in the order of its source."""
        sql = """SELECT repeat, subject, qh, ch, ok, boxp, lenp, correct, lenient_correct, wrote_box, parsed,
                   lenient_parsed, truncated, detail FROM imported_rows WHERE result_id=? ORDER BY at"""
        with translated(self._path):
            for repeat, subject, qh, ch, *facts, detail in self._db.conn.execute(sql, [result_id]):
                truths = dict(zip(FACTS, map(_maybe, facts), strict=True))
                yield ResultRow(repeat=repeat, subject=subject, qh=qh, ch=ch, detail=detail, **truths)

    def packed(self, result_id: int) -> Packed:
        """The rows of an imported result as long texts, which SQLite makes in a tenth of the time that objects take."""
        # Replacing in every row takes a third of the time, for a character that no real subject holds.
        ch, qh, subject, repeat, facts = self._columns(result_id, "subject")
        if subject.count(FIELD) != repeat.count(FIELD):
            ch, qh, subject, repeat, facts = self._columns(result_id, "replace(subject, ?1, ' ')")
        return Packed((ch, qh, subject, repeat), facts)

    def _columns(self, result_id: int, subject: str) -> list[str]:
        # All are gathered in one pass over the same rows, so they agree whatever order it visits them in. A text a
        # column, and numbers for facts: rows put together with || or made with char() take half as long again.
        sql = f"""
            SELECT group_concat(coalesce(ch, ''), ?1), group_concat(coalesce(qh, ''), ?1),
              group_concat(coalesce({subject}, ''), ?1), group_concat(repeat, ?1),
              group_concat({FACT} + coalesce(ok + 2 * boxp + 4 * lenp, 8)
                + 16 * coalesce(correct + 2 * lenient_correct + 4 * wrote_box + 8 * parsed + 16 * lenient_parsed, 32)
                + 1024 * coalesce(truncated, 2), '')
            FROM imported_rows WHERE result_id=?2"""
        with translated(self._path):
            return [text or "" for text in self._db.conn.execute(sql, [FIELD, result_id]).fetchone()]

    def _free_name(self, name: str) -> str:
        sql = "SELECT name FROM runs UNION SELECT name FROM imported_results"
        taken = {row[0] for row in self._db.conn.execute(sql)}
        number, free = 2, name
        while free in taken:
            free, number = f"{name}-{number}", number + 1
        return free


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def _maybe(value: int | None) -> bool | None:
    return None if value is None else bool(value)


def _values(row: ResultRow) -> tuple[object, ...]:
    return (
        *(row.repeat, row.subject, row.qh, row.ch, row.ok, row.boxp, row.lenp, row.correct, row.lenient_correct),
        *(row.wrote_box, row.parsed, row.lenient_parsed, row.truncated, row.detail),
    )


def _imported(row: Sequence[Any]) -> Imported:
    result_id, name, kind, source, model, bench, protocol, complete, quantised, marks, provenance, *rest = row
    return Imported(
        *(result_id, name, kind, source, model, bench, protocol, _maybe(complete), _maybe(quantised)),
        tuple(json.loads(marks)),
        json.loads(provenance),
        *rest,
    )
