"""Mainland vocabulary and Simplified characters: the given cases, their like, and the proof on native text."""

from __future__ import annotations

import itertools
import sys
import tomllib
from importlib.resources import files
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from twlocal.errors import DatasetError
from twlocal.formosa import measure, native, simplified
from twlocal.formosa.lexicon import DROPPED, REVIEW, STRICT, Lexicon, Term, fold, parse, shipped


def found(text: str, level: str | None = None) -> list[str]:
    return [hit.term.text for hit in shipped().find(text) if level in (None, hit.term.level)]


# --- the given cases (part 7) -----------------------------------------------------------------------------------------


def test_p7_2_legal_vocabulary_is_not_simplified() -> None:
    """P7-2."""
    text = "總統公布之法律，主管機關不得干預審判，並應准許閱卷、布置考場。"
    assert simplified.find(text) == [] and found(text) == []


def test_p7_4_a_term_across_a_word_boundary_is_none() -> None:
    """P7-4."""
    assert found("少數組織主張改變量子態；科學家發明了如何聚集成群的方法。") == []


@pytest.mark.parametrize(
    ("text", "review"),
    [
        ("質量守恆定律", []),
        ("電流通過電阻", []),
        ("立法院三讀通過", []),
        ("社會網絡分析", []),
        ("產品質量不佳", ["質量"]),
        ("請連接網絡", ["網絡"]),
    ],
)
def test_p7_6_scientific_and_legal_senses_are_never_strict(text: str, review: list[str]) -> None:
    """P7-6."""
    assert found(text, STRICT) == [] and found(text, REVIEW) == review


def test_p7_8_characters_normal_in_taiwan_are_not_flagged(monkeypatch: pytest.MonkeyPatch) -> None:
    """P7-8: the verdict comes from the pinned table, whichever OpenCC is there or none."""
    monkeypatch.setitem(sys.modules, "opencc", None)
    simplified.table.cache_clear()
    text = "台北的茶几只要一千元，才剛秋收，谷關與斗六都下了雨，皇后、松山、占卜、划船、周先生。"
    assert simplified.find(text) == [] and found(text) == []


# --- their like -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "群山環繞的峰頂，秘境裡有床、粽子與庄頭，雇員掃灶。",
        "只有一個傢伙，后里的麵粉、面子、里長、系所、曲棍球、沖繩、升旗、游泳、致力、余先生、范先生、于右任。",
        "丑角、豐富、幸福、征服、制度、鐘錶、胡瓜、了解、借書、向日葵、回家、杰出、岩石、卷宗、吃飯、夸父、克服。",
        "姜子牙、朱銘、合歡山、喂食、嗎啡、仆街、舍監、价目、朴子市、瓶台、干城、腭裂、並且、兇手、凶宅。",
    ],
)
def test_everyday_characters(text: str) -> None:
    assert not [char for _, char, strict in simplified.find(text) if strict]


@pytest.mark.parametrize("char", "这们说国学习软网络视频个会来时对过还体机优关东车门见马鸟鱼龙")
def test_simplified_characters_are_found(char: str) -> None:
    assert simplified.find(f"台灣的{char}字") == [(3, char, True)]


@pytest.mark.parametrize("text", ["便當（弁当）", "《天空からの招待状》", "「アメリカ合衆国産」", "省參議員王添灯"])
def test_japanese_and_names_are_no_simplified_chinese(text: str) -> None:
    assert simplified.find(text) == []


def test_kana_elsewhere_excuse_nothing() -> None:
    assert simplified.find("「からの」是日文，这里不是") == [(9, "这", True)]


@pytest.mark.parametrize(
    "text",
    [
        "早稲田大学",
        "国立国会図書館",
        "東京学芸大学",
        "関西国際空港",
        "周易无妄卦與乾卦的「群龍无首」",
        "曰无咎",
        "度小月担仔麵",
        "𠊎个客家話，佢个名仔",
    ],
)
def test_japanese_without_kana_and_classics_are_no_simplified_chinese(text: str) -> None:
    assert simplified.find(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "簡體字「龙」對應正體字的哪一個？",
        "「后」、「发」、「干」各合併了哪些字？",
        "他用簡體字寫了「为人民服务」",
        "簡體中文的《汉语大词典》",
        "葱油餅與凉麵，猫囒山、猫霧捒社，折叠、冲泡、厨房、厦門、晋江、生物碱",
        "海胆、猪脚、眼泪、户口、别人、册封、足够、安静、宫廷、决定、减少、瑶族、却說",
    ],
)
def test_what_is_spoken_of_or_a_variant_is_shown_and_not_rejected(text: str) -> None:
    found = simplified.find(text)
    assert found and not [char for _, char, strict in found if strict]


