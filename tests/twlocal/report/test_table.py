"""Display widths, clipping, wrapping, tables, and consoles that cannot print everything."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twlocal.report.table import clip, columns, fitted, one_line, pad, safe, table, visible, wrap


def width(line: str) -> int:
    """An independent measure for texts of letters, digits, blanks, Han characters and combining marks."""
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in line
    )


ROWS = [["台灣通用模型（Ａ）", "81.0"], ["qwen", "9.5"]]
# Letters, a wide one, a full-width one, a combining accent, an ellipsis (ambiguous width), a Hangul syllable.
texts = st.text(alphabet="ab Z9台灣Ａ（\u0301…한ｶ", max_size=24)


def test_rows_of_chinese_and_latin_names_line_up() -> None:
    lines = table(ROWS, ["model", "分數"], align="lr")
    assert {width(line) for line in lines} == {len("model") + 13 + 2 + 4}
    assert lines == [
        "model               分數",
        "------------------  ----",
        "台灣通用模型（Ａ）  81.0",
        "qwen                 9.5",
    ]


def test_an_accent_that_combines_takes_no_column() -> None:
    lines = table([["cafe\u0301", "1"], ["caffe", "2"]])
    assert lines == ["cafe\u0301   1", "caffe  2"]


@pytest.mark.parametrize(
    ("text", "room", "cut"),
    [
        ("台灣通用模型", 12, "台灣通用模型"),
        ("台灣通用模型", 11, "台灣通用..."),
        ("台灣通用模型", 10, "台灣通..."),
        ("台灣通用模型", 9, "台灣通..."),
        ("台灣通用模型", 4, "..."),
        ("台灣通用模型", 3, "台"),
        ("台灣通用模型", 2, "台"),
        ("台灣通用模型", 1, ""),
        ("台灣", 0, ""),
        ("cafe\u0301s and bars", 7, "cafe\u0301..."),
        ("a", 1, "a"),
    ],
)
def test_clipping_never_halves_a_character(text: str, room: int, cut: str) -> None:
    assert clip(text, room) == cut


def test_a_sign_that_widens_the_one_before_it_is_measured_with_it() -> None:
    assert columns("❤\ufe0f") == 2
    assert columns(clip("❤\ufe0f❤\ufe0f❤\ufe0f", 3)) <= 3


def test_a_character_without_a_width_does_not_break_the_measure() -> None:
    assert columns("a\x07b") == 2


@given(texts, st.integers(0, 30))
def test_clipped_texts_fit_and_padded_ones_fill(text: str, room: int) -> None:
    assert columns(clip(text, room)) <= room
    assert columns(pad(text, room)) == columns(pad(text, room, "r")) == room


@given(st.lists(st.lists(texts, min_size=3, max_size=3), min_size=1, max_size=6), st.none() | st.integers(1, 70))
def test_every_line_of_a_table_is_equally_wide_and_fits(rows: list[list[str]], room: int | None) -> None:
    lines = table(rows, ["科目", "n", "正確率"], align="lrr", width=room)
    assert len(lines) == len(rows) + 2
    assert len({columns(line) for line in lines}) == 1
    assert len({width(line) for line in lines}) == 1
    assert room is None or columns(lines[0]) <= room


def test_names_give_way_before_numbers() -> None:
    rows = [["專門職業及技術人員高等考試律師考試", "1,696", "46.2%"]]
    assert table(rows, align="lrr", width=30) == ["專門職業及技...   1,696  46.2%"]


def test_a_table_far_too_wide_is_still_cut_to_fit() -> None:
    lines = table([[str(number) for number in range(20)]], width=10)
    assert [columns(line) for line in lines] == [10]


@pytest.mark.parametrize("rows", [[], [[]]])
def test_a_table_without_cells_is_nothing(rows: list[list[str]]) -> None:
    assert table(rows) == []


def test_rows_of_different_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="zip"):
        table([["a", "b"], ["c"]])


def test_line_ends_colours_and_formatting_characters_do_not_get_into_a_cell() -> None:
    assert one_line("a\nb\tc\x1b[31md\u202e\u200b\u2028e\ud800") == "a b c[31md e"
    assert table([["民法\n總則", "\x1b[2J"]]) == ["民法 總則  [2J"]


@pytest.mark.parametrize(
    ("text", "room", "lines"),
    [
        ("", 10, []),
        ("   ", 10, []),
        ("one two three", 7, ["one two", "  three"]),
        ("one two three", 80, ["one two three"]),
        ("台灣通用模型，很好。", 12, ["台灣通用模", "  型，很好。"]),
        ("模型 gemma 很好", 10, ["模型 gemma", "  很好"]),
        ("abcdefghijkl", 5, ["abcde", "  fgh", "  ijk", "  l"]),
        ("box   strict", 80, ["box   strict"]),
        ("      indented", 80, ["      indented"]),
    ],
)
def test_wrapping(text: str, room: int, lines: list[str]) -> None:
    assert wrap(text, room, "  ") == lines


@given(texts, st.integers(8, 40), st.sampled_from(["", "  "]))
def test_wrapped_lines_fit_and_lose_nothing_but_blanks(text: str, room: int, indent: str) -> None:
    lines = wrap(text, room, indent)
    assert all(columns(line) <= room for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())


@pytest.mark.parametrize(
    ("encoding", "shown"),
    [
        ("utf-8", "台灣 43.9–48.6 ≤ 😀"),
        ("cp950", "台灣 43.9–48.6 <= \\U0001f600"),
        ("ascii", "\\u53f0\\u7063 43.9-48.6 <= \\U0001f600"),
        ("latin-1", "\\u53f0\\u7063 43.9-48.6 <= \\U0001f600"),
        ("no such encoding", "\\u53f0\\u7063 43.9-48.6 <= \\U0001f600"),
    ],
)
def test_consoles_that_cannot_print_everything(encoding: str, shown: str) -> None:
    assert safe("台灣 43.9–48.6 ≤ 😀", encoding) == shown


@given(st.text(max_size=40), st.sampled_from(["ascii", "cp950", "utf-8", "cp437", "big5"]))
def test_whatever_is_made_safe_can_be_printed(text: str, encoding: str) -> None:
    safe(text, encoding).encode(encoding)
    safe(text + "\ud800", encoding).encode(encoding)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31m紅\x1b[0m", "\\x1b[31m紅\\x1b[0m"),
        ("\x9b2J\x7f\x00", "\\x9b2J\\x7f\\x00"),
        ("一\r二\r\n三\t四\n", "一\\x0d二\r\n三\t四\n"),
        ("\u202eabc\u2066\u200f", "\\u202eabc\\u2066\\u200f"),
        ("半\ud800", "半\\ud800"),
        ("家\u200d族 \u3000①😀", "家\u200d族 \u3000①😀"),
    ],
)
def test_what_a_terminal_would_obey_is_written_out(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_a_message_is_broken_at_blanks_where_a_terminal_is_narrow_and_paths_stay_whole() -> None:
    path = "/a/long/path/that/is/to/be/copied.csv"
    said = f"twlocal: cannot write it there at all\n  → give it another name\n{path}: no room"
    assert fitted(said, None) == said
    assert fitted(said, 24).split("\n") == [
        "twlocal: cannot write it",
        "  there at all",
        "  → give it another name",
        f"{path}: no room",
    ]
