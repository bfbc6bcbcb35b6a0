"""pdfium's characters and boxes, read through pypdfium2's raw functions.

Asking for a million characters one by one is what a parser of exam papers does most. The text comes in bulk, and the
one call a character that is left is made by `map`, outside the interpreter's loop, with arguments that ctypes need not
convert; what it fills in is read by numpy, a page at a time: a tenth of what pdfplumber needs.
"""

from __future__ import annotations

import ctypes
import re
from collections import Counter, deque
from dataclasses import dataclass
from functools import cache
from itertools import repeat
from typing import Any

import numpy as np
import pypdfium2.raw as raw

from .chars import DRAWN_GAP, NO_CHARS, NO_SPACE, REAL_SPACE, Array, Chars
from .frame import Frame
from .glyphs import MARKERS
from .page import Box, UnreadablePdf


class _Handle(ctypes.c_void_p):
    """A pointer that a call gives back as it is: `c_void_p` itself would come back as an integer."""


class _Scratch:
    """Room that pdfium fills in, `width` numbers a call, used again for every page, with a pointer to each place."""

    def __init__(self, number: Any, width: int) -> None:
        self._number, self._width = number, width
        self._room: Any = None
        self._places: list[ctypes.c_void_p] = []

    def places(self, count: int) -> list[ctypes.c_void_p]:
        """Pointers to at least `count` places."""
        if len(self._places) < count:
            self._room = (self._number * (self._width * 2 * count))()
            start, step = ctypes.addressof(self._room), self._width * ctypes.sizeof(self._number)
            self._places = [ctypes.c_void_p(start + step * k) for k in range(2 * count)]
        return self._places

    def filled(self, count: int) -> Array:
        """What stands in the first `count` places, `(count, width)`; to be copied before the next page."""
        return np.frombuffer(self._room, dtype=self._number, count=count * self._width).reshape(count, self._width)


class _Rooms:
    """Loose boxes (left, top, right, bottom), tight boxes' edges and origins' coordinates, and matrices."""

    def __init__(self) -> None:
        self.box = _Scratch(ctypes.c_float, 4)
        self.edges = [_Scratch(ctypes.c_double, 1) for _ in range(4)]
        self.origin = [_Scratch(ctypes.c_double, 1) for _ in range(2)]
        self.matrix = _Scratch(ctypes.c_float, 6)


@dataclass(frozen=True)
class Pdfium:
    """pdfium's functions with untyped pointers, so that `map` can call them with plain integers.

    Those for characters take pointers as objects of ctypes: converting integers took them longer than their work.
    """

    raw: Any
    rooms: _Rooms
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
        rooms=_Rooms(),
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
    found = list(map(lib.angle, repeat(pointer), range(0, count, step)))
    if not any(found):
        return 0  # most pages
    angles = Counter(round(angle * 57.29578) for angle in found)
    angles.pop(-57, None)  # -1 radian: pdfium could not tell
    if not angles:
        return 0
    degrees: int = angles.most_common(1)[0][0] % 360
    nearest = round(degrees / 90) * 90
    if abs(degrees - nearest) > 3:
        raise UnreadablePdf("rotated", f"the text of page {number} runs at {degrees} degrees")
    return nearest % 360


def _seen() -> Array:
    """Which code points of the BMP are seen; the last two, which are no characters, stand for pdfium's own signs."""
    seen: Array = np.ones(0x10000, dtype=bool)
    seen[: 0x20 + 1] = False
    seen[[0x7F, 0xA0, 0xAD, 0x3000, 0xFEFF, 0xFFFE, 0xFFFF]] = False
    return seen


def _needs_font() -> Array:
    """Which code points of the BMP are read together with their font: the private-use ones that are no option marks."""
    private: Array = np.zeros(0x10000, dtype=bool)
    private[0xE000:0xF900] = True
    private[[ord(marker) for marker in MARKERS]] = False
    return private


_SEEN, _NEEDS_FONT = _seen(), _needs_font()


def chars(lib: Pdfium, textpage: Any, frame: Frame) -> Chars:
    """The page's visible characters in the text stream's order."""
    count = lib.raw.FPDFText_CountChars(textpage)
    if count <= 0:
        return NO_CHARS
    pointer = ctypes.cast(textpage, ctypes.c_void_p)
    codes = _codes(lib, textpage, pointer.value, count)
    seen = _SEEN[np.minimum(codes, 0xFFFD)]
    seen |= codes > 0xFFFF
    at = np.flatnonzero(seen)
    if not len(at):
        return NO_CHARS
    inked = at.tolist()
    places = _straight if frame.turned == 0 else _turned
    codes_seen = codes[at]
    private = np.flatnonzero(_NEEDS_FONT[np.minimum(codes_seen, 0xFFFD)])
    return Chars(
        codes_seen,
        *places(lib, pointer, inked, frame),
        space=_spaces(lib, pointer, codes, seen, at),
        fonts={k: _font(lib, pointer, inked[k]) for k in private.tolist()},
    )


