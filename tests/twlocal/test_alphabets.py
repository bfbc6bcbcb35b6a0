"""What an unread box is written in."""

from __future__ import annotations

import pytest

from twlocal.alphabets import ALPHABETS, alphabet, unread_box


@pytest.mark.parametrize(
    ("contents", "name"),
    [
        (["甲", "（丙）"], "ordinals"),
        (["①", "⑷"], "circled digits"),
        (["1", "２", "(3)"], "digits"),
        (["三"], "Chinese numerals"),
        (["Ａ"], "full-width letters"),
        (["Ⅱ"], "Roman numerals"),
        (["β"], "Greek letters"),
        (["ㄅ"], "bopomofo"),
        (["", " ", "\\text{}"], "nothing"),
        (["E", "x"], "letters outside A-D"),
        (["AB", "A, C", "A、B", "A和D"], "several letters"),
        (["BA", "選項字母", "12", "國父紀念館", "\\Delta E = h"], "other text"),
        (["\\text{B}", "(c)", "**D**", "\\mathrm{A}"], "decorated letters"),
    ],
)
def test_the_alphabet_of_a_box(contents: list[str], name: str) -> None:
    assert {content: alphabet(content) for content in contents} == dict.fromkeys(contents, name)


def test_no_character_belongs_to_two_alphabets() -> None:
    letters = [letter for group in ALPHABETS.values() for letter in group]
    assert len(letters) == len(set(letters))


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("\\boxed{①}", "①"),
        ("先 \\boxed{1} 後 \\boxed{2}", "2"),
        ("\\boxed{\\text{B}}", "\\text{B}"),
        ("\\fbox{B}", "B"),
        ("\\boxed {B}", "B"),
        ("沒有框", None),
        ("\\boxed{B", None),
        ("\\boxed{" + "很長" * 60 + "}", None),
    ],
)
def test_the_content_of_the_last_box(text: str, content: str | None) -> None:
    assert unread_box(text) == content
