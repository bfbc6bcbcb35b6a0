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


# Fonts that are often not embedded and of which pdfium has a substitute on every machine.
_LATIN_FONT = re.compile(
    r"(?:[A-Z]{6}\+)?(?:times|arial|helvetica|courier|symbol|zapf|wingdings|calibri|cambria|verdana|tahoma|georgia)",
    re.I,
)


def glyphless(lib: Pdfium, found: Objects) -> bool:
    """Whether text of the page has no glyphs: a CJK font that is neither embedded nor installed.

    pdfium leaves such text out of the layer, without a word, and an item would silently lose a part of its stem.
    """
    foreign = {font for font in set(found.fonts) if font and not lib.is_embedded(font) and _is_foreign(lib.raw, font)}
    for k, font in enumerate(found.fonts) if foreign else ():
        if font in foreign and (edges := _bounds(lib, lib.get_object(found.page, k))):
            left, bottom, right, top = edges
            if right - left < 0.01 or top - bottom < 0.01:
                return True
    return False


def _is_foreign(raw: Any, font: int) -> bool:
    """Whether pdfium may have no glyphs for a font that is not embedded."""
    name = ctypes.create_string_buffer(128)
    get_name = getattr(raw, "FPDFFont_GetBaseFontName", None) or raw.FPDFFont_GetFontName  # renamed in pdfium 6500
    get_name(ctypes.cast(font, raw.FPDF_FONT), name, 128)
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
            _collect(lib, lib.get_object(found.page, k), None, drawn, 0)
    return tuple(Box(kind, *frame.box(x0, x1, y0, y1), pixels) for kind, x0, x1, y0, y1, pixels in drawn)


def _collect(lib: Pdfium, handle: Any, matrix: _Matrix | None, found: list[Box], depth: int) -> None:
    """Adds what an object draws, in user space; `matrix` is that of the forms around it."""
    raw, kind = lib.raw, lib.object_kind(handle)
    if kind == raw.FPDF_PAGEOBJ_FORM:
        if depth < 8:  # a form may draw itself; deeper nesting than this is no exam paper
            form = ctypes.cast(handle, raw.FPDF_PAGEOBJECT)
            own = raw.FS_MATRIX()
            raw.FPDFPageObj_GetMatrix(form, own)
            inner = (own.a, own.b, own.c, own.d, own.e, own.f)
            inner = _multiply(inner, matrix) if matrix else inner
            for k in range(max(0, raw.FPDFFormObj_CountObjects(form))):
                _collect(lib, ctypes.cast(raw.FPDFFormObj_GetObject(form, k), ctypes.c_void_p), inner, found, depth + 1)
        return
    if kind == raw.FPDF_PAGEOBJ_TEXT or not (edges := _bounds(lib, handle)):
        return
    left, bottom, right, top = edges
    if matrix:
        corners = [_apply(matrix, x, y) for x in (left, right) for y in (bottom, top)]
        left, right = min(c[0] for c in corners), max(c[0] for c in corners)
        bottom, top = min(c[1] for c in corners), max(c[1] for c in corners)
    if kind == raw.FPDF_PAGEOBJ_IMAGE:
        wide, high = ctypes.c_uint(), ctypes.c_uint()
        raw.FPDFImageObj_GetImagePixelSize(ctypes.cast(handle, raw.FPDF_PAGEOBJECT), wide, high)
        found.append(Box("image", left, right, bottom, top, (wide.value, high.value)))
    elif kind == raw.FPDF_PAGEOBJ_PATH and _inked(lib, handle):
        thin = min(right - left, top - bottom) <= _THIN
        found.append(Box("rule" if thin else "drawing", left, right, bottom, top))
    elif kind == raw.FPDF_PAGEOBJ_SHADING:
        found.append(Box("drawing", left, right, bottom, top))


def _bounds(lib: Pdfium, handle: Any) -> _Edges | None:
    if not lib.object_bounds(handle, *lib.rooms.bounds.pointers):
        return None
    left, bottom, right, top = lib.rooms.bounds.values
    return left, bottom, right, top


def _inked(lib: Pdfium, path: Any) -> bool:
    """Whether a path leaves a mark: one that is neither filled nor stroked, or filled in white, does not."""
    mode, color = lib.rooms.mode, lib.rooms.color
    lib.path_mode(path, *mode.pointers)
    fill, stroke = mode.values
    if stroke or not fill:
        return bool(stroke)
    lib.fill_color(path, *color.pointers)
    *shades, alpha = color.values
    return bool(alpha) and min(shades) < 250


def _multiply(first: _Matrix, then: _Matrix) -> _Matrix:
    a, b, c, d, e, f = first
    p, q, r, s, t, u = then
    return (a * p + b * r, a * q + b * s, c * p + d * r, c * q + d * s, e * p + f * r + t, e * q + f * s + u)


def _apply(matrix: _Matrix, x: float, y: float) -> tuple[float, float]:
    a, b, c, d, e, f = matrix
    return a * x + c * y + e, b * x + d * y + f
