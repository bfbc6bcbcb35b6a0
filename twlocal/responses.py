"""Completions as rows of the store, and rows of the store as records."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from twlocal import token_sizes
from twlocal.backend import Completion
from twlocal.record import Record
from twlocal.store import is_storable, storable

# Columns by name: somebody may have added one of his own.
INSERT_RESPONSE = """
    INSERT OR IGNORE INTO responses (run_id, no, repeat, sitting_id, option_order, text, reasoning, finish,
      prompt_tokens, completion_tokens, reasoning_tokens, latency, prompt_hash, attempt, flags, answered_at)
    VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"""
INSERT_SIZES = "INSERT OR IGNORE INTO token_sizes (run_id, no, repeat, sizes) VALUES (?,?,?,?)"
INSERT_FAILURE = """
    INSERT INTO failures (run_id, no, repeat, sitting_id, kind, error, partial, attempt, failed_at)
    VALUES (?,?,?,?,?,?,?,?,?)"""
_COLUMNS = """a.no, a.repeat, i.subject, i.item_id, i.content_hash, w.stem_hash, i.answer, a.option_order, a.text,
      a.reasoning, a.finish, a.prompt_tokens, a.completion_tokens, a.reasoning_tokens, a.prompt_hash, a.flags"""
_FROM = """
    FROM responses a
    JOIN run_items i ON i.run_id=a.run_id AND i.no=a.no
    JOIN items w ON w.content_hash=i.content_hash
    WHERE a.run_id=?"""
SELECT_RECORD = f"SELECT {_COLUMNS}{_FROM}"
# In the order in which they were stored, from a place in it on.
SELECT_NEWER = f"SELECT a.rowid, a.answered_at, {_COLUMNS}{_FROM} AND a.rowid>? ORDER BY a.rowid"


@dataclass(frozen=True, slots=True)
class Answered:
    """A completion on its way into the store, with the permutation it was asked under."""

    no: int
    repeat: int
    order: str
    completion: Completion
    at: str


def response_row(run_id: int, sitting_id: int, row: Answered) -> tuple[object, ...]:
    """An answer as INSERT_RESPONSE takes it."""
    done = row.completion
    text, reasoning, flags = done.text, done.reasoning, done.flags
    if not (is_storable(text) and is_storable(reasoning)):
        text, reasoning, flags = storable(text), storable(reasoning), (*flags, "surrogate_replaced")
    return (
        *(run_id, row.no, row.repeat, sitting_id, row.order, text, reasoning, done.finish),
        *(done.prompt_tokens, done.completion_tokens, done.reasoning_tokens, done.latency, done.prompt_hash),
        *(done.attempts, json.dumps(flags) if flags else "[]", row.at),
    )


def sizes_row(run_id: int, row: Answered) -> tuple[object, ...] | None:
    """Where an answer's tokens end, as INSERT_SIZES takes it; None where its engine does not tell."""
    packed = token_sizes.pack(row.completion.text, row.completion.token_sizes)
    return None if packed is None else (run_id, row.no, row.repeat, packed)


def failure_row(run_id: int, sitting_id: int, row: Answered) -> tuple[object, ...]:
    """A failure as INSERT_FAILURE takes it."""
    done = row.completion
    error, partial = storable(done.error), storable(done.text)
    return (run_id, row.no, row.repeat, sitting_id, done.error_kind, error, partial, done.attempts, row.at)


def record(row: Sequence[Any]) -> Record:
    """A row of SELECT_RECORD."""
    *plain, flags = row
    return Record._make((*plain, tuple(json.loads(flags)) if flags != "[]" else ()))
