"""Each rule by itself: what it takes out, and what it is known to take out wrongly when it is written carelessly."""

from __future__ import annotations

import pytest

from twlocal.exam import filters
from twlocal.exam.filters import FIRST_PASS, SECOND_PASS, Candidate

OPTIONS = {"A": "甲說", "B": "乙說", "C": "丙說", "D": "丁說"}


def item(question="下列何者正確？", options=None, answer="A", **more):
    return Candidate("p", 1, 100, "", "民法", question, OPTIONS if options is None else options, answer, **more)


def test_a_plain_item_passes_all():
    assert filters.first(FIRST_PASS, item()) is None and filters.first(SECOND_PASS, item()) is None


def test_the_rules_have_distinct_names_and_say_what_they_are():
    rules = FIRST_PASS + SECOND_PASS
    assert len({rule.name for rule in rules}) == len(rules) and all(rule.says for rule in rules)


@pytest.mark.parametrize(
    ("options", "excluded", "seen"),
    [
        ({**OPTIONS, "E": "戊"}, ("five_options",), "five_options"),
        ({"A": "甲", "B": "乙", "C": "丙"}, (), "options ABC"),
        ({**OPTIONS, "D": " "}, (), "empty_options"),
        ({}, (), "options none"),
        (OPTIONS, ("repeated_marks",), "repeated_marks"),
    ],
)
def test_not_four_options(options, excluded, seen):
    assert filters.not_four_options(item(options=options, excluded=excluded)) == seen


def test_several_answers_and_voided_items_are_told_apart():
    several = item(answer=None, accepted=("B", "D"), excluded=("several_answers",))
    assert filters.first(FIRST_PASS, several) == ("several_answers", "B/D")
    voided = item(answer=None, accepted=tuple("ABCD"), note="一律給分", excluded=("everyone_credited",))
    assert filters.first(FIRST_PASS, voided) == ("everyone_credited", "一律給分")
    unexplained = item(answer=None, excluded=("unexplained_mark",))
    assert filters.first(FIRST_PASS, unexplained) == ("no_key", "unexplained_mark")
    assert filters.first(FIRST_PASS, item(answer="E")) == ("no_key", "no answer")


def test_an_empty_stem():
    assert filters.no_stem(item("  ")) and not filters.no_stem(item("何者？"))


def test_unreadable_characters():
    assert filters.unreadable(item("\uea86之功能")) == "U+EA86"
    assert filters.unreadable(item(options={**OPTIONS, "B": "\ue18e丙"})) == "U+E18E"
    assert filters.unreadable(item(options={**OPTIONS, "B": "Ⓒ丙"})) == "mark_in_text"
    assert filters.unreadable(item(excluded=("image_glyph",))) == "image_glyph"
    assert filters.unreadable(item("①②㈠（甲）")) is None


@pytest.mark.parametrize(
    "stem",
    [
        "Which of the following is true?",
        "He ____ to school every day.",
        'The word "bribe" （賄賂） means that a person accepts money.',
        "According to the passage, what is the main idea?",
        "What is AIDS?",
    ],
)
def test_english(stem):
    assert filters.english(item(stem))


@pytest.mark.parametrize(
    "stem",
    [
        "下列何者為 acute appendicitis 的最常見症狀？",
        "Beckwith-Wiedemann syndrome可能合併何種腫瘤？",
        "有關 the Statute of the International Court of Justice 之敘述，何者正確？",
        "SELECT name FROM student WHERE id = 1 的結果為何？",
        "lim sin x / x = ?",
        "Alzheimer disease",
        "COVID-19？",
    ],
)
def test_english_terms_are_not_english_items(stem):
    assert filters.english(item(stem)) is None


def test_an_item_that_the_parser_saw_going_on_from_another():
    assert filters.first(FIRST_PASS, item("上題中，甲之行為成立何罪？")) is None
    assert filters.first(FIRST_PASS, item("上題中，甲之行為成立何罪？", continues=3)) == ("continues", "question 3")