@pytest.mark.parametrize(
    "text", ["他說「这不是我的」", "《汉语大词典》", "（发展）", "台灣的国際觀", "這是一个問題", "負担"]
)
def test_a_quotation_alone_excuses_nothing(text: str) -> None:
    assert [char for _, char, strict in simplified.find(text) if strict]


def test_a_variant_is_shown_and_not_rejected() -> None:
    assert simplified.find("温度") == [(0, "温", False)]
    assert simplified.find("追踪") == [(1, "踪", False)], "a paper of the Ministry prints it"


def test_the_table_is_pinned() -> None:
    table = simplified.table()
    assert len(table.strict) == 2143 and not table.strict & table.review
    assert table.sha256 == "b771764a6329e5a8b492fe1887674503efc5b5dccd7b976b6ff6e7c46b85d821"


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("這個軟件要裝在硬盤上", ["軟件", "硬盤"]),
        ("用鼠標點一下，再用打印機印出來", ["鼠標", "打印機"]),
        ("他看了一段短視頻", ["視頻"]),
        ("ｕ盤與U盤", ["U盤", "U盤"]),
        ("乘出租車到新西蘭大使館", ["出租車", "新西蘭"]),
        ("數據庫管理", ["數據庫"]),
        ("臺式機", ["臺式機"]),
        ("台式機", ["臺式機"]),
        ("坐出租車去機場，用微信發短信", ["出租車", "短信"]),
        ("短視頻平台與視頻網站", ["視頻", "視頻"]),
        ("光驅壞了，到網吧吃方便麵和盒飯", ["光驅", "網吧", "方便麵", "盒飯"]),
        ("源代碼、默認值與面向對象", ["源代碼", "默認值", "面向對象"]),
        ("激光與納米技術", ["激光", "納米"]),
        ("酸奶很好喝", ["酸奶"]),
    ],
)
def test_strict_terms_are_found(text: str, terms: list[str]) -> None:
    assert found(text, STRICT) == terms


@pytest.mark.parametrize(
    "text",
    [
        "台灣第一個客語電視頻道",
        "用滑鼠標示，袋鼠標本",
        "服務器材租借",
        "首都溫得和克的納米比亞",
        "博客來網路書店",
        "神經網絡與人際網絡",
        "國內存款與體內存在的抗體",
        "《古今圖書集成》",
        "方便麵包店取貨",
        "刺激光合作用",
        "辦公交車庫鑰匙",
        "致死機率",
        "成品品質檢測",
        "本土豆類作物",
    ],
)
def test_words_that_only_look_like_terms(text: str) -> None:
    assert found(text, STRICT) == []
    assert found(text) in ([], ["質檢"])


