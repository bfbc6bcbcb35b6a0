"""A backend whose answers are a function of the question: for tests of everything around an engine.

It is installed as another package would be: through the entry-point group, from a folder on the path. Its model is any
file; settings decide how it behaves. `die_on`: the process aborts when the question holds this text (as native code
does), for as many times as the file `deaths` allows. `raise_on`: texts in a question → the name of what is raised.
"""

from __future__ import annotations

import builtins
import hashlib
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from twlocal.backend import Completion, Decoding, EngineInfo, Request
from twlocal.errors import ConfigurationError

ISOLATE = False
EXTRA = ""
SETTINGS = frozenset(
    {"delay", "die_on", "deaths", "log", "fail_on", "raise_on", "say", "refuse_after", "hold", "ahead", "load"}
)

ANSWERING = frozenset({"say"})


class Scripted:
    def __init__(self, model: str, decoding: Decoding, settings: Mapping[str, Any]) -> None:
        self.settings = dict(settings)
        self.decoding = decoding
        if seconds := self.settings.get("load"):
            self._log("loading")
            time.sleep(float(seconds))

    def describe(self) -> EngineInfo:
        sent = {
            "temperature": self.decoding.temperature,
            "top_p": self.decoding.top_p,
            "max_tokens": self.decoding.max_tokens,
        }
        return EngineInfo("scripted", "1", {"slots": 1}, sent, quantised=False)

    def generate(self, requests: Iterable[Request]) -> Iterator[Completion]:
        # `ahead` requests are pulled before the first is answered, as by a batching engine; answers come reversed.
        ahead, waiting = int(self.settings.get("ahead", 1)), []
        for number, request in enumerate(requests):
            if number == self.settings.get("refuse_after"):
                raise ConfigurationError("the server says 401", hint="set the key")
            waiting.append(request)
            if len(waiting) >= ahead:
                yield from (self._answer(one) for one in reversed(waiting))
                waiting = []
        yield from (self._answer(one) for one in reversed(waiting))

    def close(self) -> None:
        return

    def _answer(self, request: Request) -> Completion:
        question = request.messages[-1].content
        self._log(request.key)
        time.sleep(float(self.settings.get("delay", 0)))
        if (text := self.settings.get("die_on")) and text in question and self._may_die():
            os.write(2, b"terminate called without an active exception\n")
            os.abort()
        if (text := self.settings.get("fail_on")) and text in question:
            return Completion(request.key, error_kind="server", error="the server answered 500", attempts=3)
        for text, error in (self.settings.get("raise_on") or {}).items():
            if text in question:
                raise getattr(builtins, error)("[metal::malloc] Attempting to allocate 38654705664 bytes")
        say = self.settings.get("say")
        digest = hashlib.sha256(question.encode()).digest()
        letter = "ABCD"[digest[0] % 4]
        texts = (
            f"這題選 {letter}。\n\\boxed{{{letter}}}",
            f"想了想，\\boxed{{{letter}}}",
            f"答案是 {letter}",
            "不知道",
        )
        return Completion(
            key=request.key,
            text=texts[digest[1] % 4] if say is None else say,
            finish="stop",
            prompt_tokens=len(question),
            completion_tokens=5,
            latency=0.001,
            prompt_hash=hashlib.sha256(question.encode()).hexdigest(),
        )

    def _may_die(self) -> bool:
        file = self.settings.get("deaths")
        if file is None:
            return True
        left = int(Path(file).read_text(encoding="utf-8"))
        if left:
            Path(file).write_text(str(left - 1), encoding="utf-8")
        return left > 0

    def _log(self, line: str) -> None:
        if file := self.settings.get("log"):
            with Path(file).open("a", encoding="utf-8") as log:
                log.write(line + "\n")


def open(model: str, decoding: Decoding, settings: Mapping[str, Any]) -> Scripted:
    return Scripted(model, decoding, settings)
