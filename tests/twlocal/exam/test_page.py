"""Pages as plain data: against pdfplumber, turned, encrypted, damaged, in fonts that the file does not have."""

from __future__ import annotations

import io
from dataclasses import replace

import pdfplumber
import pytest
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.cidfonts import UnicodeCIDFont
from reportlab.pdfgen.canvas import Canvas

from twlocal.exam import pdfium, plumbed
from twlocal.exam.compose import page_lines
from twlocal.exam.frame import Frame
from twlocal.exam.key import parse_key
from twlocal.exam.page import UnreadablePdf
from twlocal.exam.paper import parse_paper
from twlocal.exam.reader import read_pages


def test_characters_agree_with_pdfplumber(sheet):
    made = sheet().text(40, 100, "1 下列何者（first）正確？", 14).text(60, 130, "Ⓐ甲 Ⓑ乙", 11).rule(80, 120, 160)
    made.image(100, 200, 50, 40)
    data = made.bytes()
    (page,) = read_pages(data)
    with pdfplumber.open(io.BytesIO(data)) as document:
        theirs = document.pages[0]
        wanted = [c for c in theirs.chars if c["text"].strip()]
        assert [c.text for c in page.chars] == [c["text"] for c in wanted]
        for ours, char in zip(page.chars, wanted, strict=True):
            assert (ours.x0, ours.x1) == pytest.approx((char["x0"], char["x1"]), abs=0.1)
            assert ours.size == pytest.approx(char["size"], abs=0.1)
            assert ours.baseline == pytest.approx(theirs.height - char["matrix"][5], abs=0.1)
        image = theirs.images[0]
        (box,) = [b for b in page.boxes if b.kind == "image"]
        assert (box.x0, box.x1, box.top, box.bottom) == pytest.approx(
            (image["x0"], image["x1"], image["top"], image["bottom"]), abs=0.1
        )


@pytest.mark.parametrize("turned", [90, 180, 270])
@pytest.mark.parametrize("rotate", [0, 90, 180, 270])
def test_turned_text_is_read_upright_whatever_the_page_says(sheet, turned, rotate):
    # Drawn on a square page, so that every turn stays inside it.
    made = sheet((842, 842)).page(rotate=rotate).turned(turned)
    made.text(48, 100, "本科目共1題，每題1分").text(40, 140, "1 下列何者正確？").text(60, 158, "Ⓐ甲 Ⓑ乙 Ⓒ丙 Ⓓ丁")
    paper = parse_paper(made.bytes())
    assert paper.accepted, paper.rejections
    (item,) = paper.items
    assert (item.question, list(item.options.values())) == ("下列何者正確？", ["甲", "乙", "丙", "丁"])


def test_rotation_alone_changes_nothing(sheet):
    plain = sheet().text(40, 140, "1 下列何者正確？").text(60, 158, "Ⓐ甲 Ⓑ乙 Ⓒ丙 Ⓓ丁")
    rotated = sheet().page(rotate=90).text(40, 140, "1 下列何者正確？").text(60, 158, "Ⓐ甲 Ⓑ乙 Ⓒ丙 Ⓓ丁")
    assert [i.options for i in parse_paper(plain.bytes()).items] == [
        i.options for i in parse_paper(rotated.bytes()).items
    ]


def test_text_that_runs_askew_is_refused():
    data = io.BytesIO()
    canvas = Canvas(data, pagesize=(595, 842))
    canvas.rotate(20)
    canvas.drawString(200, 100, "1 Which of the following is right?")
    canvas.save()
    assert [r.reason for r in parse_paper(data.getvalue()).rejections] == ["rotated"]


_HUGE = "9" * 38 + ".5"  # beyond what pdfium's floats hold


@pytest.mark.parametrize(
    ("code", "reasons"),
    [
        (f"BT /F1 12 Tf {_HUGE} 0 0 {_HUGE} 5 5 Tm (abc) Tj ET", {"damaged"}),
        (f"BT /F1 {_HUGE} Tf 50 700 Td (abc) Tj ET", {"damaged"}),
        (f"BT /F1 12 Tf {_HUGE} Tz 50 700 Td (abc) Tj ET", {"damaged"}),
        (f"BT /F1 12 Tf 50 700 Td [(a) -{_HUGE} (b)] TJ (def) Tj ET", {"damaged"}),
        (f"BT /F1 {_HUGE} Tf {_HUGE} 0 0 {_HUGE} 5 5 Tm (abc) Tj ET", {"damaged"}),
        (f"{_HUGE} 0 0 {_HUGE} 0 0 cm BT /F1 12 Tf {_HUGE} 0 0 {_HUGE} 5 5 Tm (abc def) Tj ET", {"damaged"}),
        (f"{_HUGE} {_HUGE} -{_HUGE} {_HUGE} 0 0 cm BT /F1 12 Tf 1 0 0 1 50 700 Tm (abc) Tj ET", {"damaged", "rotated"}),
        ("BT /F1 12 Tf 1 0 0 1 9999999 700 Tm (abc) Tj ET", {"damaged"}),
    ],
)
@pytest.mark.parametrize("with_text", [False, True])
def test_text_that_stands_nowhere_is_damaged(with_text, code, reasons):
    """Numbers of a damaged file may overflow: one character at no place would put all others out of order."""
    data = io.BytesIO()
    canvas = Canvas(data, pagesize=(595, 842))
    if with_text:
        canvas.drawString(50, 700, "1 Which of the following is right?")
    canvas.addLiteral(code)
    canvas.save()
    assert {r.reason for r in parse_paper(data.getvalue()).rejections} <= reasons
    assert not parse_paper(data.getvalue()).accepted
    assert not parse_key(data.getvalue()).accepted


