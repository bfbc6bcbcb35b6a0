"""The wordings of servers' errors: what each means, and the numbers in it."""

from __future__ import annotations

import json

import pytest

from twlocal.backends.http import limits
from twlocal.backends.http.errors import judge_status, shorten


def judged(status, message, **more):
    return judge_status(
        status, json.dumps({"error": {"message": message, **more}}).encode(), "application/json"
    ).kind.name


@pytest.mark.parametrize(
    ("message", "needed", "context"),
    [
        # OpenAI, DeepSeek, llama-cpp-python
        (
            "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens.",
            9000,
            8192,
        ),
        # vLLM
        (
            (
                "'max_tokens' is too large: 4096. This model's maximum context length is 8192 tokens and your request"
                " has 5000 input tokens (4096 > 8192 - 5000)."
            ),
            9096,
            8192,
        ),
        ("The decoder prompt (length 9000) is longer than the maximum model length of 8192.", 9000, 8192),
        ("max_tokens must be at least 1, got -808.", None, None),
        # SGLang
        (
            "Token count exceeds the model's maximum context length of 8192 tokens. You requested a total of 9000",
            9000,
            8192,
        ),
        ("Input length (9000 tokens) exceeds the maximum allowed length (8192 tokens).", 9000, 8192),
        # llama.cpp's server
        ("request (9000 tokens) exceeds the available context size (8192 tokens), try increasing it", 9000, 8192),
        ("the request exceeds the available context size. try increasing the context size", None, None),
        # llama-cpp-python
        ("Requested tokens (9000) exceed context window of 8192", 9000, 8192),
        # TGI
        ("`inputs` tokens + `max_new_tokens` must be <= 8192. Given: 8900 `inputs` tokens", 8900, 8192),
        ("Input validation error: `inputs` must have less than 1024 tokens. Given: 2000", 2000, 1024),
        # Anthropic
        ("prompt is too long: 208,310 tokens > 200,000 maximum", 208310, 200000),
        ("input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000", 210000, 200000),
        # Mistral
        (
            "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
            40000,
            32768,
        ),
        # Gemini
        ("The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).", 1200000, 1048576),
        # xAI
        ("This model's maximum prompt length is 131072 but the request contains 150000 tokens.", 150000, 131072),
        # Cohere
        ("too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 5000.", 5000, 4081),
        # LM Studio
        ("Trying to keep the first 9000 tokens when context the overflows.", None, None),
        # Moonshot, Alibaba, MiniMax, Zhipu
        ("Invalid request: Your request exceeded model token limit: 8192", None, 8192),
        ("Range of input length should be [1, 30720]", None, None),
        ("context window exceeds limit", None, None),
        ("Prompt 超长", None, None),
        # TabbyAPI, LiteLLM, OpenVINO, and proxies
        ("Prompt length 9000 is greater than max_seq_len 8192", 9000, 8192),
        ("litellm.ContextWindowExceededError: BadRequestError", None, None),
        ("Number of prompt tokens: 9000 exceeds model max length: 8192", 9000, 8192),
        ("Input tokens exceed the configured limit of 8192 tokens.", None, 8192),
        ("The prompt (total length 9000) is too long to fit into the model", 9000, None),
        ("prompt tokens (5000) + max_tokens (4096) exceeds limit 8192", 9096, 8192),
        ("Sequence length 9000 exceeds maximum 8192", 9000, None),
        ("prompt has 9000 tokens, but the max is 8192", 9000, 8192),
        ("輸入長度超過上限", None, None),
    ],
)
def test_too_long(message, needed, context):
    assert judged(400, message) == "TOO_LONG"
    assert limits.need(message) == (needed, context)
    said = limits.explained(message)
    assert message in said
    assert needed is None or f"need {needed} tokens" in said


@pytest.mark.parametrize(
    ("status", "message", "kind"),
    [
        (400, "max_tokens is too large: 16384. This model supports at most 4096 completion tokens", "FATAL"),
        (
            400,
            "`max_tokens` must be less than or equal to `8192`, the maximum is less than the `context_window`",
            "FATAL",
        ),
        (400, "max_tokens (16384) is too large for a model with 8192 of context", "FATAL"),
        (400, "Range of max_tokens should be [1, 8192]", "FATAL"),
        (400, "max_tokens: 16384 > 4096, which is the maximum allowed number of output tokens", "FATAL"),
        (400, "Unknown field: context", "REJECTED"),
        (400, "Unsupported value: 'temperature' does not support 0 with this model.", "REJECTED"),
        (400, "messages with role 'system' are not supported", "REJECTED"),
        (
            429,
            "Rate limit reached. Limit 10000, Requested 12. Please reduce the length of the messages",
            "THROTTLED",
        ),
        (429, "Request too large for gpt on tokens per min (TPM): Limit 10000, Requested 12000.", "TOO_LONG"),
        (413, "whatever", "TOO_LONG"),
        (503, "Loading model", "THROTTLED"),
        (404, "The model `x` does not exist or you do not have access to it.", "FATAL"),
        (400, "The model `x` does not exist", "FATAL"),
        (418, "teapot", "REJECTED"),
        (200, "Rate limit exceeded", "THROTTLED"),
        (400, "Rate limit exceeded: too many tokens per minute", "THROTTLED"),
        (400, "temperature exceeds maximum 2", "REJECTED"),
        (200, "上游服務 temporarily unavailable", "RETRY"),
        (200, "余额不足", "FATAL"),
        (500, "内容包含敏感内容", "RETRY"),
        (400, "輸入含有敏感內容", "FILTERED"),
    ],
)
def test_what_other_errors_mean(status, message, kind):
    assert judged(status, message) == kind


@pytest.mark.parametrize(
    "body",
    [
        {"error": {"message": "no funds", "type": "insufficient_balance"}},
        [{"error": {"code": 402, "message": "pay"}}],
        {"errors": [{"message": "payment required"}]},
        {"error": "payment required"},
        {"error": {"message": "Provider", "code": 402, "metadata": {"raw": "credits"}}},
        {"error_code": 402, "error_msg": "pay"},
    ],
)
def test_dialects_of_an_unpaid_bill(body):
    assert judge_status(402, json.dumps(body).encode(), "application/json").kind.name == "FATAL"
    from twlocal.backends.http.exchange import judge_completion

    assert judge_completion(body).kind.name == "FATAL"


def test_messages_are_one_line_of_bounded_length():
    assert shorten("a\n\x1b[31m b\t" * 1000).count("\n") == 0
    assert len(shorten("字" * 10_000)) == 500
    assert "\x1b" not in shorten("\x1b[31m")
