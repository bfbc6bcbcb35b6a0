"""The cases of part 5: each symptom once, drawn as its recipe says."""

from __future__ import annotations

import io

import pytest
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.cidfonts import UnicodeCIDFont
from reportlab.pdfgen.canvas import Canvas

from twlocal.exam.paper import parse_paper


def texts(paper):
    return {item.number: item.question for item in paper.items}


@pytest.fixture
def song():
    """A canvas with STSong-Light, reportlab's font that needs no font file, and a way to get its bytes."""
    pdfmetrics.registerFont(UnicodeCIDFont("STSong-Light"))
    data = io.BytesIO()
    canvas = Canvas(data, pagesize=(595, 842))
    canvas.setFont("STSong-Light", 12)

    def done():
        canvas.showPage()
        canvas.save()
        return data.getvalue()

    canvas.done = done
    return canvas


def test_a_number_fused_with_the_digits_of_its_stem_is_split_by_the_expected_number(typed):
    """P5-2."""
    paper = parse_paper(
        typed(
            "20下列何者錯誤？\n(A)甲 (B)乙 (C)丙 (D)丁\n"
            "211分子葡萄糖完全氧化產生幾分子二氧化碳？\n(A)2 (B)4 (C)6 (D)8\n"
            "223年以上有期徒刑之罪，何者正確？\n(A)甲 (B)乙 (C)丙 (D)丁"
        )
    )
    assert texts(paper) == {
        20: "下列何者錯誤？",
        21: "1分子葡萄糖完全氧化產生幾分子二氧化碳？",
        22: "3年以上有期徒刑之罪，何者正確？",
    }
    assert [r.reason for r in paper.rejections] == ["incomplete"], "questions 1 to 19 are not there"


def test_fake_bold_is_read_once_and_reduplication_survives(song):
    """P5-4."""
    for i, char in enumerate("1下列何者正確？"):
        song.drawString(60 + 12 * i, 780, char)
        song.drawString(60 + 12 * i + 0.3, 780, char)
    song.drawString(60, 760, "(A)媽媽 (B)乙 (C)人人 (D)丁")
    (item,) = parse_paper(song.done()).items
    assert (item.number, item.question) == (1, "下列何者正確？")
    assert dict(item.options) == {"A": "媽媽", "B": "乙", "C": "人人", "D": "丁"}


def test_two_columns_are_read_one_after_the_other(song):
    """P5-6 (i)."""
    for x, number, names in ((40, 1, "甲乙丙丁"), (320, 2, "戊己庚辛")):
        song.drawString(x, 780, f"{number} 下列何者正確？")
        for k, (letter, name) in enumerate(zip("ABCD", names, strict=True)):
            song.drawString(x + 20, 760 - 18 * k, f"({letter}){name}")
    paper = parse_paper(song.done())
    assert [(i.number, dict(i.options)) for i in paper.items] == [
        (1, {"A": "甲", "B": "乙", "C": "丙", "D": "丁"}),
        (2, {"A": "戊", "B": "己", "C": "庚", "D": "辛"}),
    ]


def test_options_printed_down_the_columns_keep_their_labels(song):
    """P5-6 (ii)."""
    song.drawString(40, 780, "1 下列何者正確？")
    for x, y, text in ((60, 760, "(A)甲"), (60, 742, "(B)乙"), (300, 760, "(C)丙"), (300, 742, "(D)丁")):
        song.drawString(x, y, text)
    (item,) = parse_paper(song.done()).items
    assert dict(item.options) == {"A": "甲", "B": "乙", "C": "丙", "D": "丁"}


def test_a_footer_inside_a_sentence_is_taken_out(typed):
    """P5-8."""
    paper = parse_paper(typed("5 判斷零件表面是否存\n第 1 頁，共 2 頁", "在刮痕？\n(A)是 (B)否 (C)不一定 (D)無法判斷"))
    (item,) = paper.items
    assert item.question == "判斷零件表面是否存在刮痕？"
    assert list(item.options.values()) == ["是", "否", "不一定", "無法判斷"]


