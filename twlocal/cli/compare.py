"""`twlocal compare`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from twlocal.cli.common import db_option, note
from twlocal.cli.study_output import named, output_options, show
from twlocal.errors import UsageError

if TYPE_CHECKING:
    from twlocal.study.noise import Floor


@click.command()
@click.argument("first", metavar="RUN")
@click.argument("second", metavar="RUN")
@click.option("--intersect", is_flag=True, help="Compare over the items that both answered, where they differ.")
@click.option("--reader", help="Read both with this reader.  [default: each run's own]")
@click.option(
    "--key-noise",
    metavar="CONFLICTS/GROUPS",
    help="Disputed answer keys of the source, such as 27/31312; the exam bench has that one by itself.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Of the bootstrap.")
@click.option("--resamples", type=click.IntRange(100), default=9999, show_default=True, help="Of the bootstrap.")
@output_options
@db_option
def compare(
    first: str,
    second: str,
    intersect: bool,
    reader: str | None,
    key_noise: str | None,
    seed: int,
    resamples: int,
    as_json: bool,
    html: Path | None,
    lang: str | None,
    database: Path,
) -> None:
    """Compare two runs item by item: paired test and interval, what was gained and lost, subjects, format.

    Runs over different items are refused unless --intersect is given. What differs between their apparatus is told
    first, because a difference says something about one thing only where everything else was held.
    """
    from twlocal import apparatus, compare
    from twlocal.bundle.stored import opened
    from twlocal.study import compared
    from twlocal.study.load import Source, run_command, study_command, unless_default

    floor_of(key_noise, set())  # a wrong call is told before thousands of responses are read
    with opened(database, create=False, warn=note) as (runs, stored):
        source = Source(runs, stored)
        one, one_apparatus, one_run = source.side(first, reader)
        other, other_apparatus, other_run = source.side(second, reader)
    if one.name == other.name:
        raise UsageError(f"{one.name} cannot be compared with itself", hint="twlocal runs lists the others")
    found = compare.compare(one, other, intersect=intersect, seed=seed, resamples=resamples)
    words = ["compare", one.name, other.name, *(["--intersect"] if intersect else [])]
    words += ["--reader", reader] if reader else []
    words += ["--key-noise", key_noise] if key_noise else []
    words += unless_default(seed=(seed, 0), resamples=(resamples, 9999))
    there = named(database)
    again = [run_command(run, there) for run in (one_run, other_run) if run]
    show(
        compared.report(
            found,
            apparatus.differences(one_apparatus, other_apparatus),
            apparatus.held(one_apparatus, other_apparatus),
            floor=floor_of(
                key_noise, {str(each.parts["dataset"]["name"]) for each in (one_apparatus, other_apparatus)}
            ),
            commands=[*again, study_command(*words, database=there)],
        ),
        as_json=as_json,
        html=html,
        lang=lang,
    )


def floor_of(given: str | None, benches: set[str]) -> Floor | None:
    """The floor as given, or the known one of the benchmark; None where there is none. Raises UsageError."""
    from twlocal.study import noise

    if given is not None:
        try:
            return noise.parse(given)
        except ValueError as error:
            raise UsageError(f"--key-noise: {error}") from error
    return noise.Floor(*noise.EXAM) if benches == {"exam"} else None
