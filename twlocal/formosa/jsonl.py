"""Rows as JSONL, written whole or not at all: a killed command leaves no half file. Same rows, same bytes."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from twlocal.errors import UsageError
from twlocal.whole import is_stream, whole


def write(path: Path, rows: Iterable[Mapping[str, Any]]) -> int:
    """Write the rows in their order, and return their number. Raises what `whole` raises."""
    count = 0
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror or error}", hint="name another file") from error
    stream = is_stream(path)
    with whole(path) as part, part.open("w", encoding="utf-8", newline="\n") as file:
        for row in rows:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
            count += 1
        file.flush()
        if not stream:
            os.fsync(file.fileno())
    return count
