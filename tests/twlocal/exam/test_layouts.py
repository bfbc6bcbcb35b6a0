"""One synthetic paper for each layout family, with the family's geometry and its hazards."""

from __future__ import annotations

import pytest

from twlocal.exam.layout import section_kind
from twlocal.exam.paper import parse_paper


def read(made):
    return parse_paper(made.bytes())


def by_number(paper):
    return {item.number: item for item in paper.items}


def right_aligned(made, x1, y, number, size=12.0):
    made.text(x1 - 0.5 * size * len(str(number)), y, str(number), size)


def running_head(made, code, page, pages, x=40):
    """A 代號/頁次 box with its frame, as on every page of a paper."""
    made.text(x, 50, f"代號：{code}").text(x, 63, f"頁次：{pages}－{page}")
    made.rule(x, x + 95, 67, 1.0).post(x + 95, 40, 68)


def test_family_a_medicine(sheet):
    """A4, 11 pt, numbers right-aligned at 58, no heading, options 1×4, 2×2 and 4×1, a 承上題."""
    made = sheet()
    made.text(45, 70, "100年第一次專門職業及技術人員高等考試醫師考試", 16).text(486, 62, "代號：1101").text(
        485, 74, "頁次：2－1"
    )
    made.text(48, 120, "等 別：高等考試").text(48, 138, "類 科：醫師\ue129").text(48, 156, "科 目：醫學\ue129")
    made.text(48, 174, "考試時間： 2 小時 座號：")
    made.text(48, 200, "※注意：\ue129本試題為單一選擇題，請選出一個正確或最適當的答案，複選作答者，該題不予計分。", 10)
    made.text(89, 214, "\ue12a本科目共4題，每題1分，須用2B鉛筆在試卡上依題號清楚劃記。", 10)
    right_aligned(made, 58.1, 250, 1, 11)
    made.text(72.2, 250, "感染最可能是下列何者？", 11)
    for x, text in ((72, "Ⓐ甲"), (192, "Ⓑ乙"), (313, "Ⓒ丙"), (433, "Ⓓ丁")):
        made.text(x, 265, text, 11)
    right_aligned(made, 58.1, 280, 2, 11)
    made.text(72.2, 280, "一位15個月大的男嬰因為發燒、流口水和拒絕喝奶就醫。過去健康狀況良好，家人沒有生", 11)
    made.text(72.2, 295, "3歲以前的病史不明，最可能的診斷是：", 11)
    made.text(72, 310, "Ⓐ水痘（varicella）", 11).text(313, 310, "Ⓑ麻疹（measles）", 11)
    made.text(72, 325, "Ⓒ手足口症", 11).text(313, 325, "Ⓓ猩紅熱", 11)
    right_aligned(made, 58.1, 340, 3, 11)
    made.text(72.2, 340, "下列敘述何者錯誤？", 11)
    for k, mark in enumerate("ⒶⒷⒸⒹ"):
        made.text(72, 355 + 15 * k, f"{mark}第{k + 1}種說法", 11)
    made.page()
    running_head(made, "1101", 2, 2)
    right_aligned(made, 58.1, 95, 4, 11)
    made.text(72.2, 95, "承上題，下列何者正確？", 11)
    made.text(72, 110, "Ⓐ戊  Ⓑ己  Ⓒ庚  Ⓓ辛", 11)
    paper = read(made)
    assert paper.accepted, paper.rejections
    assert (paper.stated_count, paper.header.codes, paper.header.year) == (4, ("1101",), 100)
    assert paper.header.fields["科目"] == "醫學㈠"
    items = by_number(paper)
    assert dict(items[1].options) == {"A": "甲", "B": "乙", "C": "丙", "D": "丁"}
    assert items[2].question.endswith("家人沒有生3歲以前的病史不明，最可能的診斷是：")
    assert items[2].options["B"] == "麻疹（measles）"
    assert list(items[3].options.values()) == [f"第{k}種說法" for k in (1, 2, 3, 4)]
    assert items[4].continues == 3
    assert not any(item.flags or item.excluded for item in paper.items)


