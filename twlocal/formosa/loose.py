"""The JSON objects in a model's reply, read as tolerantly as can be done without guessing. Pure, linear in the length.

Models wrap JSON in code fences and prose, and write it with full-width or curly punctuation, trailing or missing
commas, single quotes, Python's literals, raw line breaks and unescaped quotes inside a text. What is read is what
stands there: nothing is added, and an object that was cut off is not completed. What is JSON is read as JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from twlocal.readers.final import final_text
from twlocal.record import Record

_OPEN, _CLOSE = "{｛", "}｝"
_LIST_OPEN, _LIST_CLOSE = "[［", "]］"
_COLON, _COMMA = ":：", ",，"
# An opening quote → what may close it.
_QUOTES = {'"': '"', "“": "”“", "”": "”", "'": "'", "‘": "’‘", "＂": "＂"}
_LITERALS = {"true": True, "false": False, "null": None, "none": None}
_BARE = re.compile(r"[A-Za-z0-9_.+\-]+")
_SPACE = re.compile(r"[\s\u200b\ufeff]*")
_ESCAPE = re.compile(r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|[\"\\/bfnrt])")
# What the next member begins with: a quote, or a name without quotes and its colon.
_MEMBER = re.compile(r"[\"'“”‘＂]|[^\s\"'{}｛｝\[\]:：,，]{1,20}\s{0,4}[:：]")
_QUOTED_NAME = re.compile(r"[\"'“”‘＂][^\"'“”‘’＂:：]{1,20}[\"'“”’＂]\s{0,4}[:：]")
_STRICT = json.JSONDecoder(parse_int=str, parse_float=str, strict=False)
_DEEP = 8
# Objects that were begun in vain: each may cost a look at the whole rest of the text.
_VAIN = 8
_STRICT_VAIN = 64


class _Broken(Exception):
    """No value here. `at` is how far the text was looked at."""

    def __init__(self, at: int) -> None:
        super().__init__(at)
        self.at = at


def reply(record: Record) -> str | None:
    """What a response says in the end, without its thoughts; None where a thought never ended or nothing was said.

    One that is JSON from its first character to its last holds no thought: `<think>` in it is a text's own.
    """
    if _is_object(record.text.strip()):
        return record.text
    final = final_text(record.text, record.reasoning, record.finish)
    return final.text if final.text and final.text.strip() else None


def _is_object(text: str) -> bool:
    if not text.startswith("{"):
        return False
    try:
        return bool(_STRICT.raw_decode(text)[1] == len(text))
    except (ValueError, RecursionError):
        return False


def objects(text: str) -> list[dict[str, Any]]:
    """Every outermost JSON object in the text, in order. Numbers come as the text that stands there."""
    return list(_objects(text))


def _objects(text: str) -> Iterator[dict[str, Any]]:
    at = vain = strict_vain = 0
    while vain < _VAIN and (start := _next(text, at)) != -1:
        if strict_vain < _STRICT_VAIN:
            try:
                found, at = _STRICT.raw_decode(text, start)
                yield found
                continue
            except (ValueError, RecursionError):
                strict_vain += 1
        try:
            found, at = _object(text, start, 0)
            yield found
        except _Broken as broken:
            # What was looked at in vain is looked at again only where an object was begun and never ended.
            ended = broken.at >= len(text)
            vain += ended
            at = start + 1 if ended else max(broken.at, start + 1)


def _next(text: str, at: int) -> int:
    places = [place for place in (text.find(mark, at) for mark in _OPEN) if place != -1]
    return min(places, default=-1)


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _value(text: str, at: int, deep: int) -> tuple[Any, int]:
    at = _skip(text, at)
    if at >= len(text) or deep > _DEEP:
        raise _Broken(at)
    mark = text[at]
    if mark in _OPEN:
        return _object(text, at, deep + 1)
    if mark in _LIST_OPEN:
        return _list(text, at, deep + 1)
    if mark in _QUOTES:
        return _string(text, at, _COMMA + _CLOSE + _LIST_CLOSE)
    bare = _BARE.match(text, at)
    if not bare:
        raise _Broken(at)
    return _LITERALS.get(bare[0].lower(), bare[0]), bare.end()


def _object(text: str, at: int, deep: int) -> tuple[dict[str, Any], int]:
    found: dict[str, Any] = {}
    at = _skip(text, at + 1)
    while at < len(text):
        if text[at] in _CLOSE:
            return found, at + 1
        name, at = _string(text, at, _COLON) if text[at] in _QUOTES else _name(text, at)
        at = _skip(text, at)
        if at >= len(text) or text[at] not in _COLON:
            raise _Broken(at)
        found[name], at = _value(text, at + 1, deep)
        at = _separated(text, at)
    raise _Broken(at)


def _list(text: str, at: int, deep: int) -> tuple[list[Any], int]:
    found: list[Any] = []
    at = _skip(text, at + 1)
    while at < len(text):
        if text[at] in _LIST_CLOSE:
            return found, at + 1
        value, at = _value(text, at, deep)
        found.append(value)
        at = _separated(text, at)
    raise _Broken(at)


def _separated(text: str, at: int) -> int:
    """Behind a comma, if there is one, and white space."""
    at = _skip(text, at)
    while at < len(text) and text[at] in _COMMA:
        at = _skip(text, at + 1)
    return at


def _name(text: str, at: int) -> tuple[str, int]:
    """A key without quotes: up to its colon, on its line."""
    end = at
    while end < len(text) and end - at < 40 and text[end] not in _COLON + _COMMA + _OPEN + _CLOSE + "\n\"'":
        end += 1
    if end >= len(text) or text[end] not in _COLON or not text[at:end].strip():
        raise _Broken(end)
    return text[at:end].strip(), end


def _string(text: str, at: int, behind: str) -> tuple[str, int]:
    """A quoted text. A quote ends it only where one of `behind`, or another member, stands after it."""
    closing = _QUOTES[text[at]]
    pieces: list[str] = []
    at += 1
    while at < len(text):
        mark = text[at]
        if mark == "\\" and at + 1 < len(text):
            piece, at = _escape(text, at)
            pieces.append(piece)
            continue
        if mark in closing and _ends(text, at, behind):
            return "".join(pieces), at + 1
        pieces.append(mark)
        at += 1
    raise _Broken(at)


def _ends(text: str, at: int, behind: str) -> bool:
    after = _skip(text, at + 1)
    if after >= len(text):
        return False
    if text[after] in _COMMA and text[after] in behind:
        # A comma in a sentence is no comma between members.
        after = _skip(text, after + 1)
        return after < len(text) and (text[after] in behind or bool(_MEMBER.match(text, after)))
    if text[after] in behind:
        return True
    return behind != _COLON and bool(_QUOTED_NAME.match(text, after))  # a missing comma


def _escape(text: str, at: int) -> tuple[str, int]:
    match = _ESCAPE.match(text, at)
    if not match:
        return text[at + 1], at + 2  # \' and \「, which JSON has not
    return str(json.loads(f'"{match[0]}"')), match.end()
