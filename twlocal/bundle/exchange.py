"""The board exchange format: a result a line a row, without its question.

    results/<org_model>/<bench>.jsonl   {"qh": …, "ok": …, "boxp": …, "lenp": …} and, from us, "ch"
    results/<org_model>/.done           the benches that are complete
    results/<org_model>/_provenance/    what it was measured with

qh: first 16 hex digits of sha256 of the stem. The three facts are in the public board's own reading: ok, whether its
lenient cascade reads the keyed option; boxp and lenp, whether its strict and its lenient reading read anything. Stems
repeat, so qh does not tell rows apart (the public runners lost rows to that): ch, the content hash, does.
Pure.
"""

from __future__ import annotations

import json
import re
import unicodedata
from dataclasses import dataclass

from twlocal import readers
from twlocal.bundle.strict import Malformed, parse
from twlocal.judge import right
from twlocal.record import Record

RESULTS, PROVENANCE, DONE = "results", "_provenance", ".done"
_QH = re.compile(r"[0-9a-f]{16}")
_CH = re.compile(r"[0-9a-f]{64}")
_FACTS = ("ok", "boxp", "lenp")


@dataclass(frozen=True, slots=True)
class BoardRow:
    """One answered row as the board sees it (see this module's docstring). `ch` is None in rows that are not ours."""

    qh: str
    ok: bool
    boxp: bool
    lenp: bool
    ch: str | None = None


def board_row(record: Record) -> BoardRow:
    """A stored response in the public board's reading."""
    strict = readers.read("board_strict", record.text, record.reasoning, record.finish)
    lenient = readers.read("board_lenient", record.text, record.reasoning, record.finish)
    return BoardRow(
        qh=record.stem_hash[:16],
        ok=right(lenient.letter, record),
        boxp=strict.letter is not None,
        lenp=lenient.letter is not None,
        ch=record.content_hash,
    )


def to_line(row: BoardRow) -> str:
    """The row as its line of JSON, with the line end."""
    data = {"qh": row.qh, "ok": row.ok, "boxp": row.boxp, "lenp": row.lenp}
    return json.dumps(data if row.ch is None else data | {"ch": row.ch}) + "\n"


def from_line(line: str) -> BoardRow:
    """The row in a line of JSON, ours or a public runner's. Raises Malformed, saying what is wrong with it."""
    data = parse(line)
    if not isinstance(data, dict):
        raise Malformed("not a row")
    missing = [name for name in ("qh", *_FACTS) if name not in data]
    if missing:
        raise Malformed(f"without {missing[0]!r}")
    qh, ch = data["qh"], data.get("ch")
    if not isinstance(qh, str) or not _QH.fullmatch(qh):
        raise Malformed("qh is not 16 hexadecimal digits")
    if ch is not None and (not isinstance(ch, str) or not _CH.fullmatch(ch)):
        raise Malformed("ch is not 64 hexadecimal digits")
    ok, boxp, lenp = (_truth(data[name], name) for name in _FACTS)
    if ok and not lenp:
        raise Malformed("ok, although the lenient reading read nothing (lenp is false)")
    return BoardRow(qh, ok, boxp, lenp, ch)


def _truth(value: object, name: str) -> bool:
    # Runners in other languages write 0 and 1.
    if isinstance(value, bool) or (isinstance(value, int) and value in (0, 1)):
        return bool(value)
    raise Malformed(f"{name} is neither true nor false")


def folder(model: str) -> str:
    """The name of a model's folder: `org/model` becomes `org_model`; nothing that a file system minds stays."""
    return _plain(model.replace("/", "_")) or "model"


def file(bench: str) -> str:
    """The name of a bench's file without its suffix: `exam`, `formosa`, or the last part of a path."""
    last = re.split(r"[/\\]", bench.rstrip("/\\"))[-1]
    return _plain(re.sub(r"\.(csv|tsv|tab|jsonl?|parquet|arrow|feather)$", "", last)) or "bench"


def _plain(name: str) -> str:
    kept = (char if char.isalnum() or char in "._-" else "-" for char in unicodedata.normalize("NFC", name))
    return "".join(kept).strip("-._")[:80]
