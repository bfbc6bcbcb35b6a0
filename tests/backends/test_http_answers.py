"""What servers send as an answer, in all the shapes it comes in; whole and streamed."""

from __future__ import annotations

import json

import pytest

from twlocal.backends.http.exchange import judge_completion, judge_success
from twlocal.backends.http.parse import read_answer, safe
from twlocal.backends.http.sse import Stream


def choice(index=0, finish="stop", **message):
    return {"index": index, "message": message, "finish_reason": finish}


@pytest.mark.parametrize(
    ("given", "text", "reasoning", "finish", "flags"),
    [
        (choice(content="\\boxed{A}"), "\\boxed{A}", "", "stop", ()),
        (choice(content=None), "", "", "stop", ("content_null",)),
        (choice(content=""), "", "", "stop", ()),
        (choice(content=None, reasoning_content="想"), "", "想", "stop", ("content_null",)),
        (choice(content="A", reasoning="想"), "A", "想", "stop", ()),
        (choice(content="A", reasoning={"content": "想"}), "A", "想", "stop", ()),
        (choice(content="A", thinking="想"), "A", "想", "stop", ()),
        (choice(content=[{"type": "text", "text": "甲"}, {"type": "text", "text": "乙"}]), "甲乙", "", "stop", ()),
        (choice(content=[{"type": "thinking", "thinking": [{"type": "text", "text": "想"}]}, {"text": "答"}]),
         "答", "想", "stop", ()),
        (choice(content=None, refusal="抱歉"), "抱歉", "", "stop", ("refusal",)),
        (choice(content="A", finish="length"), "A", "", "length", ()),
        (choice(content="A", finish="max_tokens"), "A", "", "length", ()),
        (choice(content="A", finish="end_turn"), "A", "", "stop", ()),
        (choice(content="A", finish="STOP"), "A", "", "stop", ()),
        (choice(content="", finish="content_filter"), "", "", "content_filter", ("content_filter",)),
        (choice(content="A", finish=None), "A", "", "unknown", ("no_finish_reason",)),
        (choice(content="A", finish="why"), "A", "", "unknown", ("unknown_finish_reason",)),
        (choice(content=None, finish="tool_calls", tool_calls=[{}]), "", "", "unknown", ("content_null", "tool_calls")),
        (choice(content="a\x00b"), "a\ufffdb", "", "stop", ("nul_replaced",)),
        (choice(content="a\ud83db"), "a\ufffdb", "", "stop", ("surrogate_replaced",)),
        ({"index": 0, "text": "old", "finish_reason": "stop"}, "old", "", "stop", ()),
    ],
)  # fmt: skip
def test_answers(given, text, reasoning, finish, flags):
    answer = read_answer({"choices": [given]})
    assert (answer.text, answer.reasoning, answer.finish, answer.flags) == (text, reasoning, finish, flags)


def test_choices_out_of_order_are_taken_by_index_and_never_counted_as_samples():
    answer = read_answer({"choices": [choice(2, content="三"), choice(0, content="一"), choice(1, content="二")]})
    assert answer.text == "一"
    assert answer.flags == ("extra_choices",)


def test_one_sample_a_request_whatever_the_server_sends(bench):
    many = bench.completion()
    many["choices"] = [choice(1, content="B"), choice(0, content="A")]
    bench.server.route = lambda seen: bench.Reply(body=many)
    done = bench.ask(3)
    assert [completion.text for completion in done] == ["A"] * 3
    assert len(bench.server.posts) == 3
    assert all("n" not in post.body for post in bench.server.posts)


