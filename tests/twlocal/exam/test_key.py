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


def k10(sheet, cells, *, notes="", title="測驗式試題標準答案", shift=0.0, stated=None, code="(試題代號：6801)"):
    """Years 106–114: 10 cells a row, 第1題…第100題 always printed, unused answers blank, stray cells at the end."""
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
        made.text(36, y, "題號").text(36, y + 19, "答案")
        for k in range(10):
            number = 10 * row + k + 1
            x = 74 + 50 * k
            label = f"第{number}題"
            draw = (x + 17 - 6 * len(label), y, label), (x + 12 + shift, y + 19, "".join(cells[number - 1 : number]))
            if number % 10 == 1 or number == 13:
                late.append(draw)  # these drop out of their row in the stream
            else:
                for at in draw:
                    made.text(*at)
    for draw in late:
        for at in draw:
            made.text(*at)
    made.text(39, 702, "備　　註：" + notes)
    return made.bytes()


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


def test_something_that_is_no_answer_refuses_the_key(sheet):
    cells = answers(25)
    cells[4] = "Z"
    assert "strange_cell" in [r.reason for r in parse_key(k10(sheet, cells)).rejections]


def test_a_page_without_a_grid_and_a_file_that_is_no_pdf(sheet):
    assert [r.reason for r in parse_key(sheet().text(40, 100, "公告").bytes()).rejections] == ["no_grid"]
    assert [r.reason for r in parse_key(b"not a pdf").rejections] == ["damaged"]
