"""Characters → lines: spaces, fake bold, superscripts, blanks."""

from __future__ import annotations

import pytest

from twlocal.exam.chars import DRAWN_GAP, REAL_SPACE, Char, Chars
from twlocal.exam.compose import page_lines
from twlocal.exam.lines import join
from twlocal.exam.page import Box, Page


def row(text, x=40.0, baseline=100.0, size=12.0, pitch=None, space_before=()):
    """Characters of one line: an em for CJK, half an em for the rest; a blank is a gap, as pdfium reports it."""
    made = []
    space = 0
    for k, char in enumerate(text):
        width = size if ord(char) > 0x2E7F else size / 2
        if char == " ":
            space = DRAWN_GAP
        else:
            flag = REAL_SPACE if k in space_before else space
            made.append(Char(char, x, x + width, baseline, size, flag))
            space = 0
        x += pitch or width
    return made


def read(*chars, boxes=()):
    return [
        line.text
        for line in page_lines([Page(1, 595, 842, Chars.of(c for part in chars for c in part), tuple(boxes))])[0]
    ]


def test_the_stream_order_does_not_matter():
    chars = [*row("下列何者正確？"), *row("第二行", baseline=118)]
    assert read(chars) == read(chars[::-1]) == read(chars[::2], chars[1::2]) == ["下列何者正確？", "第二行"]


def test_spaces_between_latin_words_only():
    assert read(row("第 23 條 the quick fox 跳")) == ["第23條the quick fox跳"]


def test_a_real_space_is_a_character():
    assert read(row("第23條", space_before={1})) == ["第 23條"]


def test_justified_english_keeps_its_narrow_spaces():
    words, x = [], 40.0
    for word in ("The", "quick", "brown", "fox"):
        words += row(word, x=x)
        x = words[-1].x1 + 2.5  # less than pdfplumber's three points
    assert read(words) == ["The quick brown fox"]


@pytest.mark.parametrize("shift", [0.0, 0.2, 0.5, 1.5])
def test_fake_bold_is_read_once(shift):
    text = "1下列何者正確illegal"
    assert read(row(text), row(text, x=40 + shift)) == [text]


def test_fake_bold_drawn_a_little_lower_is_read_once():
    assert read(row("下列何者"), row("下列何者", x=40.3, baseline=100.3)) == ["下列何者"]


@pytest.mark.parametrize("text", ["媽媽", "看看看", "ill", "1111", "book"])
def test_reduplication_survives(text):
    assert read(row(text)) == [text]


def test_condensed_type_keeps_its_order():
    # Boxes wider than the pitch: the left edge of 題 lies left of that of the digit before it.
    chars = [Char("2", 80.2, 86, 112, 13), Char("0", 85.3, 91.1, 112, 13), Char("題", 85.2, 102.2, 112, 12)]
    assert read(chars) == ["20題"]


def test_superscripts_and_subscripts_stay_on_their_line():
    base = row("WBC 8,700/mm", x=40)
    rest = row("、Hgb", x=base[-1].x1 + 4)
    up = row("3", x=base[-1].x1, baseline=95.5, size=7)
    below = row("第二行之文字在下面", x=40, baseline=114.7)
    assert read(base, up, rest, below) == ["WBC 8,700/mm3、Hgb", "第二行之文字在下面"]
    down = row("2", x=base[-1].x1, baseline=103, size=7)
    assert read(base, down, rest) == ["WBC 8,700/mm2、Hgb"]


def test_lines_that_stand_closely_are_not_joined():
    assert read(row("第一行文字", baseline=100), row("第二行文字", baseline=112.5)) == ["第一行文字", "第二行文字"]


def test_characters_too_small_to_be_seen_are_not_read():
    assert read(row("維生素"), [Char("B", 167.6, 167.8, 100, 0.7)]) == ["維生素"]


def rule(x0, x1, y):
    return Box("rule", x0, x1, y, y + 0.6)


def test_a_rule_without_text_is_a_blank():
    left = row("the event,")
    right = row("is to be held", x=left[-1].x1 + 36)
    assert read(left, right, boxes=[rule(left[-1].x1 + 3, left[-1].x1 + 33, 102)]) == ["the event, ____ is to be held"]


def test_a_blank_before_a_full_stop_and_at_the_beginning():
    left = row("Only if it rains,")
    dot = [Char(".", left[-1].x1 + 36, left[-1].x1 + 42, 100, 12, DRAWN_GAP)]
    assert read(left, dot, boxes=[rule(left[-1].x1 + 4, left[-1].x1 + 36, 102)]) == ["Only if it rains, ____."]
    assert read(row("of heart attack", x=80), boxes=[rule(40, 76, 102)]) == ["____ of heart attack"]


def test_a_blank_in_two_pieces_is_one():
    left = row("is")
    right = row("certain", x=110)
    pieces = [rule(60, 80, 102), rule(80.3, 104, 102)]
    assert read(left, right, boxes=pieces) == ["is ____ certain"]


def test_an_underlined_word_is_no_blank():
    chars = row("下列何者不正確")
    assert read(chars, boxes=[rule(88, 100, 102)]) == ["下列何者不正確"]


def test_the_frame_of_a_header_box_is_no_blank():
    frame = [rule(40, 140, 102), Box("rule", 139.5, 140.5, 80, 103)]
    assert read(row("頁次", x=42), boxes=frame) == ["頁次"]


@pytest.mark.parametrize(
    ("parts", "whole"),
    [
        (["下列何", "者正確"], "下列何者正確"),
        (["the quick", "brown fox"], "the quick brown fox"),
        (["再加入", "1.5 公克"], "再加入1.5 公克"),
        (["well-", "known"], "well-known"),
        (["(American", "College)"], "(American College)"),
        (["word", ", and"], "word, and"),
        (["", "甲"], "甲"),
    ],
)
def test_joining_lines(parts, whole):
    assert join(parts) == whole


def test_a_blank_at_the_end_of_a_line_and_one_at_the_beginning_of_the_next():
    lines = read(
        row("下列"),
        row("者是", x=100, baseline=118),
        boxes=[Box("rule", 64, 130, 101, 101.5), Box("rule", 40, 100, 119, 119.5)],
    )
    assert lines == ["下列____", "____者是"]


def test_pages_read_together_read_as_each_alone():
    def page(number, *chars):
        return Page(number, 595, 842, Chars.of(c for part in chars for c in part), (Box("rule", 64, 100, 102, 102.5),))

    bold = row("媽媽說話")
    private = [Char("\ue2e2", 40, 52, 130, 12, 0, "AAAAAA+EUDC"), *row("骨", x=52, baseline=130)]
    raised = [*row("10"), *row("6", x=52, baseline=95, size=7)]
    pages = [
        page(1, bold, row("媽媽說話", x=40.3)),
        Page(2, 595, 842, Chars.of(())),
        page(3, raised, private),
        page(4, row("x" * 3), row("下一行", baseline=118)),
    ]
    together = page_lines(pages)
    assert together == [page_lines([each])[0] for each in pages]
    assert [[line.page for line in lines] for lines in together] == [[1], [], [3, 3], [4, 4]]
    assert [line.text for line in together[2]] == ["106 ____", "骶骨"]
