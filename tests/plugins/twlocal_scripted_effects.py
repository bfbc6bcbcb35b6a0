"""A backend whose model shows one effect of the apparatus, so that a study must find exactly that.

It is given the questions with their keys (setting `answers`, a JSONL file), knows a share `skill` of them, and answers
in the way that `effect` names. A token is a character. Everything is a function of the question and the prompt.

    box        always writes \\boxed{X}
    copies     uses the alphabet of the system prompt's example: 甲 there makes 甲乙丙丁 of A-D
    plain      writes the answer without a box in a share `share` of the questions
    obeys      writes \\boxed{X} where the system prompt asks for it, and otherwise talks of other things first
    rambles    as `plain`, and then goes on to talk about other letters
    goes_on    writes \\boxed{X} and goes on for long; in a share `share` it opens another thought and boxes another one
    dithers    thinks for a while that depends on the question, answers where the budget allows, and is cut elsewhere;
               one question in ten loops to the cap, one circles in ever other words to the cap
    fails      converts Minguo years off by one without the prefix, invents glyphs, romanises
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from twlocal.backend import Completion, Decoding, EngineInfo, Request

ISOLATE = False
EXTRA = ""
SETTINGS = frozenset({"effect", "answers", "skill", "share", "salt", "sizes", "weak"})
ANSWERING = SETTINGS - {"sizes"}

_OPTION = re.compile(r"^([A-D])[.:] (.*)$", re.MULTILINE)
_WORDS = "法條要件責任時效契約當事人損害賠償請求權善意第三人登記效力撤銷無效承認抗辯"


class Effects:
    def __init__(self, decoding: Decoding, settings: Mapping[str, Any]) -> None:
        self.effect = str(settings.get("effect", "box"))
        self.skill, self.share = float(settings.get("skill", 1)), float(settings.get("share", 0.5))
        self.weak = str(settings.get("weak", ""))  # half as likely to know a question with this word
        self.salt = str(settings.get("salt", ""))
        self.decoding = decoding
        self.sizes = bool(settings.get("sizes"))  # tells where its tokens end, and promises to repeat itself
        rows = [json.loads(line) for line in Path(settings["answers"]).read_text(encoding="utf-8").splitlines()]
        self.key = {row["question"]: row[row["answer"]] for row in rows}

    def describe(self) -> EngineInfo:
        sent = {"temperature": 0.0, "top_p": 0.9, "max_tokens": self.decoding.max_tokens}
        return EngineInfo("scripted-effects", "1", {"deterministic": self.sizes}, sent, quantised=False)

    def generate(self, requests: Iterable[Request]) -> Iterator[Completion]:
        for request in requests:
            user = request.messages[-1].content
            system = request.messages[0].content if request.messages[0].role == "system" else ""
            question = re.sub(r"^題目：", "", user.split("\nA", 1)[0])
            whole = self.text(question, dict(_OPTION.findall(user)), system, request.max_tokens)
            text = whole[: request.max_tokens]
            yield Completion(
                key=request.key,
                text=text,
                finish="length" if len(text) < len(whole) else "stop",
                prompt_tokens=len(user),
                completion_tokens=len(text),
                latency=len(text) / 1000,
                prompt_hash=hashlib.sha256((system + user).encode()).hexdigest(),
                token_sizes=tuple(len(token.encode()) for token in text) if self.sizes else (),
            )

    def close(self) -> None:
        return

    def chance(self, question: str, what: str) -> float:
        digest = hashlib.sha256(f"{self.salt} {what} {question}".encode()).digest()
        return int.from_bytes(digest[:6], "big") / 2**48

    def letter(self, question: str, options: dict[str, str]) -> str:
        right = next(letter for letter, text in options.items() if text == self.key[question])
        weak = self.weak and self.weak in question
        if self.chance(question, "skill") < (self.skill / 2 if weak else self.skill):
            return right
        return "ABCD"[("ABCD".index(right) + 1) % 4]

    def text(self, question: str, options: dict[str, str], system: str, cap: int) -> str:
        letter = self.letter(question, options)
        box = f"\\boxed{{{letter}}}"
        if self.effect == "copies" and "甲" in system:
            return f"想好了。\\boxed{{{'甲乙丙丁'['ABCD'.index(letter)]}}}"
        if self.effect == "obeys" and "boxed" not in system:
            return f"先看 W 型的差別，再看其他。我認為答案是 {letter}，因為理由很多。"
        if self.effect in ("plain", "rambles") and self.chance(question, "plain") < self.share:
            more = "\n順帶一提，W 型與 C 型另有差別。" if self.effect == "rambles" else ""
            return f"答案是 {letter}。{more}"
        if self.effect == "goes_on":
            if self.chance(question, "revises") < self.share:
                return f"{box}等等。<think>不對</think>\\boxed{{{'ABCD'['ABCD'.index(letter) - 1]}}}"
            return box + "，理由如下。" * 40
        if self.effect == "fails":
            return self.failing(question, options, letter)
        if self.effect == "dithers":
            return self.dithering(question, cap) or f"{self.circling(question, self.needed(question))}{box}"
        return f"想好了。{box}"

    def failing(self, question: str, options: dict[str, str], letter: str) -> str:
        year = re.search(r"「[^」]*?(民國)?(\d+)年", question)
        if year and not year[1]:
            # The paper's off-by-one, in the words and in the choice.
            late = str(int(year[2]) + 1912)
            letter = next(one for one, text in options.items() if text == late)
            return f"{year[2]}年是西元{late}年。\\boxed{{{letter}}}"
        if year:
            return f"民國{year[2]}年是西元{int(year[2]) + 1911}年。\\boxed{{{letter}}}"
        name = {"臺灣高鐵最南端": "左翐站", "緊接在臺北站之後": "Banqiao 站"}
        said = next((said for what, said in name.items() if what in question), "這一站")
        corrupted = [one for one, text in options.items() if text == "左翐"]
        return f"站名是{said}。\\boxed{{{(corrupted or [letter])[0]}}}"

    def needed(self, question: str) -> int:
        return int(50 + 1000 * self.chance(question, "needed"))

    def dithering(self, question: str, cap: int) -> str:
        kind = int(10 * self.chance(question, "kind"))
        if kind == 0:
            return "等等，再想一次。" * cap
        return self.circling(question, cap + 50) if kind == 1 else ""

    def circling(self, question: str, length: int) -> str:
        made = []
        while sum(map(len, made)) < length:
            digest = hashlib.sha256(f"{question} {len(made)}".encode()).digest()
            made.append("".join(_WORDS[byte % len(_WORDS)] for byte in digest[:12]) + "，")
        return "".join(made)[:length]


def open(model: str, decoding: Decoding, settings: Mapping[str, Any]) -> Effects:
    return Effects(decoding, settings)
