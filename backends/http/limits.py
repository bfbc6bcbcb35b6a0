"""The many wordings in which servers say that a prompt is too long, a budget too large, or a text filtered. Pure.

The name beside a wording says which server is known for it; tests hold whole messages of each kind.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_TOO_LONG = re.compile(
    r"context_length_exceeded|exceed_context_size|context_?window_?exceeded|string_above_max_length"  # codes
    r"|maximum (context|prompt|model|input) length"  # OpenAI, vLLM, SGLang, Mistral, DeepSeek, xAI
    r"|(exceeds?|overflows?|longer than|greater than|too large for|beyond)\b.{0,60}\bcontext\b"  # llama.cpp, LM Studio
    r"|context (the )?overflows?|context (window|length|size|limit)s?\b.{0,40}\b(exceed|overflow|too small)"
    r"|(prompt|input|request|messages?|question)( \w+)?\s*(is|are|was)? too (long|large)"  # Anthropic, Baidu, Groq
    r"|too many (input |prompt )?tokens(?! per)"  # Cohere
    r"|input length .{0,40}exceed|range of input length"  # SGLang, Alibaba
    r"|(input|prompt) token count.{0,40}exceed"  # Gemini
    r"|(prompt|sequence|input) length( of)? \d+ (is greater than|exceeds?|>)|greater than max_seq_len"  # TabbyAPI
    r"|(prompt|input|message)s? tokens?\b.{0,40}exceeds?|too long to fit|exceeds? the token limit|max message tokens"
    r"|prompt has \d+ tokens, but|context shift is disabled"
    r"|prompt exceeds|longer than the maximum model length|exceeded model token limit"  # Zhipu, vLLM, Moonshot
    r"|`?inputs`? (tokens? )?(\+|must have less than)"  # TGI
    r"|max_(completion_)?tokens must be at least 1, got -"  # vLLM: nothing is left after the prompt
    r"|reduce (the |your )?(length|size) of (the |your )?(messages|prompt|input)"
    r"|shorter prompt|reduce your (prompt|message size)"
    r"|超長|超长|過長|过长|超[過过出].{0,12}(上下文|最大|長度|长度|token)|(長度|长度|token ?[数數]?).{0,4}超[過过出]",
    re.IGNORECASE,
)
_BUDGET = re.compile(
    r"max_?(completion_|new_|output_)?tokens\b.{0,40}\b(too large|less than or equal|at most|maximum value)"
    r"|range of max_?tokens|supports at most \d+ (completion|output) tokens|max_tokens: \d+ > \d+",
    re.IGNORECASE | re.DOTALL,
)
# A budget that fails only together with its prompt is the item's matter, not the run's.
_PROMPT_COUNTS = re.compile(r"context length is|input tokens|in the messages|prompt|`?inputs`?", re.IGNORECASE)
_FILTERED = re.compile(
    r"content_filter|content filter|content_policy|content management policy|ResponsibleAIPolicy|data_inspection_failed"
    r"|flagged_input|input was flagged|safety (system|filter)|sensitive_words|敏感[詞词內内信資]|不安全[內内]",
    re.IGNORECASE,
)

_CONTEXT = (
    r"(?:maximum|max)[\w ]{0,20}? length (?:is|of) (\d+)",
    r"context (?:window|size|length) (?:of|is) (\d+)",
    r"context (?:window|size|length)[^0-9]{0,12}\((\d+)",
    r"(?:exceeds?|exceed)[^0-9]{0,60}\((\d+)",
    r"(\d+) maximum context",
    r"(?:max_seq_len|max length:?|exceeds limit|limit of|but the max is) (\d+)",
    r"> (\d+)",
    r"cannot exceed (\d+)|less than (\d+) tokens|<= (\d+)|model token limit: (\d+)",
)
_NEEDED = (
    r"too large: (\d+)\..*?(\d+) input tokens",
    r"(\d+) \+ (\d+) >",
    r"\((\d+)\) \+ max_tokens \((\d+)\)",
    r"requested (?:a total of )?(\d+)",
    r"requested tokens \((\d+)\)",
    r"prompt tokens:? (\d+)|(?:prompt|sequence|input) length(?: of)? (\d+)|prompt has (\d+)|total length (\d+)",
    r"(?:given|received|contains|too long)[: ]+(\d+)",
    r"(?:request|prompt|input)[\w ]{0,20}\((?:length )?(\d+)",
)


class Need(NamedTuple):
    """Tokens that a refused request needs, and tokens that the server's context holds; None where it does not say."""

    needed: int | None
    context: int | None


def too_long(text: str) -> bool:
    """Whether an error's words (or code) say that prompt and budget do not fit the context."""
    return bool(_TOO_LONG.search(text)) and not budget(text)


def budget(text: str) -> bool:
    """Whether an error says that max_tokens alone is more than the server ever allows, whatever the prompt."""
    return bool(_BUDGET.search(text)) and not _PROMPT_COUNTS.search(text)


def filtered(text: str) -> bool:
    """Whether an error says that a content filter stopped the request."""
    return bool(_FILTERED.search(text))


def need(text: str) -> Need:
    """The numbers in a "too long" message."""
    plain = re.sub(r"(?<=\d),(?=\d{3})", "", text)
    return Need(_first(_NEEDED, plain), _first(_CONTEXT, plain))


def explained(text: str) -> str:
    """A "too long" message with the size that would be needed in front, where the message tells it."""
    needed, context = need(text)
    parts = []
    if needed is not None:
        parts.append(f"prompt and budget need {needed} tokens")
    if context is not None:
        parts.append(f"the server's context holds {context}")
    return f"{', '.join(parts)} ({text})" if parts else text


def _first(patterns: tuple[str, ...], text: str) -> int | None:
    for pattern in patterns:
        if found := re.search(pattern, text, re.IGNORECASE):
            return sum(int(group) for group in found.groups() if group)
    return None