@pytest.mark.parametrize(
    ("usage", "counts"),
    [
        ({"prompt_tokens": 7, "completion_tokens": 3}, (7, 3, None)),
        ({"prompt_tokens": 7, "completion_tokens": 3, "completion_tokens_details": {"reasoning_tokens": 2}}, (7, 3, 2)),
        ({"completion_tokens": 3.0, "reasoning_tokens": 1}, (None, 3, 1)),
        ({"prompt_tokens": None, "completion_tokens": "3", "completion_tokens_details": None}, (None, None, None)),
        ({"prompt_tokens": -1, "completion_tokens": True}, (None, None, None)),
        (None, (None, None, None)),
        ([], (None, None, None)),
    ],
)
def test_usage(usage, counts):
    answer = read_answer({"choices": [choice(content="A")], "usage": usage})
    assert (answer.prompt_tokens, answer.completion_tokens, answer.reasoning_tokens) == counts


def test_a_whole_answer_reaches_the_completion(bench):
    body = bench.completion("答 \\boxed{B}", reasoning_content="想")
    completion = bench.one(bench.Reply(body=body, headers={"Content-Type": "application/json; charset=latin-1"}))
    assert (completion.key, completion.text, completion.reasoning) == ("k0", "答 \\boxed{B}", "想")
    assert (completion.prompt_tokens, completion.completion_tokens, completion.finish) == (7, 3, "stop")
    assert completion.prompt_hash is None
    assert completion.latency is not None
    assert completion.latency >= 0


def test_bodies_with_a_bom_or_broken_utf8_are_read():
    body = json.dumps({"choices": [choice(content="答")]}, ensure_ascii=False).encode()
    marked = judge_success(b"\xef\xbb\xbf" + body, "application/json")
    assert marked.answer.text == "答"
    broken = judge_success(body.replace("答".encode(), b"A\xff\xfeB"), "application/json")
    assert broken.answer.text == "A\ufffd\ufffdB"
    assert broken.answer.flags == ("invalid_utf8",)


def test_a_choice_that_the_server_broke_off_is_no_answer():
    verdict = judge_completion({"choices": [choice(content="先考慮 \\boxed{A}", finish="abort")]})
    assert verdict.kind.name == "CUT"
    assert verdict.answer.text == "先考慮 \\boxed{A}"
    failed = judge_completion({"choices": [{**choice(content="x"), "error": {"code": 502, "message": "upstream"}}]})
    assert failed.kind.name == "RETRY"


def test_halves_of_a_character_that_came_apart_are_put_together():
    assert safe("\ud83d\ude00") == ("😀", [])
    assert safe("好\ufffd") == ("好\ufffd", [])
    assert safe("\ude00\ud83d好") == ("\ufffd\ufffd好", ["surrogate_replaced"])


def event(delta=None, finish=None, **more):
    return (
        b"data: "
        + json.dumps(
            {"choices": [{"index": 0, "delta": delta or {}, "finish_reason": finish}], **more}, ensure_ascii=False
        ).encode()
        + b"\n\n"
    )


DONE = b"data: [DONE]\n\n"


def test_a_stream_may_be_cut_anywhere_even_inside_a_character():
    whole = b": comment\r\n\r\n" + event({"role": "assistant", "content": "先"}) + event({"reasoning_content": "想"})
    whole += event({"content": "答案 \\boxed{A}😀"}).replace(b"data: ", b"data:").replace(b"\n", b"\r\n")
    whole += b"event: message\nid: 3\n" + event({}, "stop", usage={"prompt_tokens": 1, "completion_tokens": 2}) + DONE
    for size in (1, 2, 3, 7, len(whole)):
        stream = Stream()
        for start in range(0, len(whole), size):
            stream.feed(whole[start : start + size])
        stream.close()
        answer = read_answer(stream.completion())
        assert stream.whole
        assert (answer.text, answer.reasoning, answer.finish) == ("先答案 \\boxed{A}😀", "想", "stop")
        assert (answer.prompt_tokens, answer.completion_tokens) == (1, 2)


def test_an_event_written_over_several_lines_is_one_event():
    stream = Stream()
    stream.feed(b'data: {"choices": [{"index": 0,\ndata: "delta": {"content": "A"}, "finish_reason": "stop"}]}\n\n')
    assert stream.whole
    assert read_answer(stream.completion()).text == "A"


