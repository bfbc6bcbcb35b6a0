"""Responses as the rows of a full bundle, and such rows as records again. Pure.

A row is what `twlocal export --timings` writes (with --words where the questions are public), and beside it what an
export leaves out and a record needs.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from twlocal.bundle.strict import Malformed, parse
from twlocal.export import as_row
from twlocal.item import LABELS, content_hash, permutation
from twlocal.judge import Judged
from twlocal.record import Record

_TEXTS = ("subject", "id", "ch", "stem_hash", "answer", "order", "finish", "text", "reasoning", "answered_at", "engine")
_COUNTS = ("no", "repeat", "occurrence", "sitting", "attempt")
_TOKENS = ("prompt_tokens", "completion_tokens", "reasoning_tokens")
_WORDS = ("question", *LABELS)
_OWN = ("stem_hash", "occurrence", "record_flags", "sitting")
_TIMES = ("latency", "attempt", "answered_at", "engine", "engine_version")


def to_line(row: Mapping[str, Any], record: Record, *, occurrence: int, sitting: int) -> str:
    """A row of `export.rows(timings=True)` with what makes it a record again; `sitting` counts from 1."""
    kept = {name: value for name, value in row.items() if name != "sitting_id"}
    own = {
        "stem_hash": record.stem_hash,
        "occurrence": occurrence,
        "record_flags": list(record.flags),
        "sitting": sitting,
    }
    return json.dumps(kept | own, ensure_ascii=False) + "\n"


def from_line(line: str) -> tuple[Record, dict[str, Any]]:
    """The record in a line of a full bundle, and the whole row. Raises Malformed."""
    data = parse(line)
    if not isinstance(data, dict):
        raise Malformed("not a row")
    try:
        for name in _TEXTS:
            if not isinstance(data[name], str):
                raise Malformed(f"{name} is no text")
        for name in _COUNTS:
            if type(data[name]) is not int or data[name] < 0:
                raise Malformed(f"{name} is no count")
        for name in _TOKENS:
            if data[name] is not None and (type(data[name]) is not int or data[name] < 0):
                raise Malformed(f"{name} is no count")
        if data["latency"] is not None and type(data["latency"]) not in (int, float):
            raise Malformed("latency is no time")
        if not isinstance(data["record_flags"], list) or not all(isinstance(f, str) for f in data["record_flags"]):
            raise Malformed("record_flags is no list of names")
        if data["answer"] not in LABELS or len(data["answer"]) != 1 or sorted(data["order"]) != list(LABELS):
            raise Malformed("answer or order is not made of A-D")
        if not isinstance(data["prompt_hash"], str | None):
            raise Malformed("prompt_hash is no text")
        return _record(data), data
    except KeyError as error:
        raise Malformed(f"without {error}") from error


def _record(data: Mapping[str, Any]) -> Record:
    return Record(
        no=data["no"],
        repeat=data["repeat"],
        subject=data["subject"],
        item_id=data["id"],
        content_hash=data["ch"],
        stem_hash=data["stem_hash"],
        answer=data["answer"],
        order=data["order"],
        text=data["text"],
        reasoning=data["reasoning"],
        finish=data["finish"],
        prompt_tokens=data["prompt_tokens"],
        completion_tokens=data["completion_tokens"],
        reasoning_tokens=data["reasoning_tokens"],
        prompt_hash=data["prompt_hash"],
        flags=tuple(data["record_flags"]),
    )


def contradictions(record: Record, row: Mapping[str, Any], judged: Judged, *, shuffled: bool) -> list[str]:
    """What a row says that its own response, question or permutation does not bear out."""
    found = []
    again = as_row(record, judged)
    for name, value in again.items():
        if name not in row:
            found.append(f"{name} is missing")
        elif type(row[name]) is not type(value) or row[name] != value:
            found.append(f"{name} is stated as {_short(row[name])}, and read again it is {_short(value)}")
    known = {*again, *_OWN, *_TIMES, *_WORDS}
    found += [f"{name} is of no known meaning" for name in row if name not in known]
    if words := words_of(row):
        question, options = words
        if content_hash(question, options, record.answer) != record.content_hash:
            found.append("question, options and key do not give the content hash ch")
        if hashlib.sha256(question.encode("utf-8")).hexdigest() != record.stem_hash:
            found.append("the question does not give stem_hash")
        if record.order != (permutation(question, record.repeat) if shuffled else LABELS):
            found.append("order is not the permutation that the question's hash gives")
    elif any(name in row and row[name] is not None for name in _WORDS):
        found.append("a part of the question is missing, or no text")
    return found


def words_of(row: Mapping[str, Any]) -> tuple[str, tuple[str, str, str, str]] | None:
    """The question and its options, where the row holds them."""
    words = [row.get(name) for name in _WORDS]
    if not all(isinstance(word, str) for word in words):
        return None
    question, a, b, c, d = (str(word) for word in words)
    return question, (a, b, c, d)


def _short(value: Any) -> str:
    said = json.dumps(value, ensure_ascii=False)
    return said if len(said) <= 60 else said[:57] + "…"
