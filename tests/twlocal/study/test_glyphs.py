"""Characters and names that are not written so in Taiwan."""

from __future__ import annotations

from pathlib import Path

import pytest

from twlocal.study.glyphs import names, odd


@pytest.mark.parametrize(
    ("text", "corrupted"),
    [
        ("答案是左翐站。", [("左翐", "左營")]),
        ("高鐵左翐站", [("左翐", "左營")]),
        ("搭到板僑車站再轉車", [("板僑", "板橋")]),
        ("「青桐站」", [("青桐", "菁桐")]),
        ("到新左營站，再到左營站", []),
        ("抵達左營高鐵站", []),
        ("臺北站與台北車站是同一站", []),
        ("他站在左邊站著，這一站是終點站，下一站是高鐵站", []),
        ("木造車站", []),
        ("左翐", []),  # without 站 nothing says that it is a name
    ],
)
def test_corrupted_names(text: str, corrupted: list[tuple[str, str]]) -> None:
    assert list(odd(text).corrupted) == corrupted


@pytest.mark.parametrize(
    ("text", "romanised"),
    [
        ("下一站是 Banqiao。", ["板橋"]),
        ("banqiao, zuoying", ["板橋", "左營"]),
        ("Tso-ying 或 Tsoying", ["左營"]),
        ("板橋（Banqiao）", []),
        ("Banqiaoish", []),
        ("臺北 Taipei", []),
        ("台北 Taipei", []),
    ],
)
def test_romanised_names(text: str, romanised: list[str]) -> None:
    assert list(odd(text).romanised) == romanised


def test_characters_outside_the_reference() -> None:
    found = odd("这个国家的営業，與臺灣裡面的靐\ufffd\ue000⿰土也")
    assert found.simplified == ("这", "个", "国")
    assert found.foreign == ("営", "靐")
    assert found.broken == 3
    plain = odd("臺灣的左營、板橋與菁桐，一切如常。ABC 123 あいう")
    assert (plain.simplified, plain.foreign, plain.broken) == ((), (), 0)


def test_the_table_holds_together() -> None:
    table = names()
    spelled = [one.casefold() for spellings in table.spellings.values() for one in spellings]
    assert len(spelled) == len(set(spelled))
    assert all(len(name) >= 2 for name in table.spellings)
    assert "台北" in table.spellings
    assert not {name for name in table.spellings if "臺" in name}
    # Every known name is read as itself, also behind a word that leads to it.
    for name in table.spellings:
        assert odd(f"搭到{name}站").corrupted == ()


def test_native_prose_holds_no_corrupted_name(shared: Path) -> None:
    """The detector's false-positive story: none in 98 articles by people."""
    articles = sorted((shared / "data" / "taiwan_md").rglob("*.md"))
    if not articles:
        pytest.skip("needs the corpus")
    found = [one for path in articles for one in odd(path.read_text(encoding="utf-8")).corrupted]
    assert found == []


def test_a_long_text_takes_time_in_proportion() -> None:
    import time

    text = "搭車到某處某處某處站，" * 20_000
    start = time.process_time()
    odd(text)
    assert time.process_time() - start < 10
