"""The items of the last build in the order in which they are looked at, flagged ones first, and all there is of one.

Which items there are is read once, and again when another process has written (another build, say); what was decided
is read every time, for it may have been decided in another tab.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from twlocal.exam.ledger import Ledger
from twlocal.exam.model import Region
from twlocal.exam.review.decided import KEEP, WITHDRAW, Decided, Noted
from twlocal.exam.review.sight import Document

BY_PERSON = "decision"
_KEPT = 8  # lists that are kept while nothing is written


class Entry(NamedTuple):
    """An item in the list. A tuple and not a dataclass, because a build has a quarter of a million of them.

    `flags` are the doubts about it, `paper_flags` those about its paper; `rule` withdrew it."""

    id: str
    paper: str
    number: int
    subject: str
    content_hash: str
    flags: tuple[str, ...]
    paper_flags: tuple[str, ...]
    rule: str
    stem: str

    @property
    def flagged(self) -> bool:
        return bool(self.flags or self.paper_flags or self.rule)


@dataclass(frozen=True)
class Sheet:
    """All that is known of one item. `documents` are its question paper, key and correction, those there are."""

    entry: Entry
    detail: str
    question: str
    options: Mapping[str, str]
    page: int
    regions: tuple[Region, ...]
    answer: str
    original: str
    note: str
    group: tuple[int, int] | None
    title: str
    subject_title: str
    year: int | None
    documents: tuple[Document, ...]
    noted: Noted | None


def state(entry: Entry, noted: Noted | None) -> str:
    """What will become of an item at the next build: `kept`, `withdrawn` or, undecided, `open` or `by_rule`."""
    if noted is not None:
        return "withdrawn" if noted.action == WITHDRAW else "kept"
    return "by_rule" if entry.rule and entry.rule != BY_PERSON else "open"


# What can be shown: names and which items they let through.
SHOWN: Mapping[str, Callable[[Entry, str], bool]] = {
    "todo": lambda entry, now: entry.flagged and now in ("open", "by_rule"),
    "flagged": lambda entry, now: entry.flagged,
    "all": lambda entry, now: True,
    "withdrawn": lambda entry, now: now in ("withdrawn", "by_rule"),
    "kept": lambda entry, now: now == "kept",
}


class Desk:
    """The items of a ledger's last build. All methods raise StoreError and its children."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self.decided = Decided(ledger)
        self._version = -1
        self._entries: tuple[Entry, ...] = ()
        self._flagged: tuple[Entry, ...] = ()
        self._by_rule: tuple[Entry, ...] = ()
        self._places: dict[str, int] = {}
        self._by_hash: dict[str, Entry] = {}
        self._shown: tuple[tuple[int, int], dict[tuple[str, str], list[tuple[Entry, str]]]] = ((-1, -1), {})

    def entries(self) -> Sequence[Entry]:
        """All published and withdrawn items: those with doubts of their own, those of doubtful papers, the others."""
        ((version,),) = self._ledger.query("PRAGMA data_version")
        if version != self._version:
            found = [_entry(row) for row in self._ledger.query(_ENTRIES)]
            found.sort(key=lambda one: (_rank(one), one.paper, one.number))
            self._entries, self._version = tuple(found), version
            self._flagged = tuple(entry for entry in found if entry.flagged)
            self._by_rule = tuple(entry for entry in found if entry.rule)
            self._places = {entry.id: k for k, entry in enumerate(found)}
            self._by_hash = {entry.content_hash: entry for entry in found}
        return self._entries

    def chosen(self, show: str, subject: str = "") -> list[tuple[Entry, str]]:
        """The items that `show` (a key of SHOWN) lets through, with their state; `subject` "" is every one.

        Kept until something is written, so that walking from item to item costs nothing.
        """
        self.entries()
        ((written,),) = self._ledger.query("SELECT total_changes()")
        if self._shown[0] != (stamp := (self._version, written)):
            self._shown = (stamp, {})
        kept = self._shown[1]
        if (found := kept.get((show, subject))) is None:
            if len(kept) >= _KEPT:
                kept.clear()
            found = kept[show, subject] = self._choose(show, subject)
        return found

    def _choose(self, show: str, subject: str) -> list[tuple[Entry, str]]:
        lets, noted = SHOWN[show], self.decided.holding()
        found = ((one, state(one, noted.get(one.content_hash))) for one in self._among(show, noted))
        return [(one, now) for one, now in found if (not subject or one.subject == subject) and lets(one, now)]

    def _among(self, show: str, noted: Mapping[str, Noted]) -> Sequence[Entry]:
        """The items among which those that `show` lets through are, in order."""
        if show == "all":
            return self._entries
        if show in ("todo", "flagged"):
            return self._flagged
        touched = {entry.id: entry for entry in self._by_rule}
        touched |= {entry.id: entry for hashed in noted if (entry := self._by_hash.get(hashed))}
        return sorted(touched.values(), key=self.place)

    def subjects(self) -> list[str]:
        """The subjects that have items."""
        return sorted({entry.subject for entry in self.entries()})

    def counts(self) -> dict[str, int]:
        """How many items each key of SHOWN lets through."""
        return {show: len(self.chosen(show)) if show != "all" else len(self.entries()) for show in SHOWN}

    def hashed(self, content_hash: str) -> Entry | None:
        """An item by its content hash."""
        self.entries()
        return self._by_hash.get(content_hash)

    def place(self, entry: Entry) -> int:
        """Where an item stands among all."""
        return self._places[entry.id]

    def entry(self, id: str) -> Entry | None:
        """An item by its id."""
        entries = self.entries()
        place = self._places.get(id)
        return None if place is None else entries[place]

    def sheet(self, entry: Entry) -> Sheet | None:
        """All that is known of an item; None when the database has it no more."""
        found = self._ledger.query(_SHEET, [entry.paper, entry.number])
        if not found:
            return None
        question, options, page, regions, first, last, answer, original, note, title, subject, year, detail = found[0]
        return Sheet(
            entry,
            detail,
            question,
            json.loads(options),
            page,
            tuple(Region(*one) for one in json.loads(regions)),
            answer or "",
            original or "",
            note,
            (first, last) if first is not None else None,
            title,
            subject,
            year,
            tuple(self._documents(entry.paper)),
            self.decided.of(entry.content_hash),
        )

    def _documents(self, paper: str) -> list[Document]:
        found = self._ledger.query(
            "SELECT d.id, d.kind, d.path, d.sha256 FROM exam_papers p JOIN exam_documents d "
            "ON d.id IN (p.question_id, p.answer_id, p.correction_id) WHERE p.name=?",
            [paper],
        )
        order = "QAM".index
        return sorted((_document(row) for row in found), key=lambda one: order(one.kind))

    def document(self, number: int) -> Document | None:
        """A document by its id."""
        found = self._ledger.query("SELECT id, kind, path, sha256 FROM exam_documents WHERE id=?", [number])
        return _document(found[0]) if found else None

    def decide(self, entry: Entry, action: str, reason: str, by: str, at: str, *, seen: int) -> int:
        """Notes a decision. Raises Overtaken (see `Decided.decide`)."""
        if action not in (WITHDRAW, KEEP):
            raise ValueError(action)
        return self.decided.decide(entry.content_hash, action, reason, by, at, seen=seen)


