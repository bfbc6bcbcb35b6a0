"""What a stem points at: each rule with stems that must fire and stems that are known to be deleted wrongly."""

from __future__ import annotations

import re

import pytest

from twlocal.audit import references

FIRES = {
    "figure": [
        "關於下圖所示，下列敘述何者正確？",
        "下圖為發育中牙齒之組織學照片",
        "斜向顏面裂（oblique facial cleft，如下圖所示）是因何者融合不良所致？",
        "一位2歲女嬰背後有一個如圖一的皮膚病灶。",
        "影像如附圖，則最可能的診斷為下列何者？",
        "附圖心臟CT影像重組中箭頭所指為下列何者？",
        "圖1之電路，電流為何？",
        "由圖(二)可知，下列何者正確？",
        "參考左圖，求 x。",
        "下列四圖中，何者正確？",
        "心電圖如圖所示，診斷為何？",
        "此圖為何種病毒？",
        "依圖示，下圖示之標誌為何？",
        "某電路（見圖），電流為何？",
        "由圖可知，何者正確？",
        "依圖回答：A點之座標為何？",
    ],
    "figure_implied": [
        "圖中標示星號（*）之肌肉是：",
        "圖中黑色箭頭所指的解剖位置為何？",
        "圖中，上顎齒列依殘留齒與缺牙區的位置關係為何？",
        "這張心電圖最恰當的診斷為何？",
        "此張X光片顯示何種骨折？",
        "下顎骨X光影像中，於拔牙區出現透過區。此影像最可能為：",
        "箭頭所指的是：",
        "下列照片中的植物為何？",
        "圖為某病人之胸部X光，何者正確？",
        "圖上A點之電位為何？",
    ],
    "table": ["研究結果如下表，則假陽性率為何？", "下表為某公司之資產負債表", "依下表，均衡價格為何？", "由表一可知"],
    "attachment": ["契約如附件，何者正確？"],
    "passage": [
        "根據本文，下列何者正確？",
        "依上文，作者之意為何？",
        "文中「甲」指何者？",
        "根據這則寓言，何者最接近？",
    ],
    "continuation": [
        "承上題，下列何者正確？",
        "承接上題，關於此疾病的致病機轉與治療，何者正確？",
        "接上題，若血壓下降",
        "（承上題）何者正確",
        "承第1題，則下列何者正確？",
        "承第 12 題，何者正確",
        "承上，若再加入1.5公克之溶質，結果為何？",
        "【題組】24. 承上題，已知甲公司當年度的淨利為$30,800",
        "如上題所述，甲之責任為何？",
    ],
    "vignette": [
        "此病人若接受手術，何者不正確？",
        "該名患者最可能的診斷為：",
        "上述個案應如何處理？",
        "本例中，何者正確？",
    ],
}
SILENT = {
    "figure": [
        "下列何者為圖書分類法？",
        "該圖書館之館藏，如圖書、期刊，依何者排列？",
        "以下圖書分類號何者正確？",
        "線上圖書館提供何種服務？",
        "公務員甲意圖乙之財物，應成立何罪？",
        "甲企圖一舉成名",
        "私下圖利他人，如圖利罪",
        "例如圖表、照片等資料，應如何典藏？",
        "地圖一張，比例尺為何？",
        "地籍圖、都市計畫圖之比例尺為何？",
        "心電圖出現 ST 上升，診斷為何？",
        "甘特圖與要徑圖何者適合？",
        "古今圖書集成成書於何時？",
        "三視圖一般以何者為主？",
        "發明專利申請書之附圖書",
        "牆上圖案之著作權歸屬何人？",
        "如圖騰崇拜之信仰",
        "長官之意見圖利特定廠商",
        "甲依圖利罪被起訴",
        "常見圖解法之步驟",
    ],
    "figure_implied": [
        "於三視圖中可得何者？",
        "甲企圖中止犯罪",
        "甲意圖中飽私囊",
        "心電圖中P波代表何者？",
        "車輛應依箭頭所指方向行駛",
        "圓形紅燈與箭頭綠燈同亮時，應如何行駛？",
        "攝影師之照片著作權歸屬？",
        "例如照片之典藏",
        "這張專輯由何人製作？",
        "**處理流程**包括何者？",
        "地圖中之等高線代表何者？",
        "地圖上之比例尺為何？",
        "圖上作業法用於何處？",
    ],
    "table": [
        "下列何者以下表示？",
        "皮膚之下表皮層為何？",
        "金屬之上表面",
        "依毒品危害防制條例附表規定",
        "資產負債表中何者為流動資產？",
        "以下表達何者正確？",
    ],
    "attachment": ["公文附件應如何處理？"],
    "passage": [
        "民法第1條本文規定為何？",
        "依據憲法本文規定，何者正確？",
        "閱讀下文，並推斷其旨意：「庭下如積水空明，水中藻荇交橫，蓋竹柏影也。何夜無月？何處無竹柏？但少閒人如吾兩人者耳。」作者心境為何？",
        "下列文章何者為韓愈所作？",
    ],
    "continuation": [
        "繼承上之權利義務，何者正確？",
        "承上級命令而為之行為，是否阻卻違法？",
        "承上啟下的句子為何？",
        "同前項規定者為何？",
        "依第1題目標規劃",
        "甲承前手之瑕疵",
    ],
    "vignette": ["病人此時應如何處理？", "一位65歲病人，此病人有糖尿病，應如何處理？", "本國人民"],
}


@pytest.mark.parametrize(("rule", "stem"), [(rule, stem) for rule, stems in FIRES.items() for stem in stems])
def test_fires(rule, stem):
    assert getattr(references, rule)(stem)


@pytest.mark.parametrize(("rule", "stem"), [(rule, stem) for rule, stems in SILENT.items() for stem in stems])
def test_stays_silent(rule, stem):
    assert getattr(references, rule)(stem) is None


def test_a_text_without_a_figure_never_fires(shared):
    """TMMLU was published without figures: every fire of the deictic rule on it would be a false one."""
    from twlocal.dataset import load

    folder = shared / "data" / "tmmlu" / "converted"
    if not folder.is_dir():
        pytest.skip("needs ../shared/data/tmmlu")
    items = load(str(folder), skip_bad=True).items
    assert len(items) > 2000
    assert [
        item.question for item in items if references.figure(item.question) or references.table(item.question)
    ] == []
    assert sum(references.figure_implied(item.question) is not None for item in items) <= 4
    assert sum(references.continuation(item.question) is not None for item in items) == 3


def test_prose_that_points_at_nothing_never_fires(shared):
    """Sentences of Taiwan.md: 圖 and 表 in plenty, none of them a figure or a table of the sentence."""
    folder = shared / "data" / "taiwan_md" / "knowledge"
    if not folder.is_dir():
        pytest.skip("needs ../shared/data/taiwan_md")
    texts = [path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*.md"))]
    sentences = [s for text in texts for s in re.split(r"[。！？\n]", text) if 4 < len(s) < 200]
    assert len(sentences) > 10_000 and sum("圖" in s for s in sentences) > 100
    for rule in (references.figure, references.table, references.attachment, references.continuation):
        assert [s for s in sentences if rule(s)] == []
    assert sum(references.figure_implied(s) is not None for s in sentences) <= 3
