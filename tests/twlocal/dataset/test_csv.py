"""CSV and TSV."""

from __future__ import annotations

import csv

import pytest

HEADER = "question,A,B,C,D,answer\n"
PLACE = "the choices"


def test_text_stays_text(data):
    rows = [
        data.row(0, A="NA", B="None", C="007", D="1e5"),
        data.row(1, A="true", B="nan", C="1.0", D="2024-01-01"),
        data.row(2, A="NULL", B="-0", C="1_000", D="∞"),
    ]
    for suffix in data.formats:
        got = [item.options for item in data.load(f"x{suffix}", rows).items]
        assert got == [tuple(one[label] for label in "ABCD") for one in rows], suffix


def test_quoted_line_breaks_commas_and_quotes(data):
    loaded = data.load("x.csv", HEADER + '"第一行\n第二行, ""引""",甲,乙,丙,丁,A\nq2,1,2,3,4,J\n', skip_bad=True)
    assert loaded.items[0].question == '第一行\n第二行, "引"'
    assert loaded.rejected[0].line == 4, "physical lines, not records"


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("tail", ["", "\n", "\n\n\n", "   \n", ",,,,,\n", ' , ,"",,,\n'])
def test_line_ends_and_blank_lines(data, end, tail):
    text = ("\n" + HEADER + "\nq,1,2,3,4,A\n\nr,1,2,3,4,B\n" + tail).replace("\n", end)
    loaded = data.load("x.csv", text)
    assert [item.question for item in loaded.items] == ["q", "r"] and not loaded.rejected


@pytest.mark.parametrize("char", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c"])
def test_only_line_ends_end_lines(data, char):
    text = HEADER + f"前{char}後,1,2,3,4,A\nq,1,2,3,4,J\n"
    loaded = data.load("x.csv", text, skip_bad=True)
    assert loaded.items[0].question == f"前{char}後" and loaded.rejected[0].line == 3


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("q,1,2,3,A", "5 cells where the header has 6"),
        ("q,1,2,3,4,A,多", "7 cells where the header has 6"),
        (",1,2,3,4,A", "empty question"),
        ("q,1,,3,4,A", "empty option B"),
        ("q,1,2,  ,4,A", "empty option C"),
        ("q,1,2,3,4,", "no answer"),
    ],
)
def test_bad_rows_are_named_and_do_not_take_others_with_them(data, line, says):
    text = f"{HEADER}good,1,2,3,4,A\n{line}\nlast,1,2,3,4,B\n"
    assert f"x.csv:3: {says}" in data.error("x.csv", text)
    loaded = data.load("x.csv", text, skip_bad=True)
    assert [item.question for item in loaded.items] == ["good", "last"]


def test_a_quote_that_swallows_the_rest(data):
    text = HEADER + 'good,1,2,3,4,A\n"開了沒關,1,2,3,4,B\nq3,1,2,3,4,C\nq4,1,2,3,4,D\n'
    message = data.error("x.csv", text)
    assert "x.csv:3: a quote opened here" in message and "runs to line 5" in message


def test_a_quote_that_swallows_up_to_the_next_one(data):
    text = HEADER + '"開了沒關,1,2,3,4,B\nq3,1,2,3,4,C\n"q4, 正常",1,2,3,4,D\nq5,1,2,3,4,A\n'
    loaded = data.load("x.csv", text, skip_bad=True)
    assert [item.question for item in loaded.items] == ["q5"]
    assert [one.line for one in loaded.rejected] == [2] and "line 4" in loaded.rejected[0].reason


@pytest.mark.parametrize(
    "text",
    [
        # The row between is inside a cell, and the cells add up by chance.
        '"q1,1,2,3,4,A\nq2 5",1,2,3,4,B\n',
        '"q1,1,2,3,4,A\nq2,1,2,3,4,C\nq3 5",1,2,3,4,B\n',
        'q1,"1,2,3,4,A\nq2 5",2,3,4,B\n',
    ],
)
def test_a_whole_row_inside_a_cell_is_a_stray_quote(data, text):
    loaded = data.load("x.csv", HEADER + text + "last,1,2,3,4,A\n", skip_bad=True)
    assert [item.question for item in loaded.items] == ["last"]
    assert loaded.rejected[0].line == 2 and "quote" in loaded.rejected[0].reason


