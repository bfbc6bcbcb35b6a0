"""What is sent to whom, and what a server's refusals change in it."""

from __future__ import annotations

import pytest

from twlocal.backend import Decoding, Message, Request
from twlocal.backends.http.adapt import body
from twlocal.backends.http.errors import Trouble
from twlocal.errors import ConfigurationError, UsageError


def refusing(bench, name, message, status=400, **error):
    """A server that refuses the parameter `name` as long as it is sent."""

    def route(seen):
        if name in seen.body:
            return bench.Reply(status, {"error": {"message": message, **error}})
        return bench.Reply(body=bench.completion())

    bench.server.route = route


def test_every_value_of_the_protocol_is_sent(bench):
    bench.ask(1, seed=5)
    sent = bench.server.posts[0].body
    assert sent["model"] == "m"
    assert sent["messages"] == [
        {"role": "system", "content": "把答案寫在 \\boxed{} 裡"},
        {"role": "user", "content": "題目：第0題"},
    ]
    assert {name: sent[name] for name in ("temperature", "top_p", "max_tokens", "stream", "seed")} == {
        "temperature": 0.0,
        "top_p": 0.9,
        "max_tokens": 64,
        "stream": False,
        "seed": 5,
    }
    assert sent["frequency_penalty"] == sent["presence_penalty"] == 0
    assert "n" not in sent


def test_what_is_sent_is_what_is_described(bench):
    backend = bench.connect(extra_body={"chat_template_kwargs": {"enable_thinking": False}})
    list(backend.generate(bench.requests()))
    sent = {name: value for name, value in bench.server.posts[0].body.items() if name not in ("model", "messages")}
    assert sent == dict(backend.describe().sent)
    assert sent["chat_template_kwargs"] == {"enable_thinking": False}


def test_a_switch_for_thinking_goes_to_the_servers_template_and_into_the_record(bench):
    backend = bench.connect(template_variables={"enable_thinking": False})
    list(backend.generate(bench.requests()))
    assert bench.server.posts[0].body["chat_template_kwargs"] == {"enable_thinking": False}
    info = backend.describe()
    assert info.settings["template_variables"] == info.sent["chat_template_kwargs"] == {"enable_thinking": False}
    bench.ask(1)
    assert "chat_template_kwargs" not in bench.server.posts[-1].body
    refusing(bench, "chat_template_kwargs", "Unrecognized request argument supplied: chat_template_kwargs")
    with pytest.raises(ConfigurationError, match="chat_template_kwargs"):
        bench.ask(5, concurrency=1, template_variables={"enable_thinking": False})
    both = {"template_variables": {"a": 1}, "extra_body": {"chat_template_kwargs": {"b": 2}}}
    with pytest.raises(UsageError, match="both set"):
        bench.connect(**both)


@pytest.mark.parametrize(
    ("models", "headers", "engine", "expected"),
    [
        ([{"id": "m", "owned_by": "vllm"}], {}, "vllm", {"repetition_penalty": 1.0, "top_k": -1}),
        ([{"id": "m", "owned_by": "sglang"}], {}, "sglang", {"repetition_penalty": 1.0, "top_k": -1}),
        ([{"id": "m", "owned_by": "llamacpp"}], {}, "llama.cpp", {"repeat_penalty": 1.0, "top_k": 0}),
        ([{"id": "m", "owned_by": "me", "permissions": []}], {}, "llama.cpp", {"repeat_penalty": 1.0}),
        ([], {"Server": "llama.cpp"}, "llama.cpp", {"repeat_penalty": 1.0}),
        ([{"id": "m"}], {}, "local", {"repeat_penalty": 1.0, "repetition_penalty": 1.0}),
    ],
)
def test_engines_get_the_neutral_values_that_they_know(bench, models, headers, engine, expected):
    bench.server.models = bench.Reply(body={"data": models}, headers=headers)
    backend = bench.connect()
    list(backend.generate(bench.requests()))
    assert backend.describe().settings["server"] == engine
    assert bench.server.posts[0].body.items() >= expected.items()


def test_a_hosted_service_gets_only_what_openai_knows():
    sent = body("m", Decoding(), "hosted", stream=False, seed=None, extra={}).sent(10)
    assert set(sent) == {"temperature", "top_p", "frequency_penalty", "presence_penalty", "stream", "max_tokens"}


def test_max_tokens_becomes_max_completion_tokens_once(bench):
    message = (
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
    )
    refusing(bench, "max_tokens", message, param="max_tokens", code="unsupported_parameter")
    backend = bench.connect(concurrency=1)
    done = list(backend.generate(bench.requests(3)))
    assert [completion.error_kind for completion in done] == ["", "", ""]
    assert [completion.attempts for completion in done] == [2, 1, 1]
    assert [post.body.get("max_completion_tokens") for post in bench.server.posts] == [None, 64, 64, 64]
    assert all("adapted" in completion.flags for completion in done)
    info = backend.describe()
    assert info.settings["adapted"] == ["max_tokens → max_completion_tokens"]
    assert info.sent["max_completion_tokens"] == 64
    assert "max_tokens" not in info.sent
    assert bench.time.slept == []


