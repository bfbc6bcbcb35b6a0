"""Answer keys of both grid families, drawn with their geometry; the text stream in an order of its own."""

from __future__ import annotations

import random

import pytest

from twlocal.exam.key import parse_key

LETTERS = "ABCD"


def answers(count, seed=1):
    rng = random.Random(seed)
    return [rng.choice(LETTERS) for _ in range(count)]


def k20(sheet, cells, *, wide=False, notes="", label="題號", empty_bands=0, title="測驗題標準答案更正", stated=None):
    """Years 100–101: 20 cells a row in 4 groups of 5; every answer in the stream before every number."""
    made = sheet().text(24, 32, title, 14).text(31, 160, "科目名稱： 醫學（一）(試題代號：1101)")
    made.text(29, 200, f"題　　數： {stated or len(cells)}題").text(
        32, 222, "標準答案：答案標註#者，表該題有更正答案，其更正內容詳見備註。"
    )
    xs = [86 + 22 * k + 9 * (k // 5) for k in range(20)]
    bands = [cells[k : k + 20] for k in range(0, len(cells), 20)] + [[] for _ in range(empty_bands)]
    for row, band in enumerate(bands):
        y = 248 + 63 * row
        made.text(52, y, label).text(52, y + 21, "答案")
        for x, cell in zip(xs, band, strict=False):
            made.text(x + (3 if not wide else 0), y + 21, chr(ord(cell) + 0xFEE0) if wide else cell)
    for row, band in enumerate(bands):
        for k in range(len(band)):
            made.text(xs[k], 248 + 63 * row, f"{20 * row + k + 1:02d}")
    for k, line in enumerate(notes.split("\n")):
        made.text(31 if k == 0 else 104, 560 + 17 * k, ("備　　註： " if k == 0 else "") + line)
    return made.bytes()


def k10(
    sheet,
    cells,
    *,
    notes="",
    title="測驗式試題標準答案",
    shift=0.0,
    stated=None,
    code="(試題代號：6801)",
    bold=(0.0, 0.0),
    then=lambda made: made,
):
    """Years 106–114: 10 cells a row, 第1題…第100題 always printed, unused answers blank, stray cells at the end.

    `bold` is how far the second copies of labels and of answers are from the first ones, in points; 0 draws none.
    `then` draws more at the end.
    """
    made = sheet().text(25, 40, title, 14).text(30, 79, "考試名稱：").text(96, 72, "113年公務人員特種考試警察人員")
    made.text(92, 86, "行政人員考試").text(31, 126, "類科名稱：").text(92, 121, "移民行政").text(
        29, 165, f"科目名稱： 國土安全與移民政策{code}"
    )
    made.text(25, 193, f"單選題數：{stated or len(cells)}題 單選每題配分：2.00分").text(
        27, 213, "複選題數： 複選每題配分："
    )
    made.text(30, 232, "標準答案：答案標註#者，表該題有更正答案，其更正內容詳見備註。")
    late = []
    for row in range(10):
        y = 253 + 45 * row
        labels, grid = bold
        for offset in dict.fromkeys((0.0, labels)):
            made.text(36 + offset, y, "題號").text(36 + offset, y + 19, "答案")
        for k in range(10):
            number = 10 * row + k + 1
            x = 74 + 50 * k
            label = f"第{number}題"
            cell = "".join(cells[number - 1 : number])
            draw = [(x + 17 - 6 * len(label) + offset, y, label) for offset in dict.fromkeys((0.0, labels))]
            draw += [(x + 12 + shift + offset, y + 19, cell) for offset in dict.fromkeys((0.0, grid))]
            if number % 10 == 1 or number == 13:
                late.append(draw)  # these drop out of their row in the stream
            else:
                for at in draw:
                    made.text(*at)
    for draw in late:
        for at in draw:
            made.text(*at)
    return then(made.text(39, 702, "備　　註：" + notes)).bytes()


@pytest.mark.parametrize("count", [20, 80, 100])
def test_k20_by_coordinates(sheet, count):
    cells = answers(count)
    key = parse_key(k20(sheet, cells))
    assert key.accepted, key.rejections
    assert list(key.cells.values()) == cells and list(key.cells) == list(range(1, count + 1))
    assert (key.kind, key.code, key.stated_count) == ("correction", "1101", count)


def test_k20_dental_with_wide_letters_and_an_empty_band(sheet):
    cells = [*answers(80)]
    cells[31] = "#"
    key = parse_key(k20(sheet, cells, wide=True, label="題序", empty_bands=1, notes="第32題答Ｂ、Ｃ給分。"))
    assert key.accepted, key.rejections
    assert list(key.cells.values()) == cells
    assert key.notes[32].accepted == ("B", "C")


@pytest.mark.parametrize("count", [10, 25, 60, 100])
def test_k10_by_coordinates(sheet, count):
    cells = answers(count, seed=count)
    key = parse_key(k10(sheet, cells))
    assert key.accepted, key.rejections
    assert list(key.cells.values()) == cells
    assert (key.kind, key.code, key.stated_count, key.subject) == ("answer", "6801", count, "國土安全與移民政策")


def test_a_note_wrapped_in_the_middle_of_a_word(sheet):
    cells = answers(60)
    cells[46] = cells[8] = "#"
    key = parse_key(k20(sheet, cells, notes="第9題一律給分，第\n47題答Ｃ或Ｄ或CD者均給\n分。"))
    assert {n: (note.kind, note.accepted) for n, note in key.notes.items()} == {
        9: ("everyone", ()),
        47: ("several", ("C", "D", "CD")),
    }


def test_answers_between_two_numbers_refuse_the_key(sheet):
    key = parse_key(k10(sheet, answers(25), shift=25.0))
    assert "stray_cell" in [r.reason for r in key.rejections]


def test_answers_a_whole_pitch_off_refuse_the_key(sheet):
    cells = answers(5)
    assert parse_key(k10(sheet, cells, shift=50.0)).rejections
    key = parse_key(k10(sheet, cells, shift=-50.0, stated=4))
    assert [r.reason for r in key.rejections] == ["strange_cell"]


@pytest.mark.parametrize("shift", [-8.0, 8.0])
def test_answers_off_centre_within_the_pitch_are_read(sheet, shift):
    cells = answers(25)
    key = parse_key(k10(sheet, cells, shift=shift))
    assert key.accepted and list(key.cells.values()) == cells


def test_a_count_that_differs_from_the_stated_one_refuses_the_key(sheet):
    key = parse_key(k10(sheet, answers(24), stated=25))
    assert [r.reason for r in key.rejections] == ["count_mismatch"]


def test_a_hole_in_the_grid_refuses_the_key(sheet):
    cells = answers(25)
    cells[11] = ""
    key = parse_key(k10(sheet, cells, stated=25))
    assert [r.reason for r in key.rejections] == ["incomplete"]
    assert "12" in key.rejections[0].detail


@pytest.mark.parametrize("bold", [(0.3, 0.3), (0.0, 0.3), (0.3, 0.0), (0.5, 0.5)])
def test_fake_bold_is_read_once(sheet, bold):
    cells = answers(60)
    key = parse_key(k10(sheet, cells, bold=bold))
    assert key.accepted, key.rejections
    assert list(key.cells.values()) == cells


def test_a_letter_twice_in_a_cell_refuses_the_key(sheet):
    cells = answers(25)
    cells[4] = "CC"
    assert "strange_cell" in [r.reason for r in parse_key(k10(sheet, cells)).rejections]


@pytest.mark.parametrize("code", ["(代號:6801)", "（代號：６８０１）", "(科目代號：6801)"])
def test_the_code_beside_the_subject(sheet, code):
    key = parse_key(k10(sheet, answers(25), code=code))
    assert (key.code, key.subject) == ("6801", "國土安全與移民政策")


def test_the_code_of_a_category_is_not_the_papers(sheet):
    assert parse_key(k10(sheet, answers(25), code="(類科代號：101)")).code is None


def test_words_of_the_remarks_on_no_item_refuse_the_key(sheet):
    key = parse_key(k10(sheet, answers(25), notes="全部試題一律給分"))
    assert [r.reason for r in key.rejections] == ["strange_remarks"]


@pytest.mark.parametrize("footer", ["第1頁，共2頁", "第 1 頁", "1/1", "-1-", "1"])
def test_a_page_number_is_no_part_of_the_last_note(sheet, footer):
    notes = "第9題答Ｂ給分，第10題答"
    key = parse_key(
        k10(sheet, answers(25), notes=notes, then=lambda made: made.text(39, 719, "Ｃ給分。").text(290, 820, footer))
    )
    assert {n: (note.kind, note.accepted) for n, note in key.notes.items()} == {
        9: ("changed", ("B",)),
        10: ("changed", ("C",)),
    }


def test_remarks_go_on_over_the_page(sheet):
    key = parse_key(
        k10(
            sheet,
            answers(25),
            notes="第9題一律給分，第10",
            then=lambda made: made.text(290, 820, "1").page().text(39, 60, "題一律給分。"),
        )
    )
    assert {n: note.kind for n, note in key.notes.items()} == {9: "everyone", 10: "everyone"}


def test_a_second_page_with_a_grid_is_no_remark(sheet):
    cells = answers(120)

    def rest(made):
        made.page().text(25, 40, "測驗式試題標準答案", 14).text(29, 60, "單選題數：120題")
        for row in range(2):
            y = 100 + 45 * row
            made.text(36, y, "題號").text(36, y + 19, "答案")
            for k in range(10):
                number = 101 + 10 * row + k
                made.text(70 + 50 * k, y, f"第{number}題").text(86 + 50 * k, y + 19, cells[number - 1])
        return made.text(39, 300, "備　　註：第120題一律給分。")

    key = parse_key(k10(sheet, cells[:100], stated=120, then=rest))
    assert key.accepted, key.rejections
    assert list(key.cells.values()) == cells
    assert {n: note.kind for n, note in key.notes.items()} == {120: "everyone"}


def test_something_that_is_no_answer_refuses_the_key(sheet):
    cells = answers(25)
    cells[4] = "Z"
    assert "strange_cell" in [r.reason for r in parse_key(k10(sheet, cells)).rejections]


def test_a_page_without_a_grid_and_a_file_that_is_no_pdf(sheet):
    assert [r.reason for r in parse_key(sheet().text(40, 100, "公告").bytes()).rejections] == ["no_grid"]
    assert [r.reason for r in parse_key(b"not a pdf").rejections] == ["damaged"]
