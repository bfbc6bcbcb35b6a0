"""CSV and TSV text → rows of text cells, each with the line on which it begins. Pure."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from itertools import chain

from twlocal.dataset.answers import letter_of
from twlocal.dataset.columns import Columns, HeaderError, columns_of
from twlocal.dataset.rows import Bad, Row
from twlocal.errors import DatasetError

# Long passages are legitimate; the module's default (128 KiB) is not a limit of ours. 2**31-1 fits a C long everywhere.
_FIELD_LIMIT = 2**31 - 1
_PART = 1 << 18  # characters
_DELIMITERS = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "vertical bars", "，": "full-width commas"}


def read_csv(text: str, file: str, delimiter: str) -> Iterator[Row | Bad]:
    """The rows under the header of `text`; rows that are not what the header promises come as Bad.

    Raises DatasetError when the header itself cannot be used. Blank lines, and rows whose cells are all blank (a
    spreadsheet's leftovers), are passed over.
    """
    before = csv.field_size_limit(_FIELD_LIMIT)
    try:
        yield from _rows(_lines(text), file, delimiter)
    finally:
        csv.field_size_limit(before)


def _lines(text: str) -> Iterator[str]:
    """The physical lines with their ends as they are, split at CR, LF and CRLF only, never at U+2028 or U+0085."""
    return chain.from_iterable(io.StringIO(part, newline="") for part in _parts(text))


def _parts(text: str) -> Iterator[str]:
    """Whole lines of about a megabyte: StringIO copies what it is given at four bytes a character."""
    start = 0
    while start < len(text):
        end = text.find("\n", start + _PART) + 1 or len(text)
        yield text[start:end]
        start = end


def _rows(lines: Iterator[str], file: str, delimiter: str) -> Iterator[Row | Bad]:
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    columns: Columns | None = None
    header: list[str] = []
    width = 0
    line = 1
    while True:
        try:
            for cells in reader:
                if len(cells) == width and columns is not None:
                    # A line break inside a quoted cell is common; a whole row inside one is a stray quote.
                    if reader.line_num > line and _swallowed(cells, columns, delimiter):
                        yield Bad(line, _stray(reader.line_num))
                    elif cells == header:
                        yield Bad(line, "the header once more, as where files were put together")
                    elif cells[0].strip() or any(cell.strip() for cell in cells):
                        yield line, columns, cells
                elif any(cell.strip() for cell in cells):
                    if columns is None:
                        columns = _header(cells, file, line, delimiter)
                        header, width = cells, columns.width
                    else:
                        yield Bad(
                            line, f"{len(cells)} cells where the header has {width}{_until(line, reader.line_num)}"
                        )
                line = reader.line_num + 1
            return
        except csv.Error as error:
            if columns is None:
                raise DatasetError(f"{file}:{line}: the header is not valid CSV: {error}") from error
            yield Bad(line, _stray(reader.line_num))
            line = reader.line_num + 1


def _header(cells: list[str], file: str, line: int, delimiter: str) -> Columns:
    try:
        return columns_of(cells)
    except HeaderError as error:
        other = next((char for char in _DELIMITERS if char != delimiter and any(char in cell for cell in cells)), "")
        if other:
            hint = f"its cells seem to be separated by {_DELIMITERS[other]}: " + (
                "give it the suffix .tsv" if other == "\t" else f"save it with {_DELIMITERS[delimiter]}"
            )
        else:
            hint = "the first line names the columns: question, A, B, C, D, answer (or 題目, A, B, C, D, 答案)"
        raise DatasetError(f"{file}:{line}: {error}", hint=hint) from error


def _until(first: int, last: int) -> str:
    return f" (the row runs to line {last}: a stray quote?)" if last > first else ""


def _stray(last: int) -> str:
    return f"a quote opened here is not closed where a cell ends; the row runs to line {last}"


def _swallowed(cells: list[str], columns: Columns, delimiter: str) -> bool:
    """Whether a cell holds whole rows: lines with all of a row's delimiters, and an answer where one belongs."""
    for index, cell in enumerate(cells):
        first, *others = cell.split("\n")
        # The cell's first line goes on to the end of the row it began in; the middle ones would be rows of their own.
        for line, offset in ((first, index), *((other, 0) for other in others[:-1])):
            pieces = line.rstrip("\r").split(delimiter)
            place = columns.answer - offset
            if others and len(pieces) == columns.width - offset > 1 and place >= 0 and letter_of(pieces[place]):
                return True
    return False
