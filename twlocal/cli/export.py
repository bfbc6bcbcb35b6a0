"""`twlocal export`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from twlocal.cli.common import db_option, note, opened
from twlocal.plural import counted


@click.command()
@click.argument("name", metavar="RUN")
@click.option(
    "--format",
    "form",
    type=click.Choice(["jsonl", "csv", "parquet"]),
    help="[default: as the file's name ends; jsonl on standard output]",
)
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="A file; without it standard output."
)
@click.option("--timings", is_flag=True, help="Add when, how long, in which sitting and by which engine.")
@click.option("--words", is_flag=True, help="Add question and options. Don't publish those of a private benchmark.")
@db_option
def export(name: str, form: str | None, output: Path | None, timings: bool, words: bool, database: Path) -> None:
    """Write the responses of RUN, one row each, with what the protocol's reader and the lenient one read.

    Without --timings the same deterministic run always gives the same bytes, however often it was interrupted.
    """
    from twlocal.errors import UsageError
    from twlocal.export import FORMATS, rows, write

    suffix = output.suffix.lstrip(".").lower() if output else ""
    if output and not form and suffix not in FORMATS:
        # JSON Lines in a file named .xlsx would open nowhere.
        raise UsageError(
            f"the name {output} does not say in which format to write",
            hint=f"end it in .{', .'.join(FORMATS)}; or say --format",
        )
    chosen = form or suffix or "jsonl"
    with opened(database, create=False) as runs:
        run = runs.get(name)
        reader = run.manifest["protocol"]["reader"]
        count = write(rows(runs, run, reader, timings=timings, words=words), chosen, output if output else sys.stdout)
    if output:
        note(f"{counted(count, 'response')} of {run.name} written to {output}")
    elif not count:
        note(f"{run.name} has no response yet")
