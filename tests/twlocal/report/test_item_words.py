"""What is said of one item: the same in both languages, for every rule of every reader."""

from __future__ import annotations

import string

import pytest

from twlocal.errors import UsageError
from twlocal.readers import reading
from twlocal.report.item_words import CHINESE, CHINESE_FLAGS, CHINESE_WHY, ENGLISH, why, words


def fields(template: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(template) if name}


def test_both_languages_have_the_same_templates_with_the_same_names() -> None:
    assert {key: fields(text) for key, text in CHINESE.items()} == {key: fields(text) for key, text in ENGLISH.items()}


def test_every_rule_of_the_readers_has_its_chinese_and_every_flag() -> None:
    assert {rule: fields(text) for rule, text in CHINESE_WHY.items()} == {
        rule: fields(text) for rule, text in reading.WHY.items()
    }
    assert set(CHINESE_FLAGS) == set(reading._FLAGS)


def test_chinese_is_written_with_the_characters_of_taiwan() -> None:
    for text in (*CHINESE.values(), *CHINESE_WHY.values(), *CHINESE_FLAGS.values()):
        text.encode("cp950")  # Big5 holds none of the simplified forms


def test_a_reason_with_what_was_odd() -> None:
    assert why("box", "C", ()) == "第一個只放一個選項字母的 \\boxed{} 寫的是 C。"
    assert why("no_box", None, ("reasoning_only", "of_a_later_version")) == (
        "最終答覆裡沒有 \\boxed{}（內容是空的，所以讀的是推理欄位；of_a_later_version）。"
    )


def test_a_language_that_is_not_there() -> None:
    with pytest.raises(UsageError, match="'fr'"):
        words("fr")
