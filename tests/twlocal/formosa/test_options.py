"""Answers given away, and options that fall apart when permuted. Tables by hand."""

from __future__ import annotations

import pytest

from twlocal.formosa.options import answer_in_stem, columns, speaks_of_options, sticks_out


@pytest.mark.parametrize(
    ("stem", "key", "distractors"),
    [
        ("電影《海角七號》的導演魏德聖是哪裡人？他是魏德聖嗎？", "魏德聖", ("李安", "侯孝賢", "楊德昌")),
        ("臺北 101 大樓的正式名稱是台北101嗎？", "台北 101", ("新光摩天大樓", "高雄 85 大樓", "信義計畫區")),
        ("被稱為「國境之南」的恆春鎮位於何處？", "恆春鎮。", ("車城鄉", "滿州鄉", "枋寮鄉")),
        ("ＹＯＵＢＩＫＥ是哪個品牌？", "YouBike", ("iRent", "WeMo", "GoShare")),
        ("在 1999 年發生的九二一地震是哪一年？", "1999 年", ("1998 年", "2000 年", "2001 年")),
    ],
)
def test_the_stem_says_the_answer(stem: str, key: str, distractors: tuple[str, ...]) -> None:
    assert answer_in_stem(stem, key, distractors)


@pytest.mark.parametrize(
    ("stem", "key", "distractors"),
    [
        ("玉山與雪山何者較高？", "玉山", ("雪山", "一樣高", "無法比較")),
        ("哪一年發生九二一地震（1999 年的前一年是虎年）？", "19", ("20", "21", "22")),
        ("三峽老街以什麼聞名？", "三", ("四", "五", "六")),
        ("二十一世紀第一位總統是第幾任？", "十", ("九", "八", "七")),
        ("送風機轉速增加時，其風量如何？", "增加", ("減少", "不變", "無關")),
        ("iPhone 的中央處理器由誰代工？", "Phone", ("台積電", "三星", "聯電")),
        ("油飯的靈魂是哪一種米？", "糯米", ("蓬萊米", "在來米", "小米")),
        ("空的鑰匙？", "", ("甲", "乙", "丙")),
    ],
)
def test_the_stem_does_not_say_the_answer(stem: str, key: str, distractors: tuple[str, ...]) -> None:
    assert not answer_in_stem(stem, key, distractors)


@pytest.mark.parametrize(
    ("options", "at", "is_key", "how"),
    [
        (("因為口蹄疫爆發而改賣火雞肉以維持生意", "天氣太熱", "客人要求", "租金上漲"), 0, True, "longer"),
        (
            ("否", "因為口蹄疫爆發而改賣火雞肉", "因為租金上漲而搬到別處去", "因為客人要求而改賣牛肉麵"),
            0,
            True,
            "shorter",
        ),
        (("因為口蹄疫爆發而改賣火雞肉以維持生意", "天氣太熱", "客人要求", "租金上漲"), 0, False, "longer"),
        (("陳水扁", "蔡英文", "馬英九", "李登輝"), 0, True, ""),
        (("玉山", "合歡山主峰", "雪山", "大霸尖山"), 1, True, ""),
        (("一八六三年", "一八八五年", "一八九五年", "清朝末年"), 3, True, ""),
        (("TSMC", "台積電", "聯電", "鴻海精密"), 3, True, ""),
        (("中央研究院歷史語言研究所", "國家圖書館", "故宮博物院", "國史館"), 0, False, ""),
        (("甲", "甲", "甲", "甲"), 0, True, ""),
    ],
)
def test_length_alone(options: tuple[str, ...], at: int, is_key: bool, how: str) -> None:
    assert sticks_out(options, at, is_key=is_key) == how


def test_a_chinese_character_is_two_columns_wide() -> None:
    assert (columns("台積電"), columns("TSMC"), columns("Ａ"), columns("é")) == (6, 4, 2, 1)


@pytest.mark.parametrize(
    "text",
    [
        "以上皆是",
        "以上皆非。",
        "以上選項皆正確",
        "以上兩者",
        "上述四者",
        "皆是",
        "三者皆有可能",
        "A和B",
        "A、C",
        "甲和乙皆是",
        "ABC",
        "甲乙丙",
        "選項A與選項B皆正確",
        "以上均可",
        "AB皆是",
    ],
)
def test_an_option_that_speaks_of_options(text: str) -> None:
    assert speaks_of_options(text)


@pytest.mark.parametrize(
    "text",
    [
        "CD",
        "AB",
        "AB型",
        "甲乙經",
        "皆川博子",
        "都蘭山",
        "全是泥土",
        "A",
        "甲午戰爭",
        "DVD",
        "以上海為起點",
        "ABC電台",
        "BBC",
    ],
)
def test_an_option_that_does_not(text: str) -> None:
    assert not speaks_of_options(text)