def _spaces(lib: Pdfium, pointer: ctypes.c_void_p, codes: Array, seen: Array, at: Array) -> Array:
    """What stands before each of the visible characters, which are those `at` (places in `codes`, where `seen`)."""
    spaces: Array = np.full(len(at), NO_SPACE, dtype=np.uint8)
    spaces[1:][np.diff(at) > 1] = DRAWN_GAP
    # Line ends, which most of what is not seen are, come from pdfium itself.
    ends = (codes[:-1] == 13) & (codes[1:] == 10)
    asked = ~seen
    asked[:-1] &= ~ends
    asked[1:] &= ~ends
    blanks = np.flatnonzero(asked)
    made_up = np.fromiter(map(lib.generated, repeat(pointer), blanks.tolist()), dtype=bool, count=len(blanks))
    before: Array = np.searchsorted(at, blanks[~made_up])
    spaces[before[(before > 0) & (before < len(at))]] = REAL_SPACE
    return spaces


def _codes(lib: Pdfium, textpage: Any, pointer: int | None, count: int) -> Array:
    """One code point a pdfium index. Hyphens that pdfium hides at a line's end (U+0002) come back as hyphens."""
    buffer = (ctypes.c_ushort * (count + 1))()
    written = lib.text(pointer, 0, count, ctypes.addressof(buffer))
    codes = np.frombuffer(buffer, dtype=np.uint16, count=count).astype(np.uint32)
    if written != count + 1 or ((codes >= 0xD800) & (codes < 0xE000)).any():
        # Characters outside the BMP, or some that pdfium leaves out of the bulk text: ask for each.
        codes = np.array([lib.raw.FPDFText_GetUnicode(textpage, k) for k in range(count)], dtype=np.uint32)
        codes[(codes >= 0x110000) | ((codes >= 0xD800) & (codes < 0xE000))] = 0xFFFD
    codes[codes == 2] = ord("-")
    return codes


# x0 and x1 of every character, its level, and the levels.
_Places = tuple[Array, Array, Array, Array]


def _straight(lib: Pdfium, pointer: ctypes.c_void_p, inked: list[int], frame: Frame) -> _Places:
    """Advance widths, from pdfium's loose boxes."""
    room = lib.rooms.box
    deque(map(lib.loose_box, repeat(pointer), inked, room.places(len(inked))), maxlen=0)
    boxes = room.filled(len(inked))
    # Characters of one font on one line share their top and bottom: one call for the baseline serves them all.
    heights = np.ascontiguousarray(boxes[:, 1::2]).view(np.uint64).ravel()
    begins = np.flatnonzero(np.diff(heights, prepend=~heights[:1]))
    _, first, which = np.unique(heights[begins], return_index=True, return_inverse=True)
    order = np.argsort(first)
    level: Array = np.repeat(np.argsort(order)[which], np.diff(begins, append=len(heights)))
    some = [inked[k] for k in begins[first[order]].tolist()]
    _, y = _origins(lib, pointer, some)
    levels = np.column_stack((frame.upper - y, _sizes(lib, pointer, some)))
    wide = boxes[:, 0::2].astype(np.float64) - frame.left
    return wide[:, 0], wide[:, 1], level, levels


def _origins(lib: Pdfium, pointer: ctypes.c_void_p, indices: list[int]) -> tuple[Array, Array]:
    rooms, count = lib.rooms.origin, len(indices)
    deque(map(lib.origin, repeat(pointer), indices, *(room.places(count) for room in rooms)), maxlen=0)
    x, y = (room.filled(count)[:, 0] for room in rooms)
    return x, y


def _sizes(lib: Pdfium, pointer: ctypes.c_void_p, indices: list[int]) -> Array:
    """The sizes in points at which characters are drawn: the font's size, scaled by the text's matrix."""
    room, count = lib.rooms.matrix, len(indices)
    known = np.fromiter(map(lib.matrix, repeat(pointer), indices, room.places(count)), dtype=bool, count=count)
    own = np.fromiter(map(lib.font_size, repeat(pointer), indices), dtype=np.float64, count=count)
    matrices: Array = room.filled(count).astype(np.float64)  # a, b, c, d, e, f
    return np.where(known, own * np.hypot(matrices[:, 2], matrices[:, 3]), 1.0)


def _turned(lib: Pdfium, pointer: ctypes.c_void_p, inked: list[int], frame: Frame) -> _Places:
    """For turned text, whose loose boxes have no width: tight widths."""
    rooms, count = lib.rooms.edges, len(inked)  # left, right, bottom, top
    deque(map(lib.tight_box, repeat(pointer), inked, *(room.places(count) for room in rooms)), maxlen=0)
    edges = [room.filled(count)[:, 0].tolist() for room in rooms]
    spans = [frame.box(*four)[:2] for four in zip(*edges, strict=True)]
    baselines = [frame.point(*two)[1] for two in zip(*(a.tolist() for a in _origins(lib, pointer, inked)), strict=True)]
    levels = list(zip(baselines, _sizes(lib, pointer, inked).tolist(), strict=True))
    x0, x1 = np.array(spans, dtype=np.float64).T
    distinct = {level: k for k, level in enumerate(dict.fromkeys(levels))}
    return x0, x1, np.array([distinct[level] for level in levels]), np.array([*distinct])


def _font(lib: Pdfium, pointer: ctypes.c_void_p, k: int) -> str:
    buffer, flags = ctypes.create_string_buffer(128), ctypes.c_int()
    lib.font(pointer, k, buffer, 128, ctypes.byref(flags))
    return buffer.value.decode("utf-8", "replace")


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