@pytest.mark.parametrize(
    "question", ["依序為：\n甲,乙,丙,丁,戊\n何者正確？", "表：\na,b,c,d,e,f\n結束", "a\nb", "x,y\nA"]
)
def test_lists_in_a_question_are_no_stray_quote(data, question):
    assert data.load("x.csv", [data.row(0, question=question)]).items[0].question == question


def test_quotes_inside_an_unquoted_cell_are_text(data):
    assert data.load("x.csv", HEADER + '螢幕 5" 寬,1,2,3,4,A\n').items[0].question == '螢幕 5" 寬'


def test_long_cells(data):
    assert len(data.load("x.csv", [data.row(0, question="長" * 300_000)]).items[0].question) == 300_000
    assert csv.field_size_limit() == 131_072, "the module's setting is given back"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("question,A,B,C,answer\nq,1,2,3,A\n", "no column D"),
        ("A,B,C,D\n1,2,3,4\n", "no column question, answer"),
        ("question,answer\nq,A\n", "no column A, B, C, D (or choices)"),
        ("question,A,A,B,C,D,answer\nq,1,1,2,3,4,A\n", "'A' is there more than once"),
        ("Question,QUESTION,A,B,C,D,answer\nq,q,1,2,3,4,A\n", "could both be"),
        ("question\tA\tB\tC\tD\tanswer\nq\t1\t2\t3\t4\tA\n", "suffix .tsv"),
        ("question;A;B;C;D;answer\nq;1;2;3;4;A\n", "semicolons: save it with commas"),
        ("question|A|B|C|D|answer\nq|1|2|3|4|A\n", "vertical bars: save it with commas"),
        ("question，A，B，C，D，answer\nq，1，2，3，4，A\n", "full-width commas: save it with commas"),
        (
            "問題,甲,乙,丙,丁,答\nq,1,2,3,4,A\n",
            "the first line names the columns: question, A, B, C, D, answer (or 題目, A, B, C, D, 答案)",
        ),
        ("第一題？,1,2,3,4,A\n", "no column question"),
        ('"question,A,B,C,D,answer\nq,1,2,3,4,A\n', "header is not valid CSV"),
        (",".join(f"c{n}" for n in range(40)) + "\n1\n", "c11, …"),
    ],
)
def test_headers_that_cannot_be_used(data, text, says):
    message = data.error("x.csv", text)
    assert "x.csv:1: " in message and says in message
    assert data.error("x.csv", text, skip_bad=True) == message


def test_a_tsv_with_commas_says_so(data):
    assert "separated by commas: save it with tabs" in data.error("x.tsv", HEADER + "q,1,2,3,4,A\n")


@pytest.mark.parametrize(
    "header",
    ["Question,A,B,C,D,Answer", " question , A,B,C,D,answer ", "QUESTION,a,b,c,d,ANSWER", "題目,A,B,C,D,答案"],
)
def test_names_that_stand_for_the_columns(data, header):
    loaded = data.load("x.csv", f"{header}\nq,1,2,3,4,B\n")
    assert loaded.items[0].answer == "B" and loaded.items[0].options == ("1", "2", "3", "4")


def test_the_exact_name_wins_over_one_that_stands_for_it(data):
    (item,) = data.load("x.csv", "題目,question,a,A,B,C,D,answer\nx,q,0,1,2,3,4,B\n").items
    assert item.question == "q" and dict(item.meta) == {"題目": "x", "a": "0"}


def test_a_nameless_column_is_kept_aside(data):
    (item,) = data.load("x.csv", ",question,A,B,C,D,answer,\n0,q,1,2,3,4,B,\n").items
    assert dict(item.meta) == {"column 1": "0", "column 8": ""}


