"""Windows: aligned, of a fair length, never ending inside a sentence, each where it says."""

from __future__ import annotations

import itertools
import re
import statistics
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from twlocal.formosa.articles import ARTICLE, kind, knowledge, read_front, sources
from twlocal.formosa.markdown import front_matter, read
from twlocal.formosa.sentences import ends_inside, ends_sentence
from twlocal.formosa.windows import Window, cut

SENTENCE = "這座港口在一八六三年開放通商，往來的船隻把樟腦與茶葉運往遠方。"


def han(text: str) -> str:
    return re.sub("[^\u4e00-\u9fff]", "", text)


def windows_of(markdown: str, target: int = 1100) -> list[Window]:
    return cut("a.md", markdown, read(markdown).blocks, target)


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("說完了。", True),
        ("真的嗎？」", True),
        ("（見下文。）", True),
        ("話沒說完⋯⋯", True),
        ("This is it.", True),
        ("「他說：『好！』」", True),
        ("如下：", False),
        ("第一，", False),
        ("《美麗島》", False),
        ("（中央社）", False),
        ("版本 3.", False),
        ("台北", False),
        ("", False),
    ],
)
def test_the_end_of_a_sentence(text: str, ends: bool) -> None:
    assert ends_sentence(text) is ends


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("一。二。三。", ["一。", "二。", "三。"]),
        ("「真的嗎？」他問。是的。", ["「真的嗎？」他問。", "是的。"]),
        ("他（笑。）走了。好。", ["他（笑。）走了。", "好。"]),
        ("什麼？！真的。", ["什麼？！", "真的。"]),
        ("等等……再說。完。", ["等等……再說。", "完。"]),
        ("沒關的「引號。還在說。", ["沒關的「引號。還在說。"]),
        ("多餘的」引號。完。", ["多餘的」引號。", "完。"]),
    ],
)
def test_sentences_inside_a_text(text: str, pieces: list[str]) -> None:
    ends = [0, *ends_inside(text), len(text)]
    assert [text[a:b] for a, b in itertools.pairwise(ends)] == pieces


def test_lengths_gather_around_the_target() -> None:
    windows = windows_of("\n\n".join(SENTENCE * (n % 7 + 1) for n in range(80)))
    assert len(windows) > 5
    assert all(800 <= len(window.text) <= 1400 for window in windows)


def test_a_heading_is_a_preferred_boundary() -> None:
    part = "\n\n".join([SENTENCE * 4] * 8)
    windows = windows_of(f"## 甲\n\n{part}\n\n## 乙\n\n{part}")
    assert [window.section for window in windows] == ["甲", "乙"]


def test_a_list_without_full_stops_goes_with_what_follows() -> None:
    long = SENTENCE * 30
    windows = windows_of(f"{long}\n\n有三站：\n\n- 台北\n- 板橋\n- 桃園\n\n{long}")
    assert len(windows) == 2
    assert windows[0].text == long
    assert windows[1].text.startswith("有三站：\n台北\n板橋\n桃園\n這座港口")


def test_what_ends_no_sentence_is_left_at_the_end() -> None:
    (window,) = windows_of(f"{SENTENCE * 20}\n\n相關的站：\n\n- 台北\n- 板橋\n")
    assert window.text == SENTENCE * 20


def test_too_little_gives_no_window() -> None:
    assert windows_of(SENTENCE) == []
    assert windows_of("") == []


def test_an_overlong_paragraph_is_cut_at_its_sentences_with_exact_spans() -> None:
    marked = SENTENCE.replace("港口", "**港口**").replace("茶葉", "[茶葉](https://example.org/a)")
    text = f"# 題\n\n> {(marked + '他問：「好嗎？」大家都笑了[^1]。') * 120}\n\n[^1]: 註。\n"
    windows = windows_of(text)
    assert len(windows) > 2
    assert "".join(window.text for window in windows) == read(text).blocks[0].text
    assert all(window.end == after.start for window, after in itertools.pairwise(windows))
    for window in windows:
        assert ends_sentence(window.text) and 700 < len(window.text) < 1500
        # What stands in the span reads as the window does.
        assert "".join(block.text for block in read(text[window.start : window.end]).blocks) == window.text


def test_the_hash_is_the_texts() -> None:
    one = Window("a.md", 0, 9, "", "甲。")
    assert one.hash == Window("b.md", 5, 14, "節", "甲。").hash != Window("a.md", 0, 9, "", "乙。").hash


PIECES = st.sampled_from(
    [
        SENTENCE,
        SENTENCE * 9,
        "如下：",
        "- 台北\n- 板橋",
        "> 「真的嗎？」他問。",
        "## 節",
        "| 甲 |\n|--|\n| 乙 |",
        "詩一行  \n詩二行",
    ]
)


@settings(max_examples=60, deadline=None)
@given(st.lists(PIECES, max_size=40), st.integers(200, 1500))
def test_properties(pieces: list[str], target: int) -> None:
    text = "\n\n".join(pieces)
    windows = windows_of(text, target)
    assert windows == windows_of(text, target)
    assert all(ends_sentence(window.text) for window in windows)
    assert all(one.end <= other.start for one, other in itertools.pairwise(windows))
    blocks = [block.text for block in read(text).blocks]
    # Windows are runs of blocks, in order, none twice.
    written = [line for window in windows for line in window.text.split("\n")]
    lines = iter([line for block in blocks for line in block.split("\n")])
    assert all(line in lines for line in written)


def test_the_real_corpus(shared: Path) -> None:
    place = shared / "data" / "taiwan_md"
    if not place.is_dir():
        pytest.skip("needs the sample of Taiwan.md")
    windows: list[Window] = []
    for source in sources(knowledge(place)):
        if kind(source, read_front(front_matter(source.text))) == ARTICLE:
            assert not source.path.startswith(("en/", "ja/")) and "Hub" not in source.path
            blocks = read(source.text).blocks
            found = cut(source.path, source.text, blocks)
            windows += found
            for window in found:
                assert ends_sentence(window.text)
                assert han(window.text)[:4] in han(source.text[window.start : window.end])
    assert 1000 <= statistics.median(len(window.text) for window in windows) <= 1200
    text = "\n".join(window.text for window in windows)
    for mark in ("[[", "]]", "[^", "](", "http", "**", "<!--", "<div", "30 秒概覽"):
        assert mark not in text, mark
