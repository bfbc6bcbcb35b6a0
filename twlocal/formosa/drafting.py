"""Stage `draft`: the prompt for a window; the item in a generator's response, or why there is none. Pure."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from twlocal.backend import FINISH_FILTER, FINISH_LENGTH
from twlocal.formosa import loose
from twlocal.formosa.drafts import Draft
from twlocal.formosa.options import bare
from twlocal.formosa.prompts import Prompt
from twlocal.item import LABELS, clean
from twlocal.record import Record
from twlocal.store import storable

# Why a response holds no item, by name.
FAULTS = {
    "filtered": "the server withheld the response",
    "cut_off": "the response reached its budget before the item was whole",
    "no_final_text": "nothing but a thought, or nothing at all",
    "no_json": "no JSON object",
    "no_item": "JSON, but none of it is an item: the stem, an option or the key is missing or is no text",
    "several_items": "more than one item, where one was asked for",
    "no_key": "the key is neither one of A–D nor the text of exactly one option",
}

_STEM = ("question", "題目", "題幹", "問題", "stem", "題目內容")
_KEY = ("answer", "答案", "正解", "正確答案", "正確選項", "解答", "correct_answer", "correct", "correctanswer", "key")
_CHOICES = ("options", "選項", "choices")
# Names and keys are folded by NFKC before they are looked at, options are not.
_OPTION = re.compile(r"(?:選項|option|choice)?[\s_\-]*\(?([a-d甲乙丙丁])\)?")
_KEYED = re.compile(r"(?:選項|答案|option|answer)?[\s:]*[(「『\[]?([A-D甲乙丙丁])[)」』\]]?[.。、]?", re.IGNORECASE)
_LABELLED = re.compile(r"[(（]?([A-D])(?:[)）]?[.．:：、]|[)）])\s*(?=\S)")
_ORDINALS = dict(zip("甲乙丙丁", LABELS, strict=True))


@dataclass(frozen=True, slots=True)
class Generated:
    """What a generator made of a window: a draft, or the fault that it has, with the words that show it."""

    window: str
    draft: Draft | None
    fault: str = ""
    detail: str = ""


def question(prompt: Prompt, window: str) -> str:
    """The user message for a window's text."""
    return prompt.text(window=window)


def generated(window: str, record: Record) -> Generated:
    """The item in the response to the window with this hash. Nothing is guessed: what is not there is a fault."""
    if record.finish == FINISH_FILTER:
        return _fault(window, "filtered", record.text)
    final = loose.reply(record)
    cut = record.finish == FINISH_LENGTH
    if final is None:
        return _fault(window, "cut_off" if cut else "no_final_text", record.text[-80:])
    found = loose.objects(final)
    items = [item for one in found for item in _items(one)]
    if not items:
        fault = "cut_off" if cut else "no_item" if found else "no_json"
        return _fault(window, fault, _missing(found[-1]) if found else final[:80])
    if any(item != items[0] for item in items):
        return _fault(window, "several_items", f"{len(items)}")
    stem, options, said = items[0]
    letter = _letter(said, options)
    if not letter:
        return _fault(window, "no_key", said)
    a, b, c, d = _unlabelled(options)
    return Generated(window, Draft(window, stem, (a, b, c, d), letter))


def _fault(window: str, fault: str, detail: str) -> Generated:
    return Generated(window, None, fault, " ".join(detail.split())[:120])


_Item = tuple[str, tuple[str, str, str, str], str]


def _items(value: Any) -> Iterator[_Item]:
    """The items in a JSON value: the object itself, or those inside it (`{"items": [...]}`)."""
    if isinstance(value, Mapping):
        item = _item(value)
        if item:
            yield item
        else:
            for inner in value.values():
                yield from _items(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _items(inner)


def _item(found: Mapping[str, Any]) -> _Item | None:
    named = {_folded(name): value for name, value in found.items()}
    stem, key = _first(named, _STEM), _first(named, _KEY)
    options = _options(named)
    if stem is None or key is None or options is None:
        return None
    return stem, options, key


def _options(named: Mapping[str, Any]) -> tuple[str, str, str, str] | None:
    inner = next((named[name] for name in _CHOICES if name in named), None)
    if isinstance(inner, list) and len(inner) == len(LABELS):
        texts = [_text(value) for value in inner]
    else:
        held = {_folded(name): value for name, value in inner.items()} if isinstance(inner, Mapping) else named
        by_letter: dict[str, str | None] = {}
        for name, value in held.items():
            match = _OPTION.fullmatch(name)
            if match:
                letter = _ORDINALS.get(match[1], match[1].upper())
                if letter in by_letter:
                    return None
                by_letter[letter] = _text(value)
        texts = [by_letter.get(letter) for letter in LABELS]
    a, b, c, d = texts
    return None if a is None or b is None or c is None or d is None else (a, b, c, d)


def _letter(said: str, options: tuple[str, ...]) -> str:
    """The key's letter: said as a letter, or as the text of exactly one option; "" where it is neither."""
    match = _KEYED.fullmatch(unicodedata.normalize("NFKC", said).strip())
    if match:
        return _ORDINALS.get(match[1], match[1].upper())
    same = [letter for letter, text in zip(LABELS, options, strict=True) if bare(text) == bare(said)]
    if len(same) == 1:
        return same[0]
    labelled = _LABELLED.match(unicodedata.normalize("NFKC", said))
    # "B. 嘉義": the letter and the text must say the same.
    if labelled and bare(options[LABELS.index(labelled[1])]) in (bare(said), bare(said[labelled.end() :])):
        return labelled[1]
    return ""


def _unlabelled(options: tuple[str, str, str, str]) -> tuple[str, ...]:
    """The options without the labels that repeat their names, where all four have theirs."""
    matches = [_LABELLED.match(text) for text in options]
    if all(match and match[1] == letter for match, letter in zip(matches, LABELS, strict=True)):
        return tuple(clean(text[match.end() :]) for text, match in zip(options, matches, strict=True) if match)
    return options


def _first(named: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    return next((_text(named[name]) for name in names if name in named), None)


def _text(value: Any) -> str | None:
    # JSON may spell half a character (\ud800), which no text holds.
    return clean(storable(value)) if isinstance(value, str) and value.strip() else None


def _folded(name: str) -> str:
    return unicodedata.normalize("NFKC", name).strip().casefold()


def _missing(found: Mapping[str, Any]) -> str:
    return json.dumps(sorted(found), ensure_ascii=False)
