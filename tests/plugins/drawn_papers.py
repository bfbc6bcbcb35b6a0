"""Synthetic papers and keys, drawn in memory, one helper for each thing that a real layout does.

The Chinese font is made here: boxes for glyphs, true code points, one em for CJK and half an em for the rest. A second
one, named EUDC as in the Ministry's files, carries the private-use characters, so that U+E18C–E190 really come out of
the text layer.
"""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path

from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen
from reportlab.lib.utils import ImageReader
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.pdfgen.canvas import Canvas

MARKS = {"Ⓐ": "\ue18c", "Ⓑ": "\ue18d", "Ⓒ": "\ue18e", "Ⓓ": "\ue18f", "Ⓔ": "\ue190"}


def _is_wide(code: int) -> bool:
    return code > 0x2E7F or 0x2460 <= code <= 0x24FF


@cache
def _register() -> None:
    """Two fonts of two glyphs: a wide and a narrow box, which all code points share."""
    letters = [*range(0x20, 0x500), *range(0x1E00, 0x2800)]
    ideographs = [*range(0x2F00, 0x2FE0), *range(0x3000, 0x3400), *range(0x4E00, 0xA000), *range(0xF900, 0xFB00)]
    ideographs += range(0xFF00, 0xFFF0)
    for name, codes in (("Box", letters + ideographs), ("EUDC", [0x20, *range(0xE000, 0xF900)])):
        builder = FontBuilder(1000, isTTF=True)
        builder.setupGlyphOrder([".notdef", "blank", "narrow", "wide"])
        glyph_of = {code: "blank" if code == 0x20 else "wide" if _is_wide(code) else "narrow" for code in codes}
        builder.setupCharacterMap(glyph_of)
        glyphs, metrics = {}, {}
        for glyph, width in ((".notdef", 1000), ("blank", 500), ("narrow", 500), ("wide", 1000)):
            pen = TTGlyphPen(None)
            if glyph in ("narrow", "wide"):
                for k, corner in enumerate(((60, 0), (60, 700), (width - 60, 700), (width - 60, 0))):
                    (pen.lineTo if k else pen.moveTo)(corner)
                pen.closePath()
            glyphs[glyph], metrics[glyph] = pen.glyph(), (width, 60)
        builder.setupGlyf(glyphs)
        builder.setupHorizontalMetrics(metrics)
        builder.setupHorizontalHeader(ascent=800, descent=-200)
        builder.setupNameTable({"familyName": name, "styleName": "Regular", "psName": name})
        builder.setupOS2(sTypoAscender=800, sTypoDescender=-200, usWinAscent=800, usWinDescent=200)
        builder.setupPost()
        data = io.BytesIO()
        builder.save(data)
        data.seek(0)
        pdfmetrics.registerFont(TTFont(name, data))


class Sheet:
    """A PDF under construction. Coordinates are points from the upper left corner; y is the baseline."""

    def __init__(self, size: tuple[float, float] = (595.0, 842.0)) -> None:
        self.size = size
        self._operations: list[list[Callable[[Canvas], None]]] = [[]]
        self._rotate: list[int] = [0]

    def page(self, rotate: int = 0) -> Sheet:
        self._operations.append([])
        self._rotate.append(rotate)
        return self

    def _do(self, operation: Callable[[Canvas], None]) -> Sheet:
        self._operations[-1].append(operation)
        return self

    def text(self, x: float, y: float, text: str, size: float = 12.0) -> Sheet:
        """Draws `text`; Ⓐ–Ⓔ stand for the Ministry's private-use marks. A run of several fonts is drawn run by run."""
        for plain, private in MARKS.items():
            text = text.replace(plain, private)
        for char_run, font in _runs(text):
            at = x
            self._do(lambda c, t=char_run, f=font, at=at: (c.setFont(f, size), c.drawString(at, self.size[1] - y, t)))
            x += sum(size * (1.0 if _is_wide(ord(ch)) else 0.5) for ch in char_run)
        return self

    def rule(self, x0: float, x1: float, y: float, thick: float = 0.6) -> Sheet:
        return self._do(lambda c: c.rect(x0, self.size[1] - y - thick, x1 - x0, thick, stroke=0, fill=1))

    def post(self, x: float, y0: float, y1: float, thick: float = 1.0) -> Sheet:
        return self._do(lambda c: c.rect(x, self.size[1] - y1, thick, y1 - y0, stroke=0, fill=1))

    def image(self, x: float, top: float, width: float, height: float, pixels: tuple[int, int] = (40, 40)) -> Sheet:
        picture = ImageReader(io.BytesIO(_png(*pixels)))
        return self._do(lambda c: c.drawImage(picture, x, self.size[1] - top - height, width, height))

    def turned(self, degrees: int) -> Sheet:
        """Turns everything that follows on this page about the page's lower left corner, kept inside the page."""
        width, height = self.size
        shift = {90: (width, 0), 180: (width, height), 270: (0, height)}[degrees]

        def operation(canvas: Canvas) -> None:
            canvas.translate(*shift)
            canvas.rotate(degrees)

        return self._do(operation)

    def bytes(self, password: str | None = None) -> bytes:
        _register()
        data = io.BytesIO()
        canvas = Canvas(data, pagesize=self.size, encrypt=password)
        for operations, rotate in zip(self._operations, self._rotate, strict=True):
            for operation in operations:
                operation(canvas)
            if rotate:
                canvas.setPageRotation(rotate)
            canvas.showPage()
        canvas.save()
        return data.getvalue()


