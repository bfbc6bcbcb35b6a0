"""What a bad conversion leaves, and what cannot be seen."""

from __future__ import annotations

import pytest

from twlocal.dataset.damage import blank, damaged, hides, suspect


@pytest.mark.parametrize(
    "text",
    [
        "臺灣\ufffd\ufffd山",
        "求 \x0crac{1}{2}",  # JSON read LaTeX's \\frac as a form feed
        "\x08eta",
        "\ue129",
        "中文".encode().decode("latin-1"),
        "大學入學".encode().decode("cp1252", "ignore"),
        "#NAME?",
        "#REF!",
    ],
)
@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
def test_damage_is_told_and_the_row_is_taken_as_it_is(data, suffix, text):
    rows = [data.row(0), data.row(1, C=text), data.row(2)]
    loaded = data.load("x" + suffix, rows)
    assert loaded.items[1].options[2] == text.strip()
    assert loaded.notes["damaged_text"] == 1 and loaded.notes.examples["damaged_text"][0].endswith(f"x{suffix}:2")


@pytest.mark.parametrize(
    "text", ["第一行\n第二行\t欄", "ä, é, ç, naïve café", "C# 與 F#", "#1", "全形\u3000空白", "😀", "𠀋𪜶", "—…「」"]
)
def test_ordinary_characters_are_no_damage(data, text):
    assert not {"damaged_text", "unseen_characters"} & set(data.load("x.jsonl", [data.row(0, question=text)]).notes)


def test_characters_that_cannot_be_seen_are_told(data):
    loaded = data.load("x.csv", [data.row(0, A="台北", B="台北\u200b"), data.row(1)])
    assert loaded.notes["unseen_characters"] == 1 and "damaged_text" not in loaded.notes


@pytest.mark.parametrize("nothing", ["\u200b", "\ufeff", "\u00ad", "\u3164", "\u2800", "\u200e \u200f"])
def test_a_text_of_which_nothing_can_be_seen_is_empty(data, nothing):
    assert "empty option B: it holds nothing but" in data.error("x.csv", [data.row(0, B=nothing)])
    assert "empty question" in data.error("x.csv", [data.row(0, question=nothing)])


def test_places_follow_the_rows_that_stay(data):
    rows = [data.row(0, answer="J"), data.row(1, answer="x"), data.row(2, C="\ufffd"), data.row(3, D="\u200b丁")]
    notes = data.load("x.csv", rows, skip_bad=True).notes
    assert notes.examples["damaged_text"][0].endswith("x.csv:4")
    assert notes.examples["unseen_characters"][0].endswith("x.csv:5")


@pytest.mark.parametrize("text", ["\ufffd", "\x08", "\ue000", "\u200b", "\u3164", "\u2800", "å¤§", "ä¸\xad"])
def test_the_quick_look_misses_nothing(text):
    assert suspect(f"題\x1f甲\x1f{text}\x1f丙\x1f丁") and (damaged((text,)) or hides((text,)))
    assert not suspect("題\x1f甲\x1f乙\x1f丙\x1f丁")


def test_blanks_are_blank():
    assert blank("") and blank(" \u200b\n") and not blank("a\u200b")
