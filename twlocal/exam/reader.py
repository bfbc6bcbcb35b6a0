"""PDF files → pages, by pdfium; by pdfplumber where pdfium has no glyphs for a font."""

from __future__ import annotations

import ctypes
import gc
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from . import drawn, pdfium, plumbed
from .chars import Chars
from .frame import Frame
from .page import Box, Page, UnreadablePdf

_FAR = 1e6  # points; the largest page that a PDF may have is 14,400 high


@contextmanager
def open_pdf(source: str | Path | bytes) -> Iterator[Any]:
    """The pypdfium2 document of a path or of a file's bytes.

    Raises `UnreadablePdf` (`encrypted`, `damaged`).
    """
    raw = pdfium.pdfium().raw
    import pypdfium2

    data = source if isinstance(source, bytes) else Path(source).read_bytes()
    try:
        document = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        locked = raw.FPDF_GetLastError() == raw.FPDF_ERR_PASSWORD or "assword" in str(error)
        raise UnreadablePdf("encrypted" if locked else "damaged", str(error)) from error
    try:
        if len(document) == 0:
            raise UnreadablePdf("damaged", "the file has no pages")
        yield document
    finally:
        document.close()


def read_pages(source: str | Path | bytes) -> list[Page]:
    """All pages of a PDF, given as a path or as the file's bytes. Raises as `open_pdf` does."""
    data = source if isinstance(source, bytes) else Path(source).read_bytes()
    with open_pdf(data) as document:
        return [read_page(document, index, data) for index in range(len(document))]


@contextmanager
def collector_paused() -> Iterator[None]:
    """Holds the garbage collector while a paper is parsed.

    Parsing makes no reference cycles but ten thousand small tuples, and the collector would walk them again and again:
    a tenth of the time of a build.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def read_page(document: Any, index: int, data: bytes) -> Page:
    """Page `index` (from 0) of a pypdfium2 document and its file's bytes.

    Raises `UnreadablePdf` when the page cannot be loaded, runs askew, or has something that stands nowhere.
    """
    lib = pdfium.pdfium()
    raw = lib.raw
    page = raw.FPDF_LoadPage(document.raw, index)
    if not page:
        raise UnreadablePdf("damaged", f"page {index + 1} cannot be loaded")
    textpage = raw.FPDFText_LoadPage(page)
    try:
        if not textpage:
            raise UnreadablePdf("damaged", f"the text of page {index + 1} cannot be loaded")
        layer = pdfium.text(lib, textpage)
        frame = _frame(raw, page, pdfium.direction(lib, layer, index + 1))
        objects = drawn.objects(lib, page)
        boxes = drawn.boxes(lib, objects, frame)
        glyphless = drawn.glyphless(lib, objects)
        chars = plumbed.chars(data, index, frame) if glyphless else pdfium.chars(lib, layer, frame)
    finally:
        if textpage:
            raw.FPDFText_ClosePage(textpage)
        raw.FPDF_ClosePage(page)
    boxes = (*boxes, *drawn.askew(chars))
    if not _placed(chars, boxes):
        raise UnreadablePdf("damaged", f"something on page {index + 1} stands nowhere")
    return Page(index + 1, *frame.size, chars, boxes, frame.turned)


def _placed(chars: Chars, boxes: Sequence[Box]) -> bool:
    """Whether everything stands somewhere: in a damaged file coordinates may be no numbers, or beyond any page."""
    columns = (chars.x0, chars.x1, chars.levels)
    near = not len(chars) or all(bool(np.abs(column).max() < _FAR) for column in columns)
    return near and all(math.isfinite(box.x0 + box.x1 + box.top + box.bottom) for box in boxes)


def _frame(raw: Any, page: Any, turned: int) -> Frame:
    """The visible page in user space. /Rotate is not looked at: the text's own direction decides what is upright."""
    edges = [ctypes.c_float() for _ in range(4)]
    for get in (raw.FPDFPage_GetCropBox, raw.FPDFPage_GetMediaBox):
        if get(page, *edges):
            left, lower, right, upper = (edge.value for edge in edges)
            if right - left > 1 and upper - lower > 1:
                return Frame(left, lower, right - left, upper - lower, turned)
    # Inherited boxes are not found by the two functions, but the page's size is.
    width, height = raw.FPDF_GetPageWidthF(page), raw.FPDF_GetPageHeightF(page)
    if raw.FPDFPage_GetRotation(page) % 2:
        width, height = height, width
    return Frame(0.0, 0.0, width, height, turned)
