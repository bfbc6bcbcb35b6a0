"""Papers and keys as rows of the build's database, and back. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from .groups import Group
from .model import Header, Key, Paper, PaperItem, Region, Rejection
from .notes import Note


def dumped(value: Any) -> str:
    """JSON as it is kept: compact, Chinese as it is."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def reasons(rejections: Iterable[Rejection]) -> str:
    """Rejections as a JSON list of [reason, detail]."""
    return dumped([[one.reason, one.detail] for one in rejections])


def rejections(text: str) -> tuple[Rejection, ...]:
    """The inverse of `reasons`."""
    return tuple(Rejection(reason, detail) for reason, detail in json.loads(text))


def paper_head(paper: Paper) -> str:
    """Everything of a paper but its items and rejections."""
    return dumped(
        {
            "header": asdict(paper.header),
            "stated_count": paper.stated_count,
            "pages": paper.pages,
            "flags": paper.flags,
            "groups": [asdict(group) for group in paper.groups],
        }
    )


def paper_items(document: int, paper: Paper) -> list[tuple[Any, ...]]:
    """The items of a paper as rows of `exam_items`."""
    return [
        (
            document,
            item.number,
            item.question,
            dumped(dict(item.options)),
            item.page,
            dumped(item.flags),
            dumped(item.excluded),
            *(item.group or (None, None)),
            item.continues,
            dumped([[r.page, *(round(x, 1) for x in (r.x0, r.top, r.x1, r.bottom))] for r in item.regions]),
        )
        for item in paper.items
    ]


def paper(head: str, reasons_: str, items: Iterable[Sequence[Any]]) -> Paper:
    """A paper from its head, its reasons and its rows of `exam_items`."""
    data = json.loads(head)
    header = data.get("header", {})
    return Paper(
        header=Header(**{**header, "codes": tuple(header["codes"]), "stated_counts": tuple(header["stated_counts"])})
        if header
        else Header(),
        stated_count=data.get("stated_count"),
        items=tuple(_item(row) for row in items),
        groups=tuple(Group(**{**group, "flags": tuple(group["flags"])}) for group in data.get("groups", ())),
        pages=data.get("pages", 0),
        flags=tuple(data.get("flags", ())),
        rejections=rejections(reasons_),
    )


def _item(row: Sequence[Any]) -> PaperItem:
    _, number, question, options, page, flags, excluded, first, last, continues, regions = row
    return PaperItem(
        number,
        question,
        json.loads(options),
        page,
        tuple(json.loads(flags)),
        tuple(json.loads(excluded)),
        (first, last) if first is not None else None,
        continues,
        tuple(Region(*region) for region in json.loads(regions)),
    )


def key_head(key: Key) -> str:
    """Everything of a key but its cells, notes and rejections."""
    return dumped(
        {
            "kind": key.kind,
            "stated_count": key.stated_count,
            "code": key.code,
            "subject": key.subject,
            "remarks": key.remarks,
        }
    )


def key_cells(document: int, key: Key) -> list[tuple[Any, ...]]:
    """The cells of a key, and notes on items without one, as rows of `exam_keys`."""
    rows: list[tuple[Any, ...]] = []
    for number in sorted(key.cells.keys() | key.notes.keys()):
        note = key.notes.get(number)
        told = (note.kind, dumped(note.accepted), note.text) if note else (None, None, None)
        rows.append((document, number, key.cells.get(number, ""), *told))
    return rows


def key(head: str, reasons_: str, cells: Iterable[Sequence[Any]]) -> Key:
    """A key from its head, its reasons and its rows of `exam_keys`."""
    data: Mapping[str, Any] = json.loads(head)
    found: dict[int, str] = {}
    notes: dict[int, Note] = {}
    for _, number, cell, kind, accepted, text in cells:
        if cell:
            found[number] = cell
        if kind is not None:
            notes[number] = Note(number, kind, tuple(json.loads(accepted)), text)
    return Key(**data, cells=found, notes=notes, rejections=rejections(reasons_))
