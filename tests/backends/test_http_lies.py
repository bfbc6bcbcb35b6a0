"""Servers that say one thing and do another: how an answer ended, how long it is, where it stands, why they refuse."""

from __future__ import annotations

import json

import pytest

from twlocal.backends.http.exchange import judge_completion, judge_success
from twlocal.backends.http.parse import read_answer
from twlocal.backends.http.retry import said_wait
from twlocal.errors import BackendError, ConfigurationError

BOX = "\\boxed{A}"
DONE = b"data: [DONE]\n\n"


def event(finish=None, index=0, **choice):
    return b"data: " + json.dumps({"choices": [{"index": index, "finish_reason": finish, **choice}]}).encode() + b"\n\n"


def said(text, finish=None):
    return event(finish, delta={"content": text})


def streamed(bench, *chunks):
    bench.server.route = lambda seen: bench.Reply(chunks=chunks)
    (completion,) = bench.ask(1, stream=True, retries=1)
    return completion


# --- how it ended -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("word", ["null", "None", "", " "])
def test_a_word_for_not_yet_ends_no_stream(bench, word):
    completion = streamed(bench, said("先", word), said(BOX, word))
    assert (completion.error_kind, completion.text, completion.attempts) == ("cut", "先" + BOX, 2)
    completion = streamed(bench, said("先", word), said(BOX, word), said("", "stop"))
    assert (completion.error_kind, completion.text, completion.finish) == ("", "先" + BOX, "stop")


def test_a_finish_reason_after_which_more_came_ends_no_stream(bench):
    chunks = (said("先想", "stop"), said("，再想", "stop"))
    assert streamed(bench, *chunks).error_kind == "cut"
    completion = streamed(bench, *chunks, DONE)
    assert (completion.error_kind, completion.text, completion.finish) == ("", "先想，再想", "stop")


def test_usage_and_an_empty_event_after_the_finish_reason_are_no_more(bench):
    usage = b'data: {"choices": [], "usage": {"completion_tokens": 9}}\n\n'
    completion = streamed(bench, said(BOX, "stop"), said(""), usage)
    assert (completion.error_kind, completion.text, completion.completion_tokens) == ("", BOX, 9)


@pytest.mark.parametrize(
    ("word", "finish"),
    [
        ("FinishReason.STOP", "stop"),
        ("FINISH_REASON_MAX_TOKENS", "length"),
        ("content_filter: RECITATION", "content_filter"),
        ("null", "unknown"),
        (True, "unknown"),
        (1, "unknown"),
    ],
)
def test_finish_reasons_in_other_dresses(word, finish):
    assert read_answer({"choices": [{"message": {"content": BOX}, "finish_reason": word}]}).finish == finish


@pytest.mark.parametrize(
    ("finish", "written", "told", "flags"),
    [
        ("stop", 64, "length", ("stop_at_budget",)),
        ("stop", 63, "stop", ()),
        ("stop", 900, "stop", ("budget_exceeded",)),
        ("length", 64, "length", ()),
        ("length", 65, "length", ("budget_exceeded",)),
        ("stop", None, "stop", ()),
    ],
)
def test_the_servers_own_count_is_held_against_its_finish_reason(bench, finish, written, told, flags):
    body = bench.completion("寫到一半", finish) | {"usage": {"completion_tokens": written}}
    completion = bench.one(bench.Reply(body=body))
    assert (completion.finish, completion.flags) == (told, flags)


def test_a_thought_that_the_budget_cut_is_not_read_as_the_answer(bench):
    from twlocal.readers import final_text

    body = bench.completion("", "stop", reasoning_content="先試 " + BOX) | {"usage": {"completion_tokens": 64}}
    completion = bench.one(bench.Reply(body=body))
    assert final_text(completion.text, completion.reasoning, completion.finish).text is None


# --- where its text is ------------------------------------------------------------------------------------------------


def test_a_message_at_the_end_of_a_stream_repeats_nothing(bench):
    whole = event("stop", delta={}, message={"content": "答" + BOX})
    assert streamed(bench, said("答"), said(BOX), whole, DONE).text == "答" + BOX
    assert streamed(bench, whole, DONE).text == "答" + BOX, "and is all there is where no delta came"