def test_a_page_without_text_and_options_that_are_pictures_are_reported(sheet):
    """P5-10."""
    made = sheet()
    made.text(50, 60, "1 下列何者正確？").text(60, 80, "(A)甲 (B)乙 (C)丙 (D)丁")
    made.page().image(0, 0, 595, 842)
    made.page().text(50, 60, "3 下列何圖正確？")
    for k in range(4):
        made.image(60 + 130 * k, 90, 60, 60)
    paper = parse_paper(made.bytes())
    assert [(r.reason, r.detail) for r in paper.rejections] == [
        ("no_text_layer", "page 2 has no text layer"),
        ("incomplete", "missing question 2"),
    ]
    assert [i.number for i in paper.items] == [1, 3]
    assert paper.items[1].excluded == ("empty_options",)
    assert not paper.usable
    assert len(paper.warnings) >= 3


def test_a_decimal_at_the_beginning_of_a_line_is_no_number(typed):
    """P5-12."""
    paper = parse_paper(
        typed(
            "7 某溶液之濃度為何？\n(A)0.3 (B)0.1\n(C)0.2 (D)0.4\n8 承上，若再加入\n1.5 公克之溶質，結果為何？\n"
            "(A)1.5 倍 (B)2 倍 (C)2.5 倍 (D)不變"
        )
    )
    seven, eight = paper.items
    assert dict(seven.options) == {"A": "0.3", "B": "0.1", "C": "0.2", "D": "0.4"}
    assert (eight.number, eight.question) == (8, "承上，若再加入1.5 公克之溶質，結果為何？")
    assert eight.options["A"] == "1.5 倍"


@pytest.mark.parametrize(
    ("pages", "options"),
    [
        (["1.何者正確？\nA.甲 B.乙 C.丙 D.丁\n2.何者錯誤？\nA.戊 B.己\nC.庚 D.辛"], ["甲乙丙丁", "戊己庚辛"]),
        (
            ["1、何者正確？\nA、甲\nB、乙\nC、丙\nD、丁\n2、何者錯誤？\nA、戊\nB、己\nC、庚\nD、辛"],
            ["甲乙丙丁", "戊己庚辛"],
        ),
        (
            ["1 何者正確？\n（Ａ）甲（Ｂ）乙（Ｃ）丙（Ｄ）丁\n2 何者錯誤？\n(A)戊(B)己(C)庚(D)辛"],
            ["甲乙丙丁", "戊己庚辛"],
        ),
        (["1 何者正確？\n(A)甲\n(B)乙\n- 1 -", "代號：7901\n頁次：2－2\n(C)丙\n(D)丁\n－2－"], ["甲乙丙丁"]),
        (
            ["代號：7901\n頁次：2－1\n1 何者正確？\n(A)甲\n(B)乙\nPage 1 of 2", "(C)丙\n(D)丁\n（以下空白）"],
            ["甲乙丙丁"],
        ),
        (["1.何者正確？\nA.vitamin B. complex\nB.乙\nC.丙\nD.丁"], ["vitamin B. complex乙丙丁"]),
    ],
)
def test_other_marks_headers_and_footers(typed, pages, options):
    paper = parse_paper(typed(*pages))
    assert ["".join(item.options.values()) for item in paper.items] == options
    assert not any(item.excluded for item in paper.items)


def test_a_rotated_page_in_a_font_that_is_not_embedded(song):
    song.setPageRotation(90)
    for x, y, text in (
        (60, 780, "1"),
        (80, 780, "下列何者正確？"),
        (60, 760, "(A)"),
        (80, 760, "甲"),
        (120, 760, "(B)"),
    ):
        song.drawString(x, y, text)
    for x, text in ((140, "乙"), (180, "(C)"), (200, "丙"), (240, "(D)"), (260, "丁")):
        song.drawString(x, 760, text)
    (item,) = parse_paper(song.done()).items
    assert (item.question, list(item.options.values())) == ("下列何者正確？", ["甲", "乙", "丙", "丁"])
