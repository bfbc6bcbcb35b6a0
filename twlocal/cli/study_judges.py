"""`twlocal study judges`."""

from __future__ import annotations

from pathlib import Path

import click

from twlocal.cli.common import db_option
from twlocal.cli.study_output import named, output_options, show
from twlocal.errors import UsageError


@click.command()
@click.argument("names", metavar="[JUDGE]...", nargs=-1)
@click.option("--build", "build_name", metavar="NAME", help="The build they were calibrated on; the newest by default.")
@output_options
@db_option
def judges(
    names: tuple[str, ...], build_name: str | None, as_json: bool, html: Path | None, lang: str | None, database: Path
) -> None:
    """What judges approve, defects planted or not, and whether a panel of them is one judge in disguise.

    It reads the calibrations that `twlocal formosa calibrate` stored. JUDGE names the panel's members (or the beginning
    of a name); without any, all judges of the build are the panel.
    """
    from twlocal.cli.desk import stores
    from twlocal.formosa.calibrated import Calibrations
    from twlocal.study import judges as study
    from twlocal.study.load import stored_command, study_command

    with stores(database) as (builds, _):
        build = builds.get(build_name)
        stored = Calibrations.beside(builds).newest(build)
    if not stored:
        raise UsageError(f"no judge was calibrated on {build.name}", hint="twlocal formosa calibrate MODEL...")
    members = [_named(name, [one.found.judge for one in stored]) for name in names] if names else None
    if members is not None and len(set(members)) < len(members):
        raise UsageError("a judge is named twice")
    words = ["study", "judges", *(members or []), "--build", build.name]
    there = named(database)
    commands = [stored_command(str(one.about["command"]), there) for one in stored]
    commands.append(study_command(*words, database=there))
    try:
        found = study.report(
            [(one.found, one.thresholds) for one in stored], build.name, members=members, commands=commands
        )
    except ValueError as error:
        raise UsageError(
            str(error), hint="calibrate them with the same --items, --good and --seed, or name some of them"
        ) from error
    show(found, as_json=as_json, html=html, lang=lang)


def _named(name: str, known: list[str]) -> str:
    found = [one for one in known if one == name] or [one for one in known if one.startswith(name)]
    if len(found) != 1:
        told = "may be any of" if found else "is none of"
        raise UsageError(f"{name!r} {told} the calibrated judges: {', '.join(found or known)}")
    return found[0]
