"""Judges built to show what a calibration must find, over windows that say the answer word by word.

The model's file name says which: honest, stamp (approves everything), mostly (approves nine of ten), contrarian (says
the opposite of the honest one), mumbling (never writes JSON). `log`: a file that gets a line a question. `delay`:
seconds an answer.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from twlocal.backend import Completion, Decoding, EngineInfo, Request

ISOLATE = False
EXTRA = ""
SETTINGS = frozenset({"log", "delay"})
ANSWERING: frozenset[str] = frozenset()

_SHOWN = re.compile(
    r"^來源文字：\n(?P<window>.*)\n\n題目：(?P<question>.*)\n"
    r"A\. ?(?P<A>.*)\nB\. ?(?P<B>.*)\nC\. ?(?P<C>.*)\nD\. ?(?P<D>.*)\n"
    r"標示為正確的選項：(?P<answer>[A-D])$",
    re.DOTALL,
)


class Judge:
    def __init__(self, model: str, settings: Mapping[str, Any]) -> None:
        self.kind = Path(model).stem.split("-")[0]
        self.settings = dict(settings)

    def describe(self) -> EngineInfo:
        return EngineInfo("scripted-judges", "1", {}, {"temperature": 0.0}, quantised=False)

    def generate(self, requests: Iterable[Request]) -> Iterator[Completion]:
        for request in requests:
            user = request.messages[-1].content
            time.sleep(float(self.settings.get("delay", 0)))
            if file := self.settings.get("log"):
                with Path(file).open("a", encoding="utf-8") as log:
                    log.write(f"{self.kind} {hashlib.sha256(user.encode()).hexdigest()}\n")
            text = self.text(user)
            digest = hashlib.sha256(user.encode()).hexdigest()
            yield Completion(request.key, text, finish="stop", prompt_tokens=9, completion_tokens=9, prompt_hash=digest)

    def close(self) -> None:
        return

    def text(self, user: str) -> str:
        if self.kind == "mumbling":
            return "這題我覺得還可以。"
        supported, single = honest(user)
        if self.kind == "contrarian":
            supported = single = not (supported and single)
        digest = hashlib.sha256(user.encode()).digest()
        if self.kind == "stamp" or (self.kind == "mostly" and digest[0] % 10):
            supported = single = True
        return json.dumps({"supported": supported, "single_answer": single, "reason": "如上"}, ensure_ascii=False)


def honest(user: str) -> tuple[bool, bool]:
    """Whether the window says the keyed option, and whether it says no other."""
    shown = _SHOWN.match(user)
    assert shown, user
    key = shown["answer"]
    said = {letter: bool(shown[letter].strip()) and bare(shown[letter]) in shown["window"] for letter in "ABCD"}
    return said[key], not any(said[letter] for letter in "ABCD" if letter != key)


def bare(text: str) -> str:
    return text.strip().removeprefix("也就是「").removesuffix("」")


def open(model: str, decoding: Decoding, settings: Mapping[str, Any]) -> Judge:
    return Judge(model, settings)
