"""The faults that were given as cases with the project, each as it stands there and as written down here."""

from __future__ import annotations

import json

import pytest

from twlocal.errors import ConfigurationError

HERE = {
    "P8-1": {"status": 200, "body": {"error": {"message": "Insufficient balance", "code": 402}}},
    "P8-3": {
        "status": 400,
        "body": {
            "message": "This model's maximum context length is 1000 tokens. However, you requested 1203."
            " A shorter prompt is needed."
        },
    },
    "P8-5": {"headers": ["2", "0", "Wed, 21 Oct 2015 07:28:00 GMT", "-5", "abc", "1.5", "86400"]},
    "P8-7": {"sse": ['data: {"choices":[{"delta":{"content":"先考慮 \\\\boxed{A}"}}]}', "<connection closed>"]},
    "P8-9": {"request": {"n": 3}, "reply_choices": 1},
    "P8-11": {
        "replies": [
            {"status": 502, "body": "<html>502 Bad Gateway</html>"},
            {"status": 200, "body": "<html>login</html>"},
        ]
    },
}


@pytest.fixture(params=["written here", "given"])
def given(request):
    """A case's input by its id."""
    if request.param == "written here":
        return HERE.__getitem__
    path = request.getfixturevalue("shared") / "cases" / "given.jsonl"
    cases = {case["id"]: case["input"] for case in map(json.loads, path.read_text(encoding="utf-8").splitlines())}
    return cases.__getitem__


def test_an_error_object_under_200_is_fatal_and_keeps_what_was_answered(bench, given):
    case = given("P8-1")
    bench.server.replies = [bench.Reply(body=bench.completion()), bench.Reply(case["status"], case["body"])]
    done = []
    with pytest.raises(ConfigurationError, match="Insufficient balance"):
        for completion in bench.connect(concurrency=1).generate(bench.requests(4)):
            done.append(completion.error_kind)
    assert done == [""]


def test_a_context_length_message_is_never_an_answer(bench, given):
    case = given("P8-3")
    bench.server.route = lambda seen: bench.Reply(case["status"], case["body"])
    done = bench.ask(3)
    assert [(completion.error_kind, completion.text, completion.attempts) for completion in done] == [
        ("too_long", "", 1)
    ] * 3
    assert all("need 1203 tokens" in completion.error and "holds 1000" in completion.error for completion in done)


def test_retry_after_in_all_its_forms(bench, given):
    for header in given("P8-5")["headers"]:
        bench.time.slept.clear()
        reply = bench.Reply(503, b"", {"Retry-After": header})
        if header == "86400":
            with pytest.raises(ConfigurationError, match="24 hours"):
                bench.one(reply)
            assert bench.time.slept == []
            continue
        assert bench.one(reply).error_kind == ""
        assert sum(bench.time.slept) >= (float(header) if header in ("2", "1.5") else 0)
        assert sum(bench.time.slept) < 3


def test_a_stream_that_just_ends_is_incomplete(bench, given):
    chunk, _ = given("P8-7")["sse"]
    bench.server.route = lambda seen: bench.Reply(chunks=(chunk.encode() + b"\n\n",), end=False)
    (completion,) = bench.ask(1, stream=True, retries=2)
    assert (completion.error_kind, completion.attempts) == ("cut", 3)
    assert completion.text.startswith("先考慮")
    bench.server.route = lambda seen: bench.Reply(chunks=(chunk.encode() + b"\n\n", b"data: [DONE]\n\n"))
    (completion,) = bench.ask(1, stream=True)
    assert (completion.error_kind, completion.attempts) == ("", 1)


def test_three_samples_are_three_requests(bench, given):
    wanted = given("P8-9")["request"]["n"]
    assert len(bench.ask(wanted)) == wanted == len(bench.server.posts)
    assert all("n" not in post.body for post in bench.server.posts)


def test_web_pages_instead_of_json(bench, given):
    first, second = (bench.Reply(reply["status"], reply["body"]) for reply in given("P8-11")["replies"])
    assert bench.one(first).attempts == 2
    bench.time.slept.clear()
    with pytest.raises(ConfigurationError, match="web page") as caught:
        bench.one(second)
    assert bench.server.url in str(caught.value)
    assert bench.time.slept == []