# Words of Taiwan across whose borders a mainland term can be read, and words that only tables call the mainland's.
NATIVE = """
出租車輛應投保強制險。
租賃公司提供出租車輛及出租車位服務。
請填寫任務欄位後送出。
今天早上好像下過雨。
今早上好冷，早上好熱鬧。
早上好吃的早餐店都開了。
光驅動的分子馬達與光驅散烏雲。
陽光驅散了霧氣，月光驅走黑暗。
感激光臨本店。
感激光復後的建設。
用手機上網吧！
大家一起連上官網吧。
台式機車文化與單台式機車。
平台式機器人與平台式機械手臂。
泛藍屏東縣議員出席。
藍屏障立於舞台。
歧視頻傳，歧視頻繁發生。
鄙視頻仍。
計費視頻率而定，視頻寬大小而定。
檸檬酸奶油蛋糕與酸奶油洋芋片。
含葉酸奶粉供孕婦使用。
胺基酸奶昔。
玻尿酸奶茶色唇膏。
乳酸奶油。
以點雲計算樹冠體積，星雲計算。
電子雲計算。
從各方面向對象說明。
全面向對象國家提出。
默認值得商榷。
實驗將小鼠標記後放回，大鼠標準飼料。
老鼠標靶治療。
滾動條件。
資源代碼、來源代碼、能源代碼表。
邱比特率領眾神，庫比特率先發難。
攔截屏東來車。
收納米桶的技巧，收納米粒。
維也納米諾里特教堂。
採納米商意見，吸納米蟲。
接納米國人。
依程序員警應出示證件。
違反法定程序員警之行為。
硬盤查路人，強硬盤問。
柔軟件數。
晶體管理系統，水晶體管理。
服務器官捐贈者家屬。
福岡比亞洲其他城市更近。
稱贊比亞軍隊伍。
績優盤點，優盤整理。
長短信託，短信差。
充電寶可夢。
數據庫存量。
參數據庫倫定律。
多線程度。
辦公交車鑰匙。
網際網路與互聯網路。
單片機率。
二極管制措施。
攝像頭髮。
新西蘭花椰菜。
全新西蘭花料理。
方便麵店與麵攤營業，方便麵粉運送。
牛逼近柵欄，公牛逼退獵人。
犀牛逼近遊客。
黃牛逼人買票。
太空人與宇航員工。
盒飯糰，飯盒飯菜。
一盒飯一盒菜。
每盒飯有三樣菜。
也門當戶對，也門可羅雀。
他也門門精通。
乍得消息，乍得知。
質量守恆，質量不滅。
傳感染症。
信號與系統。
本土豆漿、黃土豆腐。
立馬步。
觀光盤點。
激活動力：刺激活動。
打印度人。
主板塊。
串行動。
低級錯誤。
集成功大學之力。
調查閃存放處。
快閃存貨出清。
閃存疑雲。
剪貼板橋地圖。
打印機率。
宇航員額。
物流業者推出租車優惠方案。
這家公司提出租車合約。
海洋學家探索馬里亞納海溝。
公視頻道與台視頻道播出。
華視頻頻獲獎。
動量等於質量乘以速度，物體的質量與重量
比特幣價格
請填身分證字號與戶籍地址
國民中小學與高級中學
幼兒園教保服務
電動自行車
立法委員聯繫選民
餐廳的菜單
參數設定與汽車性能
蜘蛛網絡繹不絕
騰訊視頻
明顯存在差異，包羅萬象，世界面臨挑戰，各界面對問題，國內核電廠，院內核准，室內核心，相信道理。
篤信道教，守信道德，座位圖、單位圖章、方位圖，如圖標示，圖標題，在線上遊戲，現在線上，存在線索。
文字段落，數字段考，庫存盤點，數據報告，數據報導，來源文件，資源文件，公文檔案。
文檔案，軍隊列隊，部隊列為，聲音頻率，錄音頻道，低音頻繁，捷運行經，營運行為。
客運行駛，貨運行，貨運行程，海運行業，調查看法，檢查看看，審查看重，引導出來。
主導出口，推導出，推進制度，引進制式，先進制程，促進制定，強調用電，徵調用途。
調用藥，來回調整，回調高，台北的士林夜市，你的士氣，他的士兵，目的士，螢光標記。
觀光標章，陽光標誌，上網卡，球網卡住，註冊表格，註冊表示，命令行政院，命令行為。
堅固件，旅客串口供，縮圖庫，操作數位，操作數學，存儲蓄，緊縮進口，壓縮進度。
缺省道，聲卡車，脫機場，路線程度，產線程序，密碼率先，異端口號，承重載重。
體重載量，街頭文件，邏輯門檻，日本地代碼，多任務實，一字節目，數字節，金字庫。
刻錄影，加載客，接口頭，直接口述，間接口腔，布爾喬亞，羅布爾，免提供。
以免提出，避免提早，界面張力，核內核糖，總線索，總線上，端口頭，運算符合。
運算子，的士多，歸類模板，明顯卡住，磁盤旋，用戶名稱，用戶名單，文件名稱。
文件名單，緩存在，暫緩存入，殺毒品，腳本人，寬帶領，放寬帶，帶寬容。
像素養，偶像素人，字段子，枚舉辦，枚舉重，調查找出，異步驟，異步行。
盤片段，盤符合，算子女，計算子公司，網關閉，上網關鍵，遞歸還，快遞歸屬。
調試題，調試辦，鏈接觸，供應鏈接續，食物鏈接，隊列車，車隊列，輔音樂。
散列出，分散列，幾率先，進程序，引進程式，推進程度，交互動，信息素。
代碼頭，年代碼頭，仿真相，模仿真人，刷新聞，洗刷新，創建築，首創建議。
加納入，圖像是，地圖像，外置於，國外置產，意外置之，批量刑，指針對。
文萊姆，貝寧願，寶貝寧靜，嚴重命名，香農場，香農業。
也門檻很高。偵查找到線索。壞死機轉、生死機率。雲端口述與兩端口感。市立馬偕醫院、縣立馬公高中。交給力行國小、送給力宏。材質檢驗與特質量表。提高清晰度、提高清洗效率。影音頻道。更顯存在感。鄰接口岸。工地鐵門、場地鐵架。
"""


