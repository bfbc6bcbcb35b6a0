"""JSON and JSON Lines text → rows of text cells. Numbers keep their literal text. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NoReturn

from twlocal.dataset.columns import Columns, HeaderError, columns_of
from twlocal.dataset.rows import Bad, Row
from twlocal.errors import DatasetError


def read_json(text: str, file: str) -> Iterator[Row | Bad]:
    """The rows of a list of objects; rows count from 1. One object a line is taken for JSON Lines.

    Raises DatasetError when the text as a whole is not one of the two.
    """
    if text.lstrip().startswith("{"):
        yield from read_jsonl(text, file)
        return
    try:
        rows = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise DatasetError(f"{file}:{error.lineno}: not valid JSON: {error.msg} (column {error.colno})") from error
    except (ValueError, RecursionError) as error:
        raise DatasetError(f"{file}: not valid JSON: {_said(error)}") from error
    if not isinstance(rows, list):
        raise DatasetError(f"{file}: a list of objects is expected", hint="[{…}, {…}], or one object a line (.jsonl)")
    seen: dict[tuple[str, ...], Columns] = {}
    for number, row in enumerate(rows, start=1):
        yield _row(row, number, seen)


def read_jsonl(text: str, file: str) -> Iterator[Row | Bad]:
    """The rows of one object a line. Raises DatasetError when not even the first line is one."""
    seen: dict[tuple[str, ...], Columns] = {}
    first = True
    # Never splitlines(): U+2028, U+2029 and U+0085 are legal inside a JSON string.
    for number, line in enumerate(text.split("\n"), start=1):
        line = line.removeprefix("\ufeff")  # files that were put together keep the marks that they began with
        if not line or line.isspace():
            continue
        try:
            row = _DECODER.decode(line)
        except (ValueError, RecursionError) as error:
            if first and line.rstrip() in ("[", "{"):
                raise DatasetError(
                    f"{file}:{number}: one object a line is expected, but an object spans several lines",
                    hint="a list of objects ([{…}, {…}]) goes into a .json file",
                ) from error
            yield Bad(number, f"not valid JSON: {_said(error)}")
        else:
            yield _row(row, number, seen)
        first = False


def _row(row: Any, number: int, seen: dict[tuple[str, ...], Columns]) -> Row | Bad:
    if type(row) is not dict:
        return Bad(number, f"an object is expected, not {_kind(row)}")
    keys = tuple(row)
    columns = seen.get(keys)
    if columns is None:
        try:
            columns = columns_of(keys)
        except HeaderError as error:
            return Bad(number, str(error))
        seen[keys] = columns
    if columns.choices is None and set(map(type, row.values())) == _TEXT_ONLY:
        return number, columns, list(row.values())
    cells = [value if type(value) is str else _text(value) for value in row.values()]
    for name, index in (("question", columns.question), ("answer", columns.answer)):
        if type(cells[index]) is not str:
            return Bad(number, f"{name} is {_kind(cells[index])}, not text")
    for index in columns.options:
        if type(cells[index]) is not str:
            return Bad(number, f"option {keys[index]} is {_kind(cells[index])}, not text")
    for index, cell in enumerate(cells):
        if index != columns.choices and type(cell) is not str:
            cells[index] = json.dumps(cell, ensure_ascii=False)
    return number, columns, cells


def _text(value: Any) -> Any:
    """A scalar's literal text; lists keep their place with their elements' texts; objects come back as they are."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return [one if isinstance(one, str) else _text(one) for one in value]
    return value


def _kind(value: Any) -> str:
    return "an object" if isinstance(value, dict) else "a list" if isinstance(value, list) else "a single value"


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    row = dict(pairs)
    if len(row) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {twice!r} is there more than once")
    return row


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON (a missing value is null or an empty string)")


def _said(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} (column {error.colno})"
    return "nested too deeply" if isinstance(error, RecursionError) else str(error)


_TEXT_ONLY = {str}
_DECODER = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=_refuse, object_pairs_hook=_object)
