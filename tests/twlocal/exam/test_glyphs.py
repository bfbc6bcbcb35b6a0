"""Private-use characters by font and context; NFC and unified ideographs; never NFKC."""

from __future__ import annotations

import pytest

from twlocal.exam.glyphs import digits, fold, private_use, read_private


@pytest.mark.parametrize(
    ("char", "font", "before", "after", "wanted"),
    [
        ("\ue129", "KCPNLD+EUDC", "", "本", "㈠"),
        ("\ue12c", "AWUIUW+00", "學", "（", "㈣"),
        ("\ue0c6", "EUDC", "", "甲", "1."),
        ("\ue1c1", "EUDC", "", "為", "(乙)"),
        ("\uea99", "MHEACH+EUDC", "塵", "嚴", "蟎"),
        ("\ue2cc", "MHEACH+EUDC", "水", "，", "疱"),
        ("\uef43", "EUDC", "類", "疹", "疱"),
        ("\uea99", "EUDC", "有", "嚴", None),
        ("\uea86", "EUDC", "尿", "素", None),
        ("\ue129", "TimesNewRomanPSMT", "", "本", None),
        ("\uf70a", "ArialUnicodeMS", "น", "า", None),
    ],
)
def test_by_font_and_context(char, font, before, after, wanted):
    assert read_private(char, font, before, after) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("\uf99c\uf967\uf9c1", "列不療"),
        ("\u2f00\u2f08", "一人"),
        ("①②㈠Ⅱ５％", "①②㈠Ⅱ５％"),
        ("is ___ or ＿＿＿＿＿", "is ____ or ____"),
        ("cafe\u0301", "café"),
        ("\ue18c", "\ue18c"),
    ],
)
def test_fold(text, wanted):
    assert fold(text) == wanted


def test_private_use_is_named_once():
    assert private_use("甲\ue2c6乙\ue2c6\uf70a") == ("U+E2C6", "U+F70A")


def test_circled_digits_are_no_digits():
    assert digits("１２①") == "12①"
