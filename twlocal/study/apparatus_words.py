"""The parts of an apparatus (`twlocal.apparatus`) in both languages; names of settings stay as they are. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from twlocal.apparatus import MISSING
from twlocal.html.words import Text, t
from twlocal.study.report import Words, join

PARTS = {
    "model": t("模型", "model"),
    "dataset": t("題庫", "dataset"),
    "sample": t("抽樣", "sample"),
    "protocol": t("協定", "protocol"),
    "prompt": t("提示詞", "prompt"),
    "decoding": t("解碼設定", "decoding"),
    "repeats": t("重複", "repeats"),
    "engine": t("引擎", "engine"),
}
_NAMES = {
    "id": "名稱",
    "revision": "版本",
    "weights": "權重",
    "name": "名稱",
    "fingerprint": "指紋",
    "rows": "題數",
    "hash": "雜湊值",
    "body": "題目格式",
    "examples": "示範題",
    "option shuffle": "選項排列",
    "reader": "讀法",
    "system prompt sha256": "系統提示詞 sha256",
    "a question": "每題次數",
    "backend": "後端",
    "engine": "引擎",
    "version": "版本",
    "quantised": "量化",
}
# A setting's own name follows these.
_PREFIXES = {"setting ": "設定 ", "sent ": "送出的 "}


def part(name: str) -> Words:
    """A part of the apparatus."""
    return PARTS.get(name, name)


def parts(names: Iterable[str]) -> Words:
    """Several parts, in the order given."""
    return join([part(name) for name in names])


def name(of: str) -> Words:
    """What a value of a part is called."""
    if of in _NAMES:
        return Text(_NAMES[of], of)
    for english, chinese in _PREFIXES.items():
        if of.startswith(english):
            return Text(chinese + of[len(english) :], of)
    return of


def value(said: str) -> Words:
    """A value as `twlocal.apparatus` words it."""
    return Text("未提供", said) if said == MISSING else said
