"""People's decisions about the rows of a build, each committed at once; the latest that was not taken back holds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from twlocal.exam.ledger import Ledger
from twlocal.store import storable

WITHDRAW, KEEP = "withdraw", "keep"


@dataclass(frozen=True)
class Noted:
    """A decision as it is stored. `action` is `withdraw`, or `keep` (against the rules too); `at` is UTC, ISO 8601."""

    id: int
    content_hash: str
    action: str
    reason: str
    by: str
    at: str


class Overtaken(Exception):
    """Somebody else decided meanwhile: in another tab, or on the command line."""


class Decided:
    """The decisions in a ledger. All methods raise StoreError and its children."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def holding(self) -> dict[str, Noted]:
        """The decision that holds, by content hash."""
        found = self._ledger.query(_SELECT + "WHERE undone_at IS NULL ORDER BY id")
        return {one.content_hash: one for one in map(_noted, found)}

    def of(self, content_hash: str) -> Noted | None:
        """The decision that holds for one row."""
        found = self._ledger.query(
            _SELECT + "WHERE undone_at IS NULL AND content_hash=? ORDER BY id DESC LIMIT 1", [content_hash]
        )
        return next(map(_noted, found), None)

    def one(self, number: int) -> Noted | None:
        """A decision by its id, if it was not taken back."""
        return next(map(_noted, self._ledger.query(_SELECT + "WHERE undone_at IS NULL AND id=?", [number])), None)

    def decide(self, content_hash: str, action: str, reason: str, by: str, at: str, *, seen: int | None = None) -> int:
        """Adds a decision and returns its id.

        `seen` is the id of the decision that whoever decides now had before their eyes (0: none); None decides
        whatever stands. Raises Overtaken when another one holds by now.
        """
        with self._ledger.writing() as connection:
            # The write comes first, so that nobody decides between the look and it.
            cursor = connection.execute(
                "INSERT INTO exam_decisions (content_hash, action, reason, decided_by, decided_at) VALUES (?,?,?,?,?)",
                [content_hash, action, storable(reason), storable(by), at],
            )
            number = int(cursor.lastrowid)
            if seen is not None and seen != self._last(content_hash, before=number):
                raise Overtaken(content_hash)
        return number

    def undo(self, number: int, at: str) -> str:
        """Takes back the decision `number` and returns its row's content hash; the one before it holds again.

        Raises Overtaken when it does not hold any more.
        """
        with self._ledger.writing() as connection:
            cursor = connection.execute(
                "UPDATE exam_decisions SET undone_at=? WHERE id=? AND undone_at IS NULL RETURNING content_hash",
                [at, number],
            )
            row = cursor.fetchone()
            if row is None or self._last(row[0], before=1 << 62) > number:
                raise Overtaken(str(number))
        return str(row[0])

    def _last(self, content_hash: str, *, before: int) -> int:
        found: Iterable[tuple[int]] = self._ledger.query(
            "SELECT max(id) FROM exam_decisions WHERE content_hash=? AND undone_at IS NULL AND id<?",
            [content_hash, before],
        )
        return next(iter(found))[0] or 0


_SELECT = "SELECT id, content_hash, action, reason, decided_by, decided_at FROM exam_decisions "


def _noted(row: tuple[int, str, str, str, str, str]) -> Noted:
    return Noted(*row)
