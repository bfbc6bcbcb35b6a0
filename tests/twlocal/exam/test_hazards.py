"""Layouts that would change an item without a word; each as the smallest paper that has it."""

from __future__ import annotations

import pytest

from twlocal.exam.paper import parse_paper

OPTIONS = "(A)甲 (B)乙 (C)丙 (D)丁"
FOUR = ["甲", "乙", "丙", "丁"]
XS = (60.7, 186, 313, 439)


def read(data):
    paper = parse_paper(data)
    assert paper.accepted, paper.rejections
    return [(item.number, item.question, list(item.options.values())) for item in paper.items]


def refused(data):
    return [rejection.reason for rejection in parse_paper(data).rejections]


def row(sheet, y, *options, xs=XS):
    for x, mark, text in zip(xs, "ⒶⒷⒸⒹ", options, strict=False):
        sheet.text(x, y, mark + text)


# --- numbers -------------------------------------------------------------------------------------------------------


def test_numbers_that_begin_anew_are_not_half_a_paper(typed):
    part = f"1 何者？\n{OPTIONS}\n2 何者錯？\n{OPTIONS}"
    assert refused(typed(f"一、選擇題：\n{part}\n二、選擇題：\n{part}")) == ["incomplete"]
    longer = f"{part}\n3 何者對？\n{OPTIONS}"
    assert refused(typed(f"{longer}\n{part}")) == refused(typed(f"{part}\n{longer}")) == ["incomplete"]


def test_a_list_in_the_stem_of_question_1_is_no_question_1(typed):
    first = "1 下列敘述何者正確？\n1.甲說 2.乙說\n2.丙說\n3.丁說\n(A)1 (B)2 (C)3 (D)12"
    (one, two) = read(typed(f"{first}\n2 何者錯誤？\n{OPTIONS}"))
    assert one == (1, "下列敘述何者正確？1.甲說 2.乙說2.丙說3.丁說", ["1", "2", "3", "12"])
    assert two == (2, "何者錯誤？", FOUR)


def test_a_list_that_looks_like_the_numbers_makes_its_item_doubtful(typed):
    first = f"1 下列敘述何者正確？\n1 甲說\n2 乙說\n{OPTIONS}"
    items = parse_paper(typed(f"{first}\n2 何者錯誤？\n{OPTIONS}\n3 何者？\n{OPTIONS}")).items
    assert ["loose_text_before" in item.flags for item in items] == [True, False, False]


@pytest.mark.parametrize("listed", [("1.甲說", "2.乙說"), ("5 甲說", "6 乙說", "7 丙說")])
def test_a_list_in_the_column_of_the_stems_is_part_of_its_stem(sheet, listed):
    made, y = sheet(), 100
    for n in range(1, 9):
        made.text(40.7, y, str(n)).text(60.8, y, "下列何者正確？")
        if str(n) == listed[0][0]:
            for text in listed:
                y += 16
                made.text(60.8, y, text)
        row(made, y + 16, *FOUR)
        y += 34
    items = read(made.bytes())
    assert [number for number, _, _ in items] == list(range(1, 9))
    assert {question for number, question, _ in items if str(number) != listed[0][0]} == {"下列何者正確？"}
    assert items[int(listed[0][0]) - 1][1] == "下列何者正確？" + "".join(listed)


@pytest.mark.parametrize("number", ["第{}題 ", "（　）{}.", "( ){} ", "第 {} 題："])
def test_other_ways_to_write_a_number(typed, number):
    text = "\n".join(f"{number.format(n)}何者？\n{OPTIONS}" for n in (1, 2, 3))
    assert read(typed(text)) == [(n, "何者？", FOUR) for n in (1, 2, 3)]


# --- marks ---------------------------------------------------------------------------------------------------------


