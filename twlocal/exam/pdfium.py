"""pdfium's characters and boxes, read through pypdfium2's raw functions.

Asking for a million characters one by one is what a parser of exam papers does most. The text comes in bulk, and the
one call a character that is left is made by `map`, outside the interpreter's loop, with arguments that ctypes need not
convert: a tenth of what pdfplumber needs.
"""

from __future__ import annotations

import ctypes
import math
import re
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import groupby, repeat
from typing import Any

from twlocal.errors import UsageError

from .frame import Frame
from .page import DRAWN_GAP, NO_SPACE, REAL_SPACE, Box, Char, UnreadablePdf


class _Handle(ctypes.c_void_p):
    """A pointer that a call gives back as it is: `c_void_p` itself would come back as an integer."""


class _Scratch:
    """Room for the boxes of a page's characters, used again for every page, with a pointer to each place in it."""

    def __init__(self) -> None:
        self.floats: Any = ()
        self.places: list[ctypes.c_void_p] = []

    def room(self, count: int) -> tuple[Any, list[ctypes.c_void_p]]:
        """An array of floats for at least `count` boxes of four, and the places of the boxes."""
        if len(self.places) < count:
            self.floats = (ctypes.c_float * (8 * count))()
            start = ctypes.addressof(self.floats)
            self.places = [ctypes.c_void_p(at) for at in range(start, start + 32 * count, 16)]
        return self.floats, self.places


@dataclass(frozen=True)
class Pdfium:
    """pdfium's functions with untyped pointers, so that `map` can call them with plain integers.

    Those for characters take pointers as objects of ctypes: converting integers took them longer than their work.
    """

    raw: Any
    scratch: _Scratch
    loose_box: Any
    tight_box: Any
    origin: Any
    angle: Any
    generated: Any
    matrix: Any
    font_size: Any
    text: Any
    get_object: Any
    object_font: Any
    font: Any


@cache
def pdfium() -> Pdfium:
    try:
        import pypdfium2.raw as raw
    except ImportError as error:
        raise UsageError("reading PDF files needs pypdfium2", hint="pip install 'twlocal[exam]'") from error
    pointer, number = ctypes.c_void_p, ctypes.c_int

    def plain(function: Any, result: Any, *arguments: Any) -> Any:
        # Not CFUNCTYPE: giving up Python's lock and taking it again is a fifth of so short a call.
        return ctypes.PYFUNCTYPE(result, *arguments)(ctypes.cast(function, pointer).value or 0)

    def bare(function: Any, result: Any) -> Any:
        made = plain(function, result)
        made.argtypes = None  # as given: objects of ctypes, and integers that fit a C int
        return made

    return Pdfium(
        raw=raw,
        scratch=_Scratch(),
        loose_box=bare(raw.FPDFText_GetLooseCharBox, number),
        tight_box=bare(raw.FPDFText_GetCharBox, number),
        origin=bare(raw.FPDFText_GetCharOrigin, number),
        matrix=bare(raw.FPDFText_GetMatrix, number),
        font_size=bare(raw.FPDFText_GetFontSize, ctypes.c_double),
        generated=bare(raw.FPDFText_IsGenerated, number),
        angle=bare(raw.FPDFText_GetCharAngle, ctypes.c_float),
        text=plain(raw.FPDFText_GetText, number, pointer, number, number, pointer),
        get_object=bare(raw.FPDFPage_GetObject, _Handle),
        object_font=bare(raw.FPDFTextObj_GetFont, pointer),
        font=bare(raw.FPDFText_GetFontInfo, ctypes.c_ulong),
    )