@pytest.mark.parametrize(
    ("name", "status", "error"),
    [
        ("temperature", 400, {"message": "Unsupported value: 'temperature' does not support 0 with this model."}),
        ("top_p", 400, {"message": "Unsupported parameter", "param": "top_p"}),
        ("top_p", 400, {"message": "`temperature` and `top_p` cannot both be specified for this model."}),
        ("repeat_penalty", 400, {"message": "Unrecognized request argument supplied: repeat_penalty"}),
        ("repetition_penalty", 400, {"message": 'Unknown name "repetition_penalty": Cannot find field.'}),
        ("presence_penalty", 400, {"message": "Argument not supported on this model: presencePenalty"}),
        ("seed", 400, {"message": "Unrecognized request argument supplied: seed"}),
    ],
)
def test_a_refused_parameter_is_dropped_remembered_and_recorded(bench, name, status, error):
    refusing(bench, name, status=status, **error)
    backend = bench.connect(concurrency=1, seed=1)
    done = list(backend.generate(bench.requests(2)))
    assert [completion.error_kind for completion in done] == ["", ""]
    assert len(bench.server.posts) == 3
    assert backend.describe().settings["adapted"] == [f"{name} dropped"]
    assert name not in backend.describe().sent
    for completion in done:
        assert (f"{name}_not_honoured" in completion.flags) == (name in ("temperature", "top_p"))


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, {"message": "System role not supported None", "type": "BadRequestError"}),
        (400, {"message": "Conversation roles must alternate user/assistant/user/assistant/..."}),
        (400, {"message": "Only user and assistant roles are supported!"}),
        (400, {"message": "Developer instruction is not enabled for models/gemma-3-27b-it", "status": "INVALID"}),
        (
            400,
            {
                "message": "Unsupported value: 'messages[0].role' does not support 'system' with this model.",
                "param": "messages[0].role",
            },
        ),
        (500, {"code": 500, "message": "Jinja Exception: System role not supported", "type": "server_error"}),
    ],
    ids=["gemma 2", "llama 2", "mistral", "google", "o1", "llama.cpp"],
)
def test_a_server_without_a_system_role_gets_the_system_text_before_the_first_user_turn(bench, status, error):
    def route(seen):
        if any(message["role"] == "system" for message in seen.body["messages"]):
            return bench.Reply(status, {"error": error})
        return bench.Reply(body=bench.completion())

    bench.server.route = route
    backend = bench.connect(concurrency=1)
    done = list(backend.generate(bench.requests(2)))
    assert [(one.error_kind, one.attempts) for one in done] == [("", 2), ("", 1)]
    assert all("adapted" in one.flags for one in done)
    assert bench.server.posts[-1].body["messages"] == [
        {"role": "user", "content": "把答案寫在 \\boxed{} 裡\n\n題目：第1題"}
    ]
    info = backend.describe()
    assert info.settings["adapted"] == ["system role → first user turn"]
    assert info.model["merged_system"] is True


def test_worked_examples_stay_where_they_are_when_the_system_text_is_merged():
    import json

    refused = body("m", Decoding(), "hosted", stream=False, seed=None, extra={}).adapt(
        Trouble("System role not supported")
    )
    turns = (("system", "系統"), ("user", "例題"), ("assistant", "例答"), ("user", "題目"))
    raw = refused.render(Request("k", tuple(Message(*turn) for turn in turns), 8))
    assert [tuple(message.values()) for message in json.loads(raw)["messages"]] == [
        ("user", "系統\n\n例題"),
        ("assistant", "例答"),
        ("user", "題目"),
    ]
    assert refused.adapt(Trouble("System role not supported")) is None, "once only"


def test_fastapi_validation_errors_are_understood(bench):
    def route(seen):
        bad = [name for name in ("repeat_penalty", "repetition_penalty") if name in seen.body]
        detail = [
            {"type": "extra_forbidden", "loc": ["body", name], "msg": "Extra inputs are not permitted"} for name in bad
        ]
        return bench.Reply(422, {"detail": detail}) if bad else bench.Reply(body=bench.completion())

    bench.server.route = route
    backend = bench.connect()
    (completion,) = backend.generate(bench.requests())
    assert (completion.error_kind, completion.attempts) == ("", 3)
    assert backend.describe().settings["adapted"] == ["repeat_penalty dropped", "repetition_penalty dropped"]


def test_penalties_refused_without_a_name_are_dropped(bench):
    def route(seen):
        bad = any(name.endswith("_penalty") for name in seen.body)
        return (
            bench.Reply(400, {"error": "Penalty is not enabled for this model"})
            if bad
            else bench.Reply(body=bench.completion())
        )

    bench.server.route = route
    (completion,) = bench.ask()
    assert completion.error_kind == ""


def test_a_server_that_wants_a_positive_temperature_gets_the_smallest(bench):
    def route(seen):
        bad = seen.body.get("temperature") == 0
        return (
            bench.Reply(422, {"error": "`temperature` must be strictly positive"})
            if bad
            else bench.Reply(body=bench.completion())
        )

    bench.server.route = route
    (completion,) = bench.ask()
    assert completion.error_kind == ""
    assert "temperature_not_honoured" in completion.flags
    assert bench.server.posts[-1].body["temperature"] == 0.01