def test_english_options_do_not_count():
    terms = {
        "A": "the left main artery",
        "B": "the right artery",
        "C": "the aorta of the heart",
        "D": "none of the above",
    }
    assert filters.first(FIRST_PASS, item("供應心臟之血管為何？", terms)) is None


@pytest.mark.parametrize(
    ("stem", "shown"),
    [
        ("下列何者正確？（B）", True),
        ("下列何者正確？ ( Ｂ )", True),
        ("（C）下列何者正確？", True),
        ("下列何者正確？（　）", False),
        ("下列何者為維生素（A）？", False),
        ("甲（A）與乙（B）之差為何", False),
        ("何者正確？（複選）", False),
    ],
)
def test_an_answer_printed_beside_the_stem(stem, shown):
    assert (filters.answer_shown(item(stem)) is not None) is shown


def test_a_pathologically_long_key():
    stuck = "游離神經末梢" + "某大學一一一學年度學士班轉學考試普通生物學試題共計八頁之第八頁"
    assert filters.long_key(item(options={**OPTIONS, "D": stuck}, answer="D"))
    assert filters.long_key(item(options={**OPTIONS, "D": stuck}, answer="A")) is None, "a long distractor"
    gloss = "葡萄球菌燙傷樣症候群（staphylococcal scalded skin syndrome）"
    assert filters.long_key(item(options={**OPTIONS, "D": gloss}, answer="D")) is None, "a foreign term"
    longer = {letter: text * 8 for letter, text in OPTIONS.items()}
    assert filters.long_key(item(options={**longer, "D": stuck}, answer="D")) is None, "long ones among long ones"


def test_figures_and_other_items_by_their_words():
    assert filters.first(FIRST_PASS, item("如下圖所示，何者正確？")) == ("figure", "如下圖")
    assert filters.first(FIRST_PASS, item("承上題，何者正確？")) == ("continues", "承上題")
    assert filters.first(FIRST_PASS, item("圖書分類法之中，何者最常用？")) is None


@pytest.mark.parametrize(
    ("candidate", "wanted"),
    [
        (item(flags=("figure",)), ("figure_on_page", "figure")),
        (item(flags=("loose_text_after", "figure_in_group")), ("figure_on_page", "figure_in_group")),
        (item("圖中標示星號（*）之肌肉是："), ("figure_implied", ",圖中")),
        (item("研究結果如下表，偽陽性率為何？"), ("table", "如下表")),
        (item(grouped=True), ("question_group", "shares a passage")),
        (item("此病人最可能的診斷為何？"), ("passage", "此病人")),
        (item("契約如附件，何者正確？"), ("attachment", "如附件")),
        (item(flags=("small_text", "loose_text_after")), None),
    ],
)
def test_second_pass(candidate, wanted):
    assert filters.first(FIRST_PASS, candidate) is None, "the first pass lets them through"
    found = filters.first(SECOND_PASS, candidate)
    assert (found and found[0]) == (wanted and wanted[0])
    assert wanted is None or found[1].strip(",") == wanted[1].strip(",")


def test_over_rows_that_were_published_without_figures(shared):
    """The measured half: what the rules take out of TMMLU, every one of which was read."""
    from twlocal.dataset import load

    folder = shared / "data" / "tmmlu" / "converted"
    if not folder.is_dir():
        pytest.skip("needs ../shared/data/tmmlu")
    fired: dict[str, int] = {}
    for row in load(str(folder), skip_bad=True).items:
        candidate = item(row.question, dict(zip("ABCD", row.options, strict=True)), row.answer)
        for rule in FIRST_PASS + SECOND_PASS:
            if rule.applies(candidate) is not None:
                fired[rule.name] = fired.get(rule.name, 0) + 1
    assert fired == {
        "english": 20,
        "continues": 3,
        "long_key": 1,
        "unreadable": 3,
        "figure_implied": 4,
        "passage": 5,
    }
