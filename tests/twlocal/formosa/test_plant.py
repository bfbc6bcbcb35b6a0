"""Planted defects: what each class does to an item, and that only the hash decides."""

from __future__ import annotations

from collections import Counter

import pytest

from twlocal.formosa.options import bare
from twlocal.formosa.plant import CLASSES, CLEAN, MALFORMED, UNGROUNDED, WRONG_KEY, Good, plant, ungrounded
from twlocal.item import LABELS, Item

PLACES = ("淡水", "基隆", "安平", "打狗", "鹿港", "艋舺", "北港", "布袋", "梧棲", "花蓮", "臺東", "馬公")
NUMERALS = "一二三四五六七八九"
THINGS = ("樟腦", "茶葉", "蔗糖", "稻米", "鹽", "煤", "木材", "鳳梨", "香蕉", "硫磺", "鹿皮", "魚乾")


def goods(count: int = 12) -> list[Good]:
    """Half ask for a year, half for a thing; each from a window of its own."""
    found = []
    for at, (place, thing) in enumerate(zip(PLACES[:count], THINGS, strict=False)):
        year = 1860 + at
        window = f"{place}在{year}年開放通商，當地最有名的貨物是{thing}。"
        options = (f"{year}年", "1721年", "1790年", "1935年") if at % 2 else (thing, "玉器", "羊毛", "咖啡豆")
        answer = LABELS[at % 4]
        shown = list(options[1:])
        shown.insert(at % 4, options[0])
        a, b, c, d = shown
        stem = f"{place}在哪一年開放通商？" if at % 2 else f"{place}最有名的貨物是什麼？"
        found.append(Good(Item(stem, (a, b, c, d), answer), window))
    return found


def key(item: Item) -> str:
    return item.options[LABELS.index(item.answer)]


def test_each_item_is_shown_clean_and_once_with_each_class() -> None:
    cases = plant(goods(), 12)
    assert Counter(case.kind for case in cases) == dict.fromkeys((CLEAN, *CLASSES), 12)
    assert len({case.name for case in cases}) == len(cases)
    by_origin = {good.item.content_hash: good for good in goods()}
    for case in cases:
        good = by_origin[case.origin]
        assert case.window == good.window and case.item.question == good.item.question
        changed = [letter for letter, a, b in zip(LABELS, case.item.options, good.item.options, strict=True) if a != b]
        if case.kind == CLEAN:
            assert case.item == good.item and case.item.content_hash == case.origin
        elif case.kind == WRONG_KEY:
            assert changed == [] and case.item.answer != good.item.answer
        else:
            assert case.item.answer == good.item.answer and len(changed) == 1
        if case.kind == UNGROUNDED:
            assert changed == [good.item.answer]
            assert bare(key(case.item)) not in bare(good.window)
            assert len({bare(text) for text in case.item.options}) == 4
            assert case.variant == ("number" if key(good.item).endswith("年") else "answer of another item")
        if case.kind == MALFORMED:
            right = sum(bare(key(good.item)) in bare(text) for text in case.item.options)
            assert right == (0 if case.variant == "empty" else 2)
            assert case.variant in ("twice", "said again", "empty")
        if case.kind != CLEAN:
            assert case.item.content_hash != case.origin


def test_the_same_items_give_the_same_cases_whatever_their_order() -> None:
    cases = plant(goods(), 6)
    assert plant([*reversed(goods()), *goods()], 6) == cases
    assert len(cases) == 24 and len({case.origin for case in cases}) == 6
    # Fewer are the beginning of more, and another seed draws otherwise.
    assert {case.name for case in cases} <= {case.name for case in plant(goods(), 9)}
    assert {case.origin for case in plant(goods(), 6, seed="2")} != {case.origin for case in cases}
    # Neither kinds nor places of keys stand in an order that a judge could learn.
    kinds = [case.kind for case in plant(goods(), 12)]
    assert kinds != sorted(kinds) and len({tuple(kinds[at : at + 4]) for at in range(0, 48, 4)}) > 6
    assert len({case.variant for case in plant(goods(), 12) if case.kind == MALFORMED}) == 3


@pytest.mark.parametrize(
    ("answer", "allowed"),
    [
        ("1863年", {f"186{digit}年" for digit in range(10)}),
        ("一九四九年", {f"一九四{numeral}年" for numeral in NUMERALS}),
        ("二十人", {f"{numeral}十人" for numeral in NUMERALS}),
        ("1999 年 6 月", {f"1999 年 {digit} 月" for digit in range(1, 10)}),
        ("三義木雕", {"鹽田"}),  # one numeral may be a name's: the only other answer comes in
    ],
)
def test_what_takes_the_place_of_an_answer(answer: str, allowed: set[str]) -> None:
    good = Good(Item("題？", (answer, "甲物", "乙物", "丙物"), "A"), f"文中說{answer}。")
    other = Good(Item("他題？", ("丁物", "鹽田", "戊物", "己物"), "B"), "布袋有鹽田。")
    year = Good(Item("幾年？", ("1721年", "1722年", "1723年", "1724年"), "B"), "1722年的事。")
    for seed in ("", "1", "2", "3"):
        case = ungrounded(good, [good, other, year], seed)
        assert case is not None and key(case.item) in allowed - {answer}


def test_what_stands_in_the_window_or_the_options_never_comes_in() -> None:
    window = "九年間，1、2、3、4、5、6、7、8 都出現過。"
    good = Good(Item("幾個？", ("9", "4個", "5個", "6個"), "A"), window)
    same = Good(Item("他題？", ("7", "8", "10", "11"), "B"), "八件。")
    assert ungrounded(good, [good, same]) is None
    assert plant([good], 1) == []
    # Nor does what another option says, nor the answer of another item of the same window, said in other words.
    counted = Good(Item("幾個？", ("1個", "2個", "3個", "4個"), "C"), "共三個。")
    drawn = {key(case.item) for seed in range(30) if (case := ungrounded(counted, [counted], str(seed)))}
    assert drawn == {f"{digit}個" for digit in (5, 6, 7, 8, 9)}
    one = Good(Item("誰？", ("甲人", "乙人", "丙人", "丁人"), "A"), "甲人與那位老師同行。")
    assert ungrounded(one, [one, Good(Item("同行的是誰？", ("教師", "子人", "丑人", "寅人"), "A"), one.window)]) is None
    # An item whose options are no four to begin with is no good item.
    broken = [Good(Item(one.item.question, ("", *one.item.options[1:]), "B"), one.window) for one in goods(3)]
    assert plant(broken, 3) == []
