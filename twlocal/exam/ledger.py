"""The build's database: every document, paper, item and key with what became of it (db/migrations/0004_exam.sql).

Each method is one transaction, so that a build that is killed anywhere goes on from what was committed.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from twlocal.store import open_store, storable, translated

from . import rows
from .decide import Decision, Fate
from .filters import Candidate
from .listing import Listed
from .model import Key, Paper, Rejection
from .pair import Pairing

if TYPE_CHECKING:
    from sqlite_utils import Database

# What a limit or a dying process ended may be the machine's fault: it is tried again, this often in all.
AGAIN = frozenset({"timeout", "memory", "crashed"})
ATTEMPTS = 3


@dataclass(frozen=True)
class Waiting:
    """A document to be parsed."""

    id: int
    path: Path


@dataclass(frozen=True)
class PaperRow:
    """A paper as stored: its documents (ids, None where it has none) and what is known of it."""

    name: str
    question: int | None
    answer: int | None
    correction: int | None
    absent: tuple[tuple[str, str, str], ...]
    listed_year: int | None
    listed_title: str
    listed_subject: str
    state: str
    reasons: tuple[Rejection, ...]
    flags: tuple[str, ...]
    year: int | None
    title: str
    subject_title: str
    sha256: tuple[str, str, str]


@dataclass(frozen=True)
class Found:
    """A document that was looked up on the disk: its hash and size, or why it cannot be had (`reason`)."""

    kind: str
    path: Path
    sha256: str = ""
    bytes: int = 0
    reason: str = ""


def distinct(papers: Sequence[PaperRow]) -> list[PaperRow]:
    """The papers with those refused (`same_document`) whose question paper is another one's, file for file.

    Categories that sit together share documents. Such a paper is no second printing: it would be folded, counted, and
    agree with itself. The one that stays is one with a correction, then the first by name.
    """
    best: dict[int, PaperRow] = {}
    for paper in papers:
        if paper.state == "paired" and paper.question is not None:
            known = best.setdefault(paper.question, paper)
            if known.correction is None and paper.correction is not None:
                best[paper.question] = paper
    return [_unless_same(paper, best.get(paper.question or 0)) for paper in papers]


def _unless_same(paper: PaperRow, best: PaperRow | None) -> PaperRow:
    if paper.state != "paired" or best is None or best.name == paper.name:
        return paper
    return replace(paper, state="rejected", reasons=(Rejection("same_document", f"as {best.name}"),))


class Ledger:
    """The accounting of one build. All methods raise StoreError and its children."""

    def __init__(self, db: Database, path: Path) -> None:
        self._db = db
        self._path = path

    @classmethod
    @contextmanager
    def opened(
        cls, path: Path, *, create: bool, warn: Callable[[str], None] = lambda message: None
    ) -> Iterator[Ledger]:
        """The ledger in the file `path`, closed afterwards."""
        ledger = cls(open_store(path, create=create, warn=warn), path)
        try:
            yield ledger
        finally:
            ledger._db.close()

    @contextmanager
    def writing(self) -> Iterator[Any]:
        """The connection, inside one transaction."""
        with translated(self._path), self._db.atomic():
            yield self._db.conn

    def query(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """All rows of a SELECT."""
        with translated(self._path):
            return list(self._db.conn.execute(sql, values))

    # -- downloads ----------------------------------------------------------------------------------------------

    def downloads(self) -> dict[str, str]:
        """Address → sha256 of every document that was fetched."""
        found = self.query("SELECT url, sha256 FROM exam_downloads WHERE state='done'")
        return {url: digest for url, digest in found}  # noqa: C416 - dict() takes no tuples of any length

    def failed_downloads(self) -> frozenset[str]:
        """The names of the files that could not be fetched."""
        return frozenset(path for (path,) in self.query("SELECT path FROM exam_downloads WHERE state='failed'"))

    def store_download(
        self, url: str, path: str, state: str, reason: str, attempts: int, sha256: str, size: int
    ) -> None:
        """Notes what became of one document; `attempts` are added to earlier ones."""
        with self.writing() as connection:
            connection.execute(
                "INSERT INTO exam_downloads VALUES (?,?,?,?,?,?,?) ON CONFLICT(url) DO UPDATE SET path=excluded.path, "
                "state=excluded.state, reason=excluded.reason, attempts=attempts+excluded.attempts, "
                "sha256=excluded.sha256, bytes=excluded.bytes",
                [url, path, state, storable(reason), attempts, sha256, size],
            )

    # -- documents ----------------------------------------------------------------------------------------------

    def register(self, papers: Iterable[tuple[Listed, Sequence[Found]]]) -> None:
        """Adds papers and their documents, or brings what the database knows of them up to date."""
        with self.writing() as connection:
            for listed, found in papers:
                ids: dict[str, int] = {}
                for one in found:
                    if one.reason:
                        continue
                    connection.execute(
                        "INSERT INTO exam_documents (sha256, kind, path, bytes, state) VALUES (?,?,?,?,'waiting') "
                        "ON CONFLICT(sha256, kind) DO UPDATE SET path=excluded.path",
                        [one.sha256, one.kind, storable(str(one.path)), one.bytes],
                    )
                    ids[one.kind] = connection.execute(
                        "SELECT id FROM exam_documents WHERE sha256=? AND kind=?", [one.sha256, one.kind]
                    ).fetchone()[0]
                absent = [[one.kind, one.reason, str(one.path)] for one in found if one.reason]
                told = {"year": listed.year, "title": listed.title, "subject": listed.subject}
                connection.execute(
                    "INSERT INTO exam_papers (name, question_id, answer_id, correction_id, absent, listed, state) "
                    "VALUES (?,?,?,?,?,?,'waiting') ON CONFLICT(name) DO UPDATE SET question_id=excluded.question_id, "
                    "answer_id=excluded.answer_id, correction_id=excluded.correction_id, absent=excluded.absent, "
                    "listed=excluded.listed",
                    [
                        storable(listed.name),
                        *(ids.get(k) for k in "QAM"),
                        *(storable(rows.dumped(x)) for x in (absent, told)),
                    ],
                )

    def waiting(self, kinds: str, parser: str) -> list[Waiting]:
        """The documents of these kinds that this parser has not read, and those worth another attempt."""
        marks, again = ",".join("?" * len(kinds)), sorted(AGAIN)
        found = self.query(
            f"SELECT id, path FROM exam_documents WHERE kind IN ({marks}) AND (state='waiting' OR parser<>? OR "
            f"(state='rejected' AND attempts<{ATTEMPTS} "
            f"AND json_extract(reasons,'$[0][0]') IN ({','.join('?' * len(again))}))) ORDER BY path, id",
            [*kinds, parser, *again],
        )
        return [Waiting(number, Path(path)) for number, path in found]

    def store(self, parsed: Iterable[tuple[int, Paper | Key | Rejection]], parser: str) -> None:
        """Stores what was read from documents, or why nothing was."""
        with self.writing() as connection:
            for document, value in parsed:
                connection.execute("DELETE FROM exam_items WHERE document_id=?", [document])
                connection.execute("DELETE FROM exam_keys WHERE document_id=?", [document])
                head, why = "{}", (value,) if isinstance(value, Rejection) else value.rejections
                if isinstance(value, Paper):
                    head = rows.paper_head(value)
                    _fill(connection, "exam_items", rows.paper_items(document, value))
                elif isinstance(value, Key):
                    head = rows.key_head(value)
                    _fill(connection, "exam_keys", rows.key_cells(document, value))
                # Another parser's attempts do not count.
                connection.execute(
                    "UPDATE exam_documents SET state=?, attempts=CASE WHEN parser=? THEN attempts+1 ELSE 1 END, "
                    "parser=?, reasons=?, read=? WHERE id=?",
                    [
                        "rejected" if why else "parsed",
                        parser,
                        parser,
                        storable(rows.reasons(why)),
                        storable(head),
                        document,
                    ],
                )

    def paper(self, document: int) -> Paper:
        """What was read from a question paper; one that is refused without having been read has no items."""
        items = self.query("SELECT * FROM exam_items WHERE document_id=? ORDER BY number", [document])
        return rows.paper(*self._head(document), items)

    def key(self, document: int) -> Key:
        """What was read from an answer key or a correction."""
        cells = self.query("SELECT * FROM exam_keys WHERE document_id=? ORDER BY number", [document])
        return rows.key(*self._head(document), cells)

    def _head(self, document: int) -> tuple[str, str]:
        ((head, why),) = self.query("SELECT read, reasons FROM exam_documents WHERE id=?", [document])
        return head, why

    # -- papers -------------------------------------------------------------------------------------------------

    def papers(self) -> list[PaperRow]:
        """All papers, by name, as they were paired."""
        found = self.query(
            "SELECT p.*, q.sha256, a.sha256, m.sha256 FROM exam_papers p "
            "LEFT JOIN exam_documents q ON q.id=p.question_id LEFT JOIN exam_documents a ON a.id=p.answer_id "
            "LEFT JOIN exam_documents m ON m.id=p.correction_id ORDER BY p.name"
        )
        return [_paper_row(row) for row in found]

    def unpaired(self, parser: str) -> list[tuple[PaperRow, str]]:
        """The papers whose documents or their reading changed since they were paired, with what they are made from."""
        with translated(self._path):
            done = dict(self._db.conn.execute("SELECT name, pairing FROM exam_papers"))
            state = {
                number: f"{digest}:{read_by}:{why}"
                for number, digest, read_by, why in self._db.conn.execute(
                    "SELECT id, sha256, parser, reasons FROM exam_documents"
                )
            }
        left = []
        for paper in self.papers():
            parts = [state.get(d, "") if d else "" for d in (paper.question, paper.answer, paper.correction)]
            told = [str(paper.absent), str((paper.listed_year, paper.listed_title, paper.listed_subject))]
            mark = hashlib.sha256("\n".join([parser, *parts, *told]).encode()).hexdigest()
            if done[paper.name] != mark:
                left.append((paper, mark))
        return left

    def store_pairing(
        self, name: str, mark: str, pairing: Pairing, *, year: int | None, title: str, subject_title: str
    ) -> None:
        """Stores a paper's official answers, or why it has none."""
        with self.writing() as connection:
            connection.execute("DELETE FROM exam_answers WHERE paper=?", [name])
            answers = [
                (
                    name,
                    keyed.item.number,
                    keyed.answer,
                    rows.dumped(keyed.accepted),
                    keyed.original,
                    storable(keyed.note),
                    rows.dumped(keyed.excluded),
                )
                for keyed in pairing.items
            ]
            _fill(connection, "exam_answers", answers)
            connection.execute(
                "UPDATE exam_papers SET state=?, pairing=?, reasons=?, flags=?, year=?, title=?, subject_title=? "
                "WHERE name=?",
                [
                    "rejected" if pairing.rejections else "paired",
                    mark,
                    storable(rows.reasons(pairing.rejections)),
                    rows.dumped(pairing.flags),
                    year,
                    storable(title),
                    storable(subject_title),
                    name,
                ],
            )

    def unread(self, parser: str) -> int:
        """How many documents and papers `exam parse` has not come to, or read with another parser."""
        ((left,),) = self.query("SELECT COUNT(*) FROM exam_documents WHERE state='waiting' OR parser<>?", [parser])
        return int(left) + len(self.unpaired(parser))

    def item_count(self) -> int:
        """How many items paired papers have."""
        ((count,),) = self.query(
            "SELECT COUNT(*) FROM exam_answers a JOIN exam_papers p ON p.name=a.paper WHERE p.state='paired'"
        )
        return int(count)

    # -- the build ----------------------------------------------------------------------------------------------

    def candidates(self) -> Iterator[Candidate]:
        """All items of paired papers with their answers, the earliest paper first; those without a year come last."""
        with translated(self._path):
            for row in self._db.conn.execute(
                "SELECT p.name, i.number, p.year, p.title, p.subject_title, i.question, i.options, a.answer, "
                "a.accepted, a.original, a.note, i.page, i.flags, a.excluded, i.group_first IS NOT NULL, i.continues "
                "FROM exam_papers p JOIN exam_items i ON i.document_id=p.question_id "
                "JOIN exam_answers a ON a.paper=p.name AND a.number=i.number WHERE p.state='paired' "
                "ORDER BY p.year IS NULL, p.year, p.name, i.number"
            ):
                yield _candidate(row)

    def store_fates(self, fates: Iterable[Fate]) -> None:
        """Replaces the fates of the last build, all at once."""
        with self.writing() as connection:
            connection.execute("DELETE FROM exam_fates")
            connection.executemany(
                "INSERT INTO exam_fates VALUES (?,?,?,?,?,?,?)",
                (
                    (
                        one.item.paper,
                        one.item.number,
                        one.subject,
                        one.fate,
                        one.rule,
                        storable(one.detail),
                        one.content_hash,
                    )
                    for one in fates
                ),
            )

    def fates(self) -> dict[tuple[str, int], tuple[str, str, str]]:
        """(paper, number) → (subject, fate, content hash) in the last build; empty before the first."""
        found = self.query("SELECT paper, number, subject, fate, content_hash FROM exam_fates")
        return {(paper, number): (subject, fate, hashed) for paper, number, subject, fate, hashed in found}

    def decisions(self) -> dict[str, Decision]:
        """The decision that holds by content hash: the latest one that was not taken back."""
        found = self.query(
            "SELECT content_hash, action, reason, decided_by FROM exam_decisions WHERE undone_at IS NULL ORDER BY id"
        )
        return {hashed: Decision(action, reason, by) for hashed, action, reason, by in found}

    def document_states(self) -> Counter[tuple[str, str]]:
        """How many documents there are of each kind and state."""
        return Counter(
            {(k, s): n for k, s, n in self.query("SELECT kind, state, COUNT(*) FROM exam_documents GROUP BY 1, 2")}
        )


