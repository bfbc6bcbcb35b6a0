"""Permuted options and what shortcuts score before and after."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import replace

import pytest

from twlocal.formosa.baselines import SHORTCUTS, baselines
from twlocal.formosa.drafts import Draft
from twlocal.formosa.permute import order, permuted
from twlocal.item import Item

GOOD = Draft("w", "淡水港在哪一年開放通商？", ("一八六三年", "一八八五年", "一八九五年", "一九〇七年"), "A")


def windows(count: int) -> list[str]:
    return [hashlib.sha256(str(number).encode()).hexdigest() for number in range(count)]


def test_the_order_is_the_windows_and_the_number() -> None:
    one, other = windows(2)
    assert order(one) == order(one) and sorted(order(one)) == list("ABCD")
    assert len({order(window) for window in windows(400)}) == 24
    assert len({order(one, no) for no in range(200)}) == 24
    assert (order(one), order(other)) == ("CBDA", "ACDB")


def test_the_key_moves_by_position_even_where_texts_repeat() -> None:
    draft = replace(GOOD, options=("甲", "甲", "乙", "丙"), answer="B")
    for window in windows(50):
        item = permuted(replace(draft, window=window))
        letters = order(window)
        assert letters["ABCD".index(item.answer)] == "B"
        assert item.options == tuple(draft.options["ABCD".index(letter)] for letter in letters)


def test_always_a_falls_to_chance() -> None:
    drafts = [replace(GOOD, window=window) for window in windows(1200)]
    before = {b.name: b for b in baselines([Item(d.question, d.options, d.answer) for d in drafts])}
    after = {b.name: b for b in baselines([permuted(d) for d in drafts])}
    assert before["always A"].accuracy == 1.0
    assert 0.21 < after["always A"].accuracy < 0.29
    assert after["always A"].interval.low < 0.25 < after["always A"].interval.high
    keys = Counter(permuted(d).answer for d in drafts)
    assert sum(keys.values()) == 1200 and all(240 < keys[letter] < 360 for letter in "ABCD")


@pytest.mark.parametrize(
    ("shortcut", "options", "right"),
    [
        ("always A", ("甲", "乙", "丙", "丁"), 1.0),
        ("always D", ("甲", "乙", "丙", "丁"), 0.0),
        ("longest option", ("很長的答案", "短", "短", "短"), 1.0),
        ("longest option", ("很長的答案", "一樣長的啊", "短", "短"), 0.5),
        ("longest option", ("短", "長的", "短", "短"), 0.0),
        ("shortest option", ("短", "長的", "長的", "長的"), 1.0),
        ("shortest option", ("一", "二", "三", "四"), 0.25),
        ("most digits", ("1999 年", "99 年", "九年", "年"), 1.0),
        ("overlap with the stem", ("開放通商口岸", "關閉", "徵稅", "禁航"), 1.0),
        ("overlap with the stem", ("關閉", "開放通商口岸", "徵稅", "禁航"), 0.0),
    ],
)
def test_shortcuts_by_hand(shortcut: str, options: tuple[str, str, str, str], right: float) -> None:
    item = Item("淡水港開放通商的意義是？", options, "A")
    assert {b.name: b.right for b in baselines([item])}[shortcut] == right


def test_no_shortcut_depends_on_the_order_of_options_but_the_letters() -> None:
    drafts = [replace(GOOD, window=window, options=("短", "1995 年", "通商條約", "短")) for window in windows(40)]
    before = {b.name: b.right for b in baselines([Item(d.question, d.options, d.answer) for d in drafts])}
    after = {b.name: b.right for b in baselines([permuted(d) for d in drafts])}
    for name in SHORTCUTS:
        if not name.startswith("always"):
            assert before[name] == pytest.approx(after[name]), name


def test_no_items() -> None:
    assert {(b.accuracy, b.n) for b in baselines([])} == {(0.0, 0)}