def _runs(text: str) -> list[tuple[str, str]]:
    runs: list[tuple[str, str]] = []
    for char in text:
        font = "EUDC" if "\ue000" <= char <= "\uf8ff" else "Box"
        if runs and runs[-1][1] == font:
            runs[-1] = (runs[-1][0] + char, font)
        else:
            runs.append((char, font))
    return runs


def _png(width: int, height: int) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    rows = b"".join(b"\0" + bytes((x * 7 + y * 13) % 256 for x in range(width)) for y in range(height))
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


Item = tuple[str, tuple[str, str, str, str], str]  # stem, options, the cell of the key


def draw(
    place: Path,
    name: str,
    items: Sequence[Item],
    *,
    year: int = 113,
    subject: str = "民法",
    code: str = "6801",
    correction: Mapping[int, str] | None = None,
    stated: int | None = None,
    pictures: Mapping[int, tuple[float, float]] | None = None,
) -> Path:
    """Draws a paper with its key (and correction) into a folder.

    Item n has its number at (40.7, y) points, or (34.7, y) from 10 on, its stem at (60.8, y), its options at x = 60.7,
    186, 313 and 439 and y + 18, with y = 200 + 44 (n - 1). `pictures` gives items a picture of so many points.
    """
    place.mkdir(exist_ok=True)
    made = Sheet().text(45, 60, f"{year}年公務人員特種考試警察人員考試試題", 16).text(470, 60, f"代號：{code}")
    made.text(48, 100, "等 別：三等考試").text(48, 118, f"科 目：{subject}")
    made.text(48, 136, "考試時間： 1 小時 座號：").text(48, 160, f"※本試題共{stated or len(items)}題，每題2分")
    y = 200
    for number, (stem, options, _) in enumerate(items, 1):
        made.text(40.7 if number < 10 else 34.7, y, str(number)).text(60.8, y, stem)
        for x, mark, text in zip((60.7, 186, 313, 439), "ⒶⒷⒸⒹ", options, strict=True):
            made.text(x, y + 18, mark + text)
        if pictures and number in pictures:
            made.image(400, y - 14, *pictures[number])
        y += 44
    (place / f"{name}__Q.pdf").write_bytes(made.bytes())
    cells = [cell for _, _, cell in items]
    (place / f"{name}__A.pdf").write_bytes(_grid(cells, "測驗式試題標準答案", code, ""))
    if correction:
        marked = ["#" if k in correction else cell for k, cell in enumerate(cells, 1)]
        notes = "，".join(f"第{number}題{words}" for number, words in correction.items())
        (place / f"{name}__M.pdf").write_bytes(_grid(marked, "測驗式試題更正答案", code, notes))
    return place


def _grid(cells: Sequence[str], title: str, code: str, notes: str) -> bytes:
    """A key: ten numbers a row, the first answer at (86, 272) points, 50 apart and 45 a row."""
    made = Sheet().text(25, 40, title, 14).text(29, 165, f"科目名稱： 民法(試題代號：{code})")
    made.text(25, 193, f"單選題數：{len(cells)}題 單選每題配分：2.00分").text(27, 213, "複選題數： 複選每題配分：")
    for row in range(10):
        y = 253 + 45 * row
        made.text(36, y, "題號").text(36, y + 19, "答案")
        for k in range(10):
            number = 10 * row + k + 1
            label = f"第{number}題"
            made.text(74 + 50 * k + 17 - 6 * len(label), y, label)
            made.text(74 + 50 * k + 12, y + 19, "".join(cells[number - 1 : number]))
    return made.text(39, 702, "備　　註：" + notes).bytes()
