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
        ("請回答第42、43、44題", (42, 44)),
        ("依此個案，回答第42題、第43題及第45題", (42, 45)),
        ("回答第二題至第三題", (2, 3)),
        ("閱讀下文，回答第九題到第十二題：", (9, 12)),
        ("請依下文回答第二十一、二十二題", (21, 22)),
        ("請依刑法第二百二十二條及第二百二十四條回答", None),
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
        ("承接第5題，何者正確？", 5),
        ("承上第5題，何者正確？", 5),
        ("依前述第五題之案例", 5),
        ("承第五題，何者正確？", 5),
        ("〔承上題〕何者正確？", 6),
        ("【題組】承上題，何者正確？", 6),
        ("依上題，何者正確？", 6),
        ("根據上題，何者正確？", 6),
        ("如上題，若甲拒絕", 6),
        ("如上題所述之病人", 6),
        ("上題中，甲之行為", 6),
        ("上題之病人", 6),
        ("依前題，何者正確？", 6),
        ("前題中，甲", 6),
        ("前一題的病人", 6),
        ("就上題，何者正確？", 6),
        ("若上題之甲死亡", 6),
        ("延續上題，何者正確？", 6),
        ("接續上題", 6),
        ("本題承上題，何者正確？", 6),
        ("依第1題，何者正確？", 1),
        ("根據第 3 題之資料", 3),
        ("同第十二題之案例", 12),
        ("第1題中，甲之行為", 1),
        ("第三題之病人", 3),
        ("第8題中，甲之行為", None),
        ("第1題答對率為百分之八十", None),
        ("依第7題，何者正確？", None),
        ("上題詩者為何人？", None),
        ("前題材之作品", None),
        ("接上級指示", None),
        ("承上啟下之詞為何？", None),
        ("如上述規定", None),
        ("依前條規定", None),
        ("根據上述命題", None),
        ("繼承上之權利，何者正確？", None),
        ("下列何者為承上啟下？", None),
    ],
)
def test_continuing_items(stem, wanted):
    assert continues(stem, 7) == wanted


def test_the_first_item_goes_on_from_none_that_is_there():
    assert continues("上題中，何者正確？", 1) == 0


def test_a_cloze_carries_its_numbers():
    assert kind_of("to 11 at two tables. At their 12 tables, 13 of", 11, 13) == "cloze"
    assert kind_of("Since the 1980s, immigration has increased.", 11, 13) == "reading"
