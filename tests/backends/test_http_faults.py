"""Replies that are no answers: stop, ask again, or give up the item. Through the wire, against the scripted server."""

from __future__ import annotations

import gzip
import json

import pytest

from twlocal.errors import BackendError, ConfigurationError

BALANCE = {"error": {"message": "Insufficient balance", "code": 402}}


@pytest.mark.parametrize(
    ("status", "body", "says"),
    [
        (200, BALANCE, "Insufficient balance"),
        (200, {"error": {"message": "bad key", "code": "401"}}, "bad key"),
        (200, {"error": {"message": "No such user", "type": "authentication_error"}}, "No such user"),
        (200, {"error": "something nobody can place"}, "nobody can place"),
        (200, {"object": "error", "message": "The model `m` does not exist.", "code": 404}, "does not exist"),
        (200, {"base_resp": {"status_code": 1004, "status_msg": "login fail"}}, "login fail"),
        (200, {"choices": None, "error": {"message": "Insufficient balance", "code": 402}}, "Insufficient balance"),
        (401, {"error": {"message": "Incorrect API key"}}, "Incorrect API key"),
        (402, {"detail": "Payment required"}, "Payment required"),
        (403, {"error": "forbidden here"}, "forbidden here"),
        (404, {"error": {"message": 'model "m" not found, try pulling it first'}}, "try pulling"),
        (404, b"404 page not found", "page not found"),
        (405, {"detail": "Method Not Allowed"}, "Method Not Allowed"),
        (
            429,
            {"error": {"message": "You exceeded it", "type": "insufficient_quota", "code": "insufficient_quota"}},
            "paid",
        ),
        (400, {"error": {"message": "Your credit balance is too low to access the API"}}, "credit balance"),
        (400, {"error": {"message": "API key not valid. Please pass a valid API key."}}, "API key not valid"),
        (400, {"error": {"message": "model_not_found: no"}}, "model_not_found"),
        (
            400,
            {"error": {"message": "max_tokens is too large: 64. This model supports at most 16 completion tokens"}},
            "budget",
        ),
        (200, "<html>login</html>", "web page"),
        (200, "<!DOCTYPE html><title>Sign in</title>", "Sign in"),
        (404, "<html><title>404 Not Found</title></html>", "404 Not Found"),
        (403, "<html>blocked by a firewall</html>", "blocked"),
    ],
)
def test_stops_at_once_where_asking_again_cannot_help(bench, status, body, says):
    bench.server.route = lambda seen: bench.Reply(status, body)
    with pytest.raises(ConfigurationError) as caught:
        bench.ask(3, concurrency=1)
    assert says in str(caught.value)
    assert bench.server.url in str(caught.value)
    assert len(bench.server.posts) == 1
    assert bench.time.slept == []


def test_answers_that_came_before_the_stop_are_handed_over(bench):
    replies = [
        bench.Reply(body=bench.completion("一")),
        bench.Reply(body=bench.completion("二")),
        bench.Reply(body=BALANCE),
    ]
    bench.server.replies = replies
    done = []
    with pytest.raises(ConfigurationError):
        for completion in bench.connect(concurrency=1).generate(bench.requests(5)):
            done.append(completion.text)
    assert done == ["一", "二"]
    assert len(bench.server.posts) == 3


def test_a_redirect_is_not_followed_and_stops(bench):
    bench.server.route = lambda seen: bench.Reply(302, b"", {"Location": "https://login.example/sso"})
    with pytest.raises(ConfigurationError, match=r"login\.example") as caught:
        bench.ask()
    assert "not an API" in str(caught.value)
    assert len(bench.server.posts) == 1


def test_missing_v1_is_named_as_the_likely_cause(bench):
    bench.server.route = lambda seen: bench.Reply(200, "<html>Welcome</html>")
    with pytest.raises(ConfigurationError, match="/v1"):
        list(bench.connect(bench.server.url.removesuffix("/v1") + "/app#m").generate(bench.requests()))


@pytest.mark.parametrize(
    "bad",
    [
        (502, "<html>502 Bad Gateway</html>"),
        (500, {"error": {"message": "boom"}}),
        (503, {"error": {"message": "Loading model", "code": 503}}),
        (408, {"detail": "slow"}),
        (409, b""),
        (425, b""),
        (529, {"error": {"type": "overloaded_error", "message": "Overloaded"}}),
        (429, {"error": {"message": "Rate limit reached"}}),
        (429, {"error": {"status": "RESOURCE_EXHAUSTED", "message": "You exceeded your current quota, please check"}}),
        (200, {"error": {"message": "Too many", "code": 429}}),
        (200, {"error": {"message": "Provider returned error", "code": 502}}),
        (200, {"error": {"message": "Internal server error"}}),
        (200, b""),
        (200, b'{"choices": [{"index": 0, "mess'),
        (200, {"choices": []}),
        (200, {"id": "x"}),
        (200, {"choices": [{"index": 0, "finish_reason": "stop"}]}),
        (200, [1, 2]),
        (200, b"[" * 5000),
    ],
)
def test_passing_faults_are_asked_again(bench, bad):
    status, body = bad
    completion = bench.one(bench.Reply(status, body), bench.Reply(status, body))
    assert (completion.error_kind, completion.text, completion.attempts) == ("", "\\boxed{A}", 3)
    assert len(bench.time.slept) == 2
    assert bench.time.slept[1] > bench.time.slept[0] > 0


