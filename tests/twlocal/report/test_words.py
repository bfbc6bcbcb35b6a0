"""Both languages say the same things."""

from __future__ import annotations

import string

import pytest

from twlocal.alarms import MESSAGES, Alarm
from twlocal.alphabets import ALPHABETS, DECORATED, NOTHING, RANGE, SEVERAL
from twlocal.errors import UsageError
from twlocal.report.words import (
    CHINESE,
    CHINESE_ALARMS,
    CHINESE_ALPHABETS,
    CHINESE_NAMES,
    ENGLISH,
    alarm,
    alarm_name,
    words,
)


def fields(template: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(template) if name}


def test_both_languages_have_the_same_templates_with_the_same_names() -> None:
    assert {key: fields(text) for key, text in CHINESE.items()} == {key: fields(text) for key, text in ENGLISH.items()}


def test_every_alarm_has_its_chinese_with_the_same_names() -> None:
    assert {kind: fields(text) for kind, text in CHINESE_ALARMS.items()} == {
        kind: fields(text) for kind, text in MESSAGES.items()
    }


def test_every_alphabet_that_an_alarm_may_name_has_a_chinese_name() -> None:
    assert set(CHINESE_ALPHABETS) == {*ALPHABETS, DECORATED, NOTHING, RANGE, SEVERAL}


def test_chinese_is_written_with_the_characters_of_taiwan() -> None:
    # Big5 holds none of the simplified forms.
    for text in (*CHINESE.values(), *CHINESE_ALARMS.values(), *CHINESE_ALPHABETS.values()):
        text.encode("cp950")


def test_an_alarm_in_either_language() -> None:
    found = Alarm("wrong_alphabet", "In English.", {"share": 0.125, "alphabet": "circled digits", "example": "①"})
    assert alarm(found, "en") == "In English."
    assert alarm(found, "zh-TW").startswith("12.5% 的作答在框裡寫的是圈號數字（例如 ①）")


def test_an_alarm_unknown_to_the_table_is_still_said() -> None:
    assert alarm(Alarm("of_a_later_version", "It says so."), "zh-TW") == "It says so."


def test_a_language_that_is_not_there() -> None:
    with pytest.raises(UsageError, match="no report in 'fr'"):
        words("fr")


def test_every_alarm_has_a_chinese_name_beside_its_code() -> None:
    assert CHINESE_NAMES.keys() == MESSAGES.keys()
    assert alarm_name("truncation", "zh-TW") == "截斷（truncation）"
    assert alarm_name("truncation", "en") == "truncation"
    assert alarm_name("of another version", "zh-TW") == "of another version"
