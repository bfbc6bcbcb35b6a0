"""What happens at the ends of lines and pages of whole papers: nothing of it may end up in an item."""

from __future__ import annotations

import pytest

from twlocal.exam.paper import parse_paper

FOUR = ["甲", "乙", "丙", "丁"]
XS = (60.7, 186, 313, 439)


def read(data):
    paper = parse_paper(data)
    assert paper.accepted, paper.rejections
    return [(item.number, item.question, list(item.options.values())) for item in paper.items]


def row(sheet, y, options=FOUR, letters="ⒶⒷⒸⒹ", xs=XS):
    for x, mark, text in zip(xs, letters, options, strict=False):
        sheet.text(x, y, mark + text)


@pytest.mark.parametrize("style", ["{}", "- {} -", "第 {} 頁", "第{}頁，共{count}頁", "{}/{count}"])
@pytest.mark.parametrize("pages", [2, 3])
def test_a_page_number_above_the_text_is_no_part_of_it(sheet, style, pages):
    made = sheet().text(40.7, 100, "1").text(60.8, 100, "何者？")
    row(made, 118, FOUR[:2], "ⒶⒷ")
    for page in range(2, pages + 1):
        made.page().text(290, 30, style.format(page, count=pages))
        row(made, 60, FOUR[2:], "ⒸⒹ")
        made.text(40.7, 80, str(page)).text(60.8, 80, "何者？")
        row(made, 98, FOUR[: 2 if page < pages else 4], "ⒶⒷⒸⒹ")
    assert read(made.bytes()) == [(n, "何者？", FOUR) for n in range(1, pages + 1)]


def test_a_number_that_an_option_ends_with_is_no_page_number(sheet):
    made = sheet().text(40.7, 100, "1").text(60.8, 100, "何者？")
    row(made, 118, FOUR[:3], "ⒶⒷⒸ")
    made.text(60.7, 136, "Ⓓ" + "一" * 39 + "第").page().text(72.7, 60, "2")
    assert read(made.bytes()) == [(1, "何者？", [*FOUR[:3], "一" * 39 + "第2"])]


def test_an_opening_bracket_goes_to_the_next_line_with_its_word(sheet):
    made = sheet().text(40.7, 100, "1").text(60.8, 100, "何者？" + "一" * 38)
    row(made, 118, FOUR[:3], "ⒶⒷⒸ")
    made.text(60.7, 136, "Ⓓ" + "丁" * 34).text(72.7, 152, "（investigated）")
    assert read(made.bytes())[0][2] == [*FOUR[:3], "丁" * 34 + "（investigated）"]


def test_a_lead_broken_in_the_middle_of_its_range(sheet):
    made = sheet().text(40.7, 100, "1").text(60.8, 100, "何者？")
    row(made, 118)
    made.text(40.7, 140, "情況：病人，" + "一" * 25 + "。依此回答下列第2題至第").text(72.7, 156, "3題。")
    for n, y in ((2, 180), (3, 220), (4, 260)):
        made.text(40.7, y, str(n)).text(60.8, y, "何者？")
        row(made, y + 18)
    paper = parse_paper(made.bytes())
    assert [item.group for item in paper.items] == [None, (2, 3), (2, 3), None]
    assert paper.groups[0].lead.endswith("依此回答下列第2題至第3題。")


def test_small_images_that_are_the_marks_are_no_missing_characters(sheet):
    made = sheet()
    for n, y in ((1, 100), (2, 140), (3, 180)):
        made.text(40.7, y, str(n)).text(60.8, y, "何者？")
        for x, text in zip(XS, FOUR, strict=True):
            made.image(x, y + 7.5, 11, 13, (2, 2)).text(x + 12, y + 18, text)
    made.image(100, 170, 11, 11, (12, 12))  # this one is a character
    paper = parse_paper(made.bytes())
    assert [item.excluded for item in paper.items] == [(), (), ("image_glyph",)]


@pytest.mark.parametrize("last", [True, False])
@pytest.mark.parametrize("head", [True, False])
def test_a_figure_at_the_top_of_the_next_page(sheet, last, head):
    made = sheet().text(40.7, 100, "1").text(60.8, 100, "何者？").page()
    if head:
        made.text(440, 30, "代號：1101").text(440, 42, "頁次：2－2").rule(438, 556, 46).post(438, 20, 46)
    made.image(100, 50, 60, 45)
    row(made, 118)
    if not last:
        made.text(40.7, 140, "2").text(60.8, 140, "何者？")
        row(made, 158)
    first, *others = parse_paper(made.bytes()).items
    assert first.flags == ("figure",)
    assert [item.flags for item in others] == [()] * (not last)


@pytest.mark.parametrize(("x", "excluded"), [(72.7, ("cut_option",)), (60.7, ()), (84.7, ())])
def test_a_line_that_may_be_the_rest_of_a_short_option_keeps_the_item_out(sheet, x, excluded):
    made = sheet().text(40.7, 100, "1").text(60.8, 100, "何者？" + "一" * 38)
    row(made, 118, FOUR[:3], "ⒶⒷⒸ")
    made.text(60.7, 136, "Ⓓ" + "丁" * 20).text(x, 152, "丁之餘").text(40.7, 180, "2").text(60.8, 180, "何者？")
    row(made, 198)
    paper = parse_paper(made.bytes())
    assert [item.excluded for item in paper.items] == [excluded, ()]
    assert [item.flags for item in paper.items] == [("loose_text_after",), ("loose_text_before",)]