@pytest.mark.parametrize("drop", ["before", "middle"])
def test_a_dropped_connection_is_asked_again(bench, drop):
    completion = bench.one(bench.Reply(body=bench.completion("x" * 4000), drop=drop))
    assert (completion.error_kind, completion.attempts) == ("", 2)


def test_garbage_instead_of_http_is_a_transport_error(bench):
    bench.server.route = lambda seen: bench.Reply(raw=b"SSH-2.0-OpenSSH_9.6\r\n")
    (completion,) = bench.ask(1, retries=1)
    assert completion.error_kind == "transport"
    assert completion.attempts == 2


def test_retries_are_bounded_and_the_item_says_why(bench):
    bench.server.route = lambda seen: bench.Reply(500, {"error": {"message": "boom"}})
    (completion,) = bench.ask(1, retries=2)
    assert (completion.error_kind, completion.attempts, completion.text) == ("server", 3, "")
    assert completion.error == "500: boom"


def test_a_server_that_stopped_answering_stops_the_run(bench):
    answered = 4
    bench.server.replies = [bench.Reply(body=bench.completion())] * answered
    bench.server.route = lambda seen: bench.Reply(drop="before")
    done = []
    with pytest.raises(BackendError, match="5 items in a row"):
        for completion in bench.connect(concurrency=1, retries=1).generate(bench.requests(100)):
            done.append(completion.error_kind)
    assert done == [""] * answered + ["transport"] * 5
    assert len(bench.server.posts) == answered + 2 * 5


def test_one_poisoned_item_does_not_stop_the_others(bench):
    def route(seen):
        bad = "第3題" in seen.body["messages"][-1]["content"]
        return bench.Reply(500, b"oops") if bad else bench.Reply(body=bench.completion())

    bench.server.route = route
    done = bench.ask(8, retries=1)
    assert [completion.error_kind for completion in done] == ["", "", "", "server", "", "", "", ""]


def test_many_poisoned_items_with_answers_in_between_do_not_stop_the_run(bench):
    def route(seen):
        bad = int(seen.body["messages"][-1]["content"].strip("題目：第")) % 2
        return bench.Reply(500, b"oops") if bad else bench.Reply(body=bench.completion())

    bench.server.route = route
    done = bench.ask(24, retries=0, concurrency=1)
    assert [completion.error_kind for completion in done] == ["", "server"] * 12


def test_nothing_listening_is_a_configuration_error(bench):
    url = bench.server.url
    bench.server.close()
    with pytest.raises(ConfigurationError, match="nothing answers at") as caught:
        bench.connect(f"{url}#m")
    assert url in str(caught.value)
    assert len(bench.time.slept) == 2


def test_a_name_that_does_not_exist_is_a_configuration_error(bench):
    with pytest.raises(ConfigurationError, match="nothing answers at"):
        bench.connect("http://nowhere.invalid/v1#m", api_key_env="K", environ={"K": "secret-key-1"})


def test_https_at_a_plain_server_is_a_configuration_error(bench):
    with pytest.raises(ConfigurationError, match="TLS"):
        bench.connect(bench.server.url.replace("http:", "https:") + "#m")


def test_a_server_vanishing_between_opening_and_asking_is_bounded(bench):
    backend = bench.connect(retries=1)
    bench.server.close()
    done = []
    with pytest.raises(BackendError, match="in a row"):
        for completion in backend.generate(bench.requests(100)):
            done.append(completion)
    assert all(completion.error_kind == "transport" for completion in done)


def test_a_request_that_takes_too_long_is_given_up(bench):
    bench.server.route = lambda seen: bench.Reply(delay=30)
    (completion,) = bench.ask(1, timeout=0.1, retries=1)
    assert (completion.error_kind, completion.attempts) == ("transport", 2)
    assert "timeout" in completion.error


