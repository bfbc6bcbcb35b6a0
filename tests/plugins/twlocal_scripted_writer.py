"""A generator whose drafts are a function of the window, in all the forms that models write JSON in, and in wrong ones.

The keyed option is a stretch of the window, but for one window in seven, where it is none. `log`: a file that gets a
line a request. `delay`: seconds an answer. `form`: always this form, by its number. `json_schema` is taken, and leaves
nothing but plain JSON.
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
SETTINGS = frozenset({"log", "delay", "form", "json_schema"})
ANSWERING = frozenset({"form", "json_schema"})

_NAMES = ("基隆", "屏東", "花蓮", "澎湖", "苗栗", "雲林", "新竹", "宜蘭")
GOOD, FORMS = 7, 11  # the first GOOD forms hold an item


class Writer:
    def __init__(self, settings: Mapping[str, Any]) -> None:
        self.settings = dict(settings)

    def describe(self) -> EngineInfo:
        return EngineInfo("scripted-writer", "1", {}, {"temperature": 0.0}, quantised=False)

    def generate(self, requests: Iterable[Request]) -> Iterator[Completion]:
        for request in requests:
            user = request.messages[-1].content
            time.sleep(float(self.settings.get("delay", 0)))
            if file := self.settings.get("log"):
                with Path(file).open("a", encoding="utf-8") as log:
                    log.write(hashlib.sha256(user.encode()).hexdigest() + "\n")
            text = self.text(user.removeprefix("短文：\n").rpartition("\n\n")[0])
            digest = hashlib.sha256(user.encode()).hexdigest()
            yield Completion(request.key, text, finish="stop", prompt_tokens=9, completion_tokens=9, prompt_hash=digest)

    def close(self) -> None:
        return

    def text(self, window: str) -> str:
        digest = hashlib.sha256(window.encode()).digest()
        pieces = [piece for piece in re.split(r"[，。、；：「」《》\s]", window) if 4 <= len(piece) <= 12]
        key = pieces[digest[1] % len(pieces)] if digest[2] % 7 else "沒有寫在這裡"
        names = [_NAMES[(digest[3] + n) % len(_NAMES)] for n in range(3)]
        letter = "AAAAABCD"[digest[4] % 8]  # section 4.1: the generator puts the key in A far too often
        texts = [f"{name}的老街與市場"[: max(len(key), 4)] for name in names]
        texts.insert("ABCD".index(letter), key)
        item = {"question": f"第{digest.hex()[:6]}題，臺灣的常識中何者為真？", **dict(zip("ABCD", texts, strict=True))}
        item["answer"] = letter
        form = self.settings.get("form", digest[0] % FORMS)
        return self.written(item, 0 if self.settings.get("json_schema") else int(form))

    @staticmethod
    def written(item: dict[str, str], form: int) -> str:
        plain = json.dumps(item, ensure_ascii=False)
        without_d = {name: text for name, text in item.items() if name != "D"}
        return (
            plain,
            f"好的，以下是題目：\n```json\n{json.dumps(item, ensure_ascii=False, indent=2)}\n```\n希望有幫助。",
            plain.replace('": "', "”：“").replace('", "', "”，“").replace('{"', "｛“").replace('"}', "”｝"),
            plain.replace("}", ",}").replace('"', "'"),
            f'<think>先想一想 {{"question": 要問什麼}}</think>{plain}',
            json.dumps(
                {"題目": item["question"], "選項": [item[one] for one in "ABCD"], "答案": f"({item['answer']})"},
                ensure_ascii=False,
            ),
            json.dumps([{**item, "answer": item[item["answer"]]}], ensure_ascii=False),
            plain[: len(plain) // 2],
            "這段短文不適合出題。",
            json.dumps(without_d, ensure_ascii=False),
            plain + "\n" + plain.replace("題，", "問，"),
        )[form]


def open(model: str, decoding: Decoding, settings: Mapping[str, Any]) -> Writer:
    return Writer(settings)
