"""The grammar of 備註, on sentences as they are printed."""

from __future__ import annotations

import pytest

from twlocal.exam.notes import read_notes, unattributed


@pytest.mark.parametrize(
    ("text", "kind", "accepted"),
    [
        ("第9題一律給分", "everyone", ()),
        ("第71題均給分。", "everyone", ()),
        ("第44題除未作答者不給分外，其餘均給分", "all_answered", ()),
        ("第17題答Ｂ或Ｄ或BD者均給分", "several", ("B", "D", "BD")),
        ("第50題答Ｂ或Ｃ或Ｄ或BC或BD或CD或BCD者均給分", "several", ("B", "C", "D", "BC", "BD", "CD", "BCD")),
        ("第32題答Ｂ、Ｃ給分。", "several", ("B", "C")),
        ("第6題答Ａ或Ｃ或Ｄ者均給分", "several", ("A", "C", "D")),
        ("第74題答Ａ給分", "changed", ("A",)),
        ("第74題更正答案為Ｃ", "changed", ("C",)),
        ("第3題答案更正為D", "changed", ("D",)),
        ("第8題另行公告", "unknown", ()),
        ("第8題答Ａ或", "unknown", ()),
        ("17題一律給分", "everyone", ()),
        ("題號17：一律給分", "everyone", ()),
        ("第十七題，均予給分", "everyone", ()),
        ("第3題無正確答案，一律給分", "everyone", ()),
        ("第3題題意不清一律給分", "everyone", ()),
        ("第3題一律給分（題意不清）", "everyone", ()),
        ("第3題一律給分（原答案Ｂ）", "everyone", ()),
        ("第3題所有應考人均給分", "everyone", ()),
        ("第3題本題送分", "everyone", ()),
        ("第3題未作答者不給分，其餘均給分", "all_answered", ()),
        ("第3題除未作答者外，其餘應考人一律給分", "all_answered", ()),
        ("第3題凡作答者均給分", "all_answered", ()),
        ("第3題答任一選項均給分", "all_answered", ()),
        ("第3題選項Ｂ、Ｃ均給分", "several", ("B", "C")),
        ("第3題答（Ｂ）或（Ｃ）者均給分", "several", ("B", "C")),
        ("第3題答「B」或「C」均給分", "several", ("B", "C")),
        ("第3題選Ｂ或選Ｃ者，均給分", "several", ("B", "C")),
        ("第3題答Ｂ、Ｃ任一者均給分", "several", ("B", "C")),
        ("第3題答案Ｂ、Ｃ均為正確", "several", ("B", "C")),
        ("第3題答A者給分，答B者亦給分", "several", ("A", "B")),
        ("第3題標準答案更正為A或B", "several", ("A", "B")),
        ("第3題答ＢＤ者給分", "several", ("BD",)),
        ("第3題答Ⓑ或\ue18e者均給分", "several", ("B", "C")),
        ("第3題答案由A更正為B", "changed", ("B",)),
        ("第3題由Ａ改為Ｂ", "changed", ("B",)),
        ("第3題原答案Ａ，更正為Ｂ", "changed", ("B",)),
        ("第3題更正為Ｂ（原答案Ａ）", "changed", ("B",)),
        ("第3題答案更正為「Ｃ」", "changed", ("C",)),
        ("第3題正確答案應為D", "changed", ("D",)),
    ],
)
def test_one_note(text, kind, accepted):
    (note,) = read_notes(text).values()
    assert (note.kind, note.accepted) == (kind, accepted)


@pytest.mark.parametrize(
    "text",
    [
        "第3題答Ｂ亦給分",  # beside which other?
        "第3題答Ｂ均給分",  # all of whom?
        "第3題答Ｂ或Ｂ者均給分",
        "第3題答ＢＢ者給分",
        "第3題答Ｂ",
        "第3題答Ｂ者不給分",
        "第3題僅答Ｂ者給分",
        "第3題除答Ｂ者外，均給分",
        "第3題答Ｂ（者除外）給分",
        "第3題原答案為Ａ",
        "第3題由Ｂ更正為Ｂ",
        "第3題答①或②者均給分",
        "第3題答⑴或⒉者均給分",
        "第3題更正為Ｂ，答Ａ者亦給分",
        "第3題不送分",
        "第3題不予計分",
        "第3題給2分",
        "3：答Ｂ給分",  # a changed letter wants an item that is called one
        "113年第1次考試第3題答Ｂ給分",
        "除第3題外一律給分",
        "第3題一律給分。另行公告",
    ],
)
def test_words_that_the_grammar_does_not_know_make_the_item_unknown(text):
    assert [(note.number, note.kind, note.accepted) for note in read_notes(text).values()] == [(3, "unknown", ())]


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("第17題答B或第18題答C者均給分", {17: "unknown", 18: "unknown"}),
        ("第17題答B或第18題答C者給分", {17: "unknown", 18: "unknown"}),
        ("第17題或第18題答C給分", {17: "unknown", 18: "unknown"}),
        ("第9題與第6題答案互換", {9: "unknown", 6: "unknown"}),
        ("第9題一律給分，非第10題答C給分", {9: "unknown", 10: "unknown"}),
        ("第9題答B給分，另第10題答C給分", {9: "unknown", 10: "unknown"}),
        ("第9題另行公告，第10題答C給分", {9: "unknown", 10: "changed"}),
        ("第9題題意不清，另行公告，第10題答C給分", {9: "unknown", 10: "changed"}),
        ("第9題第10答C給分", {9: "unknown", 10: "unknown"}),
        ("第9題一律給分及第10題答B給分", {9: "everyone", 10: "changed"}),
        ("第9題一律給分，並第10題答B給分", {9: "everyone", 10: "changed"}),
        ("第9題更正為B、第10題更正為C", {9: "changed", 10: "changed"}),
    ],
)
def test_a_statement_that_goes_on_in_the_next_one(text, kinds):
    assert {n: note.kind for n, note in read_notes(text).items()} == kinds


