"""pdfium's characters and boxes, read through pypdfium2's raw functions.

Asking for a million characters one by one is what a parser of exam papers does most. The text comes in bulk, and the
one call a character that is left is made by `map`, outside the interpreter's loop, with arguments that ctypes need not
convert; what it fills in is read by numpy, a page at a time: a tenth of what pdfplumber needs.
"""

from __future__ import annotations

import ctypes
import math
from collections import Counter, deque
from dataclasses import dataclass
from functools import cache
from itertools import repeat
from typing import Any

import numpy as np
import pypdfium2.raw as raw

from .chars import DRAWN_GAP, NO_CHARS, NO_SPACE, REAL_SPACE, Array, Chars, begins
from .frame import Frame
from .glyphs import MARKERS
from .page import UnreadablePdf


class _Handle(ctypes.c_void_p):
    """A pointer that a call gives back as it is: `c_void_p` itself would come back as an integer."""


class _Scratch:
    """Room that pdfium fills in, `width` numbers a call, used again for every page, with a pointer to each place."""

    def __init__(self, number: Any, width: int) -> None:
        self._number, self._width = number, width
        self._room: Any = None
        self._filled: Array = None
        self._places: list[ctypes.c_void_p] = []

    def places(self, count: int) -> list[ctypes.c_void_p]:
        """Pointers to at least `count` places."""
        if len(self._places) < count:
            self._room = (self._number * (self._width * 2 * count))()
            self._filled = np.frombuffer(self._room, dtype=self._number).reshape(-1, self._width)
            start, step = ctypes.addressof(self._room), self._width * ctypes.sizeof(self._number)
            self._places = [ctypes.c_void_p(start + step * k) for k in range(2 * count)]
        return self._places

    def filled(self, count: int) -> Array:
        """What stands in the first `count` places, `(count, width)`; to be copied before the next page."""
        return self._filled[:count]


class _Cells:
    """`count` numbers of one object, for a call that wants a pointer to each."""

    def __init__(self, number: Any, count: int) -> None:
        self._room = (number * count)()
        start, step = ctypes.addressof(self._room), ctypes.sizeof(number)
        self.pointers = [ctypes.c_void_p(start + step * k) for k in range(count)]

    @property
    def values(self) -> list[Any]:
        """What the last call filled in."""
        return list(self._room)


class _Rooms:
    """Loose boxes (left, top, right, bottom), tight boxes' edges and origins' coordinates, and matrices."""

    def __init__(self) -> None:
        self.box = _Scratch(ctypes.c_float, 4)
        self.edges = [_Scratch(ctypes.c_double, 1) for _ in range(4)]
        self.origin = [_Scratch(ctypes.c_double, 1) for _ in range(2)]
        self.matrix = _Scratch(ctypes.c_float, 6)
        # Of one object: left, bottom, right and top; how its path is filled and stroked; red, green, blue and alpha.
        self.bounds = _Cells(ctypes.c_float, 4)
        self.mode = _Cells(ctypes.c_int, 2)
        self.color = _Cells(ctypes.c_uint, 4)


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
    object_kind: Any
    object_bounds: Any
    path_mode: Any
    fill_color: Any
    object_font: Any
    is_embedded: Any
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
        object_kind=bare(raw.FPDFPageObj_GetType, number),
        object_bounds=bare(raw.FPDFPageObj_GetBounds, number),
        path_mode=bare(raw.FPDFPath_GetDrawMode, number),
        fill_color=bare(raw.FPDFPageObj_GetFillColor, number),
        object_font=bare(raw.FPDFTextObj_GetFont, pointer),
        is_embedded=plain(raw.FPDFFont_GetIsEmbedded, number, pointer),
        font=bare(raw.FPDFText_GetFontInfo, ctypes.c_ulong),
    )


@dataclass(frozen=True)
class Text:
    """What a page's text layer holds: a code point for each pdfium index.

    There is ink `at` some of the indices, the others are `blank`.
    """

    pointer: ctypes.c_void_p
    codes: Array
    at: Array
    blank: Array


def text(lib: Pdfium, textpage: Any) -> Text:
    """Reads a page's text layer. It holds good as long as `textpage` is open."""
    count = max(0, lib.raw.FPDFText_CountChars(textpage))
    codes = _codes(lib, textpage, count)
    seen = _SEEN[np.where(codes < 0x10000, codes, 0xFFFD)]
    return Text(ctypes.cast(textpage, ctypes.c_void_p), codes, np.flatnonzero(seen), np.flatnonzero(~seen))


