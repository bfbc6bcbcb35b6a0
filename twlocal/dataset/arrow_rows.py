"""Parquet and Arrow bytes → rows of text cells, column by column, without type inference."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from itertools import chain
from typing import Any

from twlocal.dataset.columns import HeaderError, columns_of
from twlocal.dataset.rows import Bad, Row
from twlocal.errors import DatasetError

_SLICE = 8192  # rows


def read_parquet(data: bytes, file: str) -> Iterator[Row | Bad]:
    """The rows of a Parquet file; rows count from 1. Raises DatasetError."""
    pyarrow = _pyarrow(file)
    from pyarrow import parquet

    try:
        with parquet.ParquetFile(pyarrow.BufferReader(data)) as reader:
            batches = reader.iter_batches(batch_size=_SLICE)
            parts = (pyarrow.Table.from_batches([batch]) for batch in batches)
            # Not schema.empty_table(): that imports pandas where it is installed, for half a second.
            yield from _rows(pyarrow.Table.from_batches([], reader.schema_arrow), parts, file)
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
        raise DatasetError(f"{file}: not a Parquet file that can be read: {_first_line(error)}") from error


def read_arrow(data: bytes, file: str) -> Iterator[Row | Bad]:
    """The rows of an Arrow file or stream (what `datasets` writes is a stream). Raises DatasetError."""
    pyarrow = _pyarrow(file)
    opener = pyarrow.ipc.open_file if data.startswith(b"ARROW1") else pyarrow.ipc.open_stream
    try:
        with opener(io.BytesIO(data)) as reader:
            table = reader.read_all()
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
        raise DatasetError(f"{file}: not an Arrow file that can be read: {_first_line(error)}") from error
    yield from _rows(table.slice(0, 0), (table.slice(at, _SLICE) for at in range(0, table.num_rows, _SLICE)), file)


def _pyarrow(file: str) -> Any:
    try:
        import pyarrow
    except ImportError as error:
        raise DatasetError(
            f"{file}: reading Parquet and Arrow needs pyarrow", hint="pip install 'twlocal[parquet]'"
        ) from error
    return pyarrow


def _rows(empty: Any, parts: Iterator[Any], file: str) -> Iterator[Row | Bad]:
    """The rows of a table that comes in parts, `empty` being one without a row.

    In parts, because all cells of a large table as Python objects would take several times its own memory.
    """
    try:
        columns = columns_of(empty.column_names)
    except HeaderError as error:
        raise DatasetError(f"{file}: {error}") from error
    plain = {columns.question, columns.answer, *columns.options}
    number = 0
    for part in chain([empty], parts):
        cells: list[list[Any]] = []
        for index, name in enumerate(empty.column_names):
            try:
                cells.append(_column(part.column(index), nested=index not in plain, as_list=index == columns.choices))
            except (ValueError, TypeError) as error:  # ArrowInvalid and UnicodeDecodeError are ValueErrors
                raise DatasetError(
                    f"{file}: the column {name!r} cannot be read as text: {_first_line(error)}"
                ) from error
        for row in zip(*cells, strict=True):
            number += 1
            yield number, columns, row


def _column(column: Any, *, nested: bool, as_list: bool) -> list[Any]:
    import pyarrow as pa

    kind = column.type
    if pa.types.is_dictionary(kind):
        return _column(column.cast(kind.value_type), nested=nested, as_list=as_list)
    if _is_list(kind):
        if as_list:
            return [None if one is None else _texts(one, kind.value_type) for one in column.to_pylist()]
        if not nested:
            raise TypeError("it holds lists")
    if pa.types.is_nested(kind):
        if not nested:
            raise TypeError(f"it holds {kind}")
        return [json.dumps(one, ensure_ascii=False, default=str) for one in column.to_pylist()]
    return _scalars(column)


def _is_list(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def _texts(values: list[Any], kind: Any) -> list[Any]:
    import pyarrow as pa

    if all(isinstance(one, str) for one in values):
        return values
    return values if pa.types.is_nested(kind) else _scalars(pa.chunked_array([pa.array(values, kind)]))


def _scalars(column: Any) -> list[str]:
    import pyarrow as pa

    kind = column.type
    if pa.types.is_float64(kind):
        return ["" if one is None else repr(one) for one in column.to_pylist()]
    cast = column if pa.types.is_string(kind) or pa.types.is_large_string(kind) else column.cast(pa.large_string())
    # A null is an empty cell. Arrow writes the float32 1.0 as "1"; its own text is "1.0".
    point = pa.types.is_floating(kind)
    return [
        "" if one is None else f"{one}.0" if point and one.lstrip("-").isdigit() else one for one in cast.to_pylist()
    ]


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
