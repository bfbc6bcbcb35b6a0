"""A Datasette plugin: twlocal's readers as SQL functions. Datasette finds it through --plugins-dir.

A score is a view over stored responses, in the browser too: nothing that a reader says is stored in the database.
"""

from __future__ import annotations

import sqlite3
from typing import Any

from datasette import hookimpl

from twlocal import readers
from twlocal.item import LABELS, source_letter


def letter(reader: str, text: str, reasoning: str, finish: str) -> str | None:
    """What a reader reads in a response: a letter as shown to the model, or NULL."""
    return readers.read(reader, text, reasoning, finish, LABELS).letter


def is_right(read: str | None, order: str, answer: str) -> int:
    """Whether the option shown under that letter is the keyed one."""
    return int(read is not None and read in LABELS and source_letter(read, order) == answer)


def wrote_box(text: str, reasoning: str, finish: str) -> int:
    """Whether the final text holds a box at all."""
    return int(readers.wrote_box(readers.final_text(text, reasoning, finish)))


def why(reader: str, text: str, reasoning: str, finish: str) -> str:
    """Why a reader read what it did."""
    return str(readers.read(reader, text, reasoning, finish, LABELS).why)


@hookimpl  # type: ignore[untyped-decorator,unused-ignore]
def prepare_connection(conn: sqlite3.Connection, database: str, datasette: Any) -> None:
    """Teach every connection the functions; the same arguments always give the same answer."""
    for name, count, function in (
        ("letter", 4, letter),
        ("is_right", 3, is_right),
        ("wrote_box", 3, wrote_box),
        ("why", 4, why),
    ):
        conn.create_function(name, count, function, deterministic=True)
