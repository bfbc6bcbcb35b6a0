"""JSON and JSON Lines."""

from __future__ import annotations

import json

import pytest

GOOD = '{"question": "q", "A": "1", "B": "2", "C": "3", "D": "4", "answer": "A"}'


def with_(text: str) -> str:
    """The good row with `text` as its option A, as JSON source."""
    return GOOD.replace('"A": "1"', f'"A": {text}')


@pytest.mark.parametrize("char", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c"])
def test_separators_inside_a_string_do_not_split_it(data, char):
    raw = with_('"前@後"').replace("@", char if char > "\x7f" else json.dumps(char)[1:-1])
    loaded = data.load("x.jsonl", raw + "\n" + GOOD.replace('"A"}', '"J"}') + "\n", skip_bad=True)
    assert loaded.items[0].options[0] == f"前{char}後" and loaded.rejected[0].line == 2


@pytest.mark.parametrize(
    ("literal", "text"),
    [("7", "7"), ("1.0", "1.0"), ("1e5", "1e5"), ("1E-07", "1E-07"), ("-0", "-0"), ("9" * 5000, "9" * 5000),
     ("0.10", "0.10"), ("true", "true"), ("false", "false"), ('"007"', "007"), ('"NA"', "NA")],
)  # fmt: skip
def test_literals_keep_their_text(data, literal, text):
    assert data.load("x.jsonl", with_(literal)).items[0].options[0] == text
    assert data.load("x.json", f"[{with_(literal)}]").items[0].options[0] == text


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (with_("null"), "empty option A"),
        (with_("[1]"), "option A is a list"),
        (with_('{"text": "x"}'), "option A is an object"),
        (GOOD.replace('"q"', "[1]"), "question is a list"),
        (GOOD.replace('"answer": "A"', '"answer": {"a": 1}'), "answer is an object"),
        (with_("NaN"), "NaN is not JSON"),
        (with_("Infinity"), "Infinity is not JSON"),
        ("{" + GOOD[1:-1] + ', "A": "9"}', "the key 'A' is there more than once"),
        ("[1, 2]", "an object is expected, not a list"),
        ("3", "an object is expected, not a single value"),
        ("{}", "no column question, answer"),
        ('{"question": "q"', "not valid JSON"),
        (GOOD + GOOD, "not valid JSON: Extra data"),
        ("[" * 100_000, "not valid JSON: nested too deeply"),
        (with_('"\\ud83d"'), "half of a surrogate pair"),
        (GOOD[:-1] + ', "source": "\\udc00"}', "half of a surrogate pair"),
        (GOOD[:-1] + ', "\\udc00": "x"}', "half of a surrogate pair"),
        (GOOD[:-1] + ', "id": "a\\u0000b"}', "NUL"),
        (with_('"a\\u0000b"'), "control character"),
        (with_('"a\\u001fb"'), "control character"),
        ('{"question": "q", "choices": {"a": "1"}, "answer": "A"}', "labels are not A, B, C, D"),
        ('{"question": "q", "choices": ["1", "2", "3"], "answer": "A"}', "3 choices"),
        ('{"question": "q", "choices": ["1", "2", "3", ["4"]], "answer": "A"}', "not text"),
    ],
)
def test_bad_lines_are_named_and_the_others_stay(data, line, says):
    text = f"{GOOD}\n\n{line}\r\n   \n{GOOD}\n\n"
    assert "x.jsonl:3: " in data.error("x.jsonl", text) and says in data.error("x.jsonl", text)
    loaded = data.load("x.jsonl", text, skip_bad=True)
    assert len(loaded.items) == 2 and loaded.notes["duplicate_rows"] == 1


def test_a_whole_surrogate_pair_is_a_character(data):
    assert data.load("x.jsonl", with_('"\\ud83d\\ude00"')).items[0].options[0] == "😀"


def test_other_columns_are_kept_as_text(data):
    (item,) = data.load("x.jsonl", GOOD[:-1] + ', "tags": ["甲", 1], "n": 1.50, "o": {"k": null}, "z": null}').items
    assert dict(item.meta) == {"tags": '["甲", "1"]', "n": "1.50", "o": '{"k": null}', "z": ""}


def test_keys_may_differ_from_line_to_line(data):
    lines = [GOOD, '{"answer": "c", "options": ["甲", "乙", "丙", "丁"], "question": "r"}', GOOD[:-1] + ', "E": null}']
    assert [item.answer for item in data.load("x.jsonl", "\n".join(lines)).items] == ["A", "C", "A"]


def test_columns_win_over_a_list_beside_them(data):
    (item,) = data.load("x.jsonl", GOOD[:-1] + ', "choices": ["9"]}').items
    assert item.options == ("1", "2", "3", "4") and item.meta["choices"] == '["9"]'


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[1, 2", "x.json:1: not valid JSON"),
        ("[\n1,\n2,,\n]", "x.json:3: not valid JSON"),
        ('"text"', "a list of objects"),
        ("[NaN]", "NaN is not JSON"),
        ("[" * 100_000, "nested too deeply"),
        ("{\n" + GOOD[1:], "spans several lines"),
        ("[3]", "x.json:1: an object is expected"),
        ("[]", "no rows"),
    ],
)
def test_json_that_is_no_list_of_rows(data, text, says):
    assert says in data.error("x.json", text)


def test_a_list_in_a_jsonl_file_says_where_it_belongs(data):
    assert ".json file" in data.error("x.jsonl", f"[\n{GOOD}\n]")


def test_json_lines_in_a_json_file(data):
    assert len(data.load("x.json", f"{GOOD}\n{with_('2')}\n").items) == 2
    assert len(data.load("x.ndjson", f"{GOOD}\n{with_('2')}\n").items) == 2


def test_files_that_were_put_together_keep_their_marks_and_their_rows(data):
    text = f"\ufeff{GOOD}\n\ufeff{with_('2')}\n"
    plain = data.load("plain/x.jsonl", f"{GOOD}\n{with_('2')}\n")
    assert data.load("x.jsonl", text).fingerprint == plain.fingerprint
