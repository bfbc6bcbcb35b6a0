"""The grammar of 備註, on sentences as they are printed."""

from __future__ import annotations

import pytest

from twlocal.exam.notes import read_notes


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
    ],
)
def test_one_note(text, kind, accepted):
    (note,) = read_notes(text).values()
    assert (note.kind, note.accepted) == (kind, accepted)


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


def test_a_range_is_not_spelled_out_and_stays_unknown():
    assert {note.kind for note in read_notes("第9題至第12題一律給分").values()} == {"unknown"}


def test_two_different_notes_on_one_item_contradict():
    assert read_notes("第9題答Ａ給分，第9題答Ｂ給分")[9].kind == "unknown"


def test_nothing():
    assert read_notes("") == {} and read_notes("無") == {}
