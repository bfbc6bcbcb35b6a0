"""What is drawn on a page besides its text, by pdfium's page objects; and text that only seems to be there."""

from __future__ import annotations

import ctypes
import re
from dataclasses import dataclass
from itertools import repeat
from typing import Any

import numpy as np

from .chars import Chars
from .frame import Frame
from .page import Box
from .pdfium import Pdfium


@dataclass(frozen=True)
class Objects:
    """A page's objects by their place: the handle of the font each is set in; None for what is no text."""

    page: ctypes.c_void_p
    fonts: list[int | None]


def objects(lib: Pdfium, page: Any) -> Objects:
    pointer = ctypes.cast(page, ctypes.c_void_p)
    count = max(0, lib.raw.FPDFPage_CountObjects(page))
    return Objects(pointer, list(map(lib.object_font, map(lib.get_object, repeat(pointer), range(count)))))


def _object(lib: Pdfium, found: Objects, k: int) -> Any:
    return ctypes.cast(lib.get_object(found.page, k), lib.raw.FPDF_PAGEOBJECT)


# Fonts that are often not embedded and of which pdfium has a substitute on every machine.
_LATIN_FONT = re.compile(
    r"(?:[A-Z]{6}\+)?(?:times|arial|helvetica|courier|symbol|zapf|wingdings|calibri|cambria|verdana|tahoma|georgia)",
    re.I,
)


def glyphless(lib: Pdfium, found: Objects) -> bool:
    """Whether text of the page has no glyphs: a CJK font that is neither embedded nor installed.

    pdfium leaves such text out of the layer, without a word, and an item would silently lose a part of its stem.
    """
    raw = lib.raw
    foreign = {font for font in set(found.fonts) if font and _is_foreign(raw, ctypes.cast(font, raw.FPDF_FONT))}
    for k, font in enumerate(found.fonts) if foreign else ():
        if font in foreign and (edges := _bounds(raw, _object(lib, found, k))):
            left, bottom, right, top = edges
            if right - left < 0.01 or top - bottom < 0.01:
                return True
    return False


def _is_foreign(raw: Any, font: Any) -> bool:
    if raw.FPDFFont_GetIsEmbedded(font) != 0:
        return False
    name = ctypes.create_string_buffer(128)
    get_name = getattr(raw, "FPDFFont_GetBaseFontName", None) or raw.FPDFFont_GetFontName  # renamed in pdfium 6500
    get_name(font, name, 128)
    return not _LATIN_FONT.match(name.value.decode("utf-8", "replace"))


_Matrix = tuple[float, float, float, float, float, float]
_Edges = tuple[float, float, float, float]  # left, bottom, right, top
_THIN = 1.6  # points; the Ministry's blanks and underlines are 0.6 thick, its boxes 1.0


def askew(chars: Chars) -> tuple[Box, ...]:
    """Text that runs another way than the page's as drawings: it is not read, but what it stands in is noticed."""
    found: list[Box] = []
    for k in np.flatnonzero(chars.levels[:, 1] < 0).tolist():
        baseline, size = chars.levels[k].tolist()
        own = chars.level == k
        x0, x1 = chars.x0[own].min().item(), chars.x1[own].max().item()
        found.append(Box("drawing", x0, x1, baseline + size / 2, baseline - size / 2))
    return tuple(found)


def boxes(lib: Pdfium, found: Objects, frame: Frame) -> tuple[Box, ...]:
    """Images, rules and drawings among the page's objects."""
    drawn: list[Box] = []
    for k, font in enumerate(found.fonts):
        if font is None:
            _collect(lib.raw, _object(lib, found, k), None, drawn, 0)
    return tuple(Box(kind, *frame.box(x0, x1, y0, y1), pixels) for kind, x0, x1, y0, y1, pixels in drawn)


def _collect(raw: Any, item: Any, matrix: _Matrix | None, found: list[Box], depth: int) -> None:
    """Adds what an object draws, in user space; `matrix` is that of the forms around it."""
    kind = raw.FPDFPageObj_GetType(item)
    if kind == raw.FPDF_PAGEOBJ_FORM:
        if depth < 8:  # a form may draw itself; deeper nesting than this is no exam paper
            own = raw.FS_MATRIX()
            raw.FPDFPageObj_GetMatrix(item, own)
            inner = (own.a, own.b, own.c, own.d, own.e, own.f)
            inner = _multiply(inner, matrix) if matrix else inner
            for k in range(max(0, raw.FPDFFormObj_CountObjects(item))):
                _collect(raw, raw.FPDFFormObj_GetObject(item, k), inner, found, depth + 1)
        return
    if kind == raw.FPDF_PAGEOBJ_TEXT or not (edges := _bounds(raw, item)):
        return
    left, bottom, right, top = edges
    if matrix:
        corners = [_apply(matrix, x, y) for x in (left, right) for y in (bottom, top)]
        left, right = min(c[0] for c in corners), max(c[0] for c in corners)
        bottom, top = min(c[1] for c in corners), max(c[1] for c in corners)
    if kind == raw.FPDF_PAGEOBJ_IMAGE:
        wide, high = ctypes.c_uint(), ctypes.c_uint()
        raw.FPDFImageObj_GetImagePixelSize(item, wide, high)
        found.append(Box("image", left, right, bottom, top, (wide.value, high.value)))
    elif kind == raw.FPDF_PAGEOBJ_PATH and _inked(raw, item):
        thin = min(right - left, top - bottom) <= _THIN
        found.append(Box("rule" if thin else "drawing", left, right, bottom, top))
    elif kind == raw.FPDF_PAGEOBJ_SHADING:
        found.append(Box("drawing", left, right, bottom, top))


def _bounds(raw: Any, item: Any) -> _Edges | None:
    edges = ctypes.c_float(), ctypes.c_float(), ctypes.c_float(), ctypes.c_float()
    if not raw.FPDFPageObj_GetBounds(item, *edges):
        return None
    left, bottom, right, top = edges
    return left.value, bottom.value, right.value, top.value


def _inked(raw: Any, path: Any) -> bool:
    """Whether a path leaves a mark: one that is neither filled nor stroked, or filled in white, does not."""
    fill, stroke = ctypes.c_int(), ctypes.c_int()
    raw.FPDFPath_GetDrawMode(path, fill, stroke)
    if stroke.value:
        return True
    if not fill.value:
        return False
    red, green, blue, alpha = (ctypes.c_uint() for _ in range(4))
    raw.FPDFPageObj_GetFillColor(path, red, green, blue, alpha)
    return alpha.value > 0 and min(red.value, green.value, blue.value) < 250


def _multiply(first: _Matrix, then: _Matrix) -> _Matrix:
    a, b, c, d, e, f = first
    p, q, r, s, t, u = then
    return (a * p + b * r, a * q + b * s, c * p + d * r, c * q + d * s, e * p + f * r + t, e * q + f * s + u)


def _apply(matrix: _Matrix, x: float, y: float) -> tuple[float, float]:
    a, b, c, d, e, f = matrix
    return a * x + c * y + e, b * x + d * y + f
