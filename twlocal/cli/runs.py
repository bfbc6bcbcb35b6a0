"""`twlocal runs`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path, PurePath

import click

from twlocal.cli.common import db_option, json_option, note, out


@click.command()
@json_option
@db_option
def runs(as_json: bool, database: Path) -> None:
    """List the runs in the database, oldest first: what was asked of which model, and how far it came.

    Below them the imported results; `state` says what was imported, and what it is marked with.
    """
    import json

    from twlocal.bundle.stored import opened
    from twlocal.lock import busy
    from twlocal.report.table import table

    with opened(database, create=False, warn=note) as (store, stored):
        rows = store.all()
        imported, results = stored.imported_runs(), stored.results()
        states = [
            _state(row.complete, row.failed, busy(database, row.key))
            + (f", {_imported(imported[row.id])}" if row.id in imported else "")
            for row in rows
        ]
    if as_json:
        fields = (
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
        listed = [
            {field: getattr(row, field) for field in fields} | {"state": state, "imported": row.id in imported}
            for row, state in zip(rows, states, strict=True)
        ]
        listed += [
            dict.fromkeys(fields)
            | {"name": one.name, "model": one.model, "bench": one.bench, "protocol": one.protocol, "answered": one.n}
            | {"state": "imported", "imported": True, "kind": one.kind, "marks": list(one.marks)}
            for one in results
        ]
        out(json.dumps(listed, ensure_ascii=False, indent=1))
        return
    if not rows and not results:
        out("no run yet: twlocal run MODEL --bench demo")
        return
    cells = [
        [
            row.name,
            row.model,
            _short(row.bench),
            row.protocol,
            f"{row.answered}/{row.planned}",
            state,
            row.created_at[:16].replace("T", " "),
        ]
        for row, state in zip(rows, states, strict=True)
    ]
    cells += [[one.name, one.model, one.bench, one.protocol, f"{one.n}", _imported(one.marks), "-"] for one in results]
    header = ["run", "model", "bench", "protocol", "answered", "state", "begun (UTC)"]
    out("\n".join(line.rstrip() for line in table(cells, header, align="llllr")))


def _short(bench: str) -> str:
    """A file or folder by its name alone; `--json` and `report` give the whole path."""
    return PurePath(bench).name if PurePath(bench).is_absolute() else bench


def _imported(marks: Sequence[str]) -> str:
    return ", ".join(["imported", *marks])


def _state(complete: bool, failed: int, busy: bool) -> str:
    if busy:
        return "running"
    if complete:
        return "complete"
    return f"unfinished, {failed} failed" if failed else "unfinished"
