"""Leads of passages and items that go on from another, as they are printed."""

from __future__ import annotations

import pytest

from twlocal.exam.groups import continues, kind_of, lead


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("請依下文回答第42題至第45題", (42, 45)),
        ("請依下文回答第 16 題至第 20 題：", (16, 20)),
        ("請回答下列第6題至第10題", (6, 10)),
        ("第 16 題至第20 題", (16, 20)),
        ("請依下文回答第３至５題", (3, 5)),
        ("現象，臨床表現如圖，請回答下列第36題至第37題。", (36, 37)),
        ("Questions 16-20 refer to the following passage.", (16, 20)),
        ("下列何者正確？", None),
        ("刑法第10題至第8題回答", None),
        ("依刑法第 222 條至第 224 條", None),
    ],
)
def test_leads(text, span):
    assert lead(text) == span


@pytest.mark.parametrize(
    ("stem", "wanted"),
    [
        ("承上題，下列何者正確？", 6),
        ("承接上題，何者正確？", 6),
        ("接上題，何者正確？", 6),
        ("（承上題）何者正確？", 6),
        ("承第5題，何者正確？", 5),
        ("承第 5 題，何者正確？", 5),
        ("承上，若再加入", 6),
        ("繼承上之權利，何者正確？", None),
        ("下列何者為承上啟下？", None),
    ],
)
def test_continuing_items(stem, wanted):
    assert continues(stem, 7) == wanted


def test_a_cloze_carries_its_numbers():
    assert kind_of("to 11 at two tables. At their 12 tables, 13 of", 11, 13) == "cloze"
    assert kind_of("Since the 1980s, immigration has increased.", 11, 13) == "reading"