def test_marks_that_the_text_mentions(typed):
    stem = f"1 關於維生素(A)之敘述何者正確？\n{OPTIONS}\n2 何者錯誤？\n{OPTIONS}"
    assert read(typed(stem)) == [(1, "關於維生素(A)之敘述何者正確？", FOUR), (2, "何者錯誤？", FOUR)]
    option = f"1 何者？\n(A)甲 (B)乙 (C)(A)與(B)皆是 (D)丁\n2 何者？\n{OPTIONS}"
    assert read(typed(option))[0][2] == ["甲", "乙", "(A)與(B)皆是", "丁"]
    vitamins = f"1 維生素(A)、(D)、(E)為脂溶性，何者？\n{OPTIONS}\n2 關於維生素(E)？\n{OPTIONS}"
    assert read(typed(vitamins)) == [(1, "維生素(A)、(D)、(E)為脂溶性，何者？", FOUR), (2, "關於維生素(E)？", FOUR)]
    sugar = f"1 何者？\n(A)(D)-glucose (B)(L)-glucose (C)丙 (D)丁\n2 何者？\n{OPTIONS}"
    assert read(typed(sugar))[0][2] == ["(D)-glucose", "(L)-glucose", "丙", "丁"]


def test_a_misprinted_mark_costs_its_item_not_the_paper(typed):
    data = typed(f"1 何者？\n{OPTIONS}\n2 何者？\n(A)甲 (B)乙 (C)丙 (C)丁\n3 何者？\n{OPTIONS}")
    paper = parse_paper(data)
    assert paper.accepted
    assert [bool(item.excluded) for item in paper.items] == [False, True, False]


def test_notes_that_name_the_marks_are_no_question(typed):
    notes = "※請選出(A)、(B)、(C)或(D)作答。"
    assert read(typed(f"{notes}\n1 何者？\n{OPTIONS}\n2 何者？\n{OPTIONS}")) == [(n, "何者？", FOUR) for n in (1, 2)]


# --- what stands around the items ----------------------------------------------------------------------------------


@pytest.mark.parametrize("footer", ["{}/2", "{}", "{} / 2"])
def test_a_page_number_at_any_height_is_no_text(typed, footer):
    data = typed("1 何者會\n" + footer.format(1), f"使人受傷？\n{OPTIONS}\n2 何者？\n{OPTIONS}\n" + footer.format(2))
    assert read(data) == [(1, "何者會使人受傷？", FOUR), (2, "何者？", FOUR)]


@pytest.mark.parametrize(
    "footer",
    [
        "共 2 頁 第 1 頁",
        "第一頁，共二頁",
        "第1頁，共2頁",
        "【背面尚有試題】",
        "（背面仍有試題）",
        "【以下空白】",
        "試題結束",
        "※ 試題至此結束，請檢查",
        "－試題完－",
        "P.1",
        "1 of 2",
        "頁 1",
        "全卷試題結束",
    ],
)
def test_footers_are_no_text(typed, footer):
    data = typed(f"1 何者會\n{footer}", f"使人受傷？\n{OPTIONS}\n2 何者？\n{OPTIONS}\n{footer}")
    assert read(data) == [(1, "何者會使人受傷？", FOUR), (2, "何者？", FOUR)]


@pytest.mark.parametrize(
    "head", ["113年公務人員特種考試試題 代號：1101", "113年公務人員升官等考試試題\n代號：1101\n頁次：2－2"]
)
def test_a_title_that_comes_again_is_no_option(typed, head):
    data = typed(
        "1 何者？\n(A)甲 (B)乙\n(C)丙 (D)丁\n2 何者？\n(A)甲 (B)乙", f"{head}\n(C)丙 (D)丁\n3 何者？\n{OPTIONS}"
    )
    assert read(data) == [(n, "何者？", FOUR) for n in (1, 2, 3)]