def test_a_surrogate_pair_over_two_events_is_one_character():
    stream = Stream()
    stream.feed(b'data: {"choices":[{"index":0,"delta":{"content":"\\ud83d"}}]}\n\n')
    stream.feed(b'data: {"choices":[{"index":0,"delta":{"content":"\\ude00"},"finish_reason":"stop"}]}\n\n')
    answer = read_answer(stream.completion())
    assert (answer.text, answer.flags) == ("😀", ())


def streamed(bench, *chunks, **more):
    return bench.Reply(chunks=chunks, **more)


def test_streams_are_asked_for_and_read_only_when_set(bench):
    completion = bench.one(
        streamed(bench, event({"content": "甲"}), event({"content": "乙"}, "stop"), DONE), stream=True
    )
    assert (completion.text, completion.finish, completion.error_kind) == ("甲乙", "stop", "")
    assert bench.server.posts[0].body["stream"] is True
    bench.one(bench.Reply(body=bench.completion()))
    assert bench.server.posts[1].body["stream"] is False


def test_a_server_that_streams_unasked_or_not_although_asked_is_understood(bench):
    assert bench.one(streamed(bench, event({"content": "甲"}, "stop"), DONE)).text == "甲"
    assert bench.one(bench.Reply(body=bench.completion("乙")), stream=True).text == "乙"


CUT = b'data: {"choices":[{"delta":{"content":"\xe5\x85\x88\xe8\x80\x83\xe6\x85\xae \\\\boxed{A}"}}]}\n\n'


@pytest.mark.parametrize("end", [True, False])
def test_a_stream_without_an_end_is_incomplete_and_asked_again(bench, end):
    bench.server.route = lambda seen: streamed(bench, CUT, end=end)
    (completion,) = bench.ask(1, stream=True, retries=2)
    assert completion.error_kind == "cut"
    assert completion.text == "先考慮 \\boxed{A}"
    assert completion.attempts == 3
    assert completion.finish == "unknown"
    good = streamed(bench, event({"content": "\\boxed{B}"}, "stop"), DONE)
    completion = bench.one(streamed(bench, CUT, end=end), good, stream=True)
    assert (completion.error_kind, completion.text, completion.attempts) == ("", "\\boxed{B}", 2)


def test_a_stream_that_stops_coming_is_cut(bench):
    bench.server.route = lambda seen: streamed(bench, CUT, hang=True, end=False)
    (completion,) = bench.ask(1, stream=True, timeout=0.1)
    assert completion.attempts == 3  # each try costs the whole timeout
    assert (completion.error_kind, completion.text) == ("cut", "先考慮 \\boxed{A}")
    assert "timeout" in completion.error


def test_done_without_a_finish_reason_and_a_finish_reason_without_done_are_both_complete(bench):
    completion = bench.one(streamed(bench, event({"content": "甲"}), DONE), stream=True)
    assert (completion.error_kind, completion.text, completion.flags) == ("", "甲", ("no_finish_reason",))
    completion = bench.one(streamed(bench, event({"content": "甲"}, "length"), end=False), stream=True)
    assert (completion.error_kind, completion.text, completion.finish) == ("", "甲", "length")


@pytest.mark.parametrize(
    "trouble",
    [
        b'data: {"error": {"message": "out of order", "code": 503}}\n\n',
        b'event: error\ndata: {"message": "out of order", "code": 503}\n\n',
        b'event: error\ndata: {"kind": "out of order, try again"}\n\n',
        b'event: error\ndata: "out of order, try again"\n\n',
        b'{"error": {"message": "out of order", "code": 503}}\n',
    ],
)
def test_an_error_inside_a_stream_is_no_answer(bench, trouble):
    bench.server.route = lambda seen: streamed(bench, event({"content": "甲"}), trouble, DONE)
    (completion,) = bench.ask(1, stream=True, retries=1)
    assert (completion.error_kind, completion.text, completion.attempts) == ("server", "甲", 2)
    assert "out of order" in completion.error