def test_family_b_language_paper_with_a_cloze(sheet):
    """729×1032, essay part first, blanks as rules, a passage as wide as the numbers, options on the numbers' lines."""
    made = sheet((729, 1032))
    for page in (1, 2):
        if page == 2:
            made.page()
        made.text(60, 60, "106年公務人員特種考試司法人員考試試題", 20).text(461, 82, "代號：91140").text(
            610, 92, "（正面）"
        )
        made.text(54, 131, "考 試 別：移民行政人員", 16).text(60, 155, "等 別：三等考試", 16)
        made.text(53, 203, "科 目：外國文（俄文兼試移民專業英文）", 16)
        if page == 1:
            made.text(51, 270, "甲、申論題部分：（75 分）").text(58, 340, "一、請翻譯下列短文。（35 分）")
            made.text(60, 360, "1 我的第一個理由").text(60, 380, "2 我的第二個理由")
    made.text(59, 236, "乙、測驗題部分：（25 分）  代號：4901")
    made.text(85, 252, "\ue129本測驗試題為單一選擇題，複選作答者，該題不予計分。")
    made.text(85, 268, "\ue12a共4題，每題1.25分，須用2B鉛筆在試卡上依題號清楚劃記。")
    right_aligned(made, 71, 290, 1)
    made.text(85, 290, "In fact, deforestation is").rule(240, 282, 292).text(288, 290, "certain species.")
    made.text(85, 304, "Ⓐ taking off  Ⓑ wiping out  Ⓒ eat  Ⓓ bake")
    right_aligned(made, 71, 318, 2)
    made.rule(85, 127, 320).text(133, 318, "the truth is punishable by law.")
    made.text(85, 332, "Ⓐ Relating  Ⓑ Misrepresenting  Ⓒ Misjudging  Ⓓ Rehabilitating")
    made.text(60, 350, "請依下文回答第 3 題至第 4 題：")
    made.text(80, 364, "We all know some people who have high IQs. " * 2)
    made.text(60, 378, "3 IQs are many, and they are").rule(240, 280, 380).text(255, 378, "4").text(
        290, 378, "in life."
    )
    for number, y, words in ((3, 392, "abcd"), (4, 406, "efgh")):
        right_aligned(made, 71, y, number)
        for k, (mark, word) in enumerate(zip("ⒶⒷⒸⒹ", words, strict=True)):
            made.text(85 + 140 * k, y, f"{mark} {word}")
    paper = read(made)
    assert paper.accepted, paper.rejections
    assert paper.header.codes == ("4901",), "the code of the multiple-choice part is the one on the key"
    items = by_number(paper)
    assert items[1].question == "In fact, deforestation is ____ certain species."
    assert items[2].question == "____ the truth is punishable by law."
    assert dict(items[3].options) == {"A": "a", "B": "b", "C": "c", "D": "d"}
    assert items[3].question == "" and items[3].group == (3, 4) and not items[3].excluded
    (group,) = paper.groups
    assert (group.first, group.last, group.kind) == (3, 4, "cloze")
    assert "IQs are many" in group.passage
    assert items[2].options["D"] == "Rehabilitating", "the passage's lead is not a part of the option above it"