def _fill(connection: Any, table: str, values: Sequence[tuple[Any, ...]]) -> None:
    if values:
        safe = [tuple(storable(cell) if isinstance(cell, str) else cell for cell in row) for row in values]
        connection.executemany(f"INSERT INTO {table} VALUES ({','.join('?' * len(values[0]))})", safe)


def _candidate(row: tuple[Any, ...]) -> Candidate:
    paper, number, year, title, subject_title, question, options = row[:7]
    answer, accepted, original, note, page, flags, excluded, grouped, continues = row[7:]
    return Candidate(
        paper=paper,
        number=number,
        year=year,
        title=title,
        subject_title=subject_title,
        question=question,
        options=json.loads(options),
        answer=answer,
        accepted=tuple(json.loads(accepted)),
        original=original,
        note=note,
        page=page,
        flags=tuple(json.loads(flags)),
        excluded=tuple(json.loads(excluded)),
        grouped=bool(grouped),
        continues=continues,
    )


def _paper_row(row: tuple[Any, ...]) -> PaperRow:
    name, q, a, m, absent, listed, state, _, why, flags, year, title, subject_title, *digests = row
    told = json.loads(listed)
    return PaperRow(
        name=name,
        question=q,
        answer=a,
        correction=m,
        absent=tuple((kind, reason, path) for kind, reason, path in json.loads(absent)),
        listed_year=told["year"],
        listed_title=told["title"],
        listed_subject=told["subject"],
        state=state,
        reasons=rows.rejections(why),
        flags=tuple(json.loads(flags)),
        year=year,
        title=title,
        subject_title=subject_title,
        sha256=(digests[0] or "", digests[1] or "", digests[2] or ""),
    )
