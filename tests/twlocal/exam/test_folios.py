"""Pages that are missing, stand elsewhere, or come from another paper."""

from __future__ import annotations

import pytest

from twlocal.exam.paper import parse_paper

FOUR = ["甲", "乙", "丙", "丁"]


def paper(sheet, folios, head="代號：1101", blank=()):
    """A paper of one item a page, each page with its folio; an empty page follows those in `blank`."""
    made = sheet()
    for k, folio in enumerate(folios):
        if k:
            made.page()
        made.text(440, 30, head if k else "113年考試試題 " + head).text(440, 42, folio)
        made.text(40.7, 80, str(k + 1)).text(60.8, 80, "何者？")
        for x, mark, text in zip((60.7, 186, 313, 439), "ⒶⒷⒸⒹ", FOUR, strict=True):
            made.text(x, 98, mark + text)
        if k in blank:
            made.page()
    return parse_paper(made.bytes())


@pytest.mark.parametrize(
    "folios",
    [
        ["頁次：3－1", "頁次：3－2", "頁次：3－3"],
        ["頁次: 3-1", "", "頁次：3–3"],  # a number that cannot be read
        ["", "頁次：３－２", "頁次：３－３"],
        ["全一張（正面）", "全一張（背面）"],
    ],
)
@pytest.mark.parametrize("blank", [(), (0,)])
def test_pages_in_their_order(sheet, folios, blank):
    read = paper(sheet, folios, blank=blank)
    assert read.accepted, read.rejections
    assert [list(item.options.values()) for item in read.items] == [FOUR] * len(folios)


@pytest.mark.parametrize(
    ("folios", "detail"),
    [
        (["頁次：3－1", "頁次：3－2"], "page 3 of 3 is missing"),
        (["頁次：3－2", "頁次：3－3"], "page 1 of 3 is missing"),
        (["頁次：3－1", "頁次：3－3"], "page 2 of 3 is missing"),
        (["頁次：3－1", "頁次：3－3", "頁次：3－2"], "page 2 of 3 is missing"),
        (["", "頁次：2－2", "頁次：2－1"], "page 1 of 2 stands after page 2"),
        (["頁次：2－1", "頁次：2－1", "頁次：2－2"], "page 1 of 2 stands after page 1"),
        (["頁次：2－1", "頁次：4－2"], "page 2 is one of 4, others are of 2"),
        (["全一張（背面）", "全一張（正面）"], "page 1 of 2 is missing"),
        (["全一張（正面）"], "page 2 of 2 is missing"),
    ],
)
def test_pages_astray_refuse_the_paper(sheet, folios, detail):
    assert ("incomplete", detail) in [(r.reason, r.detail) for r in paper(sheet, folios).rejections]


def test_a_second_multiple_choice_part_after_the_essays(typed):
    part = "\n".join(f"{n} 何者？\n(A)甲 (B)乙 (C)丙 (D)丁" for n in (1, 2))
    essay = "甲、申論題部分：（50分）\n一、試述之。"
    once = parse_paper(typed(f"{essay}\n乙、測驗題部分：（50分）\n{part}"))
    assert once.accepted, once.rejections
    twice = parse_paper(typed(f"{essay}\n乙、測驗題部分：（50分）\n{part}\n{essay}\n乙、測驗題部分：（50分）\n{part}"))
    assert [r.reason for r in twice.rejections] == ["incomplete"]