@pytest.mark.parametrize(
    "heading",
    [
        "二、閱讀測驗",
        "貳、閱讀測驗",
        "【第二部分：英文】",
        "二、英文（占50分）",
        "Part II. Reading Comprehension",
        "註：本題以民國113年法規為準",
    ],
)
@pytest.mark.parametrize("size", [(595, 842), (420, 595)])
def test_what_stands_between_the_items_is_no_option(sheet, heading, size):
    made = sheet(size)
    for n, line in enumerate(["1 何者？", OPTIONS, heading, "2 何者？", OPTIONS]):
        made.text(50, 60 + 18 * n, line)
    assert read(made.bytes()) == [(1, "何者？", FOUR), (2, "何者？", FOUR)]


def test_a_mark_at_the_end_of_a_line(typed):
    assert read(typed(f"1 何者？\n(A)甲 (B)乙 (C)丙 (D)\n丁\n2 何者？\n{OPTIONS}"))[0][2] == FOUR


def test_text_far_below_the_last_option_is_none_of_it(sheet):
    made = sheet().text(40, 60, "1 何者？").text(60, 78, "(A)甲 (B)乙 (C)丙 (D)" + "丁" * 34).text(60, 700, "部分")
    assert read(made.bytes())[0][2][-1] == "丁" * 34


# --- options in columns --------------------------------------------------------------------------------------------


def test_all_options_of_a_full_row_wrap(sheet):
    made = sheet().text(40.7, 60, "1").text(60.8, 60, "何者？")
    made.text(60.7, 78, "Ⓐ" + "子" * 19).text(313, 78, "Ⓑ" + "丑" * 18).text(72, 96, "子二").text(325, 96, "丑二")
    made.text(60.7, 114, "Ⓒ" + "寅" * 19).text(313, 114, "Ⓓ" + "卯" * 18).text(72, 132, "寅二").text(325, 132, "卯二")
    made.text(40.7, 160, "2").text(60.8, 160, "何者" * 20)
    row(made, 178, *FOUR)
    options = read(made.bytes())[0][2]
    assert options == ["子" * 19 + "子二", "丑" * 18 + "丑二", "寅" * 19 + "寅二", "卯" * 18 + "卯二"]


def test_four_columns_that_wrap(sheet):
    made = sheet().text(40.7, 60, "1").text(60.8, 60, "何者？")
    for line, texts in enumerate((["子" * 9, "丑" * 9, "寅" * 9, "卯" * 8], ["子二", "丑二", "寅二", "卯二"])):
        for x, mark, text in zip(XS, "ⒶⒷⒸⒹ", texts, strict=True):
            made.text(x + 12 * line, 78 + 18 * line, text if line else mark + text)
    made.text(40.7, 130, "2").text(60.8, 130, "何者" * 20)
    row(made, 148, *FOUR)
    assert read(made.bytes())[0][2] == ["子" * 9 + "子二", "丑" * 9 + "丑二", "寅" * 9 + "寅二", "卯" * 8 + "卯二"]


def test_one_option_of_the_last_row_wraps(sheet):
    made = sheet().text(40.7, 60, "1").text(60.8, 60, "何者？")
    made.text(60.7, 78, "Ⓐ甲").text(313, 78, "Ⓑ乙").text(60.7, 96, "Ⓒ" + "寅" * 19).text(313, 96, "Ⓓ丁")
    made.text(72, 114, "寅二")
    made.text(40.7, 140, "2").text(60.8, 140, "何者？")
    row(made, 158, "甲", "丑" * 9, "丙", "丁")
    made.text(198, 176, "丑二").text(40.7, 204, "3").text(60.8, 204, "何者" * 20)
    row(made, 222, *FOUR)
    one, two, _ = read(made.bytes())
    assert one[2] == ["甲", "乙", "寅" * 19 + "寅二", "丁"]
    assert two[2] == ["甲", "丑" * 9 + "丑二", "丙", "丁"]


def test_running_text_goes_on_with_its_last_option(typed):
    tail = "丁" * 30
    text = f"1 {'何者' * 20}？\n(A)甲 (B)乙 (C)丙 (D){tail}\n丁的下一行\n2 何者？\n{OPTIONS}"
    assert read(typed(text))[0][2] == ["甲", "乙", "丙", tail + "丁的下一行"]


