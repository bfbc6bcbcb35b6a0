"""What a paper states about itself, in the words of its head."""

from __future__ import annotations

import pytest

from twlocal.exam.paper import parse_paper

ITEMS = "1 何者？\n(A)甲 (B)乙 (C)丙 (D)丁\n2 何者錯？\n(A)甲 (B)乙 (C)丙 (D)丁"


@pytest.mark.parametrize(
    "said",
    [
        "本試題共2題，每題50分",
        "共 ２ 題",
        "共計2題",
        "共有2題",
        "總計2題",
        "合計二題",
        "本科目共二題",
        "本測驗試題為單一選擇題，計 2 題",
        "計二題，每題50分",
        "題數：2題",
        "單選題數：共2題",
    ],
)
def test_the_stated_count(typed, said):
    paper = parse_paper(typed(f"{said}\n{ITEMS}"))
    assert paper.accepted and (paper.stated_count, len(paper.items)) == (2, 2)


@pytest.mark.parametrize("said", ["計3題，每題5分", "共三題", "計二十五題"])
def test_a_lost_last_item_refuses_the_paper(typed, said):
    assert [r.reason for r in parse_paper(typed(f"{said}\n{ITEMS}")).rejections] == ["incomplete"]


@pytest.mark.parametrize("said", ["每題計3分", "共三題組", "設計三題", "共3頁", "共三大題", "複選題數：3題"])
def test_words_that_state_no_count(typed, said):
    paper = parse_paper(typed(f"{said}\n{ITEMS}"))
    assert paper.accepted and paper.stated_count is None


def test_a_part_is_not_the_whole(typed):
    paper = parse_paper(typed(f"共3題，其中單選計2題，複選計1題\n{ITEMS}"))
    assert [r.reason for r in paper.rejections] == ["incomplete"]