def test_messages_instead_of_deltas_are_all_so_far_or_the_next_part(bench):
    so_far = (event(message={"content": "答"}), event("stop", message={"content": "答" + BOX}))
    assert streamed(bench, *so_far, DONE).text == "答" + BOX
    parts = (event(message={"content": "答"}), event("stop", message={"content": BOX}))
    assert streamed(bench, *parts, DONE).text == "答" + BOX


@pytest.mark.parametrize(
    "message",
    [
        {"reasoning_details": [{"type": "reasoning.text", "text": "想"}]},
        {"reasoning_details": [{"type": "reasoning.summary", "summary": "想"}]},
        {"thinking_blocks": [{"type": "thinking", "thinking": "想"}]},
        {"reasoning": "想", "reasoning_details": [{"text": "想"}]},
        {"reasoning_content": "", "reasoning": "想"},
    ],
)
def test_reasoning_is_kept_wherever_it_is_put_and_once(bench, message):
    assert read_answer({"choices": [{"message": {"content": BOX, **message}}]}).reasoning == "想"
    assert judge_success(event("stop", delta={"content": BOX, **message}) + DONE, "").answer.reasoning == "想"


def test_an_index_written_as_text_is_one(bench):
    both = [
        {"index": str(n), "message": {"content": text}, "finish_reason": "stop"} for n, text in ((1, "B"), (0, "A"))
    ]
    assert read_answer({"choices": both}).text == "A"
    assert streamed(bench, event("stop", index="0", delta={"content": "A"})).text == "A"


def test_a_body_in_the_charset_that_its_header_names(bench):
    body = json.dumps(bench.completion("答案是 " + BOX), ensure_ascii=False).encode("big5")
    verdict = judge_success(body, "application/json; charset=Big5")
    assert (verdict.answer.text, verdict.answer.flags) == ("答案是 " + BOX, ("charset_not_utf8",))
    for wrong in ("utf-8", "nonsense", "ascii"):
        verdict = judge_success(body, f"application/json; charset={wrong}")
        assert verdict.answer.text.endswith(BOX) and verdict.answer.flags == ("invalid_utf8",)


def test_an_event_stream_under_another_content_type():
    body = b"id: 1\nretry: 3000\n" + said(BOX, "stop") + DONE
    assert judge_success(body, "application/json").answer.text == BOX


# --- what is no answer ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "choice",
    [
        {"message": {"role": "assistant", "content": None}, "finish_reason": None},
        {"message": {"content": ""}},
        {"message": {"content": ""}, "finish_reason": "null"},
        {"message": {"content": 5}, "finish_reason": "stop"},
        {"message": None, "finish_reason": "stop"},
    ],
)
def test_a_reply_that_says_nothing_is_asked_for_again(choice):
    verdict = judge_completion({"choices": [choice]})
    assert verdict.kind.name == "RETRY" and verdict.answer is None


def test_a_stream_that_says_nothing_is_asked_for_again(bench):
    role = event(delta={"role": "assistant"})
    for chunks in ((role, DONE), (role,), (DONE,)):
        assert streamed(bench, *chunks).error_kind in ("server", "transport")


def test_an_empty_answer_that_ended_by_itself_is_one():
    verdict = judge_completion({"choices": [{"message": {"content": ""}, "finish_reason": "stop"}]})
    assert verdict.kind.name == "ANSWER" and verdict.answer.text == ""


def test_a_filtered_choice_without_a_message_is_answered_with_nothing():
    verdict = judge_completion({"choices": [{"index": 0, "finish_reason": "content_filter"}]})
    assert verdict.kind.name == "ANSWER" and verdict.answer.finish == "content_filter"
    assert (verdict.answer.text, "content_filter" in verdict.answer.flags) == ("", True)


def test_another_model_behind_the_same_name_is_marked(bench):
    def reply(seen):
        served = "m-4bit" if "第1題" in seen.raw.decode() else "m"
        return bench.Reply(body=bench.completion() | {"model": served})

    bench.server.route = reply
    assert [completion.flags for completion in bench.ask(3, concurrency=1)] == [(), ("another_model",), ()]