def test_what_a_note_says_it_replaces():
    said = "第1題由Ａ改為Ｂ，第2題更正為Ｂ（原答案Ｄ），第3題答Ｂ給分"
    assert [note.replaced for note in read_notes(said).values()] == [("A",), ("D",), ()]


def test_several_notes_broken_anywhere():
    notes = read_notes("第9題一律給分，第10題一律給分，第17題答Ｂ或Ｄ或BD者均給分，第28題\n答Ａ或Ｃ或AC者均給分。")
    assert {n: note.kind for n, note in notes.items()} == {
        9: "everyone",
        10: "everyone",
        17: "several",
        28: "several",
    }
    assert notes[28].text == "答Ａ或Ｃ或AC者均給分"


def test_items_that_share_a_note():
    assert {n: note.kind for n, note in read_notes("第9題、第10題及第12題一律給分").items()} == {
        9: "everyone",
        10: "everyone",
        12: "everyone",
    }


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("第1、2、3題一律給分", [1, 2, 3]),
        ("第1,2題均給分", [1, 2]),
        ("第１題，第２題均給分", [1, 2]),
        ("第1題、2題及第5題均給分", [1, 2, 5]),
        ("第一、二、五題均給分", [1, 2, 5]),
        ("第9題至第12題一律給分", [9, 10, 11, 12]),
        ("第9至12題一律給分", [9, 10, 11, 12]),
        ("第９－１２題、第20題送分", [9, 10, 11, 12, 20]),
        ("第9題～第11題送分", [9, 10, 11]),
        ("第9題及第10題等2題一律給分", [9, 10]),
        ("第9題、第10題共二題均給分", [9, 10]),
        ("9.一律給分 10.一律給分", [9, 10]),
        ("1.第9題一律給分 2.第10題一律給分", [9, 10]),
        ("一、第9題一律給分。二、第10題一律給分。", [9, 10]),
        ("(1)第9題一律給分(2)第10題一律給分", [9, 10]),
        ("①第9題一律給分②第10題一律給分", [9, 10]),
        ("㈠第9題一律給分㈡第10題一律給分", [9, 10]),
    ],
)
def test_each_item_of_a_list_or_a_range(text, numbers):
    assert {n: note.kind for n, note in read_notes(text).items()} == dict.fromkeys(numbers, "everyone")


@pytest.mark.parametrize("text", ["第12題至第9題一律給分", "第9題及第12題等3題一律給分", "1、第9、12題答Ｂ給分"])
def test_a_list_that_contradicts_itself_is_unknown(text):
    notes = read_notes(text)
    assert {9, 12} <= notes.keys() and {note.kind for note in notes.values()} == {"unknown"}


@pytest.mark.parametrize(
    "text",
    [
        "全部試題一律給分",
        "答Ｂ或Ｃ者均給分",
        "第9題答Ｂ給分，其餘各題送分",
        "除第9題外均給分",
        "第9題一律給分，其餘試題更正為B",
    ],
)
def test_words_that_may_change_items_without_naming_them(text):
    assert unattributed(text)


@pytest.mark.parametrize("text", ["", "無", "無更正", "第9題答Ｂ給分", "第9題送分，其餘試題答案不變", "第8題另行公告"])
def test_words_that_name_their_items(text):
    assert unattributed(text) == ""


def test_two_different_notes_on_one_item_contradict():
    assert read_notes("第9題答Ａ給分，第9題答Ｂ給分")[9].kind == "unknown"
    assert read_notes("第9題答Ａ給分，第9題答Ａ給分")[9].kind == "changed"
    assert read_notes("第8題或第9題答Ａ給分，第9題答Ａ給分")[9].kind == "unknown"


def test_nothing():
    assert read_notes("") == {} and read_notes("無") == {}