def _rank(entry: Entry) -> int:
    return 0 if entry.flags or entry.rule else 1 if entry.paper_flags else 2


_ENTRIES = """
    SELECT f.paper, f.number, f.subject, f.content_hash, f.rule, i.flags, p.flags, substr(i.question, 1, 60)
    FROM exam_fates f JOIN exam_papers p ON p.name=f.paper
    JOIN exam_items i ON i.document_id=p.question_id AND i.number=f.number
    WHERE f.fate IN ('published', 'withdrawn')"""
_SHEET = """
    SELECT i.question, i.options, i.page, i.regions, i.group_first, i.group_last, a.answer, a.original, a.note,
      p.title, p.subject_title, p.year, f.detail
    FROM exam_fates f JOIN exam_papers p ON p.name=f.paper
    JOIN exam_items i ON i.document_id=p.question_id AND i.number=f.number
    JOIN exam_answers a ON a.paper=f.paper AND a.number=f.number
    WHERE f.paper=? AND f.number=?"""


def _entry(row: Sequence[Any]) -> Entry:
    paper, number, subject, hashed, rule, flags, paper_flags, stem = row
    own = json.loads(flags) if flags != "[]" else []
    of_paper = []
    for flag in json.loads(paper_flags) if paper_flags != "[]" else ():
        name, _, which = flag.partition(":")
        if name != "changed_without_note":
            of_paper.append(flag)
        elif which == str(number):
            own.append(name)
    return Entry(f"{paper}-{number:03d}", paper, number, subject, hashed, tuple(own), tuple(of_paper), rule, stem)


def _document(row: Sequence[Any]) -> Document:
    number, kind, path, digest = row
    return Document(number, kind, Path(path), digest)