def test_requests_in_flight_that_fail_for_the_same_reason_are_just_sent_again(bench):
    refusing(bench, "top_p", "top_p is not supported")
    inner = bench.server.route
    bench.server.route = lambda seen: bench.Reply(**{**vars(inner(seen)), "delay": 0.05})
    backend = bench.connect(concurrency=8)
    done = list(backend.generate(bench.requests(16)))
    assert [completion.error_kind for completion in done] == [""] * 16
    assert backend.describe().settings["adapted"] == ["top_p dropped"]
    assert len(bench.server.posts) == 16 + 8


def test_a_parameter_that_the_user_asked_for_is_never_dropped(bench):
    refusing(bench, "reasoning_effort", "Unrecognized request argument supplied: reasoning_effort")
    with pytest.raises(ConfigurationError, match="reasoning_effort"):
        bench.ask(5, concurrency=1, extra_body={"reasoning_effort": "low"})


def test_a_parameter_is_adapted_to_once_only(bench):
    bench.server.route = lambda seen: bench.Reply(400, {"error": {"message": "bad", "param": "max_tokens"}})
    with pytest.raises(ConfigurationError):
        bench.ask(5, concurrency=1)
    assert len(bench.server.posts) == 4


def test_after_an_answer_a_refusal_that_names_a_parameter_is_the_items_own(bench):
    bench.server.replies = [
        bench.Reply(body=bench.completion()),
        bench.Reply(400, {"error": "invalid text: what is the temperature?"}),
    ]
    backend = bench.connect(concurrency=1)
    done = list(backend.generate(bench.requests(3)))
    assert [completion.error_kind for completion in done] == ["", "server", ""]
    assert backend.describe().settings["adapted"] == []


def test_streaming_that_is_refused_is_dropped(bench):
    message = "Your organization must be verified to stream this model."
    bench.server.replies = [bench.Reply(400, {"error": {"message": message, "param": "stream"}})]
    (completion,) = bench.ask(1, stream=True)
    assert completion.text == "\\boxed{A}"
    assert not bench.server.posts[1].body.keys() & {"stream", "stream_options"}


@pytest.mark.parametrize(
    "message",
    [
        "This model only support stream mode, please enable the stream parameter to access the model.",
        "parameter.enable_thinking must be set to false for non-streaming calls",
        "`stream` must be set to true",
    ],
)
def test_a_server_that_only_streams_is_asked_to(bench, message):
    event = b'data: {"choices":[{"index":0,"delta":{"content":"\\\\boxed{A}"},"finish_reason":"stop"}]}\n\n'

    def reply(seen):
        if not seen.body["stream"]:
            return bench.Reply(status=400, body={"error": {"message": message}})
        assert seen.body["stream_options"] == {"include_usage": True}
        return bench.Reply(chunks=(event, b"data: [DONE]\n\n"))

    bench.server.route = reply
    backend = bench.connect()
    done = list(backend.generate(bench.requests(3)))
    assert [(one.text, one.error_kind, one.flags) for one in done] == [("\\boxed{A}", "", ("adapted",))] * 3
    assert backend.describe().settings["adapted"] == ["stream → true"]


def test_text_that_utf8_cannot_hold_is_still_valid_json():
    import json

    first = body("m", Decoding(), "hosted", stream=False, seed=None, extra={})
    raw = first.render(Request("k", (Message("user", "半\ud83d個"),), 8))
    assert json.loads(raw)["messages"][0]["content"] == "半\ud83d個"


@pytest.mark.parametrize(
    "trouble",
    [
        Trouble("messages: field required", params=("messages",)),
        Trouble("invalid value in messages.0.content: temperature", params=("messages.0.content",)),
        Trouble("the server is in a bad mood"),
        Trouble("everything went fine at this temperature"),
    ],
)
def test_a_refusal_of_something_else_changes_nothing(trouble):
    assert body("m", Decoding(), "local", stream=False, seed=None, extra={}).adapt(trouble) is None


def test_a_schema_is_sent_as_a_response_format_and_given_up_where_it_is_refused(bench):
    schema = {"type": "object", "required": ["answer"], "properties": {"answer": {"enum": ["A", "B"]}}}
    bench.ask(1, json_schema=schema)
    form = bench.server.posts[-1].body["response_format"]
    assert form["type"] == "json_schema" and form["json_schema"]["schema"] == schema and form["json_schema"]["strict"]

    refusing(bench, "response_format", "Invalid parameter: 'response_format' of type 'json_schema' is not supported.")
    (answer,) = bench.ask(1, json_schema=schema)
    assert not answer.error_kind and "adapted" in answer.flags
    assert "response_format" not in bench.server.posts[-1].body
    bench.server.route = None


def test_without_a_schema_no_format_is_asked_for(bench):
    bench.ask(1)
    assert "response_format" not in bench.server.posts[-1].body
