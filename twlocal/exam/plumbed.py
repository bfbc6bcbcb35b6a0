"""Characters as pdfplumber reads them: by the font's character collection, without needing its glyphs."""

from __future__ import annotations

import io
import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager

from .chars import NO_SPACE, REAL_SPACE, Char, Chars
from .frame import Frame
from .page import UnreadablePdf

# Of what pdfminer warns of, that which loses text. The rest is about colours and boxes.
_LOST = re.compile(r"Data-loss|Cannot render|Could not set text|Not adding object")


def chars(data: bytes, index: int, frame: Frame) -> Chars:
    """The characters of page `index` (from 0) of a file's bytes.

    Raises `UnreadablePdf` (`rotated`, `damaged`).
    """
    if frame.turned:
        raise UnreadablePdf("rotated", f"page {index + 1} is turned, and its font is not in the file")
    import pdfplumber

    try:
        with _warnings() as warnings, pdfplumber.open(io.BytesIO(data)) as document:
            page = document.pages[index]
            page.page_obj.rotate = 0  # in user space, as pdfium's
            left, lower = page.page_obj.mediabox[:2]
            found = page.chars
    except Exception as error:  # pdfminer raises whatever a broken file makes it stumble over
        raise UnreadablePdf("damaged", f"page {index + 1}: {type(error).__name__}: {error}") from error
    if lost := next(filter(_LOST.match, warnings), None):
        raise UnreadablePdf("damaged", f"page {index + 1}: {lost}")
    made: list[Char] = []
    space = NO_SPACE
    for char in found:
        text = char["text"]
        if not text.strip():
            space = REAL_SPACE
            continue
        x, y = frame.point(char["matrix"][4] + left, char["matrix"][5] + lower)
        size = char["size"]
        step = (char["x1"] - char["x0"]) / len(text)
        for k, letter in enumerate(text):  # a ligature is several characters in one place
            x0 = x + k * step
            font = char["fontname"] if "\ue000" <= letter <= "\uf8ff" else ""
            made.append(Char(letter, x0, x0 + step, y, size, space, font))
            space = NO_SPACE
    return Chars.of(made)


@contextmanager
def _warnings() -> Iterator[list[str]]:
    """What pdfminer has to say of a file: on a terminal, among many files, nobody could tell of which."""
    found: list[str] = []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            found.append(record.getMessage())

    logger, keep = logging.getLogger("pdfminer"), Keep()
    propagated, logger.propagate = logger.propagate, False
    logger.addHandler(keep)
    try:
        yield found
    finally:
        logger.removeHandler(keep)
        logger.propagate = propagated
