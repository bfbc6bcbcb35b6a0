"""`twlocal runs`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from twlocal.cli.common import columns, db_option, json_option, lang_option, language, note, out

_FIELDS = (
    "name",
    "model",
    "backend",
    "bench",
    "protocol",
    "repeats",
    "created_at",
    "completed_at",
    "planned",
    "answered",
    "failed",
)
_ENGLISH = {
    "header": "#|run|protocol|answered|state|begun (UTC)",
    "none": "no run yet: twlocal run MODEL --bench demo",
    "complete": "complete",
    "running": "running",
    "unfinished": "unfinished",
    "failed": "{state}, {count:,} failed",
    "imported": "imported",
    "and": "; ",
    "comma": ", ",
}
_CHINESE = {
    "header": "#|測驗|協定|已答|狀態|開始（UTC）",
    "none": "還沒有測驗：twlocal run MODEL --bench demo",
    "complete": "完成",
    "running": "進行中",
    "unfinished": "未完成",
    "failed": "{state}，{count:,} 題失敗",
    "imported": "匯入",
    "and": "；",
    "comma": "，",
}


@click.command()
@json_option
@lang_option
@db_option
def runs(as_json: bool, lang: str | None, database: Path) -> None:
    """List the runs in the database, oldest first: what was asked of which model, and how far it came.

    Below them the imported results. What was imported has a line of its own, with what it is marked with.
    """
    import json

    from twlocal.bundle.stored import opened
    from twlocal.bundle.words import words
    from twlocal.lock import busy

    with opened(database, create=False, warn=note) as (store, stored):
        rows = store.all()
        imported, results = stored.imported_runs(), stored.results()
        states = [_state(row.complete, busy(database, row.key)) for row in rows]
    if as_json:
        listed = [
            {field: getattr(row, field) for field in _FIELDS}
            | {"state": _told(state, row.failed, imported.get(row.id)), "imported": row.id in imported}
            for row, state in zip(rows, states, strict=True)
        ]
        listed += [
            dict.fromkeys(_FIELDS)
            | {"name": one.name, "model": one.model, "bench": one.bench, "protocol": one.protocol, "answered": one.n}
            | {"state": "imported", "imported": True, "kind": one.kind, "marks": list(one.marks)}
            for one in results
        ]
        out(json.dumps(listed, ensure_ascii=False, indent=1))
        return
    said = _CHINESE if language(lang) == "zh-TW" else _ENGLISH
    if not rows and not results:
        out(said["none"])
        return
    cells = [
        [
            str(row.id),
            row.name,
            row.protocol,
            f"{row.answered:,}/{row.planned:,}",
            said["failed"].format(state=said[state], count=row.failed)
            if row.failed and state == "unfinished"
            else said[state],
            row.created_at[:16].replace("T", " "),
        ]
        for row, state in zip(rows, states, strict=True)
    ]
    cells += [["-", one.name, one.protocol, f"{one.n:,}", said["imported"], "-"] for one in results]
    names = words(language(lang))[2]
    marks = [
        said["comma"].join(names.get(mark, mark) for mark in marked)
        for marked in (*(imported.get(row.id, ()) for row in rows), *(one.marks for one in results))
    ]
    origins = [said["imported"] if row.id in imported else "" for row in rows] + [""] * len(results)
    tails = [said["and"].join(filter(None, both)) for both in zip(origins, marks, strict=True)]
    out("\n".join(_lines(said["header"].split("|"), cells, tails)))


def _lines(header: Sequence[str], cells: list[list[str]], tails: Sequence[str]) -> list[str]:
    """The table, with what else is to be said of a row below it. Whole names where no terminal limits the line."""
    from twlocal.report.table import table, wrap

    room = columns(sys.stdout)
    lines = [line.rstrip() for line in table(cells, header, align="rllrll", width=room)]
    indent = " " * (len(lines[1].split()[0]) + 2)
    shown = lines[:2]
    for line, tail in zip(lines[2:], tails, strict=True):
        shown += [line, *(wrap(indent + tail, room or 80, indent) if tail else [])]
    return shown


def _told(state: str, failed: int, marks: Sequence[str] | None) -> str:
    """The state for machines."""
    parts = [f"{state}, {failed} failed" if failed and state == "unfinished" else state]
    return ", ".join(parts if marks is None else [*parts, "imported", *marks])


def _state(complete: bool, busy: bool) -> str:
    return "running" if busy else "complete" if complete else "unfinished"