def test_an_encrypted_file_is_refused(sheet):
    made = sheet().text(40, 140, "1 下列何者正確？").text(60, 158, "Ⓐ甲 Ⓑ乙 Ⓒ丙 Ⓓ丁")
    assert [r.reason for r in parse_paper(made.bytes(password="secret")).rejections] == ["encrypted"]


@pytest.mark.parametrize("data", [b"", b"%PDF-1.4\n", b"not a pdf at all", b"%PDF-1.7\n%%EOF"])
def test_what_is_no_pdf_is_damaged(data):
    with pytest.raises(UnreadablePdf) as caught:
        read_pages(data)
    assert caught.value.reason == "damaged"
    assert [r.reason for r in parse_paper(data).rejections] == ["damaged"]


def test_a_font_without_glyphs_loses_nothing():
    """pdfium leaves text out whose CJK font is neither embedded nor installed; pdfplumber reads it."""
    pdfmetrics.registerFont(UnicodeCIDFont("STSong-Light"))
    data = io.BytesIO()
    canvas = Canvas(data, pagesize=(595, 842))
    canvas.setFont("STSong-Light", 12)
    canvas.drawString(60, 780, "下列何者")
    canvas.drawString(60, 760, "1 word")
    canvas.save()
    (page,) = read_pages(data.getvalue())
    assert [line.text for line in page_lines([page])[0]] == ["下列何者", "1 word"]


def without_glyphs(code):
    """A page in a font that is not in the file, with a piece of PDF's own language at its end."""
    pdfmetrics.registerFont(UnicodeCIDFont("STSong-Light"))
    data = io.BytesIO()
    canvas = Canvas(data, pagesize=(595, 842))
    canvas.setFont("STSong-Light", 12)
    canvas.drawString(60, 780, "1 下列何者")
    canvas.addLiteral(code)
    canvas.save()
    return data.getvalue()


def test_text_that_pdfminer_loses_is_a_rejection(capfd):
    data = without_glyphs("BT /F1 12 Tf 60 700 Td [/a07658 (abc)] TJ ET")  # a name where text should be
    with pytest.raises(UnreadablePdf, match="page 1: Cannot render") as caught:
        plumbed.chars(data, 0, Frame(0, 0, 595, 842))
    assert caught.value.reason == "damaged"
    assert capfd.readouterr() == ("", "")


def test_what_pdfminer_says_of_colours_is_neither_told_nor_a_rejection(capfd):
    data = without_glyphs("/P0 scn (a) g BT /F1 12 Tf 60 700 Td (abc) Tj ET")
    chars = plumbed.chars(data, 0, Frame(0, 0, 595, 842))
    assert "".join(char.text for char in chars) == "1下列何者abc"
    assert capfd.readouterr() == ("", "")


def test_an_image_only_file_has_no_text_layer(sheet):
    paper = parse_paper(sheet().image(0, 0, 595, 842).bytes())
    assert [r.reason for r in paper.rejections] == ["no_text_layer"]


def test_boxes_of_a_page(sheet):
    made = sheet().rule(80, 120, 160).post(300, 100, 200).image(100, 200, 50, 40, (2, 2))
    (page,) = read_pages(made.bytes())
    assert [(b.kind, b.pixels) for b in page.boxes] == [("rule", (0, 0)), ("rule", (0, 0)), ("image", (2, 2))]
    assert page.boxes[0].width == pytest.approx(40, abs=0.1)


def test_bulk_text_and_single_characters_agree(sheet, monkeypatch):
    """The fallback for files whose bulk text does not align gives the same characters."""
    data = sheet().text(40, 140, "1 下列何者（right）正確？").text(60, 158, "Ⓐ甲 Ⓑ乙").bytes()
    (bulk,) = read_pages(data)
    lib = pdfium.pdfium()
    monkeypatch.setattr(pdfium, "pdfium", lambda: _without_bulk(lib))
    (single,) = read_pages(data)
    assert list(bulk.chars) == list(single.chars) != []


def _without_bulk(lib):
    return replace(lib, text=lambda *_: 0)