@pytest.mark.parametrize(
    "error",
    [
        {
            "message": "This model's maximum context length is 1000 tokens. However, you requested 1203."
            " A shorter prompt is needed."
        },
        {"error": {"code": "context_length_exceeded", "message": "Requested 1203 tokens, have 1000"}},
        {"error": {"message": "Requested tokens (1203) exceed context window of 1000"}},
        {"error": {"message": "prompt is too long: 1203 tokens > 1000 maximum"}},
        {"error": {"message": "Input length (1203 tokens) exceeds the maximum allowed length (1000 tokens)."}},
        {"detail": "the request exceeds the available context size (1000). request (1203 tokens)"},
        {"error": {"message": "input length and `max_tokens` exceed context limit: 1103 + 100 > 1000, shorten it"}},
    ],
)
def test_too_long_is_neither_asked_again_nor_shrunk(bench, error):
    completion = bench.one(bench.Reply(400, error))
    assert completion.error_kind == "too_long"
    assert completion.text == ""
    assert "1203" in completion.error
    assert "1000" in completion.error
    assert [post.body["max_tokens"] for post in bench.server.posts] == [64]
    assert bench.time.slept == []


def test_too_long_is_known_under_413_and_under_500_too(bench):
    assert bench.one(bench.Reply(413, "<html>Request Entity Too Large</html>")).error_kind == "too_long"
    message = {"error": {"message": "Requested tokens (1203) exceed context window of 1000"}}
    assert bench.one(bench.Reply(500, message)).error_kind == "too_long"


def test_the_same_refusal_of_the_first_items_stops_the_run(bench):
    bench.server.route = lambda seen: bench.Reply(400, {"error": {"message": "this model takes no text"}})
    done = []
    with pytest.raises(ConfigurationError, match="this model takes no text"):
        for completion in bench.connect(concurrency=1).generate(bench.requests(20)):
            done.append(completion.error_kind)
    assert done == ["server", "server"]
    assert len(bench.server.posts) == 3


def test_a_single_refusal_among_answers_is_the_items_own(bench):
    bench.server.replies = [bench.Reply(body=bench.completion()), bench.Reply(400, {"error": "odd characters"})]
    done = bench.ask(4, concurrency=1)
    assert [completion.error_kind for completion in done] == ["", "server", "", ""]
    assert done[1].error == "400: odd characters"
    assert done[1].attempts == 1


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, {"code": "content_filter", "message": "The response was filtered by the content management policy"}),
        (
            403,
            {"message": "Input was flagged", "code": 403, "metadata": {"reasons": ["violence"], "flagged_input": "…"}},
        ),
    ],
)
def test_a_filtered_prompt_is_answered_with_nothing(bench, status, error):
    completion = bench.one(bench.Reply(status, {"error": error}))
    assert (completion.error_kind, completion.finish, completion.text) == ("", "content_filter", "")
    assert "content_filter" in completion.flags


def test_keys_never_show(bench, caplog):
    key = "sk-verySecretKey1234567890"
    environ = {"TWLOCAL_API_KEY": key}

    def route(seen):
        echoed = seen.headers["authorization"]
        return bench.Reply(500, {"error": {"message": f"cannot read {echoed} or {key[3:]}"}})

    bench.server.route = route
    backend = bench.connect(environ=environ, retries=0, headers={"X-Team": "team-secret-42"})
    (completion,) = backend.generate(bench.requests())
    bench.server.route = lambda seen: bench.Reply(401, {"error": {"message": f"wrong: {key} team-secret-42"}})
    with pytest.raises(ConfigurationError) as caught:
        list(backend.generate(bench.requests()))
    said = " ".join([completion.error, str(caught.value), repr(backend), repr(backend.describe()), caplog.text])
    assert bench.server.posts[0].headers["authorization"] == f"Bearer {key}"
    assert "verySecret" not in said
    assert "team-secret" not in said
    assert "X-Team" in said
    assert "TWLOCAL_API_KEY" in json.dumps(dict(backend.describe().settings))


@pytest.mark.parametrize(
    "flood",
    [
        {"body": gzip.compress(b" " * 3_000_000), "headers": {"Content-Encoding": "gzip"}},
        {"chunks": (b" " * 60_000,) * 5, "headers": {"Content-Type": "application/json"}},
        {"chunks": (b": keep-alive\n" * 5_000,) * 5},
        {"body": b" " * 200_000},
        {"status": 500, "chunks": (b"no " * 20_000,) * 5},
    ],
    ids=["compressed", "chunked", "streamed", "told", "error"],
)
def test_a_reply_without_end_is_not_read_to_its_end(bench, monkeypatch, flood):
    monkeypatch.setattr("twlocal.backends.http.exchange.LARGEST", 100_000)
    bench.server.route = lambda seen: bench.Reply(**flood)
    (completion,) = bench.ask(1, retries=0)
    assert completion.error_kind == "transport"
    assert "a reply of more than" in completion.error


def test_a_flood_instead_of_the_list_of_models_is_no_list(bench, monkeypatch):
    monkeypatch.setattr("twlocal.backends.http.exchange.LARGEST", 100_000)
    bench.server.models = bench.Reply(body=gzip.compress(b" " * 3_000_000), headers={"Content-Encoding": "gzip"})
    assert bench.one().error_kind == ""
