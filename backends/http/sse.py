"""A streamed reply (server-sent events) put together into the JSON of an unstreamed one. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from twlocal.backends.http.errors import Trouble, read_trouble
from twlocal.backends.http.parse import has_ended, index_of, joined, reasoning_in


class Stream:
    """Takes bytes as they come, cut anywhere, also inside a character.

    done: [DONE] was seen. finish: the finish reason, None until one came. trouble: an error that came inside the
    stream. broken: an event that is no JSON. A stream is whole once it is `done` or has its `finish`: some servers
    never send the one, some never the other, and a closed connection alone ends nothing. A finish reason after which
    more text came (some send one with every event) ends nothing either.
    """

    def __init__(self) -> None:
        self.done = False
        self.finish: Any = None
        self.trouble: Trouble | None = None
        self.broken = ""
        self._rest = b""
        self._event = ""
        self._held = b""
        self._said: dict[str, list[str]] = {"content": [], "reasoning": [], "refusal": []}
        self._choices = 0
        self._length = 0  # of everything said
        self._went_on = False
        self._in_deltas = False
        self._others = False
        self._tools = False
        self._usage: Any = None
        self._model: Any = None

    @property
    def whole(self) -> bool:
        """Whether the answer is known to be complete."""
        ended = self.done or (self.finish is not None and not self._went_on)
        return ended and not self.broken and self.trouble is None

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes."""
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        for line in lines:
            self._lines(line)

    def close(self) -> None:
        """The connection has ended: take a last line that has no line end."""
        rest, self._rest = self._rest, b""
        self._lines(rest)
        self._blank()

    def completion(self) -> dict[str, Any]:
        """What came so far, shaped like an unstreamed completion; without choices where no choice ever came."""
        said = {name: "".join(parts) if parts else None for name, parts in self._said.items()}
        message: dict[str, Any] = {"content": said["content"], "refusal": said["refusal"]}
        message["reasoning_content"] = said["reasoning"]
        if self._tools:
            message["tool_calls"] = [{}]
        choices: list[dict[str, Any]] = [{"index": 0, "message": message, "finish_reason": self.finish}]
        if self._others:
            choices.append({"index": 1})
        return {"choices": choices if self._choices else [], "usage": self._usage, "model": self._model}

    def _lines(self, line: bytes) -> None:
        for part in line.rstrip(b"\r").split(b"\r"):
            self._line(part)

    def _line(self, line: bytes) -> None:
        line = line.removeprefix(b"\xef\xbb\xbf")
        if not line.strip():
            self._blank()
        elif line.startswith(b"data:"):
            self._data(line[5:].strip())
        elif line.startswith(b"event:"):
            self._event = line[6:].strip().decode("utf-8", "replace").lower()
        elif line.startswith(b"{"):
            self._data(line.strip())  # an error that the server wrote without framing it
        # Comments (": keep-alive"), id: and retry: say nothing about the answer.

    def _blank(self) -> None:
        if self._held:
            self.broken = self._held[:80].decode("utf-8", "replace")
            self._held = b""
        self._event = ""

    def _data(self, data: bytes) -> None:
        if self.done:
            return
        if data == b"[DONE]":
            self.done = True
            return
        # One event may be written over several data lines; most servers write one line an event, some without the
        # blank line between.
        whole = self._held + (b"\n" if self._held else b"") + data
        try:
            event = json.loads(whole.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            self._held = whole
            return
        self._held = b""
        if isinstance(event, Mapping):
            self._take(event)
        elif self._event == "error":
            self.trouble = Trouble(str(event))

    def _take(self, event: Mapping[str, Any]) -> None:
        choices = event.get("choices")
        if self._event == "error" or event.get("error") or (choices is None and read_trouble(event) is not None):
            self.trouble = read_trouble(event) or Trouble(json.dumps(event, ensure_ascii=False))
            return
        self._usage = event.get("usage") or self._usage
        self._model = event.get("model") or self._model
        for choice in choices if isinstance(choices, list) else []:
            if not isinstance(choice, Mapping):
                continue
            if index_of(choice) not in (0, None):
                self._others = True
                continue
            self._choices += 1
            before = self._length
            if isinstance(delta := choice.get("delta"), Mapping):
                self._add(delta)
                self._in_deltas = self._in_deltas or self._length > before
            if isinstance(message := choice.get("message"), Mapping) and not self._in_deltas:
                self._repeat(message)
            if isinstance(choice.get("text"), str):
                self._say("content", choice["text"])
            if self.finish is not None and self._length > before:
                self._went_on = True
            if has_ended(choice.get("finish_reason")):
                self.finish = choice["finish_reason"]

    def _say(self, name: str, text: str) -> None:
        self._said[name].append(text)
        self._length += len(text)

    def _repeat(self, message: Mapping[str, Any]) -> None:
        """A message instead of a delta: all that was said so far once more, or the next part of it."""
        so_far = {name: "".join(parts) for name, parts in self._said.items()}
        length, self._said, self._length = self._length, {name: [] for name in self._said}, 0
        self._add(message)
        for name, parts in self._said.items():
            if not "".join(parts).startswith(so_far[name]):
                parts.insert(0, so_far[name])
        self._length = max(length, sum(len(part) for parts in self._said.values() for part in parts))

    def _add(self, delta: Mapping[str, Any]) -> None:
        content = delta.get("content")
        if content is not None:
            thoughts = []
            if isinstance(content, list):
                thoughts = [part for part in content if isinstance(part, Mapping) and part.get("type") == "thinking"]
                content = [part for part in content if part not in thoughts]
            self._say("content", joined(content))
            for part in thoughts:
                self._say("reasoning", joined(part))
        if found := reasoning_in(delta):
            self._say("reasoning", found)
        if isinstance(delta.get("refusal"), str):
            self._say("refusal", delta["refusal"])
        self._tools = self._tools or bool(delta.get("tool_calls") or delta.get("function_call"))