def direction(lib: Pdfium, layer: Text, number: int) -> int:
    """How far the page's text is turned, in whole quarter turns, by the angle most of its characters have.

    Raises `UnreadablePdf` (`rotated`) when it runs askew.
    """
    # Of those that are seen: pdfium's own line ends have no angle.
    some = layer.at[:: 1 + len(layer.at) // 30].tolist()
    found = list(map(lib.angle, repeat(layer.pointer), some))
    if not any(found):
        return 0  # most pages
    angles = Counter(round(angle * 57.29578) for angle in found if math.isfinite(angle))
    angles.pop(-57, None)  # -1 radian: pdfium could not tell
    if not angles:
        return 0
    degrees: int = angles.most_common(1)[0][0] % 360
    nearest = round(degrees / 90) * 90
    if abs(degrees - nearest) > 3:
        raise UnreadablePdf("rotated", f"the text of page {number} runs at {degrees} degrees")
    return nearest % 360


def _seen() -> Array:
    """Which code points of the BMP are seen."""
    seen: Array = np.ones(0x10000, dtype=bool)
    seen[: 0x20 + 1] = False
    seen[[0x7F, 0xA0, 0xAD, 0x3000, 0xFEFF]] = False
    return seen


# Of the private-use code points from U+E000 on: those that are read together with their font, that is, no option marks.
_NEEDS_FONT = np.array([chr(code) not in MARKERS for code in range(0xE000, 0xF900)])
_SEEN = _seen()
_ASKEW = 0.2  # the tangent of the angle from which on text runs another way


def chars(lib: Pdfium, layer: Text, frame: Frame) -> Chars:
    """The page's visible characters in the text stream's order."""
    if not len(layer.at):
        return NO_CHARS
    pointer, inked = layer.pointer, layer.at.tolist()
    places = _straight if frame.turned == 0 else _turned
    codes = layer.codes[layer.at]
    private = np.flatnonzero((codes >= 0xE000) & (codes < 0xF900))
    private = private[_NEEDS_FONT[codes[private] - 0xE000]]
    return Chars(
        codes,
        *places(lib, pointer, inked, frame),
        space=_spaces(lib, layer),
        fonts={k: _font(lib, pointer, inked[k]) for k in private.tolist()},
    )


def _spaces(lib: Pdfium, layer: Text) -> Array:
    """What stands before each of the visible characters."""
    at = layer.at
    spaces: Array = np.full(len(at), NO_SPACE, dtype=np.uint8)
    spaces[1:][at[1:] - at[:-1] > 1] = DRAWN_GAP
    # Line ends, which most of what is not seen are, come from pdfium itself.
    blanks, codes = layer.blank, layer.codes[layer.blank]
    asked: Array = np.ones(len(blanks), dtype=bool)
    ends = (codes[:-1] == 13) & (codes[1:] == 10)
    asked[:-1] ^= ends
    asked[1:] ^= ends
    blanks = blanks[asked]
    made_up = np.fromiter(map(lib.generated, repeat(layer.pointer), blanks.tolist()), dtype=bool, count=len(blanks))
    before: Array = np.searchsorted(at, blanks[~made_up])
    spaces[before[(before > 0) & (before < len(at))]] = REAL_SPACE
    return spaces


def _codes(lib: Pdfium, textpage: Any, count: int) -> Array:
    """One code point a pdfium index. Hyphens that pdfium hides where a word is broken come back as hyphens."""
    buffer = (ctypes.c_ushort * (count + 1))()
    written = lib.text(ctypes.cast(textpage, ctypes.c_void_p).value, 0, count, ctypes.addressof(buffer))
    codes = np.frombuffer(buffer, dtype=np.uint16, count=count).astype(np.uint32)
    if written != count + 1 or ((codes >= 0xD800) & (codes < 0xE000)).any():
        # Characters outside the BMP, or some that pdfium leaves out of the bulk text: ask for each.
        codes = np.array([lib.raw.FPDFText_GetUnicode(textpage, k) for k in range(count)], dtype=np.uint32)
        codes[(codes >= 0x110000) | ((codes >= 0xD800) & (codes < 0xE000))] = 0xFFFD
    for k in np.flatnonzero((codes == 0x0000) | (codes == 0x0002) | (codes >= 0xFFFE) & (codes <= 0xFFFF)).tolist():
        # What is no hidden hyphen is a glyph that has no code point in the file.
        codes[k] = ord("-") if codes[k] == 0x0002 or raw.FPDFText_IsHyphen(textpage, k) == 1 else 0xFFFD
    return codes


# x0 and x1 of every character, its level, and the levels; a size below 0 is one of text that runs another way.
_Places = tuple[Array, Array, Array, Array]


def _straight(lib: Pdfium, pointer: ctypes.c_void_p, inked: list[int], frame: Frame) -> _Places:
    """Advance widths, from pdfium's loose boxes."""
    room = lib.rooms.box
    deque(map(lib.loose_box, repeat(pointer), inked, room.places(len(inked))), maxlen=0)
    boxes = room.filled(len(inked))
    # Characters of one font on one line share their top and bottom: one call for the baseline serves them all.
    heights = np.ascontiguousarray(boxes[:, 1::2]).view(np.uint64).ravel()
    firsts = begins(heights)
    runs = heights[firsts].tolist()
    numbers = {height: k for k, height in enumerate(dict.fromkeys(runs))}
    of_run = np.fromiter(map(numbers.__getitem__, runs), dtype=np.intp, count=len(runs))
    level: Array = np.repeat(of_run, np.concatenate((firsts[1:], [len(heights)])) - firsts)
    newest = begins(np.maximum.accumulate(of_run))  # the first run of each level
    some = [inked[k] for k in firsts[newest].tolist()]
    levels: Array = np.empty((len(some), 2))
    _, y = _origins(lib, pointer, some)
    levels[:, 0] = frame.upper - y
    levels[:, 1] = _sizes(lib, pointer, some)
    wide = boxes[:, 0::2].astype(np.float64) - frame.left
    return wide[:, 0], wide[:, 1], level, levels


def _origins(lib: Pdfium, pointer: ctypes.c_void_p, indices: list[int]) -> tuple[Array, Array]:
    rooms, count = lib.rooms.origin, len(indices)
    deque(map(lib.origin, repeat(pointer), indices, *(room.places(count) for room in rooms)), maxlen=0)
    x, y = (room.filled(count)[:, 0] for room in rooms)
    return x, y


def _sizes(lib: Pdfium, pointer: ctypes.c_void_p, indices: list[int]) -> Array:
    """The sizes in points at which characters are drawn: the font's size, scaled by the text's matrix.

    Below 0 where the text does not run as that of the page (a stamp along the margin).
    """
    room, count = lib.rooms.matrix, len(indices)
    known = np.fromiter(map(lib.matrix, repeat(pointer), indices, room.places(count)), dtype=bool, count=count)
    own = np.fromiter(map(lib.font_size, repeat(pointer), indices), dtype=np.float64, count=count)
    a, b, c, d, _, _ = room.filled(count).astype(np.float64).T
    upright = np.abs(b) <= _ASKEW * np.abs(a)
    with np.errstate(invalid="ignore", over="ignore"):  # whoever reads the page sees to what is no number
        return np.where(known, own * np.hypot(c, d) * np.where(upright, 1, -1), 1.0)


def _turned(lib: Pdfium, pointer: ctypes.c_void_p, inked: list[int], frame: Frame) -> _Places:
    """For turned text, whose loose boxes have no width: tight widths."""
    rooms, count = lib.rooms.edges, len(inked)  # left, right, bottom, top
    deque(map(lib.tight_box, repeat(pointer), inked, *(room.places(count) for room in rooms)), maxlen=0)
    edges = [room.filled(count)[:, 0].tolist() for room in rooms]
    spans = [frame.box(*four)[:2] for four in zip(*edges, strict=True)]
    baselines = [frame.point(*two)[1] for two in zip(*(a.tolist() for a in _origins(lib, pointer, inked)), strict=True)]
    levels = list(zip(baselines, np.abs(_sizes(lib, pointer, inked)).tolist(), strict=True))
    x0, x1 = np.array(spans, dtype=np.float64).T
    distinct = {level: k for k, level in enumerate(dict.fromkeys(levels))}
    return x0, x1, np.array([distinct[level] for level in levels]), np.array([*distinct])


def _font(lib: Pdfium, pointer: ctypes.c_void_p, k: int) -> str:
    buffer, flags = ctypes.create_string_buffer(128), ctypes.c_int()
    lib.font(pointer, k, buffer, 128, ctypes.byref(flags))
    return buffer.value.decode("utf-8", "replace")
