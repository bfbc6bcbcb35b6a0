"""What an answer cell means."""

from __future__ import annotations

import pytest

from twlocal.dataset.answers import (
    PLAIN,
    Habit,
    Letter,
    Position,
    Text,
    Unreadable,
    bare,
    habit_of,
    letter_of,
    read,
    settle,
)

OPTIONS = ("甲", "乙", "丙", "丁")
LETTERS = Habit(letters=True, texts=False, positions=frozenset())
TEXTS = Habit(letters=False, texts=True, positions=frozenset())
BOTH = Habit(letters=True, texts=True, positions=frozenset())
NUMBERS = Habit(letters=False, texts=False, positions=frozenset({0, 1}))


@pytest.mark.parametrize(
    "written",
    [
        "C",
        "c",
        "Ｃ",
        "ｃ",
        "（Ｃ）",
        "(C)",
        "[c]",
        "【C】",
        "「C」",
        " C ",
        "C.",
        "C、",
        "C。",
        "(C).",
        "Ⓒ",
        "⒞",
        "**C**",
        "\u200bC",
        "'C'",
    ],
)
def test_letters_in_every_dress(written):
    assert read(written, OPTIONS) == Letter("C")
    assert letter_of(written) == "C"


@pytest.mark.parametrize("text", ["", "CC", "答案C", "C或D", "3", "é", "丙", "I", "Answer: C", "c a"])
def test_what_is_not_a_letter(text):
    assert letter_of(text) == ""


def test_plain_is_exactly_the_eight_letters():
    assert dict(PLAIN) == {**{x: x for x in "ABCD"}, **{x.lower(): x for x in "ABCD"}}
    assert bare("（ｂ）。") == "B"


@pytest.mark.parametrize(
    ("written", "number"), [("0", 0), ("4", 4), ("２", 2), ("(3)", 3), ("①", 1), (" 2. ", 2), ("4.0", 4)]
)
def test_positions(written, number):
    assert read(written, OPTIONS) == Position(number)


@pytest.mark.parametrize("written", ["丙", " 丙\n"])
def test_an_options_text_is_matched_whole(written):
    assert read(written, OPTIONS) == Text("C")


@pytest.mark.parametrize(
    ("written", "says"),
    [
        ("", "no answer"),
        ("  ", "no answer"),
        ("E", "not one of A–D"),
        ("ｊ", "not one of A–D"),
        ("CC", "doubled"),
        ("BD", "multi-answer"),
        ("B,D", "multi-answer"),
        ("B、D", "multi-answer"),
        ("Ａ或Ｃ", "multi-answer"),
        ("(A)(B)", "multi-answer"),
        ("ABCD", "multi-answer"),
        ("BE", "multi-answer"),
        ("5", "out of range"),
        ("12", "out of range"),
        ("丙丁", "neither"),
        ("丙類", "neither"),
        ("C. 丙", "neither"),
        ("#", "neither"),
        ("None", "neither"),
        ("1.5", "neither"),
        ("1.00", "neither"),
        ("5.0", "neither"),
        ("-1", "neither"),
        ("長" * 60, "…"),
    ],
)
def test_the_rest_is_refused_with_a_reason(written, says):
    reading = read(written, OPTIONS)
    assert isinstance(reading, Unreadable) and says in reading.reason and len(reading.reason) < 120


def test_equal_options_make_a_text_unreadable():
    reading = read("同", ("同", "乙", "同", "丁"))
    assert isinstance(reading, Unreadable) and "options A and C" in reading.reason


BLOOD = ("A", "B", "O", "AB")


@pytest.mark.parametrize(
    ("written", "habit", "key"),
    [
        ("A", LETTERS, "A"),
        ("C", LETTERS, "C"),
        ("C", BOTH, "C"),  # no option says C
        ("A", BOTH, "A"),  # letter and text are the same option
        ("AB", LETTERS, None),  # two keys, among letters
        ("AB", TEXTS, "D"),
        ("O", TEXTS, "C"),
        ("O", LETTERS, None),
    ],
)
def test_blood_types_are_read_like_the_rest_of_their_file(written, habit, key):
    settled = settle(read(written, BLOOD), habit, base=None, stated=False)
    assert settled == key if key else isinstance(settled, Unreadable)


