"""Alarms: each is raised by what it is for, and not by what merely looks like it."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from twlocal.alarms import EARLY, MESSAGES, Alarm, early_stop
from twlocal.record import Record
from twlocal.score import score

PLAIN = Record(
    no=0, repeat=0, subject="民法", item_id="", content_hash="c", stem_hash="s", answer="A", order="ABCD", text="",
    reasoning="", finish="stop", prompt_tokens=None, completion_tokens=None, reasoning_tokens=None, prompt_hash=None,
)  # fmt: skip


def rows(count: int, text: str | None = None, **changes: object) -> list[dict[str, object]]:
    """Rows with this text, or with plain and mostly right answers that differ from each other."""
    plain = (f"第 {no} 題，選 \\boxed{{{'AAAB'[no % 4]}}}" for no in range(count))
    return [{"text": words if text is None else text} | changes for words in plain]


def records(*groups: Iterable[dict[str, object]]) -> list[Record]:
    every = [row for group in groups for row in group]
    return [PLAIN._replace(**({"no": no} | row)) for no, row in enumerate(every)]  # type: ignore[arg-type]


def alarms(*groups: Iterable[dict[str, object]], **asked: object) -> dict[str, Alarm]:
    every = records(*groups)
    plan: dict[str, int] = {}
    for row in every:
        plan[row.subject] = plan.get(row.subject, 0) + 1
    reader = str(asked.pop("reader", "box"))
    found = score(every, plan, reader, **asked).alarms  # type: ignore[arg-type]
    for alarm in found:
        assert alarm.message == MESSAGES[alarm.kind].format_map(alarm.evidence)
        assert alarm.message.endswith(".")
    return {alarm.kind: alarm for alarm in found}


def test_a_healthy_run_raises_none() -> None:
    assert alarms(rows(200), max_tokens=4096, temperature=0) == {}


def test_a_tiny_run_raises_none() -> None:
    assert alarms(rows(2, "\\boxed{B}"), max_tokens=4096, temperature=0) == {}


# -- the score itself ---------------------------------------------------------------------------------------------


def test_a_plain_zero_is_an_alarm() -> None:
    found = alarms(rows(20, "\\boxed{B}"))
    assert found["zero_score"].evidence["n"] == 20
    assert "zero_score" not in alarms(rows(19, "\\boxed{B}"))
    assert "zero_score" not in alarms(rows(19, "\\boxed{B}"), rows(1, "\\boxed{A}"))


def test_a_shifted_key_is_below_chance() -> None:
    found = alarms(rows(95, "\\boxed{B}"), rows(5, "\\boxed{A}"))
    assert found["below_chance"].evidence["share"] == 0.05
    assert "below_chance" not in alarms(rows(80, "\\boxed{B}"), rows(20, "\\boxed{A}"))
    # Unreadable answers are wrong, but they are no sign of a shifted key.
    assert "below_chance" not in alarms(rows(95, "不知道"), rows(5, "\\boxed{A}"))


# -- the format ---------------------------------------------------------------------------------------------------


def test_a_low_box_rate() -> None:
    assert alarms(rows(70), rows(30, "答案是 A。"))["low_box_rate"].evidence["rate"] == 0.7
    assert "low_box_rate" not in alarms(rows(80), rows(20, "答案是 A。"))


@pytest.mark.parametrize(
    ("content", "name"),
    [("①", "circled digits"), ("1", "digits"), ("一", "Chinese numerals"), ("甲", "ordinals"), ("α", "Greek letters"),
     ("\\text{A}", "decorated letters"), ("E", "letters outside A-D"), ("AB", "several letters"), ("", "nothing")],
)  # fmt: skip
def test_boxes_in_another_alphabet(content: str, name: str) -> None:
    found = alarms(rows(90), rows(10, f"\\boxed{{{content}}}"))["wrong_alphabet"]
    assert (found.evidence["alphabet"], found.evidence["share"]) == (name, 0.1)
    assert found.evidence["example"] == content
    assert "wrong_alphabet" not in alarms(rows(98), rows(2, f"\\boxed{{{content}}}"))


def test_the_commonest_foreign_alphabet_is_named_and_prose_is_none() -> None:
    found = alarms(rows(80), rows(12, "\\boxed{①}"), rows(8, "\\boxed{2}"), rows(15, "\\boxed{國父紀念館}"))
    assert found["wrong_alphabet"].evidence["alphabet"] == "circled digits"
    assert "wrong_alphabet" not in alarms(rows(80), rows(15, "\\boxed{國父紀念館}"))


def test_what_the_thinking_boxes_is_not_looked_at() -> None:
    assert "wrong_alphabet" not in alarms(rows(80), rows(20, "<think>\\boxed{①}</think>不知道"))


def test_a_subject_that_cannot_be_read() -> None:
    fine = [row | {"subject": f"科目{at}"} for at in range(20) for row in rows(40)]
    odd = [row | {"subject": "稅法"} for row in (*rows(20), *rows(20, "還在想"))]
    found = alarms(fine, odd)["subject_parse_outlier"].evidence
    assert (found["subject"], found["count"], found["subjects"], found["rate"], found["rest"]) == (
        "稅法",
        1,
        21,
        0.5,
        1.0,
    )
    assert found["all"] == (("稅法", 0.5),)


def test_a_subject_that_is_read_where_the_rest_is_not() -> None:
    dull = [row | {"subject": f"科目{at}"} for at in range(5) for row in rows(40, "還在想")]
    found = alarms(dull, [row | {"subject": "國文"} for row in rows(40)])
    assert found["subject_parse_outlier"].evidence["subject"] == "國文"


def test_small_or_slight_differences_between_subjects_are_none() -> None:
    fine = [row | {"subject": f"科目{at}"} for at in range(20) for row in rows(40)]
    few = [row | {"subject": "稅法"} for row in rows(15, "還在想")]
    assert "subject_parse_outlier" not in alarms(fine, few)
    slight = [row | {"subject": "稅法"} for row in (*rows(920), *rows(80, "還在想"))]
    assert "subject_parse_outlier" not in alarms(fine, slight)
    lucky = [row | {"subject": "稅法"} for row in (*rows(26), *rows(4, "還在想"))]
    usual = [row | {"subject": f"科目{at}"} for at in range(20) for row in (*rows(38), *rows(2, "還在想"))]
    assert "subject_parse_outlier" not in alarms(usual, lucky)
    assert "subject_parse_outlier" not in alarms(rows(50, "還在想"))  # a single subject has no rest


def test_the_same_letter_for_everything() -> None:
    found = alarms(rows(95, "\\boxed{A}"), rows(5, "\\boxed{B}"))
    assert found["position_bias"].evidence == {"share": 0.95, "letter": "A"}
    assert "position_bias" not in alarms(rows(90, "\\boxed{A}"), rows(10, "\\boxed{B}"))
    assert "position_bias" not in alarms(rows(19, "\\boxed{A}"))


# -- the responses ------------------------------------------------------------------------------------------------


def test_one_text_for_every_question() -> None:
    found = alarms(rows(80), rows(20, "我是一個語言模型，\n無法看到題目。"))["identical_replies"]
    assert found.evidence == {"share": 0.2, "example": "我是一個語言模型， 無法看到題目。"}
    long = "題目沒有給出任何內容，因此只能假設最常見的情形，" * 4 + "\\boxed{A}"
    assert "identical_replies" in alarms(rows(80), rows(20, long))


def test_short_readable_replies_are_alike_by_nature() -> None:
    assert "identical_replies" not in alarms(rows(50, "\\boxed{A}"), rows(50, "\\boxed{B}"))
    assert "identical_replies" not in alarms(rows(95), rows(5, "不知道"))
    assert "identical_replies" not in alarms(rows(80), rows(20, "\\boxed{①}"))  # another alphabet, an alarm of its own


def test_empty_replies() -> None:
    found = alarms(rows(90), rows(10, " \n"))
    assert found["empty_replies"].evidence["share"] == 0.1
    assert "identical_replies" not in found
    assert "empty_replies" not in alarms(rows(98), rows(2, ""))
    assert "empty_replies" not in alarms(rows(90), rows(10, "", reasoning="所以 \\boxed{A}"))


def test_reasoning_without_an_answer() -> None:
    found = alarms(rows(90), rows(10, "", reasoning="讓我想想", finish="length"))
    assert found["reasoning_only"].evidence["share"] == found["unclosed_thought"].evidence["share"] == 0.1
    assert "reasoning_only" not in alarms(rows(97), rows(3, "", reasoning="讓我想想"))


def test_thoughts_that_never_end() -> None:
    assert alarms(rows(90), rows(10, "<think>讓我想想"))["unclosed_thought"].evidence["share"] == 0.1


def test_refusals_and_filters_are_counted_once() -> None:
    refused = rows(4, "我不能回答這個問題。", flags=("refusal",), finish="content_filter")
    found = alarms(rows(90), refused, rows(6, "", finish="content_filter"))
    assert found["refusals"].evidence["share"] == 0.1
    assert "refusals" not in alarms(rows(97), refused[:3])


def test_loops() -> None:
    unit = "再確認一次這個選項是否正確。"
    found = alarms(rows(90), rows(10, unit * 100, finish="length"))["loops"]
    assert found.evidence["share"] == 0.1
    assert found.evidence["example"] in unit * 2
    assert "loops" not in alarms(rows(98), rows(2, unit * 100))


# -- the cuts -----------------------------------------------------------------------------------------------------


def cut(lengths: Iterable[tuple[int | None, int]], **changes: object) -> list[dict[str, object]]:
    return [
        {"text": f"還在想第 {no} 題", "finish": "length", "prompt_tokens": prompt, "completion_tokens": written}
        | changes
        for no, (prompt, written) in enumerate(lengths)
    ]


def test_truncation() -> None:
    full = cut((200, 4096) for _ in range(10))
    found = alarms(rows(90), full, max_tokens=4096)
    assert found["truncation"].evidence["share"] == 0.1
    assert not {"silent_cap", "silent_context"} & found.keys()
    assert "truncation" not in alarms(rows(96), full[:4], max_tokens=4096)


def test_a_context_that_is_too_small() -> None:
    found = alarms(rows(90), cut((prompt, 2048 - prompt) for prompt in range(200, 400, 20)), max_tokens=4096)
    assert found["silent_context"].evidence == {"count": 10, "context": 2048}
    assert "silent_cap" not in found


def test_a_context_that_is_too_small_shows_even_without_a_known_budget() -> None:
    found = alarms(rows(90), cut((prompt, 2048 - prompt) for prompt in range(200, 400, 20)))
    assert found["silent_context"].evidence["context"] == 2048


def test_a_cap_of_the_servers_own() -> None:
    found = alarms(rows(90), cut((prompt, 1024) for prompt in range(200, 400, 20)), max_tokens=4096)
    assert found["silent_cap"].evidence == {"count": 10, "tokens": 1024, "max_tokens": 4096}
    assert "silent_cap" in alarms(rows(90), cut((None, 1024) for _ in range(10)), max_tokens=4096)
    assert not {"silent_cap", "silent_context"} & alarms(rows(90), cut((None, 1024) for _ in range(10))).keys()


def test_reasoning_counted_apart_from_the_completion_is_no_cap() -> None:
    apart = cut(((200, 96) for _ in range(10)), reasoning_tokens=4000)
    assert "silent_cap" not in alarms(rows(90), apart, max_tokens=4096)
    within = cut(((200, 2048) for _ in range(10)), reasoning_tokens=2000)
    assert "silent_cap" in alarms(rows(90), within, max_tokens=4096)


def test_a_few_early_cuts_among_full_ones_are_no_cap() -> None:
    mixed = cut([(200, 4096)] * 10 + [(200, 900)] * 4)
    assert "silent_cap" not in alarms(rows(90), mixed, max_tokens=4096)
    assert "silent_cap" not in alarms(rows(90), cut([(200, 900)] * 2), max_tokens=4096)


# -- the decoding -------------------------------------------------------------------------------------------------


def test_a_server_that_does_not_take_the_temperature() -> None:
    found = alarms(rows(50, flags=("adapted", "temperature_not_honoured")), rows(50))
    assert found["temperature_not_honoured"].evidence["share"] == 0.5
    assert "temperature_not_honoured" not in alarms(rows(100, flags=("adapted", "top_p_not_honoured")))


def test_the_same_prompt_with_another_reply() -> None:
    twice = [row | {"prompt_hash": f"p{no}"} for no, row in enumerate(rows(50))]
    same = [dict(row) for row in twice]
    assert "not_reproducible" not in alarms(twice, same, temperature=0)
    other = [row | {"text": f"換句話說，{row['text']}"} for row in twice]
    found = alarms(twice, other, temperature=0)["not_reproducible"]
    assert found.evidence == {"count": 50, "again": 50}
    assert "not_reproducible" not in alarms(twice, other, temperature=0.7)
    assert "not_reproducible" not in alarms(twice, other)
    assert "not_reproducible" not in alarms(twice, same[:40], other[:5], temperature=0)


# -- stopping early -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("group", "why"),
    [
        (rows(EARLY, ""), "are all empty: check the chat template"),
        (rows(EARLY, " \n"), "are all empty"),
        (rows(EARLY, "", finish="content_filter"), "withheld by the server's content filter"),
        (rows(EARLY, "!!!!!!!!" * 500, finish="length"), "the same text without an answer (!!!!"),
        (rows(EARLY, "我看不到題目。"), "the same text without an answer (我看不到題目。)"),
        (rows(EARLY, "\\boxed{選項字母}"), "the same text without an answer"),
        (rows(EARLY, "<unk><unk>")[:-1] + rows(1, "<unk><unk>\n"), "the same text without an answer"),
        (rows(20, ""), "the first 20 responses"),
    ],
)
def test_runs_that_are_stopped(group: list[dict[str, object]], why: str) -> None:
    reason = early_stop(records(group))
    assert reason is not None and why in reason


@pytest.mark.parametrize(
    "group",
    [
        [],
        rows(EARLY - 1, ""),
        rows(EARLY, "\\boxed{A}"),  # a bad model perhaps, but it answers
        rows(EARLY, "答案是 B"),
        rows(EARLY, "\\boxed{\\text{C}}"),
        rows(EARLY),
        rows(EARLY - 1, "") + rows(1, "\\boxed{A}"),
        rows(EARLY - 1, "我看不到題目。") + rows(1, "我看不到這個題目。"),
        rows(EARLY, "", reasoning="讓我想想", finish="length"),  # thinking, and a budget too small for it
        [{"text": f"{no} 是好的。" * 60, "finish": "length"} for no in range(EARLY)],  # loops, but not all the same
    ],
)
def test_runs_that_go_on(group: list[dict[str, object]]) -> None:
    assert early_stop(records(group)) is None
