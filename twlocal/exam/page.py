"""A PDF page as plain data: characters and boxes in points, x to the right, y **down**, the text upright.

pypdfium2 is read through its raw functions: asking for a million characters one by one is what a parser of exam papers
does most, and pdfium's bulk text plus one call a character costs a tenth of pdfplumber's.
"""

from __future__ import annotations

import ctypes
import io
import re
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import repeat
from pathlib import Path
from typing import Any, NamedTuple

from twlocal.errors import TwlocalError, UsageError

NO_SPACE, DRAWN_GAP, REAL_SPACE = 0, 1, 2


class Char(NamedTuple):
    """One character. A tuple and not a dataclass, because a paper has ten thousand of them.

    `x0` and `x1` bound the advance width, `top` and `bottom` the font's ascent and descent, so that `bottom - top` is
    the size in points. `space` says what stands before it in the text stream: nothing, a gap that pdfium took for a
    space, or a real space character. `font` is filled in for private-use characters only.
    """

    text: str
    x0: float
    x1: float
    top: float
    bottom: float
    baseline: float
    space: int = NO_SPACE
    font: str = ""


class Box(NamedTuple):
    """Something drawn that is not text. `kind`: `image`, `rule` (a thin horizontal or vertical line) or `drawing`.

    `pixels` is the width and height of an image's source.
    """

    kind: str
    x0: float
    x1: float
    top: float
    bottom: float
    pixels: tuple[int, int] = (0, 0)

    @property
    def width(self) -> float:
        return self.x1 - self.x0

    @property
    def height(self) -> float:
        return self.bottom - self.top


@dataclass(frozen=True)
class Page:
    """One page: `number` counts from 1, sizes are in points, `turned` is by how many degrees the text was turned."""

    number: int
    width: float
    height: float
    chars: tuple[Char, ...]
    boxes: tuple[Box, ...] = ()
    turned: int = 0


class UnreadablePdf(TwlocalError):
    """A file that is not read: `reason` is `encrypted`, `damaged` or `rotated`. The callers make it a rejection."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"The PDF cannot be read ({reason}): {detail}")
        self.reason = reason
        self.detail = detail


@dataclass(frozen=True)
class _Pdfium:
    """pdfium's functions with untyped pointers, so that `map` can call them with plain integers."""

    raw: Any
    loose_box: Any
    tight_box: Any
    origin: Any
    angle: Any
    text: Any
    get_object: Any
    object_type: Any
    object_font: Any


@cache
def _pdfium() -> _Pdfium:
    try:
        import pypdfium2.raw as raw
    except ImportError as error:
        raise UsageError("Reading PDF files needs pypdfium2.", hint='pip install "twlocal[exam]"') from error
    pointer, number, double = ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p

    def plain(function: Any, result: Any, *arguments: Any) -> Any:
        return ctypes.CFUNCTYPE(result, *arguments)(ctypes.cast(function, pointer).value or 0)

    return _Pdfium(
        raw=raw,
        loose_box=plain(raw.FPDFText_GetLooseCharBox, number, pointer, number, pointer),
        tight_box=plain(raw.FPDFText_GetCharBox, number, pointer, number, double, double, double, double),
        origin=plain(raw.FPDFText_GetCharOrigin, number, pointer, number, double, double),
        angle=plain(raw.FPDFText_GetCharAngle, ctypes.c_float, pointer, number),
        text=plain(raw.FPDFText_GetText, number, pointer, number, number, pointer),
        get_object=plain(raw.FPDFPage_GetObject, pointer, pointer, number),
        object_type=plain(raw.FPDFPageObj_GetType, number, pointer),
        object_font=plain(raw.FPDFTextObj_GetFont, pointer, pointer),
    )


@contextmanager
def open_pdf(source: str | Path | bytes) -> Iterator[Any]:
    """The pypdfium2 document of a path or of a file's bytes.

    Raises `UnreadablePdf` (`encrypted`, `damaged`), or `UsageError` when the extra is not installed.
    """
    pdfium = _pdfium()
    import pypdfium2

    data = source if isinstance(source, bytes) else Path(source).read_bytes()
    try:
        document = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        locked = pdfium.raw.FPDF_GetLastError() == pdfium.raw.FPDF_ERR_PASSWORD or "assword" in str(error)
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