def test_family_c_four_columns_of_options_and_compatibility_ideographs(sheet):
    """A4, numbers from 42.7 on, stems at 62.4, options 1×4 and 2×2; 列 and 不 are U+F99C and U+F967."""
    made = sheet()
    running_head(made, "5503", 1, 1, x=457)
    made.text(147, 57, "107年公務人員普通考試試題", 20).text(34, 100, "類 科：一般行政").text(
        33, 148, "科 目：行政學概要"
    )
    made.text(58, 190, "\ue129本試題為單一選擇題，請選出一個正確或最適當的答案。")
    made.text(58, 208, "\ue12a本科目共11題，每題2分，須用2B鉛筆在試卡上依題號清楚劃記，於本試題上作答者，不予計分。")
    places = (60.8, 186, 313, 439)
    y = 240
    for number in range(1, 12):
        made.text(42.7, y, str(number)).text(62.4, y, f"下\uf99c第{number}種說法，何者\uf967正確？")
        if number % 2:
            for x, mark, text in zip(places, "ⒶⒷⒸⒹ", "甲乙丙丁", strict=True):
                made.text(x, y + 18, f"{mark}{text}{number}")
        else:
            for at, (mark, text) in enumerate(zip("ⒶⒷⒸⒹ", "甲乙丙丁", strict=True)):
                made.text(places[at % 2 * 2], y + 18 + at // 2 * 18, f"{mark}{text}{number}\uf99c")
            y += 18
        y += 36
    paper = read(made)
    assert paper.accepted, paper.rejections
    assert (paper.stated_count, paper.header.codes, paper.header.year) == (11, ("5503",), 107)
    assert [item.number for item in paper.items] == list(range(1, 12))
    for item in paper.items:
        behind = "" if item.number % 2 else "列"
        assert item.question == f"下列第{item.number}種說法，何者不正確？"
        assert list(item.options.values()) == [f"{text}{item.number}{behind}" for text in "甲乙丙丁"]
    assert not any(item.flags or item.excluded for item in paper.items)


def test_family_d_police_with_a_header_box_between_wrapped_options(sheet):
    """12 pt, essay first; years and statutes at the beginning of stems; option D wrapped over a page break."""
    long = "人口販運被害人於境外時，得於我國駐外使領館或代表處內，利用聲音影像傳真之科技設備為之"
    made = sheet()
    running_head(made, "80160-80860", 1, 2)
    made.text(147, 57, "113年公務人員特種考試警察人員考試試題", 20).text(34, 100, "考 試 別：移民行政人員")
    made.text(33, 148, "科 目：國土安全與移民政策").text(29, 211, "甲、申論題部分：（50 分）")
    made.text(35, 296, "一、進入數位時代後，資通訊科技之運用早已融入人類日常生活。（25 分）")
    made.text(36, 514, "乙、測驗題部分：（50 分） 代號：6801").text(58, 541, "\ue12a共3題，每題2分，須用2B鉛筆劃記。")
    right_aligned(made, 46.7, 568, 1)
    made.text(61, 568, "2023 年 4 月，美國國土安全部公布《四年期國土安全檢討》，下列何者正確？")
    made.text(60.7, 586, "Ⓐ甲").text(313, 586, "Ⓑ乙").text(60.7, 604, "Ⓒ丙").text(313, 604, "Ⓓ丁")
    right_aligned(made, 46.7, 622, 2)
    made.text(61, 622, "16歲之少年依刑法第")
    made.text(61, 640, "18 條之規定，下列何者正確？")
    for k, mark in enumerate("ⒶⒷⒸ"):
        made.text(60.7, 658 + 18 * k, f"{mark}說法{k}")
    made.text(60.7, 712, "Ⓓ" + long[:39])
    made.page()
    running_head(made, "80160-80860", 2, 2, x=457)
    made.text(72, 90, long[39:])
    right_aligned(made, 46.7, 108, 3)
    made.text(61, 108, "下列何者正確？").text(60.7, 126, "Ⓐ①②  Ⓑ②③④  Ⓒ③④  Ⓓ①④")
    paper = read(made)
    assert paper.accepted, paper.rejections
    assert paper.header.codes == ("6801",)
    items = by_number(paper)
    assert items[1].question.startswith("2023 年 4 月")
    assert items[2].question == "16歲之少年依刑法第18 條之規定，下列何者正確？"
    assert items[2].options["D"] == long
    assert dict(items[3].options) == {"A": "①②", "B": "②③④", "C": "③④", "D": "①④"}
    assert not any(item.flags or item.excluded for item in paper.items)


def test_family_d2_numbers_that_are_pictures(sheet):
    """14 pt, 國文: no digit of a question number in the text layer, stems that begin with a quotation."""
    made = sheet()
    made.text(36, 100, "乙、測驗部分：（20分） 代號：1101", 14).text(58, 120, "\ue12a共3題，每題2分。", 14)
    y = 150
    for name in ("杏", "梅", "竹"):
        made.image(40, y - 11, 6, 11, (26, 45))
        made.text(58, y, f"「旅行回來，我總問自己這問題，與{name}有關」", 14).text(
            58, y + 18, "根據上文，何者正確？", 14
        )
        for n, mark in enumerate("ⒶⒷⒸⒹ"):
            made.text(58, y + 36 + 18 * n, f"{mark}{name}之{n + 1}", 14)
        y += 130
    paper = read(made)
    assert paper.accepted, paper.rejections
    assert "image_numbers" in paper.flags
    assert [i.number for i in paper.items] == [1, 2, 3]
    assert by_number(paper)[2].question == "「旅行回來，我總問自己這問題，與梅有關」根據上文，何者正確？"
    assert by_number(paper)[2].options["D"] == "梅之4"
    assert not any(item.flags or item.excluded for item in paper.items)


def word_paper(sheet, gap):
    """Word's papers: marks painted through images of 2×2 pixels, `gap` points before the option's text begins."""
    made = sheet()
    made.text(34, 88, "乙、測驗題部分：（25 分） 代號：4901").image(58, 92, 24, 13, (2, 2)).text(
        84, 102, "共4題，每題1分。"
    )
    for number, y in ((1, 140), (2, 200), (3, 260), (4, 320)):
        right_aligned(made, 46.7, y, number)
        made.text(61, y, "Which of the following words is right in this sentence?")
        for k, word in enumerate(("when", "how", "which", "what")):
            x = (60.7, 176, 297, 416)[k]
            made.image(x, y + 12, 30 + gap, 12, (2, 2)).text(x + 15 + gap, y + 22, word)
    return made


def test_family_e1_marks_that_are_images(sheet):
    paper = read(word_paper(sheet, 0))
    assert paper.accepted, paper.rejections
    assert "image_markers" in paper.flags
    assert dict(by_number(paper)[2].options) == {"A": "when", "B": "how", "C": "which", "D": "what"}


def test_family_e2_option_text_missing_from_the_layer_is_refused(sheet):
    paper = read(word_paper(sheet, 36))
    assert [r.reason for r in paper.rejections] == ["missing_option_text"]
    assert not paper.usable


def test_marks_that_are_images_and_do_not_come_in_fours_are_refused(sheet):
    made = word_paper(sheet, 0).image(60.7, 372, 30, 12, (2, 2)).text(76, 382, "whose")
    assert [r.reason for r in read(made).rejections] == ["image_markers"]


def test_family_f_dental(sheet):
    """ASCII `1.` and `A.`, one option a line, a figure between stem and options, no stated count, a split item."""
    made = sheet()
    made.text(36, 36, "101年第一次專門職業及技術人員高等考試牙醫師考試分試考試").text(40, 63, "代 號：1301")
    made.text(30, 140, "1.關於下圖所示，下列敘述何者正確？").image(37, 150, 200, 170)
    for k, letter in enumerate("ABCD"):
        made.text(37, 340 + 14 * k, f"{letter}.{k + 1}為外翼肌")
    made.text(30, 400, "2.vitamin A. 缺乏與下列何者有關？")
    for k, letter in enumerate("AB"):
        made.text(37, 414 + 14 * k, f"{letter}.說法{letter}")
    made.page()
    for k, letter in enumerate("CD"):
        made.text(37, 40 + 14 * k, f"{letter}.說法{letter}")
    made.text(30, 80, "3.12對腦神經中有含副交感神經的是那幾對？")
    for k, letter in enumerate("ABCD"):
        made.text(37, 94 + 14 * k, f"{letter}.第{k + 3}、9對")
    paper = read(made)
    assert paper.accepted and paper.stated_count is None and "no_stated_count" in paper.flags
    assert paper.header.codes == ("1301",)
    items = by_number(paper)
    assert items[1].flags == ("figure",), "noticed by where it stands"
    assert items[2].question == "vitamin A. 缺乏與下列何者有關？"
    assert list(items[2].options.values()) == ["說法A", "說法B", "說法C", "說法D"]
    assert items[3].question == "12對腦神經中有含副交感神經的是那幾對？"


def test_an_essay_paper_has_no_items(sheet):
    made = sheet()
    made.text(40, 60, "114年公務人員特種考試司法官考試試題").text(34, 44, "代號：11460")
    made.text(35, 200, "一、試申論刑事政策之意義。（25 分）").text(35, 300, "二、試述之。（25 分）")
    paper = read(made)
    assert [r.reason for r in paper.rejections] == ["essay_only"]
    assert paper.items == ()


def numbered(made, numbers, stated):
    made.text(48, 100, f"本科目共{stated}題，每題1分。")
    for k, number in enumerate(numbers):
        made.text(40, 140 + 40 * k, f"{number} 下列何者正確？").text(60, 158 + 40 * k, "Ⓐ甲 Ⓑ乙 Ⓒ丙 Ⓓ丁")
    return made


@pytest.mark.parametrize(
    ("numbers", "stated", "reason"),
    [((1, 2, 3), 4, "incomplete"), ((1, 2, 4), 4, "incomplete"), ((1, 2, 3), 2, "count_mismatch")],
)
def test_the_stated_count_must_be_met(sheet, numbers, stated, reason):
    paper = read(numbered(sheet(), numbers, stated))
    assert reason in [r.reason for r in paper.rejections]
    assert not paper.usable


def test_five_options_a_missing_mark_and_a_repeated_one_exclude_the_item(sheet):
    made = sheet().text(48, 100, "共4題，每題1分")
    rows = ("Ⓐ甲 Ⓑ乙 Ⓒ丙 Ⓓ丁", "Ⓐ甲 Ⓑ乙 Ⓒ丙 Ⓓ丁 Ⓔ戊", "Ⓐ甲 Ⓑ乙 Ⓒ丙", "Ⓐ甲 Ⓑ Ⓒ丙 Ⓓ丁")
    for k, row in enumerate(rows):
        made.text(40, 140 + 40 * k, f"{k + 1} 下列何者正確？").text(60, 158 + 40 * k, row)
    items = by_number(read(made))
    assert [items[n].excluded for n in (1, 2, 3, 4)] == [
        (),
        ("five_options",),
        ("missing_options",),
        ("empty_options",),
    ]


def test_text_that_belongs_to_no_item_is_flagged_and_stays_out(sheet):
    made = sheet().text(48, 100, "共2題，每題1分")
    made.text(40, 140, "1 下列何者正確？").text(60, 158, "Ⓐ甲 Ⓑ乙 Ⓒ丙 Ⓓ丁")
    made.text(300, 190, "圖一").text(40, 220, "2 下列何者正確而且是一個很長很長的題目以致於寫滿了整整的一行呢？")
    made.text(60, 238, "Ⓐ甲 Ⓑ乙 Ⓒ丙 Ⓓ丁")
    items = by_number(read(made))
    assert items[1].options["D"] == "丁"
    assert "loose_text_after" in items[1].flags and "loose_text_before" in items[2].flags


def test_unknown_private_use_flags_the_item_and_is_kept(sheet):
    made = sheet().text(48, 100, "共2題，每題1分")
    made.text(40, 140, "1 塵\uea99與輔\ue2c6之關係？").text(60, 158, "Ⓐ甲 Ⓑ乙 Ⓒ丙 Ⓓ丁")
    made.text(40, 180, "2 尿\uea86與\uea99何者正確？").text(60, 198, "Ⓐ甲 Ⓑ乙 Ⓒ丙 Ⓓ丁")
    items = by_number(read(made))
    assert (items[1].question, items[1].flags) == ("塵蟎與輔酶之關係？", ())
    assert items[2].question == "尿\uea86與\uea99何者正確？"
    assert items[2].flags == ("private_use:U+EA86", "private_use:U+EA99")


def test_wrapped_options_in_two_columns_go_on_under_their_own_column(sheet):
    made = sheet().text(48, 100, "共1題，每題1分")
    made.text(40, 140, "1 " + "下列何者正確" * 7 + "？")
    made.text(60, 158, "Ⓐ甲的說法很長很長").text(313, 158, "Ⓑ乙的說法很長很長")
    made.text(72, 176, "甲的後半").text(325, 176, "乙的後半")
    made.text(60, 194, "Ⓒ丙").text(313, 194, "Ⓓ丁")
    (item,) = read(made).items
    assert item.options["A"] == "甲的說法很長很長甲的後半"
    assert item.options["B"] == "乙的說法很長很長乙的後半"
    assert "wrapped_in_columns" in item.flags


def test_an_answer_section_with_several_answers_is_left_out(sheet):
    made = sheet().text(48, 100, "共2題，每題1分")
    made.text(40, 140, "1 下列何者正確？").text(60, 158, "Ⓐ甲 Ⓑ乙 Ⓒ丙 Ⓓ丁").text(40, 180, "二、複選題：")
    made.text(40, 200, "2 下列何者正確？").text(60, 218, "Ⓐ甲 Ⓑ乙 Ⓒ丙 Ⓓ丁")
    items = by_number(read(made))
    assert items[1].excluded == () and items[2].excluded == ("multiple_answers",)


def test_a_figure_of_a_passage_is_before_the_eyes_in_all_its_items(sheet):
    made = sheet().text(48, 100, "共3題，每題1分").text(40, 120, "1 何者正確？").text(60, 138, "Ⓐ甲 Ⓑ乙 Ⓒ丙 Ⓓ丁")
    made.text(30, 170, "請依下圖回答第2題至第3題：").image(100, 180, 100, 80)
    for number, y in ((2, 290), (3, 330)):
        made.text(40, y, f"{number} 何者正確？").text(60, y + 18, "Ⓐ甲 Ⓑ乙 Ⓒ丙 Ⓓ丁")
    paper = read(made)
    assert paper.groups[0].flags == ("figure",)
    assert [item.flags for item in paper.items] == [(), ("figure_in_group",), ("figure_in_group",)]


def test_the_code_box_is_no_part_of_title_and_fields(sheet):
    made = sheet().text(34, 55, "代號：80160-80860").text(150, 57, "113年公務人員特種考試警察人員考試試題", 20)
    made.text(34, 68, "頁次：1－1").text(34, 100, "等 別：三等考試").text(34, 120, "類 科：行政警察、").text(
        110, 136, "外事警察"
    )
    made.text(34, 160, "科 目：警察法規").text(34, 180, "考試時間：2小時 座號：").rule(150, 200, 182)
    made.text(34, 200, "※注意：本科目共1題，每題1分。").text(40, 240, "1 何者正確？").text(60, 258, "Ⓐ甲 Ⓑ乙 Ⓒ丙 Ⓓ丁")
    header = read(made).header
    assert (header.title, header.year) == ("113年公務人員特種考試警察人員考試試題", 113)
    assert header.fields == {"等別": "三等考試", "類科": "行政警察、外事警察", "科目": "警察法規", "考試時間": "2小時"}
    assert header.codes == ("80160-80860",)


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("甲、申論題部分：（50 分）", "essay"),
        ("甲、作文部分：（80分）甲、申論題部分：", "essay"),
        ("乙、測驗題部分：（50分） 代號：6801", "choice"),
        ("乙、測驗部分：（20分）", "choice"),
        ("貳、選擇題", "choice"),
        ("乙、非選擇題部分：", "essay"),
        ("甲、乙二人共同選擇犯罪計畫，下列何者正確？", None),
        ("甲、乙、丙三人參加測驗題部分", None),
        ("甲選擇題庫", None),
    ],
)
def test_headings_of_parts(line, kind):
    assert section_kind(line) == kind


