"""What of a judge's response is a verdict."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twlocal.formosa import judging, prompts
from twlocal.formosa.judging import FAULTS, Verdict, verdict
from twlocal.record import Record


def said(text: str, finish: str = "stop") -> Verdict:
    return verdict(Record(0, 0, "", "", "", "", "", "ABCD", text, "", finish, None, None, None, None))


@pytest.mark.parametrize(
    "text",
    [
        '{"supported": true, "single_answer": false, "reason": "另有一個也對"}',
        '```json\n{"supported": true, "single_answer": false, "reason": "另有一個也對",}\n```',
        "{'supported': True, 'single_answer': False, 'reason': '另有一個也對'}",
        "｛“supported”：true，“single_answer”：false，“reason”：“另有一個也對”｝",
        '{"supported": "是", "single_answer": "否", "理由": "另有一個也對"}',
        '{"verdict": {"Supported": "true", "single_answer": 0, "reason": "另有一個也對"}}',
        (
            '<think>{"supported": false, "single_answer": false}</think>'
            '{"supported": true, "single_answer": false, "reason": "另有一個也對"}'
        ),
        (
            '{"supported": true, "single_answer": false, "reason": "另有一個也對"}\n'
            '{"supported": true, "single_answer": false, "reason": "再說一次"}'
        ),
    ],
)
def test_a_verdict_in_many_forms(text: str) -> None:
    assert said(text) == Verdict(True, False, "另有一個也對")


@pytest.mark.parametrize(
    ("text", "finish", "fault"),
    [
        ('{"supported": true, "single_ans', "length", "cut_off"),
        ("<think>嗯", "length", "cut_off"),
        ("", "stop", "no_final_text"),
        ("", "content_filter", "filtered"),
        ("我認為有依據，也只有一個答案。", "stop", "no_json"),
        ('{"supported": true}', "stop", "no_verdict"),
        ('{"supported": "大概", "single_answer": true}', "stop", "no_verdict"),
        ('{"supported": null, "single_answer": true}', "stop", "no_verdict"),
        (
            '{"supported": true, "single_answer": true} 再想一次：{"supported": false, "single_answer": true}',
            "stop",
            "several_verdicts",
        ),
    ],
)
def test_an_unread_verdict_approves_nothing(text: str, finish: str, fault: str) -> None:
    found = said(text, finish)
    assert (found.supported, found.single_answer, found.fault) == (None, None, fault)
    assert fault in FAULTS and not found.approves and found.objection == "unread"


@given(st.booleans(), st.booleans())
def test_an_item_stands_where_both_hold(supported: bool, single: bool) -> None:
    found = said(f'{{"supported": {str(supported).lower()}, "single_answer": {str(single).lower()}, "reason": ""}}')
    assert found.approves == (supported and single) == (found.objection == "")
    assert found.objection == ("unsupported" if not supported else "" if single else "several_answers")


def test_the_judge_sees_window_item_and_key() -> None:
    text = judging.question(prompts.load("judge"), "來源{0}", "題{幹}？", ("一", "二", "三", "四"), "C")
    assert text == "來源文字：\n來源{0}\n\n題目：題{幹}？\nA. 一\nB. 二\nC. 三\nD. 四\n標示為正確的選項：C"