def read_page(document: Any, index: int, data: bytes) -> Page:
    """Page `index` (from 0) of a pypdfium2 document and its file's bytes.

    Raises `UnreadablePdf` when the page cannot be loaded.
    """
    pdfium = _pdfium()
    raw = pdfium.raw
    page = raw.FPDF_LoadPage(document.raw, index)
    if not page:
        raise UnreadablePdf("damaged", f"page {index + 1} cannot be loaded")
    textpage = raw.FPDFText_LoadPage(page)
    try:
        if not textpage:
            raise UnreadablePdf("damaged", f"the text of page {index + 1} cannot be loaded")
        raw.FPDFPage_SetRotation(page, 0)  # the text's own direction decides what is upright, not /Rotate
        width, height = raw.FPDF_GetPageWidthF(page), raw.FPDF_GetPageHeightF(page)
        left, upper = _origin(raw, page, height)
        turned = _direction(pdfium, textpage, index)
        handles = _objects(pdfium, page)
        boxes = _boxes(pdfium, handles)
        chars = _plumbed(data, index, turned) if _glyphless(pdfium, handles) else _chars(pdfium, textpage, turned)
    finally:
        if textpage:
            raw.FPDFText_ClosePage(textpage)
        raw.FPDF_ClosePage(page)
    return _upright(index + 1, width, height, left, upper, chars, boxes, turned)


def _origin(raw: Any, page: Any, height: float) -> tuple[float, float]:
    """The left and the upper edge of the visible page in user space."""
    edges = [ctypes.c_float() for _ in range(4)]
    for get in (raw.FPDFPage_GetCropBox, raw.FPDFPage_GetMediaBox):
        if get(page, *edges):
            left, _, _, top = (edge.value for edge in edges)
            return left, top
    return 0.0, height


