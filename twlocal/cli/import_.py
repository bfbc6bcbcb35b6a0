"""`twlocal import`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from twlocal.bundle.words import marked
from twlocal.cli.common import db_option, note, out
from twlocal.plural import counted


@click.command("import")
@click.argument("path", metavar="PATH", type=click.Path(path_type=Path))
@click.option("--model", default="", help="The model's name, where the source does not tell or tells it wrong.")
@click.option("--bench", default="", help="The dataset's name, where the source does not tell or tells it wrong.")
@click.option("--skip-bad", is_flag=True, help="Leave out rows that cannot be taken, and go on with the others.")
@click.option(
    "--max-size",
    type=click.FloatRange(0, min_open=True),
    default=4,
    show_default=True,
    metavar="GIB",
    help="Refuse an archive that unpacks to more.",
)
@db_option
def import_(path: Path, database: Path, **options: Any) -> None:
    """Read results back: a bundle, a public runner's results folder, or Twinkle Eval's result files.

    PATH is a bundle (.tar.gz, .tgz, .zip or unpacked), such a folder, or such a file or a folder of them. A bundle is
    verified first; with its responses it becomes a run as any other, marked as imported. Everything else becomes a
    stored result that `runs` and `report` show as far as it tells. Importing twice is importing once.
    """
    from datetime import UTC, datetime

    from twlocal.bundle.importing import Wanted
    from twlocal.bundle.importing import import_ as import_results
    from twlocal.bundle.stored import opened

    wanted = Wanted(
        model=options["model"],
        bench=options["bench"],
        skip_bad=options["skip_bad"],
        limit=int(options["max_size"] * (1 << 30)),
    )
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    with opened(database, create=True, warn=note) as (runs, stored):
        outcomes = import_results(path, runs, stored, wanted, at=now)
    for one in outcomes:
        what = "a run with its responses" if one.kind == "run" else f"a result ({one.kind})"
        marks = marked(one.marks)
        state = "imported" if one.new else "was there already"
        out(f"{one.name}: {what}, {counted(one.rows, 'row')}, {state}{marks}")
        for line in one.notes:
            note(f"  {line}")
