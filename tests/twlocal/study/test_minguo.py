"""Minguo years that a text equates with common ones."""

from __future__ import annotations

import pytest

from twlocal.study.minguo import Equation, equations


@pytest.mark.parametrize(
    ("text", "roc", "ad", "prefixed"),
    [
        ("民國115年（西元2026年）", 115, 2026, True),
        ("中華民國115年度，西元2026年", 115, 2026, True),
        ("民國 115 年對應的西元年份是 2026 年", 115, 2026, True),
        ("民國115年就是西元 **2027** 年", 115, 2027, True),
        ("西元2027年，也就是民國115年", 115, 2027, True),
        ("西元 2026 年（民國 115 年）", 115, 2026, True),
        ("115年是西元2027年。", 115, 2027, False),
        ("115年即2026年", 115, 2026, False),
        ("**115年** = **2027年**", 115, 2027, False),
        ("文件日期在115年（2027）", 115, 2027, False),
        ("１１５年＝２０２７年", 115, 2027, False),
    ],
)
def test_statements(text: str, roc: int, ad: int, prefixed: bool) -> None:
    assert equations(text) == [Equation(roc, ad, prefixed)]
    assert equations(text)[0].off == ad - roc - 1911


@pytest.mark.parametrize("text", ["115 + 1911 = 2027", "1911+115=2027", "2027 - 1911 = 115", "$115 + 1911 = 2027$"])
def test_sums(text: str) -> None:
    (found,) = equations(f"所以 {text}，答案是 B")
    assert (found.worked, found.off) == (True, 1)


@pytest.mark.parametrize(
    "text",
    [
        "昭和5年（1930年）",
        "清康熙 35 年（1696）",
        "光緒21年（西元1895年）",
        "民國前5年（西元1907年）",
        "清治時期共212年（1683–1895年）",
        "1683年（212年）",
        "2000年，8年後",
        "第115年會2026人",
        "115年3月2日",
        "A. 2026 B. 2027",
        "",
    ],
)
def test_what_is_no_statement_of_a_minguo_year(text: str) -> None:
    assert equations(text) == []


def test_each_statement_counts_once_and_sums_inside_words_are_found() -> None:
    text = "民國115年 = 1911 + 115 = 2026 年，所以民國115年（西元2026年）。民國115年（西元2026年）。"
    assert equations(text) == [Equation(115, 2026, False, worked=True), Equation(115, 2026, True)]


def test_native_prose_states_no_wrong_year(shared: object) -> None:
    """98 articles, 700,000 characters by people: every statement that is found is right."""
    from pathlib import Path

    articles = sorted(Path(str(shared), "data", "taiwan_md").rglob("*.md"))
    if not articles:
        pytest.skip("needs the corpus")
    found = [one for path in articles for one in equations(path.read_text(encoding="utf-8"))]
    assert found
    assert [one for one in found if one.off] == []