@pytest.mark.parametrize("drop", [0, 3])
def test_two_columns_with_a_gap_after_the_number(sheet, drop):
    made = sheet()
    for column, x in enumerate((40, 320)):
        y = 60.0 + drop * column
        for n in (1, 2):
            made.text(x, y, str(2 * column + n)).text(x + 20, y, "何者？")
            for k, option in enumerate(FOUR):
                made.text(x + 20, y + 18 * (k + 1), f"({'ABCD'[k]}){option}")
            y += 108
    assert read(made.bytes()) == [(n, "何者？", FOUR) for n in (1, 2, 3, 4)]


# --- characters ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("turn", "size"), [(180, (595, 842)), (270, (842, 842)), (90, (842, 842))])
def test_a_turned_page_of_many_short_runs(sheet, turn, size):
    made = sheet(size).turned(turn)
    for n, y in ((1, 60), (2, 110)):
        made.text(40.7, y, str(n)).text(60.8, y, "何者？")
        row(made, y + 18, *FOUR)
    assert read(made.bytes()) == [(1, "何者？", FOUR), (2, "何者？", FOUR)]


def test_a_stamp_along_the_margin_is_noticed_and_not_read(sheet):
    made = sheet()
    for n, y in ((1, 60), (2, 110)):
        made.text(40.7, y, str(n)).text(60.8, y, "何者？")
        row(made, y + 18, *FOUR)
    made.page().text(60, 60, "3 何者？")
    row(made, 78, *FOUR)
    made.turned(90).text(500, 560, "考選部")
    items = parse_paper(made.bytes()).items
    assert [list(item.options.values()) for item in items] == [FOUR] * 3


def test_subscripts_and_superscripts_are_not_set_off(sheet):
    made = sheet().text(40.7, 60, "1").text(60.8, 60, "CO").text(72.8, 63, "2", 7).text(76.3, 60, "何者？")
    for x, mark in zip(XS, "ⒶⒷⒸⒹ", strict=True):
        made.text(x, 84, mark + "H").text(x + 18, 87, "2", 7).text(x + 21.5, 84, "O")
    assert read(made.bytes()) == [(1, "CO2何者？", ["H2O"] * 4)]


def test_bold_digits_drawn_one_by_one(sheet):
    made = sheet()
    for n in range(9, 13):
        y = 60 + 40 * (n - 9)
        for shift in (0, 0.3):
            for k, digit in enumerate(str(n)):
                made.text((40.7 if n < 10 else 34.7) + 6 * k + shift, y, digit)
        made.text(60.8, y, "下列何者？")
        row(made, y + 18, *FOUR)
    assert [item.number for item in parse_paper(made.bytes()).items] == [9, 10, 11, 12]


def test_a_hyphen_at_the_end_of_a_line_stays(typed):
    assert read(typed(f"1 Which inter-\nnational law\n{OPTIONS}"))[0][1] == "Which inter-national law"


def test_a_glyph_that_nobody_can_read_is_kept_and_flagged(typed):
    (item,) = parse_paper(typed(f"1 何者\ufffd正確？\n{OPTIONS}")).items
    assert item.question == "何者\ufffd正確？"
    assert "private_use:U+FFFD" in item.flags


def test_a_fraction_is_flagged(sheet):
    made = sheet().text(40.7, 60, "1").text(60.8, 60, "比值為").text(100, 53, "3").text(100, 67, "4").rule(99, 107, 57)
    made.text(110, 60, "者？")
    row(made, 90, *FOUR)
    made.text(40.7, 120, "2").text(60.8, 120, "何者？")
    row(made, 138, *FOUR)
    one, two = parse_paper(made.bytes()).items
    assert "stacked_text" in one.flags
    assert "stacked_text" not in two.flags
