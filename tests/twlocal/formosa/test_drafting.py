"""What of a generator's response is an item, and what is wrong with the others."""

from __future__ import annotations

import json
import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twlocal.formosa import drafting, prompts
from twlocal.formosa.drafting import FAULTS, Generated, generated
from twlocal.formosa.drafts import Draft
from twlocal.record import Record

WINDOW = "a" * 64
STEM, OPTIONS = "臺灣最高的山是哪一座？", ("玉山", "雪山", "阿里山", "合歡山")
DRAFT = Draft(WINDOW, STEM, OPTIONS, "A")
PLAIN = {"question": STEM, "A": "玉山", "B": "雪山", "C": "阿里山", "D": "合歡山", "answer": "A"}


def response(text: str, finish: str = "stop", reasoning: str = "") -> Record:
    return Record(0, 0, "", "", "hash", "", "", "ABCD", text, reasoning, finish, None, None, None, None)


def read(made: Any, finish: str = "stop") -> Generated:
    text = made if isinstance(made, str) else json.dumps(made, ensure_ascii=False)
    return generated(WINDOW, response(text, finish))


@pytest.mark.parametrize(
    "made",
    [
        PLAIN,
        [PLAIN],
        {"items": [PLAIN]},
        {"item": PLAIN, "note": "一題"},
        f"{json.dumps(PLAIN)}\n再寫一次：{json.dumps(PLAIN)}",
        {**PLAIN, "answer": "玉山"},
        {**PLAIN, "answer": "（Ａ）"},
        {**PLAIN, "answer": "選項A"},
        {**PLAIN, "answer": "甲"},
        {**PLAIN, "answer": "A. 玉山"},
        {**PLAIN, "answer": "a"},
        {"題目": STEM, "選項": list(OPTIONS), "答案": "A"},
        {"題幹": STEM, "甲": "玉山", "乙": "雪山", "丙": "阿里山", "丁": "合歡山", "正確答案": "甲"},
        {"question": STEM, "options": {"A": "玉山", "B": "雪山", "C": "阿里山", "D": "合歡山"}, "correct_answer": "A"},
        {
            "Question": STEM,
            "option_a": "玉山",
            "Option B": "雪山",
            "選項C": "阿里山",
            "選項(D)": "合歡山",
            "Answer": "A",
        },
        {**PLAIN, "A": "A. 玉山", "B": "B. 雪山", "C": "C. 阿里山", "D": "D. 合歡山"},
        {**PLAIN, "A": "(A)玉山", "B": "(B)雪山", "C": "(C)阿里山", "D": "(D)合歡山"},
        {**PLAIN, "explanation": "玉山主峰海拔三千九百五十二公尺。"},
    ],
)
def test_one_item_in_many_shapes(made: Any) -> None:
    assert read(made) == Generated(WINDOW, DRAFT)


@pytest.mark.parametrize(
    ("made", "finish", "fault"),
    [
        ("", "content_filter", "filtered"),
        (json.dumps(PLAIN)[:-20], "length", "cut_off"),
        ("<think>先想", "length", "cut_off"),
        ("<think>先想", "stop", "no_final_text"),
        ("", "stop", "no_final_text"),
        ("這段短文不適合出題。", "stop", "no_json"),
        (json.dumps(PLAIN)[:-1], "stop", "no_json"),
        ({name: text for name, text in PLAIN.items() if name != "D"}, "stop", "no_item"),
        ({**PLAIN, "B": ""}, "stop", "no_item"),
        ({**PLAIN, "question": None}, "stop", "no_item"),
        ({**PLAIN, "C": ["阿里山"]}, "stop", "no_item"),
        ({"題目": STEM, "選項": [*OPTIONS, "八卦山"], "答案": "A"}, "stop", "no_item"),
        ({"A": "玉山"}, "stop", "no_item"),
        ([PLAIN, {**PLAIN, "answer": "B"}], "stop", "several_items"),
        ({**PLAIN, "answer": "E"}, "stop", "no_key"),
        ({**PLAIN, "answer": "A或B"}, "stop", "no_key"),
        ({**PLAIN, "answer": 1}, "stop", "no_key"),
        ({**PLAIN, "answer": "山"}, "stop", "no_key"),
        ({**PLAIN, "answer": "A. 雪山"}, "stop", "no_key"),
        ({**PLAIN, "B": "玉山", "answer": "玉山"}, "stop", "no_key"),
    ],
)
def test_a_malformed_response_has_its_reason(made: Any, finish: str, fault: str) -> None:
    found = read(made, finish)
    assert (found.draft, found.fault) == (None, fault)
    assert fault in FAULTS


def test_options_that_name_kinds_keep_their_letters() -> None:
    kinds = {"A": "A 型", "B": "B 型", "C": "C 型", "D": "D 型"}
    found = read({**PLAIN, **kinds, "answer": "B 型"})
    assert found.draft == Draft(WINDOW, STEM, ("A 型", "B 型", "C 型", "D 型"), "B")


@pytest.mark.parametrize("text", ["<think>", "<REASON>", "</think>甲", "<|channel|>analysis"])
def test_what_looks_like_a_thought_inside_a_text_is_the_text(text: str) -> None:
    found = read({**PLAIN, "D": text, "answer": "D"})
    assert found.draft is not None and found.draft.options[3] == text and found.draft.answer == "D"


def test_half_a_character_is_replaced() -> None:
    found = read('{"question": "\\ud800問", "A": "甲一", "B": "乙一", "C": "丙一", "D": "丁一", "answer": "A"}')
    assert found.draft is not None and found.draft.question == "\ufffd問"


@given(
    st.lists(
        st.text(st.characters(codec="utf-8", exclude_categories=("Cc",)), min_size=1, max_size=12),
        min_size=5,
        max_size=5,
    ),
    st.sampled_from("ABCD"),
)
def test_what_the_schema_asks_for_is_read_back(texts: list[str], letter: str) -> None:
    texts = [unicodedata.normalize("NFC", text).strip() for text in texts]
    if all(texts) and not all(text.startswith(label) for text, label in zip(texts[1:], "ABCD", strict=True)):
        made = {"question": texts[0], **dict(zip("ABCD", texts[1:], strict=True)), "answer": letter}
        found = read(made)
        assert found.draft is not None
        assert (found.draft.question, *found.draft.options) == tuple(texts) and found.draft.answer == letter


def test_the_prompt_shows_the_window_and_nothing_to_copy() -> None:
    prompt = prompts.load("draft")
    text = drafting.question(prompt, "玉山在{臺灣}。")
    assert "玉山在{臺灣}。" in text and all(name in text for name in prompt.schema["required"])
    assert not [one for one in "甲乙丙丁" if one in text] and '"' not in text
