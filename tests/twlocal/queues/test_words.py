"""Both languages say the same things."""

from __future__ import annotations

from string import Formatter

import pytest

from twlocal.errors import UsageError
from twlocal.queues.words import CHINESE, ENGLISH, duration, size, words


def names(template: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(template) if name}


def test_both_languages_take_the_same_names() -> None:
    assert set(ENGLISH) == set(CHINESE)
    for key in ENGLISH:
        assert names(ENGLISH[key]) == names(CHINESE[key]), key
    with pytest.raises(UsageError, match="'de'"):
        words("de")


@pytest.mark.parametrize(
    ("seconds", "english", "chinese"),
    [(0.4, "0 s", "0 秒"), (61, "1 min 01 s", "1 分 01 秒"), (3660, "1 h 01 min", "1 小時 01 分")],
)
def test_durations(seconds: float, english: str, chinese: str) -> None:
    assert duration(seconds, ENGLISH) == english
    assert duration(seconds, CHINESE) == chinese


def test_sizes() -> None:
    assert (size(8 << 30), size(3 << 20), size(1 << 29)) == ("8.0 GiB", "3.0 MiB", "0.5 GiB")