def direction(lib: Pdfium, textpage: Any, number: int) -> int:
    """How far the page's text is turned, in whole quarter turns, by the angle most of its characters have.

    Raises `UnreadablePdf` (`rotated`) when it runs askew.
    """
    count = lib.raw.FPDFText_CountChars(textpage)
    if count <= 0:
        return 0
    pointer = ctypes.cast(textpage, ctypes.c_void_p)
    # An odd step, so that every other character's being a generated space cannot hide the rest from the sample.
    step = 1 if count < 40 else 1 + max(1, count // 30) // 2 * 2
    angles = Counter(round(lib.angle(pointer, k) * 57.29578) for k in range(0, count, step))
    angles.pop(-57, None)  # -1 radian: pdfium could not tell
    if not angles:
        return 0
    degrees: int = angles.most_common(1)[0][0] % 360
    nearest = round(degrees / 90) * 90
    if abs(degrees - nearest) > 3:
        raise UnreadablePdf("rotated", f"the text of page {number} runs at {degrees} degrees")
    return nearest % 360


_INKLESS = re.compile("[\x00-\x20\x7f\u00a0\u00ad\u3000\ufeff\ufffe\uffff]+")
_PRIVATE = re.compile("[\ue000-\uf8ff]")


def chars(lib: Pdfium, textpage: Any, frame: Frame) -> tuple[Char, ...]:
    """The page's visible characters in the text stream's order."""
    raw = lib.raw
    count = raw.FPDFText_CountChars(textpage)
    if count <= 0:
        return ()
    pointer = ctypes.cast(textpage, ctypes.c_void_p)
    text = _text(lib, textpage, pointer.value, count)
    letters = _INKLESS.sub("", text)
    if not letters:
        return ()
    spaces = [NO_SPACE] * len(letters)
    inked: list[int] = []
    begin = 0
    for match in _INKLESS.finditer(text):
        start, end = match.span()
        inked += range(begin, start)
        begin = end
        if 0 < len(inked) < len(letters):
            # Line ends, which most of these are, come from pdfium itself.
            made_up = match[0] == "\r\n" or all(lib.generated(pointer, s) for s in range(start, end))
            spaces[len(inked)] = DRAWN_GAP if made_up else REAL_SPACE
    inked += range(begin, count)
    fonts = [""] * len(letters)
    for match in _PRIVATE.finditer(letters):
        fonts[match.start()] = _font(lib, pointer, inked[match.start()])
    places = _straight(lib, pointer, inked, frame) if frame.turned == 0 else _turned(lib, pointer, inked, frame)
    # What Char._make does, without a Python call for each.
    return tuple(map(partial(tuple.__new__, Char), zip(letters, *places, spaces, fonts, strict=True)))


def _text(lib: Pdfium, textpage: Any, pointer: int | None, count: int) -> str:
    """One character a pdfium index. Hyphens that pdfium hides at a line's end (U+0002) come back as hyphens."""
    buffer = (ctypes.c_ushort * (count + 1))()
    written = lib.text(pointer, 0, count, ctypes.addressof(buffer))
    if written == count + 1:
        text = bytes(buffer)[: 2 * count].decode("utf-16-le", "replace")
        if len(text) == count:
            return text.replace("\x02", "-")
    # Characters outside the BMP, or some that pdfium leaves out of the bulk text: ask for each.
    codes = (lib.raw.FPDFText_GetUnicode(textpage, k) for k in range(count))
    return "".join(
        chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else "\ufffd" for code in codes
    ).replace("\x02", "-")


# x0, x1, baseline and size of every character.
_Places = tuple[Sequence[float], Sequence[float], Sequence[float], Sequence[float]]


def _straight(lib: Pdfium, pointer: ctypes.c_void_p, inked: list[int], frame: Frame) -> _Places:
    """Advance widths, from pdfium's loose boxes."""
    n = len(inked)
    floats, boxes = lib.scratch.room(n)  # FS_RECTF: left, top, right, bottom
    deque(map(lib.loose_box, repeat(pointer), inked, boxes), maxlen=0)
    flat = floats[: 4 * n]
    lefts, uppers, rights, lowers = flat[0::4], flat[1::4], flat[2::4], flat[3::4]
    x, y = ctypes.c_double(), ctypes.c_double()
    x_at, y_at, upper, size = ctypes.byref(x), ctypes.byref(y), frame.upper, _sizes(lib, pointer)
    # Characters of one font on one line share their top and bottom: one call for the baseline serves them all.
    known: dict[tuple[float, float], tuple[float, float]] = {}
    baselines: list[float] = []
    sizes: list[float] = []
    at = 0
    for height, run in groupby(zip(uppers, lowers, strict=True)):
        if (found := known.get(height)) is None:
            lib.origin(pointer, inked[at], x_at, y_at)
            known[height] = found = (upper - y.value, size(inked[at]))
        length = len(list(run))
        at += length
        baselines += repeat(found[0], length)
        sizes += repeat(found[1], length)
    if frame.left:
        lefts, rights = [x0 - frame.left for x0 in lefts], [x1 - frame.left for x1 in rights]
    return lefts, rights, baselines, sizes


def _sizes(lib: Pdfium, pointer: ctypes.c_void_p) -> Callable[[int], float]:
    """The size in points at which a character is drawn: the font's size, scaled by the text's matrix."""
    matrix = lib.raw.FS_MATRIX()
    at, get_matrix, font_size = ctypes.byref(matrix), lib.matrix, lib.font_size

    def size(k: int) -> float:
        if not get_matrix(pointer, k, at):
            return 1.0
        own: float = font_size(pointer, k)
        return own * (abs(matrix.d) if matrix.c == 0 else math.hypot(matrix.c, matrix.d))

    return size


def _turned(lib: Pdfium, pointer: ctypes.c_void_p, inked: list[int], frame: Frame) -> _Places:
    """For turned text, whose loose boxes have no width: tight widths."""
    values = [ctypes.c_double() for _ in range(6)]
    at = [ctypes.byref(value) for value in values]
    size = _sizes(lib, pointer)
    places: list[tuple[float, ...]] = []
    for k in inked:
        lib.tight_box(pointer, k, *at[:4])  # left, right, bottom, top
        lib.origin(pointer, k, *at[4:])
        x0, x1, y0, y1, ox, oy = (value.value for value in values)
        left, right, _, _ = frame.box(x0, x1, y0, y1)
        places.append((left, right, frame.point(ox, oy)[1], size(k)))
    lefts, rights, baselines, sizes = zip(*places, strict=True)
    return lefts, rights, baselines, sizes


def _font(lib: Pdfium, pointer: ctypes.c_void_p, k: int) -> str:
    buffer, flags = ctypes.create_string_buffer(128), ctypes.c_int()
    lib.font(pointer, k, buffer, 128, ctypes.byref(flags))
    return buffer.value.decode("utf-8", "replace")


def objects(lib: Pdfium, page: Any) -> list[tuple[_Handle, int | None]]:
    """The page's objects: their handle, and the handle of the font they are set in; None for what is no text."""
    pointer = ctypes.cast(page, ctypes.c_void_p)
    count = max(0, lib.raw.FPDFPage_CountObjects(page))
    handles = list(map(lib.get_object, repeat(pointer), range(count)))
    return list(zip(handles, map(lib.object_font, handles), strict=True))


# Fonts that are often not embedded and of which pdfium has a substitute on every machine.
_LATIN_FONT = re.compile(
    r"(?:[A-Z]{6}\+)?(?:times|arial|helvetica|courier|symbol|zapf|wingdings|calibri|cambria|verdana|tahoma|georgia)",
    re.I,
)


def glyphless(lib: Pdfium, found: list[tuple[_Handle, int | None]]) -> bool:
    """Whether text of the page has no glyphs: a CJK font that is neither embedded nor installed.

    pdfium leaves such text out of the layer, without a word, and an item would silently lose a part of its stem.
    """
    raw = lib.raw
    fonts = {font for _, font in found}
    foreign = {font for font in fonts if font and _is_foreign(raw, ctypes.cast(font, raw.FPDF_FONT))}
    edges = [ctypes.c_float() for _ in range(4)]
    for handle, font in found if foreign else ():
        if font in foreign and raw.FPDFPageObj_GetBounds(ctypes.cast(handle, raw.FPDF_PAGEOBJECT), *edges):
            left, bottom, right, top = (edge.value for edge in edges)
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
_IDENTITY: _Matrix = (1.0, 0.0, 0.0, 1.0, 0.0, 0.0)
_THIN = 1.6  # points; the Ministry's blanks and underlines are 0.6 thick, its boxes 1.0


def boxes(lib: Pdfium, found: list[tuple[_Handle, int | None]], frame: Frame) -> tuple[Box, ...]:
    """Images, rules and drawings among the page's objects."""
    raw = lib.raw
    drawn: list[Box] = []
    for handle, font in found:
        if font is None:
            item = ctypes.cast(handle, raw.FPDF_PAGEOBJECT)
            _collect(raw, item, raw.FPDFPageObj_GetType(item), _IDENTITY, drawn, 0)
    return tuple(Box(kind, *frame.box(x0, x1, y0, y1), pixels) for kind, x0, x1, y0, y1, pixels in drawn)


def _collect(raw: Any, item: Any, kind: int, matrix: _Matrix, found: list[Box], depth: int) -> None:
    if kind == raw.FPDF_PAGEOBJ_FORM:
        if depth < 8:  # a form may draw itself; deeper nesting than this is no exam paper
            own = raw.FS_MATRIX()
            raw.FPDFPageObj_GetMatrix(item, own)
            inner = _multiply((own.a, own.b, own.c, own.d, own.e, own.f), matrix)
            for k in range(max(0, raw.FPDFFormObj_CountObjects(item))):
                child = raw.FPDFFormObj_GetObject(item, k)
                _collect(raw, child, raw.FPDFPageObj_GetType(child), inner, found, depth + 1)
        return
    edges = [ctypes.c_float() for _ in range(4)]
    if kind == raw.FPDF_PAGEOBJ_TEXT or not raw.FPDFPageObj_GetBounds(item, *edges):
        return
    left, bottom, right, top = (edge.value for edge in edges)
    if matrix != _IDENTITY:
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
