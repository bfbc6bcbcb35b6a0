"""A chat completion's JSON, in the dialects of the common servers, as an answer. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from twlocal.backend import FINISH_FILTER, FINISH_LENGTH, FINISH_STOP, FINISH_UNKNOWN

_FINISH = {
    **dict.fromkeys(
        ("stop", "eos", "eos_token", "end_turn", "stop_sequence", "stop_token", "complete", "completed", "finished"),
        FINISH_STOP,
    ),
    **dict.fromkeys(
        ("length", "max_tokens", "model_length", "max_output_tokens", "model_context_window_exceeded", "token_limit"),
        FINISH_LENGTH,
    ),
    **dict.fromkeys(
        ("content_filter", "content_filtered", "safety", "prohibited_content", "recitation", "sensitive", "refusal"),
        FINISH_FILTER,
    ),
}
# OpenRouter's and LiteLLM's lists repeat what the others hold, where those are there at all.
_REASONING = ("reasoning_content", "reasoning", "thinking", "reasoning_details", "thinking_blocks")
# Some servers spell "not yet" as a word.
_NOT_YET = {"", "null", "none", "nil", "undefined"}
# The server gave up half-way: what came is not the model's whole answer.
_BROKEN = {"error", "abort", "aborted", "cancelled", "canceled", "network_error", "insufficient_system_resource"}


class Malformed(Exception):
    """A reply of status 200 that is not a chat completion; the message says what is missing. `partial`: its text."""

    def __init__(self, message: str, partial: str = "") -> None:
        super().__init__(message)
        self.partial = partial


@dataclass(frozen=True, slots=True)
class Answer:
    """What the server said, made safe to store (see `safe`). Token counts are None where it does not tell."""

    text: str
    reasoning: str = ""
    finish: str = FINISH_UNKNOWN
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    reasoning_tokens: int | None = None
    flags: tuple[str, ...] = ()
    served_as: str = ""


def read_answer(data: Mapping[str, Any], flags: tuple[str, ...] = ()) -> Answer:
    """The answer in a completion: the choice with index 0, wherever it stands. Raises Malformed.

    Choices beyond it are never counted as further samples: repeats are requests of their own.
    """
    choice, more = _choice(data)
    odd = [*flags, *(["extra_choices"] if more else [])]
    message = choice.get("message")
    if not isinstance(message, dict):
        if isinstance(choice.get("text"), str):
            message = {"content": choice["text"]}
        elif _finish(choice.get("finish_reason"))[0] == FINISH_FILTER:
            message = {}  # Azure leaves it out where its filter stopped the answer
        else:
            raise Malformed("the reply's choice has no message")
    text, thought = _content(message.get("content"))
    reasoning = thought or reasoning_in(message)
    refusal = message.get("refusal")
    if isinstance(refusal, str) and refusal:
        text = text or refusal
        odd.append("refusal")
    if message.get("content") is None and not text:
        odd.append("content_null")
    if message.get("tool_calls") or message.get("function_call"):
        odd.append("tool_calls")
    if not (text or reasoning or "tool_calls" in odd or has_ended(choice.get("finish_reason"))):
        raise Malformed("the reply says nothing, not even why it ended")
    finish, flag = _finish(choice.get("finish_reason"))
    if finish is None:
        raise Malformed(f"the server broke off (finish_reason {flag!r})", safe(text)[0])
    odd += flag
    usage = data.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    details = usage.get("completion_tokens_details")
    details = details if isinstance(details, dict) else usage
    text, changed = safe(text)
    reasoning, _ = safe(reasoning)
    served = data.get("model")
    return Answer(
        text=text,
        reasoning=reasoning,
        finish=finish,
        prompt_tokens=_count(usage.get("prompt_tokens")),
        completion_tokens=_count(usage.get("completion_tokens")),
        reasoning_tokens=_count(details.get("reasoning_tokens")),
        flags=tuple(dict.fromkeys([*odd, *changed])),
        served_as=served if isinstance(served, str) else "",
    )


def _choice(data: Mapping[str, Any]) -> tuple[Mapping[str, Any], bool]:
    choices = data.get("choices")
    if not isinstance(choices, list) or not choices:
        raise Malformed("the reply has no choices")
    if len(choices) == 1 and isinstance(choices[0], dict):
        return choices[0], False
    usable = [choice for choice in choices if isinstance(choice, dict)]
    if not usable:
        raise Malformed("the reply's choices are not objects")

    def place(choice: Mapping[str, Any]) -> int:
        index = index_of(choice)
        return len(choices) if index is None else index

    return min(usable, key=place), len(choices) > 1


def index_of(choice: Mapping[str, Any]) -> int | None:
    """A choice's index, which some servers write as text; None where there is none."""
    index = choice.get("index")
    if isinstance(index, str) and index.isascii() and index.isdigit():
        return int(index)
    return index if isinstance(index, int) else None