@pytest.mark.parametrize(
    ("name", "subject"),
    [
        ("刑法_test.csv", "刑法"),
        ("刑法_dev.csv", "刑法"),
        ("刑法-val.csv", "刑法"),
        ("刑法_train-00000-of-00002.csv", "刑法"),
        ("刑法.csv", "刑法"),
        ("test.csv", "test"),
        ("latest.csv", "latest"),
    ],
)
def test_one_file_a_subject(data, name, subject):
    assert data.load(name, [data.row()]).items[0].subject == subject
    assert data.load(name, [data.row()], subject="民法").items[0].subject == "民法"
    own = data.load(name, [data.row(0, subject=" 憲法 "), data.row(1, subject="")])
    assert [item.subject for item in own.items] == ["憲法", subject]


def test_choices_in_a_cell_are_json(data):
    choices = ['["甲", 1, 2.50, null]', "['a', 'b']", "甲 乙", '["a",[1],2,3]', '["甲", 1, 2.50, "007"]']
    rows = [{"question": f"q{n}", "choices": one, "answer": "A"} for n, one in enumerate(choices)]
    loaded = data.load("x.csv", rows, skip_bad=True)
    assert loaded.items[0].options == ("甲", "1", "2.50", "007")
    assert [one.reason for one in loaded.rejected] == [
        "empty option D",
        "choices is not a list written as JSON",
        "choices is not a list",
        "choices holds something that is not text",
    ]


def test_many_bad_rows_are_shown_in_part(data):
    rows = [data.row(number, answer="J") for number in range(25)]
    message = data.error("x.csv", [*rows, data.row()])
    assert message.count("not one of A–D") == 10 and "… and 15 more" in message and "25 of 26" in message
    assert "other 1 row: --skip-bad" in message
    assert "not one row can be taken" in data.error("x.csv", rows, skip_bad=True)


def test_a_unit_separator_in_a_text_is_refused(data):
    assert "control character" in data.error("x.csv", HEADER + "q,1\x1f2,2,3,4,A\n")


@pytest.mark.parametrize(
    "choices",
    [
        '{"A": "甲", "B": 1, "C": 2.50, "D": "007"}',
        '{"a": "甲", "b": 1, "c": 2.50, "d": "007"}',
        '{"text": ["甲", 1, 2.50, "007"], "label": ["A", "B", "C", "D"]}',
    ],
)
@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
def test_choices_may_be_an_object_that_names_them(data, choices, suffix):
    rows = [{"question": "q", "options": choices if suffix == ".csv" else PLACE, "answer": "D"}]
    text = data.formats[suffix](rows).decode().replace(f'"{PLACE}"', choices)
    item = data.load("x" + suffix, text).items[0]
    assert item.options == ("甲", "1", "2.50", "007") and item.answer == "D"


@pytest.mark.parametrize(
    ("choices", "says"),
    [
        ('{"B": "乙", "A": "甲", "C": "丙", "D": "丁"}', "labels are not A, B, C, D in this order"),
        ('{"1": "甲", "2": "乙", "3": "丙", "4": "丁"}', "labels are not"),
        ('{"A": "甲", "B": "乙", "C": "丙"}', "labels are not"),
        ('{"A": "甲", "B": "乙", "C": "丙", "D": "丁", "E": "戊"}', "5 choices"),
        ('{"text": ["甲", "乙"], "label": ["A"]}', "another number of labels"),
        ('{"text": ["甲", "乙", "丙", "丁"], "label": ["1", "2", "3", "4"]}', "labels are not"),
        ('{"A": "甲", "B": ["乙"], "C": "丙", "D": "丁"}', "not text"),
        ('{"A": "甲", ', "not a list written as JSON"),
    ],
)
def test_objects_of_choices_that_are_refused(data, choices, says):
    assert says in data.error("x.csv", [{"question": "q", "choices": choices, "answer": "A"}])


def test_files_that_were_put_together_with_their_headers_say_so(data):
    text = f"{HEADER}題一,1,2,3,4,A\n{HEADER}題二,1,2,3,4,B\n"
    assert "x.csv:3: the header once more" in data.error("x.csv", text)
    assert [item.question for item in data.load("x.csv", text, skip_bad=True).items] == ["題一", "題二"]
