"""`twlocal audit`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from twlocal.cli.common import json_option, note, out
from twlocal.cli.dataset_options import dataset_options, load_dataset, load_settings
from twlocal.errors import UsageError

if TYPE_CHECKING:
    from twlocal.audit.report import Audit
    from twlocal.audit.verdicts import Verdict

verdicts_option = click.option(
    "--verdicts",
    "table",
    type=click.Path(dir_okay=False, path_type=Path),
    help="CSV of conflicts: written with proposed classes, read back with a person's verdicts.",
)
against_option = click.option(
    "--against", multiple=True, metavar="DATASET", help="Look for rows of this dataset too; may be given several times."
)


@click.command()
@click.argument("source", metavar="DATASET")
@against_option
@verdicts_option
@json_option
@dataset_options
def audit(source: str, against: tuple[str, ...], table: Path | None, as_json: bool, **options: Any) -> None:
    """Look for duplicates, disagreeing keys, rows that span splits, and rows that another dataset has too.

    Questions are compared by content: white space, width, punctuation and the order of options do not matter, and keys
    are compared by the text of the answer, never by its letter.
    """
    from twlocal import dataset
    from twlocal.audit.report import audit as made

    parts = dataset.load_splits(source, private=options["private"], **load_settings(options))
    for part in parts.values():
        if part.rejected:
            note(part.told()[0])
    others = {name: load_dataset(name, options).items for name in against}
    found = made({split: part.items for split, part in parts.items()}, against=others, verdicts=read_verdicts(table))
    finish(found, table, as_json)


def read_verdicts(table: Path | None) -> dict[str, Verdict]:
    """What a person has written so far; nothing when there is no table yet."""
    from twlocal.audit import verdicts

    if table is None or not table.exists():
        return {}
    try:
        return verdicts.parse(table.read_text(encoding="utf-8-sig"), str(table))
    except UnicodeError as error:
        raise UsageError(f"{table} is not UTF-8: {error}", hint="save it as “CSV UTF-8” in the spreadsheet") from error
    except OSError as error:
        raise UsageError(f"cannot read {table}: {error}") from error


def finish(found: Audit, table: Path | None, as_json: bool) -> None:
    """Prints the audit, and writes the table of conflicts when one is named."""
    from twlocal.audit import report, verdicts

    if as_json:
        out(json.dumps(report.as_json(found), ensure_ascii=False, indent=1))
    else:
        out("\n".join(report.told(found)))
    if table is not None:
        part = table.with_name(table.name + ".part")
        try:
            # With a byte-order mark: spreadsheets take the file for UTF-8 then.
            part.write_text(verdicts.render(found.conflicts, found.verdicts), encoding="utf-8-sig", newline="")
            part.replace(table)
        except OSError as error:
            raise UsageError(f"cannot write {table}: {error.strerror or error}") from error
        note(f"conflicts are listed in {table}: fill in the column verdict, and run the same command again")
    elif found.conflicts:
        note("--verdicts FILE.csv lists the conflicts with proposed classes, for a person's verdicts")
