"""JSON out of what models write around and instead of it."""

from __future__ import annotations

import json
import string
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twlocal.formosa import loose
from twlocal.record import Record

ITEM = {"question": "臺灣最高的山是哪一座？", "A": "玉山", "B": "雪山", "answer": "A"}


@pytest.mark.parametrize(
    "said",
    [
        '{"question": "臺灣最高的山是哪一座？", "A": "玉山", "B": "雪山", "answer": "A"}',
        '好的：\n```json\n{"question": "臺灣最高的山是哪一座？", "A": "玉山", "B": "雪山", "answer": "A"}\n```\n完成。',
        '{"question": "臺灣最高的山是哪一座？", "A": "玉山", "B": "雪山", "answer": "A",}',
        "{'question': '臺灣最高的山是哪一座？', 'A': '玉山', 'B': '雪山', 'answer': 'A'}",
        "｛“question”：“臺灣最高的山是哪一座？”，“A”：“玉山”，“B”：“雪山”，“answer”：“A”｝",
        "{“question”: “臺灣最高的山是哪一座？“, “A“: “玉山“, “B“: “雪山“, “answer“: “A“}",
        '{question: "臺灣最高的山是哪一座？", A: "玉山", B: "雪山", answer: A}',
        '{"question": "臺灣最高的山是哪一座？"\n "A": "玉山"\n "B": "雪山"\n "answer": "A"}',
        '{"question": "臺灣最高的山是哪一座？" "A": "玉山" "B": "雪山" "answer": "A"}',
        '{"question": "\\u81fa灣最高的山是哪一座？", "A": "玉山", "B": "雪山", "answer": "A"',
        '先寫 {草稿} 再寫 {"question": "臺灣最高的山是哪一座？", "A": "玉山", "B": "雪山", "answer": "A"}',
    ],
)
def test_one_object_in_many_forms(said: str) -> None:
    if said.endswith('"A"'):
        assert loose.objects(said) == [], "what was cut off is not completed"
    else:
        assert loose.objects(said) == [ITEM]


def test_quotes_and_commas_inside_a_text_are_text() -> None:
    said = '{"question": "他說"好"，然後呢，"再來"？", "A": "「甲」、「乙」", "B": "a, b"}'
    assert loose.objects(said) == [{"question": '他說"好"，然後呢，"再來"？', "A": "「甲」、「乙」", "B": "a, b"}]
    assert loose.objects('{"reason": "第一行\n第二行\\n第三行 \\"引\\" \\「"}') == [
        {"reason": '第一行\n第二行\n第三行 "引" 「'}
    ]


def test_literals_numbers_and_nesting() -> None:
    said = "{'a': True, 'b': none, 'c': 2.50, 'd': [1, {'e': \"f\",},], 'g': {}}"
    assert loose.objects(said) == [{"a": True, "b": None, "c": "2.50", "d": ["1", {"e": "f"}], "g": {}}]
    assert loose.objects('{"a": 1} 和 {"a": 2}') == [{"a": "1"}, {"a": "2"}]
    assert loose.objects('沒有 JSON，只有 { 和 } 與 "引號"') == []


@pytest.mark.parametrize(
    "unit",
    ["{", '{"a":"', '{"a":', "{ a ", '{"a": "b" ', "{'", "[{", '"', "{a:'b',", '{"a": "x"\n', "\\", '{"\\', "  {"],
)
def test_linear_in_the_length(unit: str) -> None:
    def seconds(count: int) -> float:
        begun = time.perf_counter()
        loose.objects(unit * count)
        return time.perf_counter() - begun

    seconds(100)
    small, large = seconds(2_000), seconds(16_000)
    # Eight times the text: quadratic would be 64 times the time. The floor is for a busy machine.
    assert large < 30 * small + 0.5


TEXT = st.text(
    st.sampled_from(string.ascii_letters + string.digits + "臺灣玉山，。？：「」、（）％ 的 \n\\/"), max_size=20
)
NAMES = st.text(st.sampled_from("abcABC題答選項_"), min_size=1, max_size=8)
OBJECTS = st.dictionaries(NAMES, TEXT, max_size=6)


@given(OBJECTS, st.sampled_from(["", "好的，如下：", "```json\n", "答案是 "]), st.sampled_from(["", "\n```", "。以上"]))
def test_what_is_json_is_read_as_json(made: dict[str, str], before: str, behind: str) -> None:
    assert loose.objects(before + json.dumps(made, ensure_ascii=False) + behind) == [made]
    assert loose.objects(before + json.dumps(made, ensure_ascii=True, indent=1) + behind) == [made]


@given(OBJECTS.filter(bool))
def test_a_trailing_comma_and_full_width_marks_change_nothing(made: dict[str, str]) -> None:
    members = [
        f"{json.dumps(name, ensure_ascii=False)}：{json.dumps(text, ensure_ascii=False)}" for name, text in made.items()
    ]
    assert loose.objects("｛" + "，".join(members) + "，｝") == [made]


@given(st.text(max_size=200) | st.text(st.sampled_from("{}[]\"'“”:：,，\\ab1 \n｛｝"), max_size=80))
def test_nothing_raises(said: str) -> None:
    assert all(isinstance(one, dict) for one in loose.objects(said))


@given(OBJECTS.filter(bool), st.data())
def test_a_cut_off_object_is_not_completed(made: dict[str, str], data: st.DataObject) -> None:
    whole = json.dumps(made, ensure_ascii=False)
    cut = whole[: data.draw(st.integers(0, len(whole) - 1))]
    assert loose.objects(cut) == []


def test_thoughts_are_no_reply() -> None:
    def said(text: str, reasoning: str = "", finish: str = "stop") -> str | None:
        return loose.reply(Record(0, 0, "", "", "", "", "", "ABCD", text, reasoning, finish, None, None, None, None))

    assert said('<think>{"a": "想"}</think>{"a": "說"}') == '{"a": "說"}'
    assert said('<think>{"a": "想"}') is None
    assert said("  ") is None
    assert said("", '{"a": "想"}') == '{"a": "想"}' and said("", '{"a": "想"}', "length") is None
