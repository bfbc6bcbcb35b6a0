"""Rows as JSONL, written whole or not at all: a killed command leaves no half file. Same rows, same bytes."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from twlocal.errors import RunError


def write(path: Path, rows: Iterable[Mapping[str, Any]]) -> int:
    """Write the rows in their order, and return their number. Raises RunError where the place cannot be written."""
    count = 0
    partial = path.with_name(path.name + ".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with partial.open("w", encoding="utf-8", newline="\n") as file:
            for row in rows:
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
                count += 1
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except OSError as error:
        raise RunError(f"cannot write {path}: {error.strerror or error}", hint="name another file with -o") from error
    return count