def _direction(pdfium: _Pdfium, textpage: Any, index: int) -> int:
    """How far the page's text is turned, in whole quarter turns, by the angle most of its characters have."""
    count = pdfium.raw.FPDFText_CountChars(textpage)
    if count <= 0:
        return 0
    pointer = ctypes.cast(textpage, ctypes.c_void_p).value
    # A prime step, so that no rhythm of the text (every other character a generated space) can hide from the sample.
    angles = Counter(round(pdfium.angle(pointer, k) * 57.29578) for k in range(0, count, 1 + min(count // 40, 22)))
    angles.pop(-57, None)  # -1 radian: pdfium could not tell
    if not angles:
        return 0
    degrees: int = angles.most_common(1)[0][0] % 360
    nearest = round(degrees / 90) * 90
    if abs(degrees - nearest) > 3:
        raise UnreadablePdf("rotated", f"the text of page {index + 1} runs at {degrees} degrees")
    return nearest % 360


# A glyph's place before it is turned upright: text, x0, x1, y0, y1 (y up), x and y of the origin, space, font.
_Raw = tuple[str, float, float, float, float, float, float, int, str]


def _chars(pdfium: _Pdfium, textpage: Any, turned: int) -> list[_Raw]:
    raw = pdfium.raw
    count = raw.FPDFText_CountChars(textpage)
    if count <= 0:
        return []
    pointer = ctypes.cast(textpage, ctypes.c_void_p).value
    text = _text(pdfium, textpage, pointer, count)
    inked = [k for k, c in enumerate(text) if c > " " and c not in "\u3000\u00a0\u00ad\ufeff\ufffe\uffff"]
    if not inked:
        return []
    boxes = _upright_boxes(pdfium, pointer, inked) if turned == 0 else _turned_boxes(pdfium, pointer, inked)
    found: list[_Raw] = []
    last = -1
    for k, (x0, x1, y0, y1, ox, oy) in zip(inked, boxes, strict=True):
        space = NO_SPACE
        if k - last > 1 and last >= 0:
            between = range(last + 1, k)
            space = REAL_SPACE if any(not raw.FPDFText_IsGenerated(textpage, s) for s in between) else DRAWN_GAP
        char = text[k]
        font = _font(raw, textpage, k) if "\ue000" <= char <= "\uf8ff" else ""
        found.append((char, x0, x1, y0, y1, ox, oy, space, font))
        last = k
    return found


def _text(pdfium: _Pdfium, textpage: Any, pointer: int | None, count: int) -> str:
    """One character a pdfium index. Hyphens that pdfium hides at a line's end (U+0002) come back as hyphens."""
    buffer = (ctypes.c_ushort * (count + 1))()
    written = pdfium.text(pointer, 0, count, ctypes.addressof(buffer))
    if written == count + 1:
        text = bytes(buffer)[: 2 * count].decode("utf-16-le", "replace")
        if len(text) == count:
            return text.replace("\x02", "-")
    # Characters outside the BMP, or some that pdfium leaves out of the bulk text: ask for each.
    codes = (pdfium.raw.FPDFText_GetUnicode(textpage, k) for k in range(count))
    return "".join(
        chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else "\ufffd" for code in codes
    ).replace("\x02", "-")


_Place = tuple[float, float, float, float, float, float]


def _upright_boxes(pdfium: _Pdfium, pointer: int | None, inked: list[int]) -> Iterator[_Place]:
    """Advance width by font ascent and descent. `map` over integers keeps the calls out of the interpreter's loop."""
    n = len(inked)
    rectangles = (ctypes.c_float * (4 * n))()  # FS_RECTF: left, top, right, bottom
    start = ctypes.addressof(rectangles)
    deque(map(pdfium.loose_box, repeat(pointer), inked, range(start, start + 16 * n, 16)), maxlen=0)
    flat = rectangles[:]
    tops, bottoms = flat[1::4], flat[3::4]
    # Characters of one font on one line share their top and bottom: one call for the baseline serves them all.
    heights = list(zip(tops, bottoms, strict=True))
    x, y = ctypes.c_double(), ctypes.c_double()
    x_at, y_at = ctypes.addressof(x), ctypes.addressof(y)
    baselines: dict[tuple[float, float], float] = {}
    for height, k in dict(zip(heights, inked, strict=True)).items():
        pdfium.origin(pointer, k, x_at, y_at)
        baselines[height] = y.value
    return zip(flat[0::4], flat[2::4], bottoms, tops, repeat(0.0), map(baselines.__getitem__, heights))


def _turned_boxes(pdfium: _Pdfium, pointer: int | None, inked: list[int]) -> Iterator[_Place]:
    """Tight boxes, for turned text: pdfium's loose boxes have no width there."""
    values = [ctypes.c_double() for _ in range(6)]
    at = [ctypes.addressof(value) for value in values]
    for k in inked:
        pdfium.tight_box(pointer, k, *at[:4])  # left, right, bottom, top
        pdfium.origin(pointer, k, *at[4:])
        x0, x1, y0, y1, ox, oy = (value.value for value in values)
        yield x0, x1, y0, y1, ox, oy


def _font(raw: Any, textpage: Any, k: int) -> str:
    buffer, flags = ctypes.create_string_buffer(128), ctypes.c_int()
    raw.FPDFText_GetFontInfo(textpage, k, buffer, 128, flags)
    return buffer.value.decode("utf-8", "replace")


_Matrix = tuple[float, float, float, float, float, float]
_IDENTITY: _Matrix = (1.0, 0.0, 0.0, 1.0, 0.0, 0.0)
_THIN = 1.6  # points; the Ministry's blanks and underlines are 0.6 thick, its boxes 1.0


def _objects(pdfium: _Pdfium, page: Any) -> list[tuple[int, int]]:
    """The page's objects: their handle and their type."""
    pointer = ctypes.cast(page, ctypes.c_void_p).value
    count = max(0, pdfium.raw.FPDFPage_CountObjects(page))
    handles = list(map(pdfium.get_object, repeat(pointer), range(count)))
    return list(zip(handles, map(pdfium.object_type, handles), strict=True))


# Fonts that are often not embedded and of which pdfium has a substitute on every machine.
_LATIN_FONT = re.compile(
    r"(?:[A-Z]{6}\+)?(?:times|arial|helvetica|courier|symbol|zapf|wingdings|calibri|cambria|verdana|tahoma|georgia)",
    re.I,
)


def _glyphless(pdfium: _Pdfium, objects: list[tuple[int, int]]) -> bool:
    """Whether text of the page has no glyphs: a CJK font that is neither embedded nor installed.

    pdfium leaves such text out of the layer, without a word, and an item would silently lose a part of its stem.
    """
    raw = pdfium.raw
    texts = [handle for handle, kind in objects if kind == raw.FPDF_PAGEOBJ_TEXT]
    fonts = list(map(pdfium.object_font, texts))
    foreign = {font for font in set(fonts) if font and _is_foreign(raw, ctypes.cast(font, raw.FPDF_FONT))}
    edges = [ctypes.c_float() for _ in range(4)]
    for handle, font in zip(texts, fonts, strict=True) if foreign else ():
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


def _plumbed(data: bytes, index: int, turned: int) -> list[_Raw]:
    """The characters as pdfplumber reads them: by the font's character collection, without needing its glyphs."""
    if turned:
        raise UnreadablePdf("rotated", f"page {index + 1} is turned, and its font is not in the file")
    import pdfplumber

    try:
        with pdfplumber.open(io.BytesIO(data)) as document:
            found = document.pages[index].chars
    except Exception as error:  # pdfminer raises whatever a broken file makes it stumble over
        raise UnreadablePdf("damaged", f"page {index + 1}: {type(error).__name__}: {error}") from error
    chars: list[_Raw] = []
    space = NO_SPACE
    for char in found:
        text = char["text"]
        if not text.strip():
            space = REAL_SPACE
            continue
        y = char["matrix"][5]
        size = char["size"]
        low = y - 0.2 * size
        for k, letter in enumerate(text):  # a ligature is several characters in one place
            step = (char["x1"] - char["x0"]) / len(text)
            x0 = char["x0"] + k * step
            font = char["fontname"] if "\ue000" <= letter <= "\uf8ff" else ""
            chars.append((letter, x0, x0 + step, low, low + size, x0, y, space, font))
            space = NO_SPACE
    return chars


def _boxes(pdfium: _Pdfium, objects: list[tuple[int, int]]) -> list[Box]:
    """Images, rules and drawings in user space (y up: `top` and `bottom` are still swapped in meaning)."""
    raw = pdfium.raw
    found: list[Box] = []
    for handle, kind in objects:
        if kind != raw.FPDF_PAGEOBJ_TEXT:
            _collect(raw, ctypes.cast(handle, raw.FPDF_PAGEOBJECT), kind, _IDENTITY, found, 0)
    return found


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


def _upright(
    number: int,
    width: float,
    height: float,
    left: float,
    upper: float,
    chars: list[_Raw],
    boxes: list[Box],
    turned: int,
) -> Page:
    """User space (y up) → upright page space (y down)."""
    if turned == 0:
        upright = tuple(
            Char(text, x0 - left, x1 - left, upper - y1, upper - y0, upper - oy, space, font)
            for text, x0, x1, y0, y1, _, oy, space, font in chars
        )
        placed = tuple(
            Box(kind, x0 - left, x1 - left, upper - y1, upper - y0, pixels) for kind, x0, x1, y0, y1, pixels in boxes
        )
        return Page(number, width, height, upright, placed)
    lower = upper - height

    def turn(x: float, y: float) -> tuple[float, float]:
        x, y = x - left, y - lower
        if turned == 90:
            return y, x
        if turned == 180:
            return width - x, y
        return height - y, width - x

    def turn_box(x0: float, x1: float, y0: float, y1: float) -> tuple[float, float, float, float]:
        (ax, ay), (bx, by) = turn(x0, y0), turn(x1, y1)
        return min(ax, bx), max(ax, bx), min(ay, by), max(ay, by)

    turned_chars = tuple(
        Char(text, *turn_box(x0, x1, y0, y1), turn(ox, oy)[1], space, font)
        for text, x0, x1, y0, y1, ox, oy, space, font in chars
    )
    turned_boxes = tuple(Box(kind, *turn_box(x0, x1, y0, y1), pixels) for kind, x0, x1, y0, y1, pixels in boxes)
    size = (height, width) if turned in (90, 270) else (width, height)
    return Page(number, *size, turned_chars, turned_boxes, turned)