def test_a_letter_that_is_another_options_text_is_refused_where_both_are_used():
    reading = read("B", ("B", "A", "O", "AB"))
    assert reading == Letter("B", text=True)
    assert settle(reading, LETTERS, base=None, stated=False) == "B"
    refused = settle(reading, BOTH, base=None, stated=False)
    assert isinstance(refused, Unreadable) and "uses both" in refused.reason


@pytest.mark.parametrize("written", ["0", "2", "4"])
def test_an_integer_that_is_an_options_text_needs_the_base_stated(written):
    reading = read(written, ("4", "2", "0", "1"))
    assert reading == Position(int(written), text=True)
    refused = settle(reading, NUMBERS, base=0, stated=False)
    assert isinstance(refused, Unreadable) and "--answer-base" in refused.reason
    stated = settle(reading, NUMBERS, base=0, stated=True)
    assert stated == {"0": "A", "2": "C"}.get(written) or (written == "4" and isinstance(stated, Unreadable))


@pytest.mark.parametrize("habit", [LETTERS, TEXTS, BOTH])
def test_an_integer_among_other_kinds_is_refused_unless_stated(habit):
    assert isinstance(settle(Position(2), habit, base=1, stated=False), Unreadable)
    assert settle(Position(2), habit, base=1, stated=True) == "B"


@pytest.mark.parametrize(
    ("number", "base", "key"), [(0, 0, "A"), (3, 0, "D"), (4, 0, None), (0, 1, None), (1, 1, "A"), (4, 1, "D")]
)
def test_positions_from_either_base(number, base, key):
    settled = settle(Position(number), NUMBERS, base=base, stated=True)
    assert settled == key if key else isinstance(settled, Unreadable)


def test_the_habit_of_a_file():
    readings = [Letter("A", text=True), Text("D", instead="x"), Position(2, text=True), Unreadable("y")]
    assert habit_of(readings, letters=False) == Habit(False, False, frozenset()), "nothing of it is beyond doubt"
    readings = [Letter("A"), Text("D"), Position(2), Position(4)]
    assert habit_of(readings, letters=False) == Habit(True, True, frozenset({2, 4}))
    assert Habit(False, False, frozenset({1, 2})).base is None
    assert Habit(False, False, frozenset({1, 0})).base == 0
    assert Habit(False, False, frozenset({3, 4})).base == 1
    with pytest.raises(ValueError, match="both 0 and 4"):
        _ = Habit(False, False, frozenset({0, 4})).base


# Through a whole file, where neighbours decide


def test_option_texts_as_answers(data):
    rows = [data.row(number, answer=f"{'甲乙丙丁'[number]}{number}") for number in range(4)]
    assert [item.answer for item in data.load("x.csv", rows).items] == list("ABCD")


def test_numeric_option_texts_beyond_the_positions_are_texts(data):
    rows = [{"question": "2³=?", "A": "6", "B": "7", "C": "8", "D": "9", "answer": "8"}]
    assert data.load("x.jsonl", rows).items[0].answer == "C"


def test_small_numeric_option_texts_are_refused(data):
    rows = [{"question": "1+1=?", "A": "4", "B": "3", "C": "2", "D": "1", "answer": 2}, data.row(1, answer=0)]
    message = data.error("x.jsonl", rows)
    assert "x.jsonl:1: the answer '2' is a position and the text of an option" in message
    assert [item.answer for item in data.load("x.jsonl", rows, answer_base=0).items] == ["C", "A"]


def test_a_letter_already_taken_is_taken_back_when_the_file_turns_out_to_use_texts(data):
    rows = [
        data.row(0, A="B", B="A", C="O", D="AB", answer="A"),
        data.row(1, answer="丙1"),
        data.row(2, answer="C"),
        data.row(3, question=" 末題 ", answer="D"),
    ]
    loaded = data.load("x.csv", rows, skip_bad=True)
    assert [(one.line, "uses both" in one.reason) for one in loaded.rejected] == [(2, True)]
    assert [item.answer for item in loaded.items] == ["C", "C", "D"]
    assert loaded.notes.examples["normalised_rows"] == (f"{data.folder}/x.csv:5",), "places move with the rows"


def test_a_number_among_letters_is_one_bad_row_not_a_question_about_bases(data):
    rows = [data.row(0), data.row(1, answer="2")]
    assert "x.csv:3: the answer '2' is a number where" in data.error("x.csv", rows)
