"""The reported faults of data loading and sampling (parts 4 and 6, P3-6, P12-3), each with its variants."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from twlocal import protocol, sample
from twlocal.dataset import load

HEADER = "question,A,B,C,D,answer\r\n"


# P6-1: Excel's BOM


@pytest.mark.parametrize("header", [HEADER, '"question",A,B,C,D,answer\r\n', '"question","A","B","C","D","answer"\r\n'])
def test_a_bom_does_not_hide_the_first_column(data, header):
    loaded = data.load("x.csv", b"\xef\xbb\xbf" + header.encode() + b'"1+1=?",1,2,3,4,B\r\n')
    (item,) = loaded.items
    assert (item.question, item.options, item.answer) == ("1+1=?", ("1", "2", "3", "4"), "B")


@pytest.mark.parametrize("suffix", [".jsonl", ".json", ".tsv"])
def test_a_bom_in_the_other_text_formats(data, suffix):
    content = data.formats[suffix]([data.row()])
    assert (
        data.load(f"x{suffix}", b"\xef\xbb\xbf" + content).fingerprint == data.load(f"x{suffix}", content).fingerprint
    )


# P6-3: where integer answers start


@pytest.mark.parametrize("form", ["choices", "columns"])
@pytest.mark.parametrize("suffix", [".jsonl", ".json", ".parquet", ".arrow", ".csv"])
@pytest.mark.parametrize("as_text", [False, True])
@pytest.mark.parametrize("integers", [[1, 4, 2, 3], [0, 3, 1, 2]])
def test_integer_answers_start_where_the_file_shows(data, form, suffix, as_text, integers):
    rows = []
    for number, answer in enumerate(integers):
        one = data.row(number, answer=str(answer) if as_text else answer)
        if form == "choices":
            choices = [one.pop(label) for label in "ABCD"]
            one["choices"] = json.dumps(choices, ensure_ascii=False) if suffix == ".csv" else choices
        rows.append(one)
    assert [item.answer for item in data.load(f"x{suffix}", rows).items] == ["A", "D", "B", "C"]


def test_integers_that_a_missing_cell_made_floats_are_positions_all_the_same(data):
    rows = [data.row(n, answer=f"{key}.0") for n, key in enumerate((1, 4, 2, 3))]
    assert [item.answer for item in data.load("x.csv", rows).items] == list("ADBC")
    assert "may count from 0 or from 1" in data.error("y.csv", rows[2:])


def test_an_ambiguous_base_is_refused_and_can_be_stated(data):
    rows = [data.row(number, answer=answer) for number, answer in enumerate([1, 2, 3, 1])]
    message = data.error("z.jsonl", rows)
    assert "may count from 0 or from 1" in message and "--answer-base" in message
    assert "z.jsonl" in data.error("z.jsonl", rows, skip_bad=True), "leaving rows out does not answer the question"
    assert [item.answer for item in data.load("z.jsonl", rows, answer_base=0).items] == ["B", "C", "D", "B"]
    assert [item.answer for item in data.load("z.jsonl", rows, answer_base=1).items] == ["A", "B", "C", "A"]


def test_contradicting_integers_are_refused_by_line(data):
    rows = [data.row(number, answer=answer) for number, answer in enumerate([1, 0, 4])]
    message = data.error("x.jsonl", rows)
    assert "both 0 and 4" in message and "0 on line 2" in message and "4 on line 3" in message
    loaded = data.load("x.jsonl", rows, answer_base=1, skip_bad=True)
    assert [item.answer for item in loaded.items] == ["A", "D"]
    assert [str(one.line) for one in loaded.rejected] == ["2"] and "counting from 1" in loaded.rejected[0].reason


def test_each_file_of_a_folder_counts_for_itself(data):
    for name, answers in {"x": [1, 4, 2, 3], "y": [0, 3, 1, 2]}.items():
        data.put(f"f/{name}.jsonl", [data.row(number, answer=answer) for number, answer in enumerate(answers)])
    loaded = load(str(data.folder / "f"))
    assert [item.answer for item in loaded.items] == ["A", "D", "B", "C"] * 2
    # A third one that does not tell, among two that disagree, is nobody's to guess.
    data.put("f/z.jsonl", [data.row(number, answer=answer) for number, answer in enumerate([1, 2, 3, 1])])
    with pytest.raises(Exception, match=r"z\.jsonl.*may count from 0 or from 1"):
        load(str(data.folder / "f"))
    # Where the others agree, it follows them.
    (data.folder / "f/x.jsonl").unlink()
    assert [item.answer for item in load(str(data.folder / "f")).items if item.subject == "z"] == ["B", "C", "D", "B"]


# P6-5: answers that are none


def test_answers_outside_the_options(data):
    answers = ["J", "E", "CC", "BD", "b", "（Ｃ）", "", " D. "]
    rows = [data.row(number, answer=answer) for number, answer in enumerate(answers)]
    rows.append(data.row(8, answer="A"))
    rows = [one | {"E": "戊" if number == 8 else ""} for number, one in enumerate(rows)]
    loaded = data.load("x.csv", rows, skip_bad=True)
    assert [item.answer for item in loaded.items] == ["B", "C", "D"]
    reasons = {one.line: one.reason for one in loaded.rejected}
    assert sorted(reasons) == [2, 3, 4, 5, 8, 10]
    assert len(set(reasons.values())) == 6, "each says its own reason"
    assert "not one of A–D" in reasons[2] and "not one of A–D" in reasons[3]
    assert "doubled" in reasons[4] and "multi-answer" in reasons[5]
    assert reasons[8] == "no answer" and "fifth" in reasons[10]
    message = data.error("x.csv", rows)
    assert "6 of 9 rows" in message and "--skip-bad" in message
    for line, reason in reasons.items():
        assert f"x.csv:{line}: {reason}" in message


@pytest.mark.parametrize("suffix", [".json", ".jsonl", ".parquet", ".csv"])
def test_a_fifth_choice_rejects_the_row(data, suffix):
    choices = ["甲", "乙", "丙", "丁", "戊"]
    written = json.dumps(choices) if suffix == ".csv" else choices
    assert "5 choices" in data.error(f"x{suffix}", [{"question": "q", "choices": written, "answer": "A"}])


@pytest.mark.parametrize("letters", ["ABCD", "abcd"])
@pytest.mark.parametrize("fifth", ["E", "e", "Ｅ", "選項E", "option_e", "F"])
def test_a_fifth_option_is_one_in_whatever_case(data, letters, fifth):
    text = f"question,{','.join(letters)},{fifth},answer\n題一,1,2,3,4,五,A\n題二,1,2,3,4,,B\n"
    loaded = data.load("x.csv", text, skip_bad=True)
    assert [item.question for item in loaded.items] == ["題二"]
    assert [one.reason for one in loaded.rejected] == ["a fifth option: four are needed"]


# P6-7: duplicate texts


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_the_key_follows_the_position_and_duplicates_are_reported(data, suffix):
    row = {"id": "q1", "subject": "甲", "question": "x", "A": "同文", "B": "乙", "C": "同文", "D": "丁", "answer": "A"}
    loaded = data.load(f"x{suffix}", [row])
    (item,) = loaded.items
    assert (item.id, item.subject, item.answer, item.options[2]) == ("q1", "甲", "A", "同文")
    assert loaded.notes["duplicate_options"] == 1
    assert loaded.notes.examples["duplicate_options"][0].endswith(f"x{suffix}:{2 if suffix == '.csv' else 1}")
    order = protocol.load("box").order(item)
    assert sorted(order) == list("ABCD")


def test_a_text_answer_that_two_options_share_is_refused(data):
    rows = [data.row(0, A="同文", C="同文", answer="同文")]
    assert "text of options A and C" in data.error("x.csv", rows)


# P6-9: other columns


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".json", ".jsonl", ".parquet", ".arrow"])
def test_other_columns_never_reach_the_prompt(data, suffix):
    row = {"id": "x1", "subject": "刑法", "explanation": "故選 C", "question": "q", "A": "甲", "B": "乙"}
    row |= {"C": "丙", "D": "丁", "answer": "C", "year": "113", "E": ""}
    (item,) = data.load(f"x{suffix}", [row]).items
    assert dict(item.meta) == {"explanation": "故選 C", "year": "113"}
    rules = protocol.load("box")
    said = rules.messages(item, "ABCD")[-1].content
    assert said == "題目：q\nA. 甲\nB. 乙\nC. 丙\nD. 丁"


# P4-6 and P3-6: the same text twice, the same id twice


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_equal_rows_are_kept_and_counted(data, suffix):
    q = {"question": "Q", "A": "1", "B": "2", "C": "3", "D": "4"}
    rows = [
        {"subject": "甲", **q, "answer": "A"},
        {"subject": "乙", **q, "answer": "A"},
        {"subject": "甲", **q, "answer": "B"},
    ]
    loaded = data.load(f"x{suffix}", rows)
    assert len(loaded.items) == 3
    assert dict(loaded.notes) == {"repeats_across_subjects": 1, "key_conflicts": 1}
    assert "against" in loaded.notes.examples["key_conflicts"][0]
    again = data.load(f"x{suffix}", [*rows, rows[0]])
    assert len(again.items) == 4 and again.notes["duplicate_rows"] == 1
    assert again.fingerprint != loaded.fingerprint, "a row more is another dataset"


def test_ids_need_not_be_unique(data):
    rows = [data.row(0, subject="民法", id="0", question="甲題"), data.row(0, subject="刑法", id="0", question="乙題")]
    loaded = data.load("x.csv", rows)
    assert len({item.content_hash for item in loaded.items}) == 2 and not loaded.notes
    clash = data.load("x.csv", [one | {"subject": "民法"} for one in rows])
    assert len(clash.items) == 2 and clash.notes["duplicate_ids"] == 1


# P4-2 and P4-4: what is drawn


def test_a_limit_is_spread_over_the_subjects(data):
    subjects = ["民法", "刑法", "會計"]
    rows = [data.row(number, subject=subjects[number // 100], question=f"題{number}") for number in range(300)]
    items = data.load("x.csv", rows).items
    drawn = sample.limit(items, 30)
    assert sorted(item.subject for item in drawn) == sorted(subjects * 10)


@pytest.mark.parametrize("draw", [lambda items: sample.limit(items, 12), lambda items: sample.draw(items, 4)])
def test_the_same_questions_in_every_variant(data, draw):
    subjects = ["民法", "刑法", "會計"]
    rows = [data.row(n, subject=subjects[n // 20], question=f"第{n}題，é\n何者？") for n in range(60)]
    crlf = [one | {"question": str(one["question"]).replace("\n", "\r\n")} for one in rows]
    nfd = [one | {"question": str(one["question"]).replace("é", "e\u0301")} for one in rows]
    put = data.put
    put("halves/1.csv", rows[:25])
    put("halves/2.jsonl", rows[25:])
    variants = {
        "original": put("o.csv", rows),
        "reversed": put("r.csv", rows[::-1]),
        "CRLF and BOM": put("c.csv", b"\xef\xbb\xbf" + data.formats[".csv"](crlf)),
        "decomposed": put("n.csv", nfd),
        "two files": data.folder / "halves",
        "JSON": put("j.json", rows),
        "JSON keys in another order": put("k.jsonl", [dict(sorted(one.items(), reverse=True)) for one in rows]),
        "Parquet": put("p.parquet", rows),
    }
    hashes = {name: [item.content_hash for item in draw(load(str(path)).items)] for name, path in variants.items()}
    assert len(hashes["original"]) == 12
    assert all(drawn == hashes["original"] for drawn in hashes.values())
    assert len({load(str(path)).fingerprint for path in variants.values()}) == 1


# P12-3: the C locale


@pytest.mark.parametrize("env", [{"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, {}])
def test_chinese_names_under_the_c_locale(data, env):
    data.put("資料/題庫_test.jsonl", [data.row()])
    program = (
        "import sys, json\n"
        "from twlocal.dataset import load\n"
        "from twlocal.errors import DatasetError\n"
        "for source in sys.argv[1:3]:\n"
        "    d = load(source)\n"
        "    print(json.dumps([d.name, d.items[0].subject, d.fingerprint]))\n"
        "try:\n"
        "    load(sys.argv[3])\n"
        "except DatasetError as error:\n"
        "    print(json.dumps(str(error)))\n"
    )
    words = ["資料/題庫_test.jsonl", "資料", "資料/題庫.jsonl"]
    done = subprocess.run(
        [sys.executable, "-c", program, *words],
        cwd=data.folder,
        env={**os.environ, "LC_ALL": "C", **env},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    file, folder, error = map(json.loads, done.stdout.splitlines())
    assert file[:2] == [words[0], "題庫"] and folder[:2] == [words[1], "題庫"] and file[2] == folder[2]
    assert words[2] in error and "near: 題庫_test.jsonl" in error


@pytest.fixture
def given(shared):
    """The cases as they were reported, by id."""
    lines = (shared / "cases" / "given.jsonl").read_text(encoding="utf-8").split("\n")
    return {case["id"]: case for case in map(json.loads, filter(None, lines))}


def test_given_integer_answers(data, given):
    case = given["P6-3"]
    for name, integers in case["input"]["files"].items():
        rows = [data.row(number, answer=answer) for number, answer in enumerate(integers)]
        expected = case["expected"][name]
        if isinstance(expected, list):
            assert [item.answer for item in data.load("x.jsonl", rows).items] == expected
        else:
            assert "--answer-base" in data.error("x.jsonl", rows)


def test_given_answers(data, given):
    case = given["P6-5"]
    for answer in case["input"]["answers"]:
        loaded = data.load("x.csv", [data.row(0, answer=answer), data.row(1)], skip_bad=True)
        expected = case["expected"][answer]
        assert [item.answer for item in loaded.items] == ([] if expected.startswith("reject") else [expected]) + ["B"]


def test_given_duplicates(data, given):
    loaded = data.load("x.jsonl", given["P4-6"]["input"]["rows"])
    assert len(loaded.items) == 3 and dict(loaded.notes) == {"repeats_across_subjects": 1, "key_conflicts": 1}


def test_real_files_load_whole(shared):
    loaded = load(str(shared / "data" / "tmmlu" / "converted"))
    assert len(loaded.items) > 1000 and not loaded.rejected
    assert loaded.notes["duplicate_options"] >= 1
