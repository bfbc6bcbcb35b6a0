"""`twlocal study axes` and `halflife`: over the scores of many models."""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from twlocal.cli.common import db_option, note
from twlocal.cli.study_output import named, output_options, show
from twlocal.cli.study_stored import seed_option
from twlocal.errors import UsageError

if TYPE_CHECKING:
    from twlocal.study.scores import Entry

_table = click.argument(
    "table", metavar="[TABLE]", required=False, type=click.Path(exists=True, dir_okay=False, path_type=Path)
)


def _entries(table: Path | None, columns: list[str], database: Path) -> list[Entry]:
    from twlocal.bundle.stored import opened
    from twlocal.study import scores
    from twlocal.study.load import Source

    if table is not None:
        return scores.from_table(table, columns)
    with opened(database, create=False, warn=note) as (runs, stored):
        return scores.from_database(Source(runs, stored), columns)


@click.command()
@_table
@click.option("--first", default="exam", show_default=True, metavar="NAME", help="The first axis: a column or a bench.")
@click.option("--second", default="formosa", show_default=True, metavar="NAME", help="The second axis.")
@click.option(
    "--tuned",
    multiple=True,
    metavar="NAME",
    help="Models whose name contains this are the family 'Taiwan-tuned'; a column `family` says it as well.",
)
@click.option("--top", type=click.IntRange(4), default=20, show_default=True, help="Also over so many of the best.")
@click.option(
    "--above", type=click.FloatRange(0, 100), default=80, show_default=True, help="Also over those above this, in %."
)
@seed_option
@output_options
@db_option
def axes(
    table: Path | None,
    first: str,
    second: str,
    tuned: tuple[str, ...],
    top: int,
    above: float,
    seed: int,
    as_json: bool,
    html: Path | None,
    lang: str | None,
    database: Path,
) -> None:
    """What two benchmarks over many models agree on, and which families of models they rank differently.

    TABLE is a CSV, TSV or JSON with the columns model, exam, formosa, and where there are such exam_lenient,
    formosa_lenient, family. Without it, every complete run and imported result in the database is taken.
    """
    from twlocal.html.words import t
    from twlocal.study import axes, scores
    from twlocal.study.load import study_command, unless_default

    if first == second:
        raise UsageError("--first and --second name the same axis")
    entries = _entries(table, [first, second], database)
    if tuned:
        entries = scores.in_family(entries, axes.TUNED, tuned)
    found = []
    for reader, ending in (("box", ""), ("lenient", scores.LENIENT)):
        one, other = first + ending, second + ending
        both = [entry for entry in entries if one in entry.scores and other in entry.scores]
        models = [axes.Model(entry.model, entry.scores[one], entry.scores[other], entry.family) for entry in both]
        if not models and ending:
            continue
        try:
            found.append(axes.axes(models, reader, top=top, above=above / 100, seed=seed))
        except ValueError as error:
            raise UsageError(
                f"{reader}: {error}", hint="give a TABLE, or import results (twlocal import), or run more models"
            ) from error
    no_lenient = t(
        "沒有寬鬆讀法的分數，分不出格式與知識。",
        "no lenient scores are given, so format and knowledge are not told apart.",
    )
    warnings = [] if len(found) == 2 else [no_lenient]
    words = ["study", "axes", *([str(table)] if table else []), "--first", first, "--second", second]
    words += [word for name in tuned for word in ("--tuned", name)]
    words += unless_default(top=(top, 20), above=(above, 80.0), seed=(seed, 0))
    source = str(table) if table else "the database"
    command = study_command(*words, database=None if table else named(database))
    show(
        axes.report(found, first, second, source, commands=[command], warnings=warnings),
        as_json=as_json,
        html=html,
        lang=lang,
    )


@click.command()
@_table
@click.option("--bench", default="formosa", show_default=True, metavar="NAME", help="A column, or a bench.")
@click.option(
    "--band", metavar="LOW-HIGH", default="46.9-74.6", show_default=True, help="In percent; both ends belong to it."
)
@click.option("--since", metavar="DATE", help="The day on which the band was frozen, such as 2026-08-24.")
@click.option(
    "--reader", type=click.Choice(["box", "lenient"]), default="box", show_default=True, help="box is strict."
)
@output_options
@db_option
def halflife(
    table: Path | None,
    bench: str,
    band: str,
    since: str | None,
    reader: str,
    as_json: bool,
    html: Path | None,
    lang: str | None,
    database: Path,
) -> None:
    """How many models fall in, above and below a band of scores, in all and over time.

    TABLE is a CSV, TSV or JSON with the columns model, date and one of scores. Without it, every complete run and
    imported result in the database is taken, on the day it was made.
    """
    from twlocal.study import halflife, scores
    from twlocal.study.load import study_command

    low, high = _band(band)
    column = bench + (scores.LENIENT if reader == "lenient" else "")
    entries = [entry for entry in _entries(table, [bench], database) if column in entry.scores]
    models = [halflife.Dated(entry.model, entry.scores[column], entry.day) for entry in entries]
    try:
        found = halflife.halflife(models, low, high, _since(since))
    except ValueError as error:
        raise UsageError(str(error), hint=f"the scores are looked for in the column or bench {column!r}") from error
    words = ["study", "halflife", *([str(table)] if table else []), "--bench", bench, "--band", band]
    words += ["--since", since] if since else []
    words += ["--reader", reader] if reader != "box" else []
    source = str(table) if table else "the database"
    command = study_command(*words, database=None if table else named(database))
    show(
        halflife.report(found, bench, source, reader=reader, commands=[command]),
        as_json=as_json,
        html=html,
        lang=lang,
    )


def _band(text: str) -> tuple[float, float]:
    from twlocal.study.tables import share

    low, dash, high = text.replace("–", "-").replace("%", "").partition("-")
    try:
        if not dash:
            raise ValueError
        return share(float(low)), share(float(high))
    except ValueError as error:
        raise UsageError(f"--band takes two percentages such as 46.9-74.6, not {text!r}") from error


def _since(text: str | None) -> date | None:
    if text is None:
        return None
    try:
        return datetime.fromisoformat(text).date()
    except ValueError as error:
        raise UsageError(f"--since takes a date such as 2026-08-24, not {text!r}") from error
