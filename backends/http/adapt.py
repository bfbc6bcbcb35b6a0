"""The request body: which values are sent to whom, and what a server's refusal made us change.

Each parameter is adapted to at most once, what was done is remembered for the backend's life and recorded, and
nothing is adapted to once the server has answered under the same parameters: its refusal is then about the item.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

from twlocal.backend import Decoding, Message, Request
from twlocal.backends.http.errors import Trouble, no_system_role
from twlocal.chat import merge_system

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode

# Values that switch off what an engine would otherwise add to the protocol's temperature and top_p from its own
# defaults or the model's generation_config: llama_cpp.server's repeat_penalty is 1.1 and changes greedy answers, vLLM
# and SGLang read repetition_penalty, top_k and min_p from the checkpoint. They are no part of OpenAI's interface, and
# hosted services refuse unknown names, so they go only to an engine that names itself, and (the penalties alone) to an
# unnamed one on the user's own machine or network; a refusal costs one request and is remembered.
NEUTRAL: Mapping[str, Mapping[str, Any]] = {
    "llama.cpp": {"repeat_penalty": 1.0, "top_k": 0, "min_p": 0.0},
    "vllm": {"repetition_penalty": 1.0, "top_k": -1, "min_p": 0.0},
    "sglang": {"repetition_penalty": 1.0, "top_k": -1, "min_p": 0.0},
    "mlx": {"repetition_penalty": 1.0, "top_k": 0, "min_p": 0.0},
    "local": {"repeat_penalty": 1.0, "repetition_penalty": 1.0},
    "hosted": {},
}

_REFUSING = re.compile(
    r"unsupported|not support|unrecogni[sz]ed|unknown|unexpected|invalid|extra|not permitted|forbidden|must be|must not"
    r"|cannot|can't|can not|not allowed|deprecated|only|range|should be|greater|less than|does ?n[o']t|unable|disabled"
    r"|not enabled|not available|not implemented|no longer|verified to",
    re.IGNORECASE,
)
# Services whose thinking models only stream (Alibaba's). How an answer is sent changes nothing in it.
_WANTS_STREAM = re.compile(
    r"only supports? (the )?stream|non-streaming (calls|requests)|enable (the )?stream"
    r"|stream\W{0,4} (must|should) be (set to )?true",
    re.IGNORECASE,
)
_STRUCTURE = frozenset({"model", "messages", "n"})
# Dropping one of these changes what was measured, so every answer says it.
_PROTOCOL = ("temperature", "top_p")
_SMALL_TEMPERATURE = 0.01
_SYSTEM = "system role"
_USAGE: Mapping[str, Any] = {"include_usage": True}


@dataclass(frozen=True)
class Body:
    """One version of what is sent with every request. `params` leaves out model, messages and the token budget.

    budget: the budget's name. adapted: what was changed, in order, for the record. merges_system: the system text goes
    before the first user turn, as engines of our own have it where a chat template has no system role.
    """

    model: str
    params: Mapping[str, Any]
    budget: str = "max_tokens"
    adapted: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    own: frozenset[str] = frozenset()
    merges_system: bool = False

    @cached_property
    def _fixed(self) -> str:
        return _encode({"model": self.model, **self.params})[1:-1]

    def sent(self, max_tokens: int) -> dict[str, Any]:
        """Every decoding value of a request, for the record."""
        return {**self.params, self.budget: max_tokens}

    def render(self, request: Request) -> bytes:
        """The body of one request as JSON (UTF-8)."""
        messages = request.messages
        if self.merges_system and messages[0].role == "system":
            messages = tuple(merge_system(messages))
        *opening, last = messages
        parts = [_head(self._fixed, self.budget, request.max_tokens)]
        parts += [_message(message) + b"," for message in opening]
        return b"".join((*parts, _render(last), b"]}"))

    def adapt(self, trouble: Trouble) -> Body | None:
        """The body without what the server refuses, or None where its refusal names nothing that could be changed."""
        name = self.refused(trouble)
        if name is None or name in self.own or any(done.startswith(f"{name} ") for done in self.adapted):
            return None
        if name == _SYSTEM:
            return replace(self._changed(self.params, f"{_SYSTEM} → first user turn"), merges_system=True)
        if name == "max_tokens":
            return self._changed(self.params, "max_tokens → max_completion_tokens", budget="max_completion_tokens")
        if name == "temperature" and self.params[name] == 0 and _positive(trouble.message):
            params = {**self.params, name: _SMALL_TEMPERATURE}
            return self._changed(params, f"temperature → {_SMALL_TEMPERATURE}", flag=name)
        if name == "stream" and not self.params[name]:
            return self._changed({**self.params, name: True, "stream_options": _USAGE}, "stream → true")
        params = {key: value for key, value in self.params.items() if key != name}
        if name == "stream":
            params.pop("stream_options", None)
        return self._changed(params, f"{name} dropped", flag=name)

    def same(self, other: Body, name: str) -> bool:
        """Whether both send what `refused` calls `name` alike."""
        if name == _SYSTEM:
            return self.merges_system == other.merges_system
        return bool(self.sent(0).get(name) == other.sent(0).get(name))

    def refused(self, trouble: Trouble) -> str | None:
        """The parameter of ours that an error refuses, if it names one, or the system role."""
        if no_system_role(trouble):
            return _SYSTEM
        if self.params.get("stream") is False and _WANTS_STREAM.search(trouble.words):
            return "stream"
        names = [*self.params, *([self.budget] if self.budget == "max_tokens" else [])]
        for given in trouble.params:
            found = [name for name in names if name == re.split(r"[.\[]", given.removeprefix("body."))[0]]
            if found:
                return found[0]
        text = trouble.message[:1000]
        if any(given.split(".")[0] in _STRUCTURE for given in trouble.params) or not _REFUSING.search(trouble.words):
            return None
        places = {name: place.start() for name in names if (place := _named(name).search(text))}
        if {"temperature", "top_p"} <= set(places) and re.search(r"\bboth\b|only one|one of", text, re.IGNORECASE):
            return "top_p"  # the one that does nothing at temperature 0
        if not places and re.search(r"\bpenalt(y|ies)\b", text, re.IGNORECASE):
            places = {name: 0 for name in names if name.endswith("_penalty") and name not in self.own}
        return min(places, key=lambda name: places[name]) if places else None

    def _changed(self, params: Mapping[str, Any], note: str, *, flag: str = "", budget: str = "") -> Body:
        flags = dict.fromkeys((*self.flags, "adapted", *([f"{flag}_not_honoured"] if flag in _PROTOCOL else [])))
        return replace(
            self, params=params, budget=budget or self.budget, adapted=(*self.adapted, note), flags=tuple(flags)
        )


def body(
    model: str,
    decoding: Decoding,
    engine: str,
    *,
    stream: bool,
    seed: int | None,
    extra: Mapping[str, Any],
    schema: Mapping[str, Any] | None = None,
) -> Body:
    """The first version of the body for a server of the kind `engine` (a key of NEUTRAL)."""
    params: dict[str, Any] = {
        "temperature": decoding.temperature,
        "top_p": decoding.top_p,
        "frequency_penalty": 0,
        "presence_penalty": 0,
        **NEUTRAL[engine],
        "stream": stream,
    }
    if stream:
        params["stream_options"] = _USAGE
    if seed is not None:
        params["seed"] = seed
    if schema is not None:
        form = {"name": "answer", "strict": True, "schema": schema}
        params["response_format"] = {"type": "json_schema", "json_schema": form}
    return Body(model, {**params, **extra}, own=frozenset(extra))


def _named(name: str) -> re.Pattern[str]:
    """Finds a parameter's name in prose: temperature, top_p, "top p", topP; an ordinary word only where quoted."""
    words = name.split("_")
    pattern = r"[ _-]?".join(map(re.escape, words))
    if name in ("stream", "seed"):
        return re.compile(
            rf"[`'\"]{pattern}[`'\"]|supplied: {pattern}\b|\bstreaming\b|to {pattern} this", re.IGNORECASE
        )
    return re.compile(rf"(?<![A-Za-z_]){pattern}(?![A-Za-z_])", re.IGNORECASE)


def _positive(message: str) -> bool:
    return bool(re.search(r"strictly positive|must be positive|greater than 0|> ?0|> 0\.0", message, re.IGNORECASE))


@lru_cache(maxsize=64)
def _head(fixed: str, budget: str, max_tokens: int) -> bytes:
    return f'{{{fixed},"{budget}":{max_tokens},"messages":['.encode("utf-8", "replace")


@lru_cache(maxsize=256)
def _message(message: Message) -> bytes:
    """The system prompt and worked examples come with every request: their JSON is made once."""
    return _render(message)


def _render(message: Message) -> bytes:
    text = f'{{"role":{_encode(message.role)},"content":{_encode(message.content)}}}'
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:  # half a surrogate pair in a data file: JSON can say it, UTF-8 cannot
        return json.dumps({"role": message.role, "content": message.content}).encode("ascii")