# --- why they refuse, and how long ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (400, {"error": {"code": "Throttling.RateQuota", "message": "Requests rate limit exceeded"}}),
        (400, {"__type": "ThrottlingException", "message": "Too many requests, please wait before trying again."}),
        (403, {"message": "API rate limit exceeded for user"}),
        (503, {"error": {"message": "Loading model", "type": "unavailable_error"}}),
        (200, {"error": "model is currently loading"}),
        (200, {"object": "error", "message": "NETWORK ERROR DUE TO HIGH TRAFFIC. PLEASE REGENERATE", "code": 50001}),
        (200, {"code": 1234, "msg": "系統繁忙，請稍後再試"}),
    ],
)
def test_too_busy_is_asked_again_whatever_the_status(bench, status, body):
    completion = bench.one(bench.Reply(status=status, body=body), bench.Reply(body=bench.completion()))
    assert (completion.text, completion.error_kind, completion.attempts) == (BOX, "", 2)


@pytest.mark.parametrize(
    ("text", "wait"),
    [
        ("Rate limit reached. Please try again in 20s.", 20.0),
        ("Please try again in 1m2.5s", 62.5),
        ("Please try again in 250ms.", 0.25),
        ("Please retry after 26 seconds.", 26.0),
        ("Please retry in 34.07s", 34.07),
        ("Try again in 6 minutes", 360.0),
        ("wait for 2 hours", 7200.0),
        ('{"details": [{"retryDelay": "34s"}]}', 34.0),
        ('{"retry_after": 5}', 5.0),
        ('{"retry_after": "5"}', 5.0),
        ("please try again later", None),
        ("retry in a moment", None),
        ("try again in 5 monkeys", None),
        ("", None),
    ],
)
def test_waits_that_are_said_in_words(text, wait):
    assert said_wait(text) == (pytest.approx(wait) if wait is not None else None)


def test_a_wait_in_the_body_is_honoured_where_no_header_says_one(bench):
    body = [{"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "details": [{"retryDelay": "34s"}]}}]
    bench.one(bench.Reply(status=429, body=body), bench.Reply(body=bench.completion()))
    assert 34 <= bench.time.slept[0] < 36
    bench.time.slept.clear()
    told = bench.Reply(status=429, body={"error": "try again in 50s"}, headers={"Retry-After": "2"})
    bench.one(told, bench.Reply(body=bench.completion()))
    assert 2 <= bench.time.slept[0] < 3


def test_a_day_in_the_body_is_said_and_not_slept(bench):
    bench.server.route = lambda seen: bench.Reply(status=429, body={"error": "limit reached, try again in 23h59m"})
    with pytest.raises(ConfigurationError, match="24 hours"):
        bench.ask(1)
    assert bench.time.slept == []


def test_a_spent_allowance_stops_the_run_whatever_the_status(bench):
    limits = "You have reached your specified API usage limits. You will regain access on 2026-09-01 at 00:00 UTC."
    good = [bench.Reply(body=bench.completion())]
    for status, message in ((400, limits), (429, "Monthly limit reached"), (403, "您的額度已用盡")):
        bench.server.replies = [*good, bench.Reply(status=status, body={"error": {"message": message}})]
        with pytest.raises(ConfigurationError, match="an allowance there is spent"):
            bench.ask(3, concurrency=1)
    told = bench.Reply(status=429, body={"error": "usage limit of 5 requests per minute"})
    assert bench.one(told, *good).attempts == 2


def test_refusals_of_item_after_item_stop_the_run_also_after_answers(bench):
    def reply(seen):
        if "第0題" in seen.raw.decode():
            return bench.Reply(body=bench.completion())
        return bench.Reply(status=400, body={"error": {"message": "something new every day"}})

    bench.server.route = reply
    with pytest.raises(BackendError, match="5 items in a row"):
        bench.ask(40, concurrency=1)
    assert len(bench.server.posts) == 6
