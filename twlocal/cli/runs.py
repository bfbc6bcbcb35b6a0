"""`twlocal runs`."""

from __future__ import annotations

from pathlib import Path

import click

from twlocal.cli.common import db_option, json_option, opened, out


@click.command()
@json_option
@db_option
def runs(as_json: bool, database: Path) -> None:
    """List the runs in the database, oldest first: what was asked of which model, and how far it came."""
    import json

    from twlocal.lock import busy
    from twlocal.report.table import table

    with opened(database, create=False) as store:
        rows = store.all()
        states = [_state(row.complete, row.failed, busy(database, row.key)) for row in rows]
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
            {field: getattr(row, field) for field in fields} | {"state": state}
            for row, state in zip(rows, states, strict=True)
        ]
        out(json.dumps(listed, ensure_ascii=False, indent=1))
        return
    if not rows:
        out("no run yet: twlocal run MODEL --bench demo")
        return
    cells = [
        [
            row.name,
            row.model,
            row.bench,
            row.protocol,
            f"{row.answered}/{row.planned}",
            state,
            row.created_at[:16].replace("T", " "),
        ]
        for row, state in zip(rows, states, strict=True)
    ]
    header = ["run", "model", "bench", "protocol", "answered", "state", "begun (UTC)"]
    out("\n".join(line.rstrip() for line in table(cells, header, align="llllr")))


def _state(complete: bool, failed: int, busy: bool) -> str:
    if busy:
        return "running"
    if complete:
        return "complete"
    return f"unfinished, {failed} failed" if failed else "unfinished"
