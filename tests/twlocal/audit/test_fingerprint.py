"""What two printings may differ in, and what they may not."""

from __future__ import annotations

import pytest

from twlocal.audit.fingerprint import fingerprint, fold

OPTIONS = ("內政部", "環境保護署", "清潔隊", "行政院。")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("下列何者正確？", "下列 何者\n正確"),
        ("（ＡＢＣ）法", "(ABC)法"),
        ("Kaposi sarcoma", "kaposi Sarcoma"),
        ("台灣", "臺灣"),
        ("1,000元", "1000元"),
        ("右心房壓力：", "右心房壓力"),
        ("列", "列"),
        ("TCP–IP", "TCP-IP"),
    ],
)
def test_typography_is_folded(one, other):
    assert fold(one) == fold(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("0.5", "05"),
        ("1:2", "12"),
        ("+5", "-5"),
        ("<5%", ">5%"),
        ("AaBb", "AABB"),
        ("pH", "PH"),
        ("x/y", "xy"),
        ("1,2", "12"),
        ("①②", "①③"),
        ("甲", "乙"),
    ],
)
def test_meaning_is_not_folded(one, other):
    assert fold(one) != fold(other)


@pytest.mark.parametrize("text", ["。", "？！", "（）"])
def test_a_text_of_punctuation_stays(text):
    assert fold(text)


def test_the_order_of_the_options_does_not_matter():
    assert fingerprint("誰負責？", OPTIONS) == fingerprint("誰負責", ("行政院", "清潔隊", "內政部。", "環境保護署"))


def test_the_options_and_their_number_matter():
    assert fingerprint("誰負責？", OPTIONS) != fingerprint("誰負責？", (*OPTIONS[:3], "立法院"))
    assert fingerprint("題", ("甲", "甲", "乙", "丙")) != fingerprint("題", ("甲", "乙", "乙", "丙"))
    assert fingerprint("題甲", ("乙", "丙", "丁", "戊")) != fingerprint("題", ("甲乙", "丙", "丁", "戊"))