@pytest.mark.parametrize("text", NATIVE.split())
def test_native_sentences_hold_no_term(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize("text", ["戰斗機几乎全毀", "鬆山機場", "幹擾與乾預", "曆史上的皇天後土", "資源丰富"])
def test_what_a_conversion_left_or_made_is_shown(text: str) -> None:
    assert found(text, REVIEW) and not found(text, STRICT)
    assert found("戰鬥、斗六、茶几、松山、占卜、干擾、干預、張三丰、農曆史料、皇天后土、面積") == []


@pytest.mark.parametrize(
    "text",
    [
        "軟體（中國大陸稱軟件）",
        "大陸用語叫做視頻的東西",
        "雷射在中國大陸譯作激光",
        "激光是大陸用語",
        "香港習慣稱呼的短信",
    ],
)
def test_what_is_said_to_be_the_mainlands_word_is_a_mention(text: str) -> None:
    assert found(text, STRICT) == []


@pytest.mark.parametrize("text", ["大陸人看視頻", "中國的軟件很多", "大陸稱霸，視頻爆紅"])
def test_the_mainland_alone_excuses_nothing(text: str) -> None:
    assert len(found(text, STRICT)) == 1


@pytest.mark.parametrize("text", ["對岸把軟體叫做「軟件」", "各自的譯名（軟體／軟件）", "『盒飯』就是便當"])
def test_a_mention_is_no_use(text: str) -> None:
    assert found(text) == []


def test_half_a_quotation_is_a_use() -> None:
    assert found("「軟件很好用」") == ["軟件"]


def test_the_longest_term_wins_and_an_exception_holds_only_for_its_term() -> None:
    lexicon = Lexicon([Term("數據", "", STRICT), Term("數據庫", "", STRICT), Term("組織", "", STRICT, ("少數組織",))])
    assert [(h.term.text, h.start) for h in lexicon.find("數據庫與數據")] == [("數據庫", 0), ("數據", 4)]
    assert [h.start for h in lexicon.find("少數組織與組織")] == [5]


def test_dropped_terms_are_known_and_never_fire() -> None:
    lexicon = Lexicon([Term("通過", "透過", DROPPED)])
    assert lexicon.terms[0].text == "通過" and lexicon.find("通過") == []


def test_a_lexicon_is_known_by_what_changes_its_findings() -> None:
    one = Lexicon([Term("軟件", "軟體", STRICT)])
    assert one.sha256 == Lexicon([Term("軟件", "別的", STRICT)]).sha256
    assert one.sha256 != Lexicon([Term("軟件", "軟體", REVIEW)]).sha256
    assert one.sha256 != Lexicon([Term("軟件", "軟體", STRICT, ("軟件園區",))]).sha256


@pytest.mark.parametrize("text", ["", "strict = 3", "strict = [{ taiwan = 'x' }]", "= =", "strict = ['軟件']"])
def test_what_is_no_lexicon(text: str) -> None:
    with pytest.raises(DatasetError, match=r"mine\.toml"):
        parse(text, "mine.toml")


@settings(max_examples=50, deadline=None)
@given(st.text(st.sampled_from("少數組織軟件視頻電改變量「」網絡 ﬁＡ"), max_size=60))
def test_hits_are_where_they_say(text: str) -> None:
    assert len(fold(text)) == len(text)
    hits = shipped().find(text)
    assert all(fold(text[hit.start : hit.end]) == fold(hit.term.text) for hit in hits)
    assert all(one.end <= other.start for one, other in itertools.pairwise(hits))


# --- measuring --------------------------------------------------------------------------------------------------------


def measured(hand: str, texts: list[str], table: str = "") -> dict[str, measure.Measured]:
    found, kept = measure.from_table(table, "table")
    candidates = measure.merge(measure.by_hand(hand), found, kept)
    return {entry.term.text: entry for entry in measure.measure(candidates, texts)}


def test_a_proposal_is_strict_only_with_zero_fires() -> None:
    hand = 'strict = [["軟件", "軟體"], ["視頻", "影片", "電視頻"], ["水平", "水準"]]'
    got = measured(hand, ["電視頻道很多，「軟件」是對岸的說法。", "水平線"])
    assert {name: (entry.term.level, entry.fires, entry.excepted, entry.mentioned) for name, entry in got.items()} == {
        "軟件": (STRICT, 0, 0, 1),
        "視頻": (STRICT, 0, 1, 0),
        "水平": (REVIEW, 1, 0, 0),
    }
    assert got["水平"].examples == ("水平線",)


def test_a_table_only_proposes_for_review_and_ordinary_words_are_dropped() -> None:
    table = "居民區\t住宅區\n元音字母\t母音字母\n三讀通過\t三讀透過\n天涯若比鄰\t天涯若比鄰\n若比鄰\t像鄰居\n"
    got = measured("", ["居民區" * 11, "天涯若比鄰，元音字母。"], table)
    assert {name: (entry.term.level, entry.fires) for name, entry in got.items()} == {
        "居民區": (DROPPED, 11),
        "元音字母": (REVIEW, 1),
        "三讀通過": (REVIEW, 0),
        "若比鄰": (REVIEW, 0),
    }
    assert got["若比鄰"].excepted == 1


def test_two_characters_that_only_a_table_proposes_are_dropped_and_by_hand_they_are_not() -> None:
    """They stand across borders: 明顯|存在 is no 顯存."""
    table = "顯存\t視訊記憶體\n硅\t矽\n"
    assert measured("", [], table)["顯存"].term.level == DROPPED and measured("", [], table)["硅"].term.level == REVIEW
    by_hand = measured('review = [["顯存", "視訊記憶體", "明顯存"]]\nordinary = [["硅", "矽"]]', ["明顯存在"], table)
    assert {name: (entry.term.level, entry.fires) for name, entry in by_hand.items()} == {
        "顯存": (REVIEW, 0),
        "硅": (DROPPED, 0),
    }


def test_hand_goes_before_table_and_doubts_are_dropped_when_ordinary() -> None:
    got = measured(
        'strict = [["軟件", "軟體"]]\ndoubtful = [["通過", "透過", "三讀通過"]]',
        ["通過" * 12 + "三讀通過"],
        "軟件\t別的",
    )
    assert (got["軟件"].term.level, got["軟件"].term.taiwan) == (STRICT, "軟體")
    assert (got["通過"].term.level, got["通過"].fires, got["通過"].excepted) == (DROPPED, 12, 1)


def test_a_line_without_a_tab_is_told() -> None:
    with pytest.raises(DatasetError, match="table:2"):
        measure.from_table("甲\t乙\n丙", "table")


def test_what_is_written_reads_back() -> None:
    entries = list(measured('strict = [["視頻", "影片", "電視頻"]]\nreview = [["A\\"B", "x"]]', ["電視頻道"]).values())
    text = measure.write(entries, ["題頭"])
    assert text.startswith("# 題頭\n") and text == measure.write(entries, ["題頭"])
    assert {term.text: term for term in parse(text, "x").terms} == {entry.term.text: entry.term for entry in entries}
    assert tomllib.loads(text)["strict"] == [
        {"term": "視頻", "taiwan": "影片", "except": ["電視頻"], "fires": 0, "excepted": 1}
    ]


def test_the_shipped_lexicon_holds_every_candidate_by_hand_as_measured() -> None:
    hand = measure.by_hand(files("twlocal.formosa").joinpath("candidates.toml").read_text(encoding="utf-8"))
    table = tomllib.loads(files("twlocal.formosa").joinpath("lexicon.toml").read_text(encoding="utf-8"))
    rows = {row["term"]: (level, row) for level in (STRICT, REVIEW, DROPPED) for row in table[level]}
    for candidate in hand:
        level, row = rows[candidate.term.text]
        assert set(candidate.term.exceptions) <= set(row.get("except", ()))
        assert (level == STRICT) == (candidate.proposal == STRICT and row["fires"] == 0)
    assert all(row["fires"] == 0 for row in table[STRICT])
    assert rows["地址"][0] == rows["參數"][0] == DROPPED, "by hand, though no table is contradicted by a small corpus"
    for name in ("網絡", "質量", "數組", "變量", "集成", "博客"):
        assert rows[name][0] == REVIEW
    assert rows["通過"][0] == rows["社區"][0] == DROPPED


def test_exceptions_hold_their_term() -> None:
    assert all(fold(term.text) in fold(phrase) for term in shipped().terms for phrase in term.exceptions)


def test_native_questions_in_every_format(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes('\ufeffquestion,A\r\n題一,"甲,乙"\r\n'.encode())
    (tmp_path / "b.tsv").write_text("題二\t丙\n", encoding="utf-8")
    (tmp_path / "c.jsonl").write_text('{"q": "題三", "n": 3}\n\n', encoding="utf-8")
    (tmp_path / "d.json").write_text('{"items": [{"q": "題四"}]}', encoding="utf-8")
    assert list(native.questions(tmp_path)) == ["question", "A", "題一", "甲,乙", "題二", "丙", "題三", "題四"]
    with pytest.raises(DatasetError, match="no questions"):
        list(native.questions(tmp_path / "none"))
    (tmp_path / "e.json").write_text("{", encoding="utf-8")
    with pytest.raises(DatasetError, match=r"e\.json is not JSON"):
        list(native.questions(tmp_path))


# --- the proof on real native text ------------------------------------------------------------------------------------


def real(shared: Path) -> list[str]:
    data = shared / "data"
    places = [data / "tmmlu" / "converted", data / "ground_truth"]
    if not (data / "taiwan_md").is_dir() or not all(place.is_dir() for place in places):
        pytest.skip("needs the sample corpus and the exam questions")
    return [*native.articles(data / "taiwan_md"), *(text for place in places for text in native.questions(place))]


def test_zero_strict_fires_on_native_text(shared: Path) -> None:
    texts = real(shared)
    assert sum(map(len, texts)) > 800_000
    fires = [
        (hit.term.text, text[hit.start - 8 : hit.end + 8])
        for text in texts
        for hit in shipped().find(text)
        if hit.term.level == STRICT
    ]
    flags = [(char, text[at - 8 : at + 8]) for text in texts for at, char, strict in simplified.find(text) if strict]
    assert fires == [] and flags == []


def test_the_shipped_lexicon_can_be_made_again(shared: Path) -> None:
    texts = real(shared)
    texts += native.questions(shared / "data" / "tmmlu" / "tmmluplus_sample20.jsonl")
    tables = [
        measure.from_table((shared / "data" / "lexicons" / f"TWPhrases{name}.txt").read_text(encoding="utf-8"), name)
        for name in ("", "IT", "Name", "Other")
    ]
    hand = measure.by_hand(files("twlocal.formosa").joinpath("candidates.toml").read_text(encoding="utf-8"))
    merged = measure.merge(hand, [c for found, _ in tables for c in found], [w for _, kept in tables for w in kept])
    again = parse(measure.write(measure.measure(merged, texts), []), "again")
    assert again.sha256 == shipped().sha256


def test_the_table_of_characters_can_be_made_again(shared: Path) -> None:
    import importlib.util

    script = Path(__file__).parents[3] / "scripts" / "derive_simplified.py"
    spec = importlib.util.spec_from_file_location("derive_simplified", script)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    source = (shared / "data" / "lexicons" / "STCharacters.txt").read_text(encoding="utf-8")
    pinned = files("twlocal.formosa").joinpath("simplified.txt").read_text(encoding="utf-8")
    assert module.derive(source) == pinned