def test_a_stem_about_two_persons_is_no_heading(sheet):
    made = sheet().text(36, 80, "乙、測驗題部分：（50 分） 代號：2501").text(58, 100, "共2題，每題2分。")
    made.text(40, 140, "1 下列關於契約之敘述，何者正確？").text(60, 158, "甲、乙二人選擇申論題之計算方法，何者正確？")
    made.text(60, 176, "Ⓐ甲 Ⓑ乙 Ⓒ丙 Ⓓ丁").text(40, 194, "2 何者正確？").text(60, 212, "Ⓐ甲 Ⓑ乙 Ⓒ丙 Ⓓ丁")
    paper = read(made)
    assert paper.accepted and len(paper.usable) == 2


def test_a_page_of_figures_does_not_refuse_a_whole_paper(sheet):
    made = sheet().text(48, 100, "本科目共2題，每題1分").text(40, 140, "1 何者正確？").text(60, 158, "Ⓐ甲 Ⓑ乙 Ⓒ丙 Ⓓ丁")
    made.text(40, 180, "2 何者正確？").text(60, 198, "Ⓐ甲 Ⓑ乙 Ⓒ丙 Ⓓ丁").page().image(30, 80, 540, 700)
    paper = read(made)
    assert paper.accepted and paper.flags == ("page_without_text:2",)
