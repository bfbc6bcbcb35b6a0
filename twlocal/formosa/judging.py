"""Stage `ground`: the judge's prompt for an item, and the verdict in its response. Pure."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from twlocal.backend import FINISH_FILTER, FINISH_LENGTH
from twlocal.formosa import loose
from twlocal.formosa.prompts import Prompt
from twlocal.item import LABELS, clean
from twlocal.record import Record

UNSUPPORTED, SEVERAL, UNREAD = "unsupported", "several_answers", "unread"
# Why a response holds no verdict, by name.
FAULTS = {
    "filtered": "the server withheld the response",
    "cut_off": "the response reached its budget before the verdict was whole",
    "no_final_text": "nothing but a thought, or nothing at all",
    "no_json": "no JSON object",
    "no_verdict": "JSON, but supported or single_answer is missing, or neither true nor false",
    "several_verdicts": "verdicts that contradict each other",
}

_SUPPORTED = ("supported", "is_supported", "有依據", "依據")
_SINGLE = ("single_answer", "singleanswer", "single", "唯一答案", "單一答案", "只有一個選項正確")
_REASON = ("reason", "理由", "原因", "說明")
_YES, _NO = ("true", "yes", "1", "是", "有", "對"), ("false", "no", "0", "否", "無", "沒有", "不是")


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a judge says of an item. None, and a fault, where its response could not be read."""

    supported: bool | None
    single_answer: bool | None
    reason: str = ""
    fault: str = ""

    @property
    def approves(self) -> bool:
        """Whether the item stands: the window supports its key, and only that. An unread verdict approves nothing."""
        return not self.objection

    @property
    def objection(self) -> str:
        """Why the item does not stand, by name; "" where it does."""
        if self.supported is None or self.single_answer is None:
            return UNREAD
        return UNSUPPORTED if not self.supported else "" if self.single_answer else SEVERAL


def question(prompt: Prompt, window: str, stem: str, options: tuple[str, str, str, str], answer: str) -> str:
    """The user message for an item: the window's text, the stem, the options in their order, the keyed letter."""
    return prompt.text(window=window, question=stem, answer=answer, **dict(zip(LABELS, options, strict=True)))


def verdict(record: Record) -> Verdict:
    """The verdict in a judge's response."""
    if record.finish == FINISH_FILTER:
        return _fault("filtered", record.text)
    final = loose.reply(record)
    cut = record.finish == FINISH_LENGTH
    if final is None:
        return _fault("cut_off" if cut else "no_final_text", record.text[-80:])
    found = loose.objects(final)
    verdicts = [said for one in found for said in _verdicts(one)]
    if not verdicts:
        return _fault("cut_off" if cut else "no_verdict" if found else "no_json", final)
    first = verdicts[0]
    if any((one.supported, one.single_answer) != (first.supported, first.single_answer) for one in verdicts):
        return _fault("several_verdicts", final)
    return first


def _fault(fault: str, said: str) -> Verdict:
    return Verdict(None, None, " ".join(said.split())[:120], fault)


def _verdicts(value: Any) -> Iterator[Verdict]:
    if isinstance(value, Mapping):
        named = {unicodedata.normalize("NFKC", name).strip().casefold(): inner for name, inner in value.items()}
        supported, single = _truth(_first(named, _SUPPORTED)), _truth(_first(named, _SINGLE))
        if supported is not None and single is not None:
            reason = _first(named, _REASON)
            yield Verdict(supported, single, clean(reason) if isinstance(reason, str) else "")
        else:
            for inner in value.values():
                yield from _verdicts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _verdicts(inner)


def _first(named: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    return next((named[name] for name in names if name in named), None)


def _truth(value: Any) -> bool | None:
    if isinstance(value, bool):
        return value
    said = unicodedata.normalize("NFKC", value).strip().casefold() if isinstance(value, str) else ""
    return True if said in _YES else False if said in _NO else None
