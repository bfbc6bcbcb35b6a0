"""The list of rows that are published and not scored (`withdrawn.jsonl`), which ships beside a dataset.

A sample is drawn from all rows; withdrawn ones are then removed and counted. A row is named by its content hash, so
that a list that belongs to other data removes nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from twlocal.errors import DatasetError

NAME = "withdrawn.jsonl"
_HASH = re.compile(r"[0-9a-f]{64}")
_SHAPE = 'a row is {"ch": content hash, "rule": …, "reason": …}, or the content hash alone: 64 hexadecimal digits'


def parse(text: str, name: str) -> dict[str, str]:
    """Content hash → why it was withdrawn ("" where the list does not say). `name` is for errors.

    JSON Lines as `twlocal exam build` writes them, or a content hash a line, with comments after #.
    Raises DatasetError.
    """
    found: dict[str, str] = {}
    # Never splitlines(): U+2028, U+2029 and U+0085 are legal inside a JSON string.
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), 1):
        line = line.strip()
        if line.startswith("{"):
            hashed, why = _row(line, f"{name}:{number}")
        else:
            hashed, why = line.split("#")[0].strip().lower(), ""
        if not hashed:
            continue
        if not _HASH.fullmatch(hashed):
            raise DatasetError(f"{name}:{number}: {hashed[:80]!r} is not a content hash", hint=_SHAPE)
        found[hashed] = why
    return found


def _row(line: str, place: str) -> tuple[str, str]:
    try:
        row: Mapping[str, Any] = json.loads(line)
        return str(row["ch"]).lower(), ": ".join(filter(None, (str(row.get("rule", "")), str(row.get("reason", "")))))
    except (ValueError, KeyError, RecursionError) as error:
        raise DatasetError(f"{place} names no row that is withdrawn", hint=_SHAPE) from error


def read(path: Path) -> dict[str, str]:
    """The list in the file `path`, or the one that ships with the dataset in the folder `path`. Raises DatasetError."""
    if path.is_dir():
        path /= NAME
    try:
        return parse(path.read_text(encoding="utf-8-sig"), str(path))
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise DatasetError(f"cannot read the list of withdrawn rows {path}: {reason}") from error
