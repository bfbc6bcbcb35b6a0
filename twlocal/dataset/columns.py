"""Which cell of a row is the question, an option, the answer: from the names in a header. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from types import MappingProxyType
from typing import Any

from twlocal.item import LABELS

# The exact name wins; when it is absent, one of these in any letter case.
ALIASES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "question": ("question", "題目"),
        "answer": ("answer", "答案"),
        "choices": ("choices", "options"),
        "subject": ("subject", "科目"),
        "id": ("id",),
    }
)
_SPLIT = re.compile(r"[-_.](?:test|dev|val|train)$")
_SHARD = re.compile(r"-\d{5}-of-\d{5}$")
# A fifth option, in whatever case and width, beside A–D in whatever case.
_FURTHER = re.compile(r"(?:選項|(?:option|choice)[ _-]?)?[E-H]", re.IGNORECASE)


class HeaderError(ValueError):
    """The columns cannot be told; the message says which and why."""


@dataclass(frozen=True)
class Columns:
    """Where a row's parts are. `choices` is the index of a list of options, or None when A–D have their own cells.

    `pick` takes a row's question, options A–D (or the list) and answer out of its cells in one call.
    """

    width: int
    question: int
    answer: int
    options: tuple[int, ...]
    choices: int | None
    subject: int | None
    id: int | None
    fifth: tuple[int, ...]
    meta: tuple[tuple[str, int], ...]
    pick: Callable[[Sequence[Any]], tuple[Any, ...]]


def columns_of(header: Sequence[str]) -> Columns:
    """The columns that `header` names. Raises HeaderError on absent, repeated or ambiguous ones."""
    names = [name.strip() for name in header]
    repeated = sorted(name for name, count in Counter(names).items() if name and count > 1)
    if repeated:
        raise HeaderError(f"the column {repeated[0]!r} is there more than once")
    if any("\0" in name or not _encodable(name) for name in names):
        raise HeaderError("a column's name holds a NUL or half of a surrogate pair")
    question, answer = _find(names, "question"), _find(names, "answer")
    letters = next((labels for labels in (LABELS, LABELS.lower()) if set(labels) <= set(names)), "")
    options = tuple(names.index(label) for label in letters)
    choices = None if options else _find(names, "choices")
    absent = [name for name, index in (("question", question), ("answer", answer)) if index is None]
    if not options and choices is None:
        some = [label for label in LABELS if label in names]
        absent += [label for label in LABELS if label not in names] if some else ["A, B, C, D (or choices)"]
    if question is None or answer is None or absent:
        raise HeaderError(f"no column {', '.join(absent)}; the columns are: {_listed(names)}")
    subject, ident = _find(names, "subject"), _find(names, "id")
    fifth = tuple(index for index, name in enumerate(names) if _FURTHER.fullmatch(unicodedata.normalize("NFKC", name)))
    used = {question, answer, *options, choices, subject, ident, *fifth}
    meta = tuple((name or f"column {index + 1}", index) for index, name in enumerate(names) if index not in used)
    places = (question, *options, answer) if choices is None else (question, choices, answer)
    return Columns(
        len(names), question, answer, options, choices, subject, ident, fifth, meta, itemgetter(*places)
    )  # fmt: skip


def _encodable(name: str) -> bool:
    return not any("\ud800" <= char <= "\udfff" for char in name)


def _find(names: Sequence[str], wanted: str) -> int | None:
    if wanted in names:
        return names.index(wanted)
    found = [index for index, name in enumerate(names) if name.casefold() in ALIASES[wanted]]
    if len(found) > 1:
        both = " and ".join(repr(names[index]) for index in found)
        raise HeaderError(f"{both} could both be the column {wanted!r}: rename one")
    return found[0] if found else None


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(name[:40] for name in names[:12])
    return f"{shown}, …" if len(names) > 12 else shown or "(none)"


def subject_of(stem: str) -> tuple[str, str]:
    """The subject that a file's name gives, and its split: `刑法_test` → (`刑法`, `test`).

    The Hub's shard numbers (`-00000-of-00002`) are not part of it. A file named after a split alone keeps its name.
    """
    stem = _SHARD.sub("", stem)
    subject = _SPLIT.sub("", stem)
    return (subject, stem[len(subject) + 1 :]) if subject else (stem, "")
