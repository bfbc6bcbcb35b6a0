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


def test_a_header_box_on_the_height_of_body_lines(sheet):
    made = sheet().text(40.7, 100, "1").text(60.8, 100, "何者？").page()
    for k, text in enumerate(["代號：50120-50520", "50720、50820", "51320", "頁次：2－2"]):
        made.text(440 if k in (0, 3) else 478, 40 + 12 * k, text)
    for k, text in enumerate(FOUR):  # the first two stand beside codes, the last above the box's end and beside it
        made.text(60.7, 52 + 12 * k, "ⒶⒷⒸⒹ"[k] + text)
    made.text(40.7, 120, "2").text(60.8, 120, "何者？")
    row(made, 138)
    assert read(made.bytes()) == [(1, "何者？", FOUR), (2, "何者？", FOUR)]


def test_a_passage_below_a_full_row_is_not_its_last_option(sheet):
    made = sheet().text(40.7, 100, "1").text(60.8, 100, "何者？" + "一" * 38)
    row(made, 118, [*FOUR[:3], "丁" * 8])
    made.text(60.8, 136, "情況：病人，" + "一" * 30 + "。").text(60.8, 152, "依此回答下列第2題至第3題。")
    for n, y in ((2, 180), (3, 220)):
        made.text(40.7, y, str(n)).text(60.8, y, "何者？")
        row(made, y + 18)
    one, *others = parse_paper(made.bytes()).items
    assert one.options["D"] == "丁" * 8
    assert one.excluded == ("cut_option",)  # the passage's first line might be the option's rest
    assert [item.group for item in others] == [(2, 3)] * 2


def test_a_number_in_no_column_leaves_its_items_out(sheet):
    made = sheet()
    for n in range(1, 7):
        y = 60 + 40 * n
        made.text(60.8, y, "4小時何者？" if n == 4 else "何者？")  # the number 4 is not there
        if n != 4:
            made.text(40.7, y, str(n))
        row(made, y + 18)
    paper = parse_paper(made.bytes())
    assert [item.number for item in paper.usable] == [1, 2, 5, 6]
    assert {item.question for item in paper.usable} == {"何者？"}


def test_options_that_name_others_beside_a_statute_at_a_line_start(typed):
    text = (
        "1 關於維生素(A)與(D)，何者？\n(A)甲 (B)乙\n(C)依憲法第62條第\n2項規定\n(D)(A)(B)(C)皆非\n"
        "2 何者？\n(A)甲 (B)乙 (C)丙 (D)丁\n3 何者？\n(A)甲 (B)乙 (C)丙 (D)丁"
    )
    one, *others = read(typed(text))
    assert one[1] == "關於維生素(A)與(D)，何者？"
    assert one[2][3] == "(A)(B)(C)皆非"
    assert others == [(2, "何者？", FOUR), (3, "何者？", FOUR)]


@pytest.mark.parametrize(
    ("item", "excluded"),
    [
        ("1 維生素(A)之敘述何者？\n甲 (B)乙 (C)丙 (D)丁", ("missing_options",)),
        ("1 何者？(A)甲 (B)乙 (C)丙 (D)丁", ()),
        ("1 何者？\n(A)甲 (C)丙\n(B)乙 (D)丁", ()),
        ("1 何者？\n(B)乙 (A)甲\n(C)丙 (D)丁", ("marks_out_of_order",)),
    ],
)
def test_marks_that_cannot_be_those_of_the_options(typed, item, excluded):
    paper = parse_paper(typed(f"{item}\n2 何者？\n(A)甲 (B)乙 (C)丙 (D)丁"))
    assert [one.excluded for one in paper.items] == [excluded, ()]


def test_a_word_goes_to_the_next_line_with_what_closes_it(sheet):
    made = sheet().text(40.7, 100, "1").text(60.8, 100, "何者？" + "一" * 38)
    row(made, 118, FOUR[:3], "ⒶⒷⒸ")
    made.text(60.7, 136, "Ⓓ" + "丁" * 35 + "his").text(72.7, 152, "his）」，丁")
    assert read(made.bytes())[0][2] == [*FOUR[:3], "丁" * 35 + "his his）」，丁"]


def test_image_marks_of_which_few_stand_at_one_left_edge(sheet):
    made = sheet()
    for y, n, xs in ((100, 1, XS), (160, 2, (60.7, 300, 60.7, 300)), (220, 3, (60.7, 120, 250, 400))):
        made.text(40.7, y, str(n)).text(60.8, y, "何者？")
        for k, (x, text) in enumerate(zip(xs, FOUR, strict=True)):
            below = 36 if n == 2 and k > 1 else 18
            made.image(x, y + below - 10.5, 11, 13, (2, 2)).text(x + 12, y + below, text)
    assert read(made.bytes()) == [(n, "何者？", FOUR) for n in (1, 2, 3)]


@pytest.mark.parametrize("line", ["請依下文回答第2題至第3題", "二、閱讀測驗（每題2分）"])
def test_what_surely_begins_below_a_full_row_leaves_the_item_in(sheet, line):
    made = sheet().text(40.7, 100, "1").text(60.8, 100, "何者？" + "一" * 38)
    row(made, 118, [*FOUR[:3], "丁" * 8])
    made.text(60.8, 136, line)
    for n, y in ((2, 180), (3, 220)):
        made.text(40.7, y, str(n)).text(60.8, y, "何者？")
        row(made, y + 18)
    one = parse_paper(made.bytes()).items[0]
    assert (one.options["D"], one.excluded) == ("丁" * 8, ())
