"""Tables that a study reads from files: CSV, TSV or JSON, every value as text until it is asked for."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from twlocal.errors import UsageError

Row = Mapping[str, str]


def read(path: Path) -> list[Row]:
    """The rows of a CSV or TSV file with a header, or of a JSON list of objects. Raises UsageError."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from error
    except UnicodeError as error:
        raise UsageError(f"{path} is not UTF-8 text") from error
    rows = _json(text, path) if path.suffix.lower() == ".json" else _csv(text, path)
    if not rows:
        raise UsageError(f"{path} holds no rows", hint="a header line, and a line a row")
    return rows


def _json(text: str, path: Path) -> list[Row]:
    try:
        data = json.loads(text)
    except ValueError as error:
        raise UsageError(f"{path} is not JSON: {error}") from error
    if not isinstance(data, list) or not all(isinstance(row, dict) for row in data):
        raise UsageError(f"{path} is not a JSON list of objects")
    return [{str(name): "" if value is None else str(value) for name, value in row.items()} for row in data]


def _csv(text: str, path: Path) -> list[Row]:
    delimiter = "\t" if path.suffix.lower() in (".tsv", ".tab") else ","
    reader = csv.DictReader(io.StringIO(text), delimiter=delimiter, strict=True)
    try:
        rows = [{(name or "").strip(): (value or "").strip() for name, value in row.items()} for row in _whole(reader)]
    except csv.Error as error:
        raise UsageError(f"{path}, line {reader.line_num}: {error}") from error
    return list(rows)


def _whole(reader: csv.DictReader[str]) -> list[dict[str, str]]:
    rows = []
    for row in reader:
        if None in row or None in row.values():
            raise csv.Error("this line has more or fewer cells than the header")
        rows.append(row)
    return rows


def need(rows: Sequence[Row], names: Sequence[str], path: Path) -> None:
    """Raises UsageError, naming what is there, where a column is missing."""
    for name in names:
        if any(name not in row for row in rows):
            raise UsageError(f"{path} has no column {name!r}", hint=f"its columns: {', '.join(rows[0])}")


def number(text: str, where: str) -> float | None:
    """A number as written ("82.19", "1,696", "84%" as 0.84); None for an empty cell or a dash. Raises UsageError."""
    bare = text.strip().replace(",", "").replace("−", "-")
    if bare in ("", "-", "–", "—"):
        return None
    try:
        return share(float(bare[:-1])) if bare.endswith("%") else float(bare)
    except ValueError:
        raise UsageError(f"{where}: {text!r} is not a number") from None


def share(percentage: float) -> float:
    """A percentage as a share of 1, to the digits that it was written with: 46.9% is 0.469 and no neighbour of it."""
    return round(percentage / 100, 12)
