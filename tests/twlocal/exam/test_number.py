"""The chain of question numbers against phantoms of every kind."""

from __future__ import annotations

import pytest

from twlocal.exam.paper import parse_paper

OPTIONS = "(A)甲 (B)乙 (C)丙 (D)丁"


def numbers(data):
    return [item.number for item in parse_paper(data).items]


@pytest.mark.parametrize(
    "phantom",
    [
        "2 公克之溶質",
        "3 條之規定",
        "1.5 公克",
        "2023 年之事件",
        "12 對腦神經",
        "16 IQs and",
        "3. 以上皆是",
        "100 mg 之藥物",
    ],
)
def test_a_number_that_begins_a_line_of_a_stem_is_no_question(typed, phantom):
    text = f"1 某藥物若再加入\n{phantom}，何者正確？\n{OPTIONS}\n2 何者錯誤？\n{OPTIONS}\n3 何者正確？\n{OPTIONS}"
    paper = parse_paper(typed(text))
    assert [i.number for i in paper.items] == [1, 2, 3]
    assert phantom.split()[-1] in paper.items[0].question


@pytest.mark.parametrize("stem", ["2023年之事件何者正確？", "16歲之少年何者正確？", "2分子何者正確？", "12對腦神經？"])
def test_a_stem_that_begins_with_digits_keeps_them(typed, stem):
    text = f"1 {stem}\n{OPTIONS}\n2{stem}\n{OPTIONS}\n3.{stem}\n{OPTIONS}"
    assert [item.question for item in parse_paper(typed(text)).items] == [stem] * 3


def test_circled_digits_are_no_numbers(typed):
    text = f"1 何者正確？\n②說法\n③說法\n(A)① (B)② (C)③ (D)④\n2 何者錯誤？\n{OPTIONS}"
    paper = parse_paper(typed(text))
    assert [i.number for i in paper.items] == [1, 2]
    assert paper.items[0].question == "何者正確？②說法③說法"


def test_numbers_in_an_essay_above_are_not_taken(typed):
    text = f"1 請論述之。\n2 請說明之。\n乙、測驗題部分：（50分）\n1 何者正確？\n{OPTIONS}\n2 何者錯誤？\n{OPTIONS}"
    assert [i.question for i in parse_paper(typed(text)).items] == ["何者正確？", "何者錯誤？"]


def test_a_missing_number_is_reported_not_bridged(typed):
    paper = parse_paper(typed(f"1 何者正確？\n{OPTIONS}\n2 何者正確？\n{OPTIONS}\n4 何者正確？\n{OPTIONS}"))
    assert "incomplete" in [r.reason for r in paper.rejections]
    assert not paper.usable


def test_full_width_and_bracketed_numbers(typed):
    assert numbers(typed(f"１、何者正確？\n{OPTIONS}\n２、何者正確？\n{OPTIONS}")) == [1, 2]
    assert numbers(typed(f"(1)何者正確？\n{OPTIONS}\n(2)何者正確？\n{OPTIONS}")) == [1, 2]


def test_a_hundred_questions_in_one_chain(typed):
    page = "\n".join(f"{n}何者正確{n}？\n{OPTIONS}" for n in range(1, 21))
    rest = ["\n".join(f"{n}何者正確{n}？\n{OPTIONS}" for n in range(k, k + 20)) for k in range(21, 101, 20)]
    assert numbers(typed(page, *rest)) == list(range(1, 101))
