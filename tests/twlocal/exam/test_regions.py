"""Where the parts of an item stand, against papers whose layout is known."""

from __future__ import annotations

import pytest

from twlocal.exam.reader import read_pages
from twlocal.exam.regions import of_key, of_paper


def near(region, page, x0, baseline, x1, size=12.0):
    """Whether a region is that of text drawn at (x0, baseline) to x1."""
    assert region.page == page
    assert (region.x0, region.x1) == (pytest.approx(x0, abs=1), pytest.approx(x1, abs=1))
    assert (region.top, region.bottom) == (
        pytest.approx(baseline - 0.85 * size, abs=1.5), pytest.approx(baseline + 0.15 * size, abs=1.5),
    )  # fmt: skip


@pytest.fixture
def paper(sheet):
    """Two items: one with its options in a row and a stem of two lines, one over the end of a page."""
    made = sheet().text(45, 60, "113年特種考試試題", 16).text(48, 100, "※本試題共2題，每題2分")
    made.text(40.7, 200, "1").text(60.8, 200, "甲" * 40).text(60.8, 218, "何者正確？")
    for x, mark, text in zip((60.7, 186, 313, 439), "ⒶⒷⒸⒹ", ("要約", "承諾", "合意", "公示"), strict=True):
        made.text(x, 236, mark + text)
    made.text(40.7, 780, "2").text(60.8, 780, "時效為何？").text(60.7, 798, "Ⓐ一年")
    made.page()
    for y, mark in zip((60, 78, 96), "ⒷⒸⒹ", strict=True):
        made.text(60.7, y, mark + "二年半")
    return made.bytes()


def test_number_stem_and_options_stand_where_they_were_drawn(paper):
    outline = of_paper(read_pages(paper))
    assert {number: item.question[:2] for number, item in outline.items.items()} == {1: "甲甲", 2: "時效"}
    kinds = [(part.kind, part.region.page) for part in outline.parts[1]]
    assert kinds == [("number", 1), ("stem", 1), ("stem", 1), ("A", 1), ("B", 1), ("C", 1), ("D", 1)]
    number, first, second, a, _, _, d = (part.region for part in outline.parts[1])
    near(number, 1, 40.7, 200, 46.7)
    near(first, 1, 60.8, 200, 60.8 + 40 * 12)
    near(second, 1, 60.8, 218, 60.8 + 5 * 12)
    near(a, 1, 60.7, 236, 60.7 + 36)
    near(d, 1, 439, 236, 439 + 36)
    assert [(part.kind, part.region.page) for part in outline.parts[2]] == [
        ("number", 1), ("stem", 1), ("A", 1), ("B", 2), ("C", 2), ("D", 2),
    ]  # fmt: skip


def test_the_answer_of_each_item_in_the_grid(sheet):
    made = sheet().text(25, 40, "測驗式試題標準答案", 14).text(25, 193, "單選題數：12題")
    for row in range(2):
        y = 253 + 45 * row
        made.text(36, y, "題號").text(36, y + 19, "答案")
        for k in range(10 if row == 0 else 2):
            label = f"第{10 * row + k + 1}題"
            made.text(74 + 50 * k + 17 - 6 * len(label), y, label).text(74 + 50 * k + 12, y + 19, "ABCD"[k % 4])
    outline = of_key(read_pages(made.bytes()))
    assert sorted(outline.parts) == list(range(1, 13)) and not outline.items
    for number, k, y in ((1, 0, 272), (10, 9, 272), (12, 1, 317)):
        (part,) = outline.parts[number]
        assert part.kind == "key" and part.region.page == 1
        assert part.region.x0 == pytest.approx(74 + 50 * k + 12, abs=1)
        assert part.region.top < y - 4 < part.region.bottom and part.region.bottom - part.region.top < 24


def test_every_real_item_has_its_parts(shared):
    """Stem and options of every accepted item lie inside the region that its build keeps."""
    papers = sorted((shared / "data" / "papers").rglob("*__Q.pdf"))[:4]
    for path in papers:
        outline = of_paper(read_pages(path))
        for number, item in outline.items.items():
            kinds = {part.kind for part in outline.parts[number]}
            assert kinds >= {*item.options} and ("stem" in kinds) == bool(item.question), (path.name, number)
            for part in outline.parts[number]:
                (whole,) = (region for region in item.regions if region.page == part.region.page)
                assert whole.x0 - 1 <= part.region.x0 <= part.region.x1 <= whole.x1 + 1
                assert whole.top - 1 <= part.region.top <= part.region.bottom <= whole.bottom + 1