def has_ended(reason: Any) -> bool:
    """Whether a finish reason says that the answer has ended, in whatever way."""
    return reason is not None and str(reason).strip().lower() not in _NOT_YET


def within(answer: Answer, max_tokens: int) -> Answer:
    """The answer, put right where the server's own count contradicts what it says about the budget.

    Some servers say "stop" of an answer that the budget cut (what it holds is then no whole answer), and some do not
    keep to the budget at all. Both are flagged.
    """
    written = answer.completion_tokens
    if written is None or written < max_tokens:
        return answer
    if written == max_tokens and answer.finish == FINISH_STOP:
        return replace(answer, finish=FINISH_LENGTH, flags=(*answer.flags, "stop_at_budget"))
    return replace(answer, flags=(*answer.flags, "budget_exceeded")) if written > max_tokens else answer


def _finish(reason: Any) -> tuple[str | None, Any]:
    """(a FINISH_ constant, flags), or (None, the reason) where the server broke off."""
    if not has_ended(reason):
        return FINISH_UNKNOWN, ["no_finish_reason"]
    # "FinishReason.STOP", "FINISH_REASON_STOP", "content_filter: RECITATION"
    name = str(reason).strip().lower()
    if name not in _FINISH:
        name = re.split(r"[:\s]", re.sub(r"^finish_?reason[._]", "", name))[0]
    if name in _BROKEN:
        return None, name
    if name in ("tool_calls", "function_call"):
        return FINISH_UNKNOWN, ["tool_calls"]
    if name not in _FINISH:
        return FINISH_UNKNOWN, ["unknown_finish_reason"]
    finish = _FINISH[name]
    return finish, ["content_filter"] if finish == FINISH_FILTER else []


def reasoning_in(message: Mapping[str, Any]) -> str:
    """The reasoning in a message or a delta, in the first of the fields that servers put it into."""
    return next((found for name in _REASONING if (value := message.get(name)) and (found := joined(value))), "")


def _content(content: Any) -> tuple[str, str]:
    """(text, reasoning) of a content field: text, nothing, or a list of parts. Raises Malformed for a number."""
    if isinstance(content, str):
        return content, ""
    if isinstance(content, int | float):
        raise Malformed("the reply's content is a number")
    if not isinstance(content, list):
        return joined(content), ""
    thoughts = [part for part in content if isinstance(part, dict) and part.get("type") in ("thinking", "reasoning")]
    return joined([part for part in content if part not in thoughts]), joined(thoughts)


def joined(value: Any) -> str:
    """The text in a value that may be text, parts, or parts of parts."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(joined(part) for part in value)
    if isinstance(value, dict):
        return next(
            (
                found
                for name in ("text", "content", "thinking", "reasoning", "summary")
                if (found := joined(value.get(name)))
            ),
            "",
        )
    return ""


def _count(value: Any) -> int | None:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53 else None


def safe(text: str) -> tuple[str, list[str]]:
    """The text with what no database and no UTF-8 file can hold replaced by U+FFFD, and flags that say so.

    Two halves of a character that were sent apart (as streams do) are put together, which is no change.
    """
    flags = []
    if "\x00" in text:
        # SQLite keeps it, but most tools that read it later would cut the text there.
        text = text.replace("\x00", "\ufffd")
        flags.append("nul_replaced")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        before = text.count("\ufffd")
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        if text.count("\ufffd") > before:
            flags.append("surrogate_replaced")
    return text, flags
