"""What a board is made of: sets of items, and a model's results on them, as columns of 0 and 1. Pure.

The exchange format has a line a row; two hundred models over the same 22,021 items would repeat their hashes two
hundred times. So the items of a set are listed once, in a fixed order, and a result is a text a fact: its character
number i says what is true of item number i. `1` true, `0` false, `-` not answered.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from twlocal.board.settings import BOARD, BOX
from twlocal.plural import counted

# The exchange format's facts (of the first asking only), then twlocal's own readings (see bundle.exchange, .readings).
EXCHANGE = ("ok", "boxp", "lenp")
OURS = ("correct", "lenient_correct", "wrote_box", "parsed", "lenient_parsed")
FACTS = (*EXCHANGE, *OURS, "truncated")
_NOT = "-"


@dataclass(frozen=True)
class ItemSet:
    """Items in the order of (content hash, stem hash, subject). An unknown is "".

    qh: first 16 hex digits of sha256 of the stem. ch: content hash.
    """

    bench: str
    rows: tuple[tuple[str, str, str], ...]  # ch, qh, subject

    @cached_property
    def id(self) -> str:
        """The first 16 hex digits of a sha256 over the rows."""
        text = "\n".join("\t".join(row) for row in self.rows)
        return hashlib.sha256(f"{self.bench}\n{text}".encode()).hexdigest()[:16]

    @cached_property
    def has_subjects(self) -> bool:
        return any(subject for _, _, subject in self.rows)


@dataclass(frozen=True)
class Meta:
    """What is known of a result beside its rows. An unknown is None or "".

    kind: run, bundle, runner or twinkle. protocol: its name; the text belongs to `protocol_sha256`. date: when it was
    measured (ISO 8601 day). planned: responses that it should have. marks: keys of bundle.manifest.MARKS. source: what
    it was made from, a checksum: equal ones hold equal rows.
    """

    name: str
    kind: str
    source: str
    protocol: str = ""
    protocol_sha256: str = ""
    reader: str = ""
    backend: str = ""
    engine: str = ""
    engine_version: str = ""
    quantised: bool | None = None
    precision: str = ""
    thinking: bool | None = None
    date: str = ""
    planned: int | None = None
    complete: bool | None = None
    repeats: int = 1
    max_tokens: int | None = None
    temperature: float | None = None
    marks: tuple[str, ...] = ()
    withdrawn: int = 0


@dataclass(frozen=True)
class Cell:
    """One model's result on one bench. `columns`: fact → a text an asking; a fact that is not told is left out."""

    model: str  # the slug of its row on the board
    bench: str
    items: str  # id of the ItemSet
    columns: Mapping[str, tuple[str, ...]]
    meta: Meta


@dataclass(frozen=True)
class ModelFacts:
    """A model as a row of the board. What the registry does not know is None or ""."""

    slug: str
    name: str
    family: str = ""
    parameters: int | None = None
    licence: str = ""
    taiwan_tuned: bool | None = None
    thinking: str = ""  # always, switch, ""


@dataclass(frozen=True)
class Site:
    """Everything that a board is made from; every page and every other file follows from it.

    protocols: sha256 → the protocol as plain data (see `protocols.published`). withdrawn: bench → (content hash,
    rule) of each row. manifests: `bench/name.json` → its text.
    """

    settings: Mapping[str, Any]
    reader: str
    models: tuple[ModelFacts, ...]
    items: Mapping[str, ItemSet]
    cells: tuple[Cell, ...]
    protocols: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    withdrawn: Mapping[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)
    manifests: Mapping[str, str] = field(default_factory=dict)


def array(texts: Sequence[str]) -> Any:
    """Texts of 0, 1 and - as an array (asking, item) of int8: −1 where nothing was answered."""
    joined = np.frombuffer("".join(texts).encode("ascii"), dtype=np.uint8).astype(np.int8)
    return np.where(joined == ord(_NOT), -1, joined - ord("0")).astype(np.int8).reshape(len(texts), -1)


def text(values: Iterable[bool | None]) -> str:
    """One asking's values of a fact as a text."""
    return "".join(_NOT if value is None else "1" if value else "0" for value in values)


def tells(columns: Mapping[str, tuple[str, ...]], reader: str) -> bool:
    """Whether a result's columns can be read by one of the board's two readings."""
    return all(name in columns for name in (OURS if reader == BOX else EXCHANGE))


@dataclass(frozen=True)
class Read:
    """A cell under one reading, as arrays (asking, item) of int8, −1 where nothing was answered; None: not told."""

    strict: Any
    lenient: Any
    boxes: Any
    parsed: Any
    lenient_parsed: Any
    truncated: Any


def read(columns: Mapping[str, tuple[str, ...]], reader: str) -> Read:
    """A result under a reading that it tells.

    The exchange format does not say whether the boxed answer was right. Its strict reading here is: the cascade, which
    takes a box before anything else, names the keyed option, and there was a box that could be read.
    """
    found = {name: array(texts) for name, texts in columns.items()}
    if reader == BOX:
        strict, lenient, boxes, parsed, lenient_parsed = (found[name] for name in OURS)
        return Read(strict, lenient, boxes, parsed, lenient_parsed, found.get("truncated"))
    first = {name: one[:1] for name, one in found.items()}
    return Read(
        strict=np.where(first["ok"] < 0, -1, first["ok"] & first["boxp"]).astype(np.int8),
        lenient=first["ok"],
        boxes=first.get("wrote_box"),
        parsed=first["boxp"],
        lenient_parsed=first["lenp"],
        truncated=first.get("truncated"),
    )


def reading_of(cell: Cell, wanted: str) -> str:
    """The reading a cell is shown under: the wanted one where it tells that, else the other."""
    if tells(cell.columns, wanted):
        return wanted
    return BOARD if wanted == BOX else BOX


def contradictions(columns: Mapping[str, tuple[str, ...]], reader: str) -> list[str]:
    """What no reading could give: right without having been read, and such.

    reader: the protocol's, or "" where it is not told; only of twlocal's own is it known that box and lenient agree.
    """
    found = {name: array(texts) for name, texts in columns.items()}

    def both(name: str, other: str) -> int:
        """Rows in which the first is true and the second false."""
        if name not in found or other not in found:
            return 0
        askings = min(len(found[name]), len(found[other]))
        return int(((found[name][:askings] == 1) & (found[other][:askings] == 0)).sum())

    pairs = [("ok", "lenp"), ("correct", "parsed"), ("lenient_correct", "lenient_parsed")]
    if reader in ("", BOX):
        pairs += [("parsed", "wrote_box"), ("parsed", "lenient_parsed"), ("correct", "lenient_correct")]
    told = [
        f"{counted(count, 'row is', 'rows are')} {name} and not {other}"
        for name, other in pairs
        if (count := both(name, other))
    ]
    if reader in ("", BOX) and {"parsed", "correct", "lenient_correct"} <= found.keys():
        odd = (found["parsed"] == 1) & (found["correct"] == 0) & (found["lenient_correct"] == 1)
        if count := int(odd.sum()):
            told.append(f"{counted(count, 'row is', 'rows are')} read by both readers, and differ")
    return told
